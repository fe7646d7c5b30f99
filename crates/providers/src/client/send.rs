//! One request after the other, until there is something else than a redirect.

use bytes::Bytes;
use http::Uri;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tidegate_expr::base64;

use super::connect::{Connection, Target, connect};
use super::{MAX_BODY, MAX_REDIRECTS, Settings, TransportError};
use crate::message::{Method, Request, Response};

/// What one exchange brought.
enum Exchange {
    Answer(Response),
    Redirect { status: u16, location: String },
}

pub(super) async fn follow(settings: &Settings, request: &Request) -> Result<Response, TransportError> {
    let mut current = request.clone();
    for _ in 0..=MAX_REDIRECTS {
        let failed = |reason: String| TransportError {
            method: current.method,
            url: shown(&current.url),
            reason,
            is_timeout: false,
        };
        match exchange(settings, &current).await.map_err(failed)? {
            Exchange::Answer(response) => return Ok(response),
            Exchange::Redirect { status, location } => {
                let next = joined(&current.url, &location).ok_or_else(|| failed(bad_location(&location)))?;
                current = redirected(current, status, next);
            }
        }
    }
    Err(TransportError {
        method: current.method,
        url: shown(&current.url),
        reason: format!("stopped after {MAX_REDIRECTS} redirects"),
        is_timeout: false,
    })
}

/// An address as messages show it: without the password somebody may have written into it.
pub(super) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let Some((user, host)) = rest[..end].rsplit_once('@') else { return url.to_owned() };
    let user = user.split_once(':').map_or_else(|| user.to_owned(), |(name, _)| format!("{name}:***"));
    format!("{scheme}://{user}@{host}{}", &rest[end..])
}

/// An address with everything escaped that people write raw into paths and queries.
fn escaped(url: &str) -> String {
    let Some(start) = url.find("://").map(|at| at + 3) else { return url.to_owned() };
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    let mut out = url[..end].to_owned();
    for byte in url[end..].bytes() {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'`' | b'\\' | b'^' | b'{' | b'|' | b'}') {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The bytes behind `%XX`.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

fn bad_location(location: &str) -> String {
    format!("failed to parse Location header {location:?}")
}

/// The request to the new place. Only 307 and 308 repeat method and body, and credentials stay with their host.
fn redirected(mut request: Request, status: u16, url: String) -> Request {
    let host = |url: &str| url.parse::<Uri>().ok().and_then(|uri| uri.authority().map(|place| place.to_string()));
    if host(&request.url) != host(&url) {
        request.headers.retain(|(name, _)| {
            !matches!(name.to_ascii_lowercase().as_str(), "authorization" | "cookie" | "www-authenticate")
                && !name.to_ascii_lowercase().contains("key")
        });
    }
    if !matches!(status, 307 | 308) {
        request.method = Method::Get;
        request.body.clear();
        request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
    request.url = url;
    request
}

/// A place relative to another.
fn joined(base: &str, location: &str) -> Option<String> {
    if location.contains("://") {
        return Some(location.to_owned());
    }
    let base: Uri = base.parse().ok()?;
    let (scheme, place) = (base.scheme_str()?, base.authority()?);
    if let Some(rest) = location.strip_prefix("//") {
        return Some(format!("{scheme}://{rest}"));
    }
    if location.starts_with('/') {
        return Some(format!("{scheme}://{place}{location}"));
    }
    let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    match location {
        "" => None,
        query if query.starts_with('?') => Some(format!("{scheme}://{place}{}{query}", base.path())),
        relative => Some(format!("{scheme}://{place}{folder}/{relative}")),
    }
}

async fn exchange(settings: &Settings, request: &Request) -> Result<Exchange, String> {
    let uri: Uri = match escaped(&request.url).parse() {
        Ok(uri) => uri,
        Err(_) if !request.url.contains("://") => return Err("unsupported protocol scheme \"\"".to_owned()),
        Err(error) => return Err(format!("the address cannot be read: {error}")),
    };
    let target = Target::of(&uri)?;
    let connection = connect(settings, &target, request.insecure).await?;
    let outgoing = outgoing(request, &uri, &connection)?;
    let (mut sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(connection.stream))
        .await
        .map_err(|error| error.to_string())?;
    // The driver moves bytes while we wait for the answer; it must not outlive this request.
    let driver = tokio::spawn(driver);
    let outcome = async {
        let response = sender.send_request(outgoing).await.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let location = response.headers().get("location").and_then(|value| value.to_str().ok());
        if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) {
            return Ok(Exchange::Redirect { status, location: location.to_owned() });
        }
        let body = bounded(response.into_body()).await?;
        Ok(Exchange::Answer(Response { status, body }))
    }
    .await;
    driver.abort();
    outcome
}

fn outgoing(request: &Request, uri: &Uri, connection: &Connection) -> Result<http::Request<Full<Bytes>>, String> {
    let place = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let line = if connection.absolute { format!("http://{host}{path}") } else { path.to_owned() };
    let mut builder = http::Request::builder().method(request.method.text()).uri(line);
    let named = |name: &str| request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !named("host") {
        builder = builder.header("host", host);
    }
    if !named("user-agent") {
        builder = builder.header("user-agent", "rollouts-controller");
    }
    if let Some((user, _)) = place.rsplit_once('@').filter(|_| !named("authorization")) {
        builder = builder.header("authorization", format!("Basic {}", base64::encode(&unescaped(user))));
    }
    for (name, value) in &request.headers {
        builder = builder.header(name, value);
    }
    if let Some(value) = &connection.proxy_authorization {
        builder = builder.header("proxy-authorization", value);
    }
    // Only the names: a value may be a credential.
    builder.body(Full::new(Bytes::from(request.body.clone()))).map_err(|error| format!("bad header: {error}"))
}

async fn bounded(mut body: hyper::body::Incoming) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > MAX_BODY {
                return Err(format!("the response body is larger than {MAX_BODY} bytes"));
            }
            bytes.extend_from_slice(data);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_taken_relative_to_where_they_came_from() {
        let table = [
            ("http://a/x/y?q", "http://b/z", "http://b/z"),
            ("http://a/x/y?q", "//b/z", "http://b/z"),
            ("http://a:1/x/y?q", "/z?r", "http://a:1/z?r"),
            ("http://a/x/y?q", "z", "http://a/x/z"),
            ("http://a/x/y?q", "?r", "http://a/x/y?r"),
        ];
        for (base, location, wanted) in table {
            assert_eq!(joined(base, location).as_deref(), Some(wanted));
        }
        assert_eq!(joined("http://a/", ""), None);
    }

    #[test]
    fn addresses_are_escaped_for_the_wire_and_shown_without_passwords() {
        assert_eq!(escaped("http://h/a b?q=up{x=\"ü\"}"), "http://h/a%20b?q=up%7Bx=%22%C3%BC%22%7D");
        assert_eq!(escaped("nonsense {"), "nonsense {");
        assert_eq!(shown("http://u:p@h/x@y"), "http://u:***@h/x@y");
        assert_eq!(shown("http://u@h?a"), "http://u@h?a");
        assert_eq!(shown("http://h/u:p@x"), "http://h/u:p@x");
        assert_eq!(unescaped("a%3Ab%4"), b"a:b%4");
    }

    #[test]
    fn credentials_do_not_follow_to_another_host() {
        let request = Request::new(Method::Post, "http://a/x")
            .header("Authorization", "secret")
            .header("DD-API-KEY", "secret")
            .header("Accept", "json")
            .body("b");
        let away = redirected(request.clone(), 307, "http://b/y".to_owned());
        assert_eq!((away.headers.len(), away.method, away.body.len()), (1, Method::Post, 1));
        let same = redirected(request, 302, "http://a/y".to_owned());
        assert_eq!((same.headers.len(), same.method, same.body.len()), (3, Method::Get, 0));
    }
}
