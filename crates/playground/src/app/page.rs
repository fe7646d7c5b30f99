//! The page: three small files and the numbers they show.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::Full;

use super::mix::Mix;

/// Where the page has its parts; everything else belongs to the application.
const OWN: &str = "/.playground/";
/// Nothing from elsewhere, and no script but the page's own.
const POLICY: &str =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

/// The answer, if it is the page that is asked for: by a browser, at the root.
pub(super) fn respond<B>(request: &Request<B>, mix: &Mix) -> Option<Response<Full<Bytes>>> {
    if request.method() != Method::GET {
        return None;
    }
    let path = request.uri().path();
    let accepts = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if path == "/" && accepts.contains("text/html") {
        return Some(part("text/html; charset=utf-8", include_str!("page.html")));
    }
    match path.strip_prefix(OWN)? {
        "page.js" => Some(part("text/javascript; charset=utf-8", include_str!("page.js"))),
        "page.css" => Some(part("text/css; charset=utf-8", include_str!("page.css"))),
        "mix" => Some(part("application/json", mix.shown().to_string())),
        _ => None,
    }
}

fn part(kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
