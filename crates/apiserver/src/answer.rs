//! Bodies of answers: whole ones and streams of watch events.

use std::convert::Infallible;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;

use crate::status::StatusError;

/// The body of every answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A whole body of JSON.
pub(crate) fn json(code: u16, value: &Value) -> Response<Body> {
    whole(code, "application/json", Bytes::from(serde_json::to_vec(value).unwrap_or_default()))
}

/// A whole body of plain text.
pub(crate) fn text(code: u16, text: &str) -> Response<Body> {
    whole(code, "text/plain; charset=utf-8", Bytes::copy_from_slice(text.as_bytes()))
}

/// A whole body of some type.
pub(crate) fn whole(code: u16, content_type: &'static str, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(bytes).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A refusal.
pub(crate) fn failure(error: &StatusError) -> Response<Body> {
    let mut response = if error.plain { text(error.code, &error.message) } else { json(error.code, &error.to_value()) };
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A stream of lines.
pub(crate) fn lines(stream: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames = stream.map(|line| Ok::<_, Infallible>(Frame::data(line)));
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
