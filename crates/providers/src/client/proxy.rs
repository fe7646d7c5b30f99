//! Proxies, as the usual environment variables name them.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Which proxy to use for which address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http`.
    pub http: Option<String>,
    /// For `https`.
    pub https: Option<String>,
    /// Hosts that are reached directly: names (with everything below them), addresses, `*` for all.
    pub none_for: Vec<String>,
}

impl Proxies {
    /// From `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in capitals or not.
    pub fn from_environment(environment: &BTreeMap<String, String>) -> Self {
        let variable = |name: &str| {
            let found = environment.get(name).or_else(|| environment.get(&name.to_ascii_lowercase()));
            found.filter(|value| !value.is_empty()).cloned()
        };
        let none_for = variable("NO_PROXY").unwrap_or_default();
        let none_for = none_for.split(',').map(|entry| entry.trim().to_ascii_lowercase());
        Self {
            http: variable("HTTP_PROXY"),
            https: variable("HTTPS_PROXY"),
            none_for: none_for.filter(|entry| !entry.is_empty()).collect(),
        }
    }

    /// The proxy for a host; this machine itself is always reached directly.
    pub(crate) fn for_host(&self, is_https: bool, host: &str) -> Option<&str> {
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let is_direct = |entry: &String| {
            let name = entry.trim_start_matches('.');
            entry == "*" || host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
        };
        if is_local || self.none_for.iter().any(is_direct) {
            return None;
        }
        if is_https { self.https.as_deref() } else { self.http.as_deref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_which_proxy_and_where_none() {
        let environment =
            [("HTTP_PROXY", "http://p:1"), ("https_proxy", "q:2"), ("NO_PROXY", ".svc, example.com,10.0.0.1")];
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let proxies = Proxies::from_environment(&environment);
        assert_eq!(proxies.for_host(false, "x.org"), Some("http://p:1"));
        assert_eq!(proxies.for_host(true, "x.org"), Some("q:2"));
        for host in ["localhost", "127.0.0.1", "[::1]", "a.svc", "example.com", "a.EXAMPLE.com", "10.0.0.1"] {
            assert_eq!(proxies.for_host(true, host), None, "{host}");
        }
        assert_eq!(proxies.for_host(true, "notexample.com"), Some("q:2"));
    }
}
