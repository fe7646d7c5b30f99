//! Which requests are heard at all: against pages of others that talk to us through somebody's browser.

use std::net::IpAddr;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};

use crate::answer::{Refusal, header_text};

/// Nothing but our own files, no frames around us, no forms to elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; font-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";

/// Who may be heard.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Whether it listens on this machine alone: then only names of this machine are answered to.
    is_local: bool,
    hosts: Vec<String>,
}

impl Guard {
    pub(crate) fn new(address: IpAddr, hosts: &[String]) -> Self {
        Self { is_local: address.to_canonical().is_loopback(), hosts: hosts.to_vec() }
    }

    /// Refuses what a page of somebody else may have sent.
    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = uri
            .host()
            .map_or_else(|| header_text(headers, header::HOST), |_| uri.authority().map_or("", |it| it.as_str()));
        if self.is_local && !self.is_ours(host) {
            // A name that somebody else lets point to this machine.
            let text = format!("{host:?} is no name of this machine: use localhost, or allow it with --allowed-host");
            return Err(Refusal::forbidden(text));
        }
        if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return Ok(());
        }
        let site = header_text(headers, HeaderName::from_static("sec-fetch-site"));
        if !matches!(site, "" | "same-origin" | "none") {
            return Err(Refusal::forbidden("changes are taken from the pages of this dashboard only"));
        }
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let origin = origin.to_str().unwrap_or("null");
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        let forwarded = header_text(headers, HeaderName::from_static("x-forwarded-host"));
        let is_same =
            authority.is_some_and(|authority| authority == host || (!forwarded.is_empty() && authority == forwarded));
        if is_same { Ok(()) } else { Err(Refusal::forbidden(format!("changes are not taken from pages of {origin}"))) }
    }

    fn is_ours(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let is_address = name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
        let name = name.to_ascii_lowercase();
        is_address
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(&name))
    }
}

/// What every answer says about how it may be used.
pub(crate) fn seal(headers: &mut HeaderMap) {
    let sealed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in sealed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(local: bool, method: Method, headers: &[(&str, &str)]) -> bool {
        let address = if local { "127.0.0.1" } else { "0.0.0.0" };
        let guard = Guard::new(address.parse().unwrap(), &["dash.example".to_owned()]);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        guard.check(&method, &Uri::from_static("/rollouts/"), &map).is_ok()
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_answered_to() {
        for host in ["localhost:3100", "127.0.0.1:3100", "[::1]:3100", "localhost", "dash.example:3100", "a.localhost"]
        {
            assert!(heard(true, Method::GET, &[("host", host)]), "{host}");
        }
        for host in ["evil.example", "evil.example:3100", "127.0.0.1.evil.example", "10.0.0.1", ""] {
            assert!(!heard(true, Method::GET, &[("host", host)]), "{host}");
            assert!(heard(false, Method::GET, &[("host", host)]), "{host}");
        }
    }

    #[test]
    fn changes_from_pages_of_others_are_refused() {
        let host = ("host", "localhost:3100");
        assert!(heard(true, Method::PUT, &[host]), "programs send no origin");
        assert!(heard(
            true,
            Method::PUT,
            &[host, ("origin", "http://localhost:3100"), ("sec-fetch-site", "same-origin")]
        ));
        assert!(!heard(true, Method::PUT, &[host, ("origin", "http://evil.example")]));
        assert!(
            !heard(true, Method::PUT, &[host, ("origin", "http://localhost:8080")]),
            "another port is another page"
        );
        assert!(!heard(true, Method::PUT, &[host, ("origin", "null")]));
        assert!(!heard(true, Method::PUT, &[host, ("sec-fetch-site", "cross-site")]));
        assert!(!heard(true, Method::POST, &[host, ("sec-fetch-site", "same-site")]));
        let behind =
            [("host", "10.1.2.3:3100"), ("origin", "https://dash.example"), ("x-forwarded-host", "dash.example")];
        assert!(heard(false, Method::PUT, &behind));
    }
}
