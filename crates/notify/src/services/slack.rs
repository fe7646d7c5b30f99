//! Slack: `chat.postMessage` and `chat.update`.
//!
//! Documentation: <https://api.slack.com/methods/chat.postMessage>, <https://api.slack.com/methods/chat.update>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, joined};
use crate::message::{Conversation, Failure, HttpRequest, Response, Turn};

/// What a message with a grouping key does with the first of its group.
#[derive(Clone, Copy, PartialEq)]
enum Policy {
    /// Later messages are replies.
    Post,
    /// Later messages are replies, and the first is updated.
    PostAndUpdate,
    /// Later messages replace the first.
    Update,
}

struct Slack {
    api: String,
    token: String,
    insecure: bool,
    fields: Map<String, Json>,
    policy: Policy,
    /// Where the thread is remembered; empty without a grouping key.
    memory_key: String,
    /// `channel ts` of the first message.
    thread: Option<(String, String)>,
    /// The request still to come.
    next: Option<HttpRequest>,
}

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let options = &delivery.service.options;
    let section = delivery.notification.section("slack");
    let mut fields = Map::new();
    fields.insert("channel".to_owned(), json!(delivery.recipient));
    fields.insert("text".to_owned(), json!(delivery.notification.message));
    for name in ["attachments", "blocks"] {
        if let Some(data) = delivery.notification.data("slack", name)? {
            fields.insert(name.to_owned(), data);
        }
    }
    let chosen =
        |name: &str| delivery.notification.text("slack", name).map(str::to_owned).or_else(|| options.some_text(name));
    if let Some(username) = chosen("username") {
        fields.insert("username".to_owned(), json!(username));
    }
    if let Some(icon) = chosen("icon") {
        let field = if icon.starts_with("http://") || icon.starts_with("https://") { "icon_url" } else { "icon_emoji" };
        fields.insert(field.to_owned(), json!(icon));
    }
    if options.flag("disableUnfurl") {
        fields.insert("unfurl_links".to_owned(), json!(false));
        fields.insert("unfurl_media".to_owned(), json!(false));
    }
    let grouping = delivery.notification.text("slack", "groupingKey");
    let memory_key = grouping.map(|key| format!("{}\n{}\n{key}", delivery.service.name, delivery.recipient));
    let thread = memory_key.as_ref().and_then(|key| delivery.memory.get(key)).and_then(|known| known.split_once(' '));
    let thread = thread.map(|(channel, ts)| (channel.to_owned(), ts.to_owned()));
    if section["notifyBroadcast"].as_bool() == Some(true) && thread.is_some() {
        fields.insert("reply_broadcast".to_owned(), json!(true));
    }
    Ok(Box::new(Slack {
        api: options.some_text("apiURL").unwrap_or_else(|| "https://slack.com/api".to_owned()),
        token: options.text("token"),
        insecure: options.flag("insecureSkipVerify"),
        fields,
        policy: match delivery.notification.text("slack", "deliveryPolicy") {
            None | Some("Post") => Policy::Post,
            Some("PostAndUpdate") => Policy::PostAndUpdate,
            Some("Update") => Policy::Update,
            Some(other) => {
                return Err(Failure::lasting(format!(
                    "slack.deliveryPolicy {other:?} is none of Post, PostAndUpdate, Update"
                )));
            }
        },
        memory_key: memory_key.unwrap_or_default(),
        thread,
        next: None,
    }))
}

impl Slack {
    fn request(&self, method: &str, fields: &Map<String, Json>) -> HttpRequest {
        HttpRequest::new("POST", joined(&self.api, method))
            .header("Content-Type", "application/json; charset=utf-8")
            .header("Authorization", format!("Bearer {}", self.token))
            .body(Json::Object(fields.clone()).to_string())
            .insecure(self.insecure)
    }

    fn update(&self, channel: &str, ts: &str) -> HttpRequest {
        let mut fields = self.fields.clone();
        fields.remove("reply_broadcast");
        fields.insert("channel".to_owned(), json!(channel));
        fields.insert("ts".to_owned(), json!(ts));
        self.request("chat.update", &fields)
    }
}

impl Conversation for Slack {
    fn begin(&mut self) -> Result<Turn, Failure> {
        let Some((channel, ts)) = self.thread.clone() else {
            return Ok(Turn::Ask(self.request("chat.postMessage", &self.fields)));
        };
        if self.policy == Policy::Update {
            return Ok(Turn::Ask(self.update(&channel, &ts)));
        }
        if self.policy == Policy::PostAndUpdate {
            self.next = Some(self.update(&channel, &ts));
        }
        let mut fields = self.fields.clone();
        fields.insert("thread_ts".to_owned(), json!(ts));
        Ok(Turn::Ask(self.request("chat.postMessage", &fields)))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        let answer = response.json();
        if answer["ok"].as_bool() != Some(true) {
            let error = answer["error"].as_str().map_or_else(|| response.text(), str::to_owned);
            let may_pass = !response.is_success() || error == "ratelimited" || error == "internal_error";
            let text = format!("slack answered with status {}: {error}", response.status);
            return Err(if may_pass {
                Failure::of_status(response.status.max(429), text)
            } else {
                Failure::lasting(text)
            });
        }
        if let Some(next) = self.next.take() {
            return Ok(Turn::Ask(next));
        }
        let remembered = match (answer["channel"].as_str(), answer["ts"].as_str()) {
            (Some(channel), Some(ts)) if self.thread.is_none() && !self.memory_key.is_empty() => {
                vec![(self.memory_key.clone(), format!("{channel} {ts}"))]
            }
            _ => Vec::new(),
        };
        Ok(Turn::Done(remembered))
    }
}
