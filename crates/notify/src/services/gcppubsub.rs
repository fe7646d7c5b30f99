//! Google Cloud Pub/Sub, with its REST API.
//!
//! Documentation: <https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.topics/publish>.

use serde_json::{Map, Value as Json, json};
use tidegate_expr::base64;

use super::service_account::ServiceAccount;
use super::token::Token;
use super::{Delivery, Opened, Options, joined};
use crate::message::{Conversation, Failure, HttpRequest, Response, Turn};

const ENDPOINT: &str = "https://pubsub.googleapis.com";
const SCOPE: &str = "https://www.googleapis.com/auth/pubsub";

/// What the answer that comes next is to.
#[derive(Clone, Copy)]
enum Asked {
    Key,
    Token,
    Publish,
}

struct PubSub {
    endpoint: String,
    insecure: bool,
    project: Option<String>,
    topic: String,
    message: Json,
    /// The file that holds the key.
    path: Option<String>,
    key: Option<ServiceAccount>,
    token: Token,
    asked: Asked,
}

/// Where the key of the option `keyFile` is.
enum KeyFile {
    /// Nowhere: emulators want none.
    None,
    Path(String),
    Inline(Box<ServiceAccount>),
}

impl KeyFile {
    fn of(options: &Options) -> Result<Self, String> {
        let text = options.text_or_data("keyFile");
        if text.trim_start().starts_with('{') {
            let read = ServiceAccount::read(text.as_bytes());
            return read.map(|key| Self::Inline(Box::new(key))).map_err(|error| format!("the option keyFile {error}"));
        }
        match text.trim() {
            "" if options.has("endpoint") => Ok(Self::None),
            "" => {
                Err("the option keyFile is missing: the key of a service account as JSON, or a path to it".to_owned())
            }
            path if path.starts_with('/') => Ok(Self::Path(path.to_owned())),
            _ => Err("the option keyFile is neither JSON nor a path that begins with /".to_owned()),
        }
    }
}

/// What can be said of the options before anything is sent.
pub(super) fn examine(options: &Options) -> Result<(), String> {
    let key = KeyFile::of(options)?;
    let is_known = match &key {
        KeyFile::Inline(key) => key.project.is_some(),
        // The file may name it.
        KeyFile::Path(_) => true,
        KeyFile::None => false,
    };
    if !is_known && !options.has("project") {
        return Err("the option project is missing".to_owned());
    }
    options.some_text("topic").map_or(Ok(()), |topic| check_topic(&topic))
}

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let (options, notification) = (&delivery.service.options, delivery.notification);
    let topic = options.some_text("topic").unwrap_or_else(|| delivery.recipient.to_owned());
    check_topic(&topic).map_err(Failure::lasting)?;
    let mut message = Map::new();
    if !notification.message.is_empty() {
        message.insert("data".to_owned(), json!(base64::encode(notification.message.as_bytes())));
    }
    if let Some(attributes) = attributes(notification.data("gcppubsub", "attributes")?)? {
        message.insert("attributes".to_owned(), Json::Object(attributes));
    }
    if message.is_empty() {
        return Err(Failure::lasting("Pub/Sub takes no empty messages: the template needs a message or attributes"));
    }
    let credentials = options.text_or_data("keyFile");
    let (path, key) = match KeyFile::of(options).map_err(Failure::lasting)? {
        KeyFile::None => (None, None),
        KeyFile::Path(path) => (Some(path), None),
        KeyFile::Inline(key) => (None, Some(*key)),
    };
    Ok(Box::new(PubSub {
        endpoint: endpoint(options, path.is_some() || key.is_some()),
        insecure: options.flag("insecureSkipVerify"),
        project: options.some_text("project").or_else(|| key.as_ref().and_then(|key| key.project.clone())),
        topic,
        message: json!({"messages": [message]}),
        path,
        key,
        token: Token::recall(delivery, &[&credentials, SCOPE]),
        asked: Asked::Publish,
    }))
}

/// Emulators are named without a scheme and speak plain HTTP; a token goes over TLS unless the address says otherwise.
fn endpoint(options: &Options, has_key: bool) -> String {
    match options.some_text("endpoint") {
        None => ENDPOINT.to_owned(),
        Some(address) if address.contains("://") => address,
        Some(address) if has_key => format!("https://{address}"),
        Some(address) => format!("http://{address}"),
    }
}

fn check_topic(topic: &str) -> Result<(), String> {
    if topic.is_empty() {
        return Err("a topic must be named by the option topic or the recipient".to_owned());
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.~+%".contains(c);
    let is_name = topic.starts_with(|c: char| c.is_ascii_alphabetic()) && topic.chars().all(fits);
    if is_name && (3..=255).contains(&topic.len()) { Ok(()) } else { Err(format!("{topic:?} is no topic of Pub/Sub")) }
}

/// Attributes are texts.
fn attributes(data: Option<Json>) -> Result<Option<Map<String, Json>>, Failure> {
    let text = |(name, value): (String, Json)| match value {
        Json::String(_) => (name, value),
        other => (name, json!(other.to_string())),
    };
    match data {
        None => Ok(None),
        Some(Json::Object(fields)) => {
            Ok(Some(fields.into_iter().map(text).collect()).filter(|all: &Map<_, _>| !all.is_empty()))
        }
        Some(_) => Err(Failure::lasting("gcppubsub.attributes must be names and texts")),
    }
}

impl PubSub {
    fn next(&mut self) -> Result<Turn, Failure> {
        let needs_token = (self.path.is_some() || self.key.is_some()) && self.token.value().is_none();
        if let (Some(path), None) = (&self.path, &self.key)
            && (needs_token || self.project.is_none())
        {
            self.asked = Asked::Key;
            return Ok(Turn::Read(path.clone()));
        }
        if let (true, Some(key)) = (needs_token, &self.key) {
            self.asked = Asked::Token;
            return Ok(Turn::Ask(key.ask(SCOPE, self.token.now())?));
        }
        self.asked = Asked::Publish;
        self.publish().map(Turn::Ask)
    }

    fn publish(&self) -> Result<HttpRequest, Failure> {
        let Some(project) = &self.project else {
            return Err(Failure::lasting("the option project is missing, and the key names none"));
        };
        let path = format!("v1/projects/{}/topics/{}:publish", super::escaped(project), super::escaped(&self.topic));
        let request = HttpRequest::json(joined(&self.endpoint, &path), &self.message).insecure(self.insecure);
        Ok(match self.token.value() {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        })
    }
}

impl Conversation for PubSub {
    fn begin(&mut self) -> Result<Turn, Failure> {
        self.next()
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        match self.asked {
            Asked::Key => {
                let key = ServiceAccount::read(&response.body);
                let key = key.map_err(|error| Failure::lasting(format!("the file of the option keyFile {error}")))?;
                self.project = self.project.take().or_else(|| key.project.clone());
                self.key = Some(key);
                self.next()
            }
            Asked::Token => {
                ServiceAccount::hear(response, &mut self.token)?;
                self.next()
            }
            Asked::Publish if response.status == 401 && self.token.refused() => self.next(),
            Asked::Publish => {
                super::single::any_success(response)?;
                match response.json()["messageIds"].as_array() {
                    Some(ids) if !ids.is_empty() => Ok(Turn::Done(Vec::new())),
                    _ => Err(Failure::lasting("the answer of Pub/Sub names no message; is the option endpoint right?")),
                }
            }
        }
    }

    fn learned(&mut self) -> Vec<(String, String)> {
        self.token.learned()
    }
}
