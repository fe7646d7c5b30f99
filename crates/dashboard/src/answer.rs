//! How requests are answered: JSON, text, streams, and refusals in the shape programs know.

use std::convert::Infallible;
use std::io::Write as _;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tidegate_cluster::ApiError;
use tidegate_cluster::actions::ActionError;

/// The body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;
/// An answer.
pub(crate) type Answer = Response<Body>;

/// Answers that are longer are compressed for those who can read them so.
const COMPRESSED_FROM: usize = 2048;

/// A refusal: a code for programs, one for HTTP, a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// As gRPC counts.
    pub(crate) code: u8,
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(code: u8, status: StatusCode, message: impl Into<String>) -> Self {
        Self { code, status, message: message.into() }
    }

    /// The request makes no sense.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(3, StatusCode::BAD_REQUEST, message)
    }

    /// There is no such thing.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(5, StatusCode::NOT_FOUND, message)
    }

    /// It is not allowed.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(7, StatusCode::FORBIDDEN, message)
    }

    /// There is no such path, or not with this method.
    pub(crate) fn unknown() -> Self {
        Self::new(12, StatusCode::NOT_IMPLEMENTED, "Not Implemented")
    }

    /// Not now.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(14, StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Who is it?
    pub(crate) fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(16, StatusCode::UNAUTHORIZED, message)
    }

    /// The Rollout is not there.
    pub(crate) fn no_rollout(name: &str) -> Self {
        Self::missing(format!("rollout.argoproj.io {name:?} not found"))
    }

    fn json(&self) -> Value {
        json!({"code": self.code, "message": self.message})
    }

    /// As the end of a stream.
    pub(crate) fn in_stream(&self) -> Value {
        json!({"error": {
            "grpc_code": self.code, "http_code": self.status.as_u16(), "message": self.message,
            "http_status": self.status.canonical_reason().unwrap_or_default(),
        }})
    }
}

impl From<&ApiError> for Refusal {
    fn from(error: &ApiError) -> Self {
        let message = error.to_string();
        match error {
            ApiError::Refused(refusal) => match refusal.code {
                401 => Self::unauthenticated(message),
                403 => Self::forbidden(message),
                404 => Self::missing(message),
                409 => Self::new(10, StatusCode::CONFLICT, message),
                _ => Self::new(2, StatusCode::INTERNAL_SERVER_ERROR, message),
            },
            ApiError::Name(_) => Self::invalid(message),
            ApiError::Unreachable { .. } | ApiError::Late { .. } => Self::unavailable(message),
            _ => Self::new(2, StatusCode::INTERNAL_SERVER_ERROR, message),
        }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::from(&error)
    }
}

impl From<ActionError> for Refusal {
    fn from(error: ActionError) -> Self {
        match error.api() {
            Some(api) => Self { message: error.to_string(), ..Self::from(api) },
            None => Self::new(2, StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }
}

/// A body of bytes that are at hand.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// An answer with a body of some type.
pub(crate) fn typed(status: StatusCode, content_type: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(full(bytes));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// JSON that is at hand.
pub(crate) fn json_text(asked: &HeaderMap, text: impl Into<Bytes>) -> Answer {
    let (bytes, is_packed) = packed(asked, text.into());
    let mut answer = typed(StatusCode::OK, "application/json", bytes);
    if is_packed {
        mark_packed(answer.headers_mut());
    }
    answer
}

/// A value as JSON.
pub(crate) fn json_value(asked: &HeaderMap, value: &Value) -> Answer {
    json_text(asked, value.to_string())
}

/// A refusal.
pub(crate) fn refused(refusal: &Refusal) -> Answer {
    typed(refusal.status, "application/json", refusal.json().to_string())
}

/// Nothing to see here.
pub(crate) fn not_found() -> Answer {
    typed(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "404 page not found\n")
}

/// Elsewhere.
pub(crate) fn redirect(to: &str) -> Answer {
    let mut answer = Response::new(full(Bytes::new()));
    match HeaderValue::from_str(to) {
        Ok(to) => {
            *answer.status_mut() = StatusCode::FOUND;
            answer.headers_mut().insert(header::LOCATION, to);
        }
        Err(_) => *answer.status_mut() = StatusCode::BAD_REQUEST,
    }
    answer
}

/// A header as text; empty when there is none or it is no text.
pub(crate) fn header_text(headers: &HeaderMap, name: impl Into<HeaderName>) -> &str {
    headers.get(name.into()).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether whoever asks can read gzip.
pub(crate) fn reads_gzip(asked: &HeaderMap) -> bool {
    let accepted = header_text(asked, header::ACCEPT_ENCODING);
    accepted.split(',').map(str::trim).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim() == "gzip" && !matches!(weight.trim(), "q=0" | "q=0.0")
    })
}

pub(crate) fn mark_packed(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

fn packed(asked: &HeaderMap, bytes: Bytes) -> (Bytes, bool) {
    if bytes.len() < COMPRESSED_FROM || !reads_gzip(asked) {
        return (bytes, false);
    }
    match gzip(&bytes) {
        Some(packed) => (packed, true),
        None => (bytes, false),
    }
}

/// Compressed, quickly rather than well.
pub(crate) fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}
