//! Messages, and the conversations that deliver them, as data.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::Value as Json;

use crate::publication::Publication;

/// A message that has been written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notification {
    /// What every service can say.
    pub message: String,
    /// More for single services, by the name of their section in a template.
    pub sections: BTreeMap<String, Json>,
}

impl Notification {
    /// The section of a service; nil when the template has none.
    pub fn section(&self, name: &str) -> &Json {
        self.sections.get(name).unwrap_or(&Json::Null)
    }

    /// A text of a section, none when it is empty.
    pub fn text(&self, section: &str, field: &str) -> Option<&str> {
        self.section(section)[field].as_str().filter(|text| !text.trim().is_empty())
    }

    /// A text of a section that is itself YAML or JSON.
    pub fn data(&self, section: &str, field: &str) -> Result<Option<Json>, Failure> {
        let value = &self.section(section)[field];
        let text = match value {
            Json::Null => return Ok(None),
            Json::String(text) if text.trim().is_empty() => return Ok(None),
            Json::String(text) => text,
            other => return Ok(Some(other.clone())),
        };
        let read = tidegate_manifest::read_value(text);
        read.map(Some).map_err(|error| Failure::lasting(format!("{section}.{field} is no JSON or YAML: {error}")))
    }
}

/// A request. Its `Debug` shows no address, header or body, which may hold credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method in capitals.
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// How long it may take.
    pub timeout: Duration,
    /// Signed by AWS's rules, with these credentials.
    pub aws: Option<AwsKeys>,
}

/// Credentials of AWS. Its `Debug` shows none of them.
#[derive(Clone, PartialEq, Eq)]
pub struct AwsKeys {
    /// The service, such as `sqs`.
    pub service: &'static str,
    /// The region.
    pub region: String,
    /// The id of the key.
    pub key: String,
    /// The key.
    pub secret: String,
}

impl fmt::Debug for AwsKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.service, self.region)
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.method, self.body.len())
    }
}

impl HttpRequest {
    /// How long a request may take when nobody says anything else.
    pub const TIMEOUT: Duration = Duration::from_secs(30);

    /// A request without headers and body.
    pub fn new(method: &str, url: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            insecure: false,
            timeout: Self::TIMEOUT,
            aws: None,
        }
    }

    /// A POST of JSON.
    pub fn json(url: impl Into<String>, body: &Json) -> Self {
        Self::new("POST", url).header("Content-Type", "application/json").body(body.to_string())
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Whether certificates are not looked at.
    #[must_use]
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }
}

/// A mail. Its `Debug` shows no password.
#[derive(Clone, PartialEq, Eq)]
pub struct Mail {
    /// The server.
    pub host: String,
    /// Its port. On 465 the connection begins with TLS, on others it is asked for when the server offers it.
    pub port: u16,
    /// Who logs in; empty for nobody.
    pub username: String,
    /// With what.
    pub password: String,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// The sender.
    pub from: String,
    /// The receivers.
    pub to: Vec<String>,
    /// The subject.
    pub subject: String,
    /// The text.
    pub body: String,
    /// Whether the text is HTML.
    pub is_html: bool,
}

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mail to {:?} through {}:{}", self.to, self.host, self.port)
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// A response.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into() }
    }

    /// Whether the status says that all went well.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text, cut to what a message may hold.
    pub fn text(&self) -> String {
        const MOST: usize = 1000;
        let text = String::from_utf8_lossy(&self.body);
        match text.char_indices().nth(MOST) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.into_owned(),
        }
    }

    /// The body as JSON, nil when it is none.
    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Why something was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// Why.
    pub text: String,
    /// Whether another try may help.
    pub may_pass: bool,
    /// Whether it must never be told again, although it was not delivered: the service has had enough of it.
    pub is_final: bool,
}

impl Failure {
    /// Another try may help.
    pub fn passing(text: impl Into<String>) -> Self {
        Self { text: text.into(), may_pass: true, is_final: false }
    }

    /// It will not get better by itself.
    pub fn lasting(text: impl Into<String>) -> Self {
        Self { text: text.into(), may_pass: false, is_final: false }
    }

    /// It must never be told again, not even when the state comes back.
    pub fn finally(text: impl Into<String>) -> Self {
        Self { text: text.into(), may_pass: false, is_final: true }
    }

    /// From an answer: what the asking side did wrong will not get better, except when it was too fast.
    pub fn of_status(status: u16, text: impl Into<String>) -> Self {
        let may_pass = status == 408 || status == 429 || !(400..500).contains(&status);
        Self { text: text.into(), may_pass, is_final: false }
    }
}

/// What services remember between messages, in memory only: threads by service, recipient and grouping key, and tokens by
/// service and credentials.
pub type Memory = BTreeMap<String, String>;

/// What comes next in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// Send this and tell what came back.
    Ask(HttpRequest),
    /// Read this file and tell what it holds, as an answer with status 200.
    Read(String),
    /// Send this mail; then it is done.
    Mail(Mail),
    /// Publish this; then it is done.
    Publish(Publication),
    /// Delivered; these are to be remembered.
    Done(Vec<(String, String)>),
}

/// A conversation with a service, until the message is delivered.
pub trait Conversation: Send {
    /// The first request.
    fn begin(&mut self) -> Result<Turn, Failure>;

    /// What an answer means. Those of a single request look at the status only.
    fn hear(&mut self, response: &Response) -> Result<Turn, Failure>;

    /// What it means that nothing came back.
    fn unanswered(&mut self, error: &str) -> Result<Turn, Failure> {
        Err(Failure::passing(error))
    }

    /// What is to be remembered whatever became of the message, asked for when the conversation is over. What is to be
    /// forgotten has an empty text.
    fn learned(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }
}
