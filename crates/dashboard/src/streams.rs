//! Streams of messages: server-sent events for those who ask for them, lines of JSON for all others.

use std::convert::Infallible;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures::StreamExt as _;
use http::header::{self, HeaderMap, HeaderValue};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::answer::{Answer, Refusal, header_text};
use crate::fields::Fields;

/// A comment this often tells proxies that the stream is alive.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Messages that wait for a slow reader; then whoever makes them waits, and sends the latest state afterwards.
const MOST_WAITING: usize = 4;

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Server-sent events.
    Events,
    /// Lines of JSON.
    Lines,
}

impl Form {
    /// What is asked for.
    pub(crate) fn of(asked: &HeaderMap) -> Self {
        if header_text(asked, header::ACCEPT) == "text/event-stream" { Self::Events } else { Self::Lines }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Events => "text/event-stream",
            Self::Lines => "application/json",
        }
    }

    fn written(self, json: &[u8]) -> Bytes {
        let mut bytes = BytesMut::with_capacity(json.len() + 16);
        match self {
            Self::Events => {
                bytes.put_slice(b"data: ");
                bytes.put_slice(json);
                bytes.put_slice(b" \n\n\n");
            }
            Self::Lines => {
                bytes.put_slice(json);
                bytes.put_slice(b"\n");
            }
        }
        bytes.freeze()
    }
}

/// The writing end of a stream.
pub(crate) struct Sender {
    form: Form,
    fields: Fields,
    messages: mpsc::Sender<Bytes>,
}

/// Nobody reads any more.
#[derive(Debug)]
pub(crate) struct Closed;

impl Sender {
    /// Sends a message that is JSON already.
    pub(crate) async fn send(&self, result: &[u8]) -> Result<(), Closed> {
        let mut wrapped = Vec::with_capacity(result.len() + 16);
        wrapped.extend_from_slice(b"{\"result\":");
        wrapped.extend_from_slice(result);
        wrapped.push(b'}');
        if self.fields != Fields::All
            && let Ok(message) = serde_json::from_slice::<Value>(&wrapped)
        {
            wrapped = self.fields.of(message).to_string().into_bytes();
        }
        self.put(self.form.written(&wrapped)).await
    }

    /// Sends something that is no result.
    pub(crate) async fn send_aside(&self, message: &Value) -> Result<(), Closed> {
        self.put(self.form.written(message.to_string().as_bytes())).await
    }

    /// Sends why the stream ends.
    pub(crate) async fn fail(&self, refusal: &Refusal) {
        // Whoever is gone need not be told.
        let _ = self.send_aside(&refusal.in_stream()).await;
    }

    /// Says that the stream is alive, to those who can be told without a message.
    pub(crate) async fn keep_alive(&self) -> Result<(), Closed> {
        match self.form {
            Form::Events => self.put(Bytes::from_static(b":\n")).await,
            Form::Lines => Ok(()),
        }
    }

    /// Ends when nobody reads any more.
    pub(crate) async fn closed(&self) {
        self.messages.closed().await;
    }

    async fn put(&self, bytes: Bytes) -> Result<(), Closed> {
        self.messages.send(bytes).await.map_err(|_| Closed)
    }
}

/// Both ends of a stream: the answer to give, and where to write.
pub(crate) fn stream(asked: &HeaderMap, fields: Fields) -> (Answer, Sender) {
    let form = Form::of(asked);
    let (messages, waiting) = mpsc::channel(MOST_WAITING);
    let frames = futures::stream::unfold(waiting, async |mut waiting: mpsc::Receiver<Bytes>| {
        waiting.recv().await.map(|bytes| (bytes, waiting))
    });
    let body = StreamBody::new(frames.map(|bytes| Ok::<_, Infallible>(Frame::data(bytes)))).boxed_unsync();
    let mut answer = Answer::new(body);
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that collect answers would hold messages back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    (answer, Sender { form, fields, messages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_programs_know_them() {
        assert_eq!(&*Form::Events.written(b"{\"result\":{}}"), b"data: {\"result\":{}} \n\n\n");
        assert_eq!(&*Form::Lines.written(b"{\"result\":{}}"), b"{\"result\":{}}\n");
        let mut asked = HeaderMap::new();
        assert_eq!(Form::of(&asked), Form::Lines);
        asked.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream, */*"));
        assert_eq!(Form::of(&asked), Form::Lines, "only the exact word");
        asked.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        assert_eq!(Form::of(&asked), Form::Events);
    }
}
