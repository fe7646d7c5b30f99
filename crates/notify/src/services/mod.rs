//! Delivery services: from options and a message to requests, each in a file of its own.

mod alertmanager;
mod awssqs;
mod email;
mod googlechat;
mod grafana;
mod mattermost;
mod newrelic;
mod opsgenie;
mod options;
mod pagerduty;
mod pagerdutyv2;
mod pushover;
mod rocketchat;
mod single;
mod slack;
mod teams;
mod teams_workflows;
mod telegram;
mod webex;
mod webhook;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::message::{Conversation, Failure, Memory, Notification};

pub use options::Options;

/// A configured service.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its type, such as `slack`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its options.
    pub options: Options,
}

/// How often and how fast a failed delivery is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How often.
    pub most: u32,
    /// The first wait.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { most: 3, first_wait: Duration::from_secs(1), longest_wait: Duration::from_secs(5) }
    }
}

/// What a message is delivered with.
struct Delivery<'a> {
    service: &'a Service,
    notification: &'a Notification,
    recipient: &'a str,
    memory: &'a Memory,
    now: Timestamp,
}

type Opened = Result<Box<dyn Conversation>, Failure>;

/// A type of service.
struct Kind {
    name: &'static str,
    /// Options without which it cannot work.
    required: &'static [&'static str],
    open: fn(&Delivery<'_>) -> Opened,
}

const KINDS: [Kind; 18] = [
    Kind { name: "alertmanager", required: &["targets"], open: alertmanager::open },
    Kind { name: "awssqs", required: &["region", "key", "secret"], open: awssqs::open },
    Kind { name: "email", required: &["host", "from"], open: email::open },
    Kind { name: "googlechat", required: &["webhooks"], open: googlechat::open },
    Kind { name: "grafana", required: &["apiUrl", "apiKey"], open: grafana::open },
    Kind { name: "mattermost", required: &["apiURL", "token"], open: mattermost::open },
    Kind { name: "newrelic", required: &["apiKey"], open: newrelic::open },
    Kind { name: "opsgenie", required: &["apiUrl", "apiKeys"], open: opsgenie::open },
    Kind { name: "pagerduty", required: &["token"], open: pagerduty::open },
    Kind { name: "pagerdutyv2", required: &["serviceKeys"], open: pagerdutyv2::open },
    Kind { name: "pushover", required: &["token"], open: pushover::open },
    Kind { name: "rocketchat", required: &["email", "password", "serverUrl"], open: rocketchat::open },
    Kind { name: "slack", required: &["token"], open: slack::open },
    Kind { name: "teams", required: &["recipientUrls"], open: teams::open },
    Kind { name: "teams-workflows", required: &["recipientUrls"], open: teams_workflows::open },
    Kind { name: "telegram", required: &["token"], open: telegram::open },
    Kind { name: "webex", required: &["token"], open: webex::open },
    Kind { name: "webhook", required: &["url"], open: webhook::open },
];

impl Service {
    /// Reads a service. An unknown type is an error of this entry only.
    pub(crate) fn read(kind: &str, name: &str, options: Json) -> Result<Self, String> {
        let Some(known) = KINDS.iter().find(|known| known.name == kind) else {
            return Err(format!("service type '{kind}' is not supported"));
        };
        let options = Options::read(options)?;
        match known.required.iter().find(|field| !options.has(field)) {
            Some(field) => Err(format!("the option {field} is missing")),
            None => Ok(Self { kind: kind.to_owned(), name: name.to_owned(), options }),
        }
    }

    /// How often and how fast a failed delivery is tried again.
    pub fn retries(&self) -> Retries {
        let usual = Retries::default();
        let most = self.options.number("retryMax").and_then(|most| u32::try_from(most).ok());
        Retries {
            most: most.map_or(usual.most, |most| most.min(10)),
            first_wait: self.options.duration("retryWaitMin").unwrap_or(usual.first_wait),
            longest_wait: self.options.duration("retryWaitMax").unwrap_or(usual.longest_wait),
        }
    }
}

/// Opens the conversation that delivers a message.
pub(crate) fn open(
    service: &Service,
    notification: &Notification,
    recipient: &str,
    memory: &Memory,
    now: Timestamp,
) -> Opened {
    let Some(kind) = KINDS.iter().find(|known| known.name == service.kind) else {
        return Err(Failure::lasting(format!("service type '{}' is not supported", service.kind)));
    };
    (kind.open)(&Delivery { service, notification, recipient, memory, now })
}

/// An address and a path with one slash between them.
fn joined(base: &str, path: &str) -> String {
    format!("{}/{}", base.trim_end_matches('/'), path.trim_start_matches('/'))
}
