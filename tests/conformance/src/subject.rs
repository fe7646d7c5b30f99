//! Something that answers Kubernetes requests: a real API server or ours.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::task::JoinHandle;

/// Longest wait for an answer. The API server itself gives up after a minute.
const PATIENCE: Duration = Duration::from_secs(70);
/// Most events kept of one watch; no sequence makes a tenth of it.
const MOST_EVENTS: usize = 2_000;
/// Longest line of a watch.
const MOST_BYTES: usize = 4 << 20;
/// The headers that clients branch on. Others (dates, audit numbers, flow schemas) are the server's own business.
const HEADERS: [&str; 4] = ["content-type", "retry-after", "warning", "allow"];

/// A request as it goes over the wire.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// HTTP method.
    pub method: &'static str,
    /// Path and query, encoded.
    pub uri: String,
    /// Headers that replace or add to the usual ones.
    pub headers: Vec<(&'static str, String)>,
    /// Body, empty for none.
    pub body: Vec<u8>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// HTTP code; 0 when there was no answer at all (then the body says why).
    pub code: u16,
    /// Headers of interest, repeated ones sorted.
    pub headers: BTreeMap<String, Vec<String>>,
    /// The body; text that is not JSON is a JSON string, none is null.
    pub body: Value,
}

impl Answer {
    fn none(reason: impl std::fmt::Display) -> Self {
        Self { body: Value::from(format!("no answer: {reason}")), ..Self::default() }
    }
}

/// A running watch: the answer it began with and the events so far.
#[derive(Debug)]
pub struct Watch {
    /// Code and headers; the body only if the watch was refused.
    pub answer: Answer,
    events: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
    hidden: Option<fn(&Value) -> bool>,
}

impl Watch {
    /// A watch that gives these events, for subjects made up by tests.
    pub fn of(answer: Answer, events: Vec<Value>) -> Self {
        Self { answer, events: Arc::new(Mutex::new(events)), reader: None, hidden: None }
    }

    /// The same watch without some events, for subjects that are wrong on purpose.
    #[must_use]
    pub fn hiding(mut self, hidden: fn(&Value) -> bool) -> Self {
        self.hidden = Some(hidden);
        self
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Value> {
        let mut events = self.events.lock().map(|events| events.clone()).unwrap_or_default();
        events.retain(|event| !self.hidden.is_some_and(|hidden| hidden(event)));
        events
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(reader) = &self.reader {
            reader.abort();
        }
    }
}

/// Something that answers Kubernetes requests.
pub trait Subject: Sync {
    /// What to call it in reports.
    fn name(&self) -> &str;

    /// Sends one request and reads the whole answer.
    fn send(&self, request: Outgoing) -> impl Future<Output = Answer> + Send;

    /// Opens a watch; returns once it is known whether it was accepted.
    fn watch(&self, request: Outgoing) -> impl Future<Output = Watch> + Send;
}

/// Any API behind a [`kube::Client`]: over a connection, or in process by [`Client::new`] with a tower service.
#[derive(Clone)]
pub struct ClientSubject {
    name: String,
    client: Client,
}

impl ClientSubject {
    /// The API that `client` talks to. The client must not retry.
    pub fn new(name: &str, client: Client) -> Self {
        Self { name: name.to_owned(), client }
    }

    async fn open(&self, request: Outgoing) -> Result<http::Response<Body>, String> {
        let mut builder = http::Request::builder().method(request.method).uri(&request.uri);
        let given = |name: &str| request.headers.iter().any(|(other, _)| *other == name);
        let usual =
            [("accept", "application/json"), ("user-agent", "conformance/1"), ("content-type", "application/json")];
        for (name, value) in usual.into_iter().filter(|(name, _)| !given(name)) {
            if name != "content-type" || !request.body.is_empty() {
                builder = builder.header(name, value);
            }
        }
        for (name, value) in request.headers.iter().filter(|(_, value)| !value.is_empty()) {
            builder = builder.header(*name, value);
        }
        let body = Body::from(request.body);
        let request = builder.body(body).map_err(|error| error.to_string())?;
        match tokio::time::timeout(PATIENCE, self.client.send(request)).await {
            Ok(response) => response.map_err(|error| error.to_string()),
            Err(_) => Err(format!("none within {} s", PATIENCE.as_secs())),
        }
    }
}

impl Subject for ClientSubject {
    fn name(&self) -> &str {
        &self.name
    }

    async fn send(&self, request: Outgoing) -> Answer {
        match self.open(request).await {
            Ok(response) => read(response).await,
            Err(reason) => Answer::none(reason),
        }
    }

    async fn watch(&self, request: Outgoing) -> Watch {
        let response = match self.open(request).await {
            Ok(response) if response.status().is_success() => response,
            Ok(refused) => return Watch::of(read(refused).await, Vec::new()),
            Err(reason) => return Watch::of(Answer::none(reason), Vec::new()),
        };
        let answer = Answer { code: response.status().as_u16(), headers: headers(&response), body: Value::Null };
        let events = Arc::new(Mutex::new(Vec::new()));
        let reader = tokio::spawn(collect(response.into_body(), Arc::clone(&events)));
        Watch { answer, events, reader: Some(reader), hidden: None }
    }
}

fn headers(response: &http::Response<Body>) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for name in HEADERS {
        let values = response.headers().get_all(name).iter();
        let mut values: Vec<String> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
        values.sort();
        if !values.is_empty() {
            found.insert(name.to_owned(), values);
        }
    }
    found
}

async fn read(response: http::Response<Body>) -> Answer {
    let code = response.status().as_u16();
    let headers = headers(&response);
    let bytes = match tokio::time::timeout(PATIENCE, response.into_body().collect_bytes()).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Answer::none(error),
        Err(_) => return Answer::none("the body did not end"),
    };
    let text = || Value::from(String::from_utf8_lossy(&bytes).into_owned());
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap_or_else(|_| text()) };
    Answer { code, headers, body }
}

/// Reads lines of JSON until the other side or the owner ends it.
async fn collect(mut body: Body, events: Arc<Mutex<Vec<Value>>>) {
    let mut buffer: Vec<u8> = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        buffer.extend_from_slice(&data);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let unread = || Value::from(String::from_utf8_lossy(&line).into_owned());
            let event = serde_json::from_slice(&line).unwrap_or_else(|_| unread());
            match events.lock() {
                Ok(mut events) if events.len() < MOST_EVENTS => events.push(event),
                _ => return,
            }
        }
        if buffer.len() > MOST_BYTES {
            return;
        }
    }
}
