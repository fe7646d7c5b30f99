//! Delivery services: from options and a message to requests, each in a file of its own.

mod alertmanager;
mod awssqs;
mod email;
mod gcppubsub;
mod github;
mod googlechat;
mod grafana;
mod jwt;
mod mattermost;
mod nats;
mod newrelic;
mod opsgenie;
mod options;
mod pagerduty;
mod pagerdutyv2;
mod pushover;
mod rocketchat;
mod service_account;
mod single;
mod slack;
mod teams;
mod teams_workflows;
mod telegram;
mod token;
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
    /// What else can be said of the options before anything is sent.
    examine: fn(&Options) -> Result<(), String>,
    open: fn(&Delivery<'_>) -> Opened,
}

impl Kind {
    /// A type that can work when it has its options.
    const fn plain(name: &'static str, required: &'static [&'static str], open: fn(&Delivery<'_>) -> Opened) -> Self {
        Self { name, required, examine: |_| Ok(()), open }
    }
}

const KINDS: [Kind; 21] = [
    Kind::plain("alertmanager", &["targets"], alertmanager::open),
    Kind::plain("awssqs", &["region", "key", "secret"], awssqs::open),
    Kind::plain("email", &["host", "from"], email::open),
    Kind { name: "gcppubsub", required: &[], examine: gcppubsub::examine, open: gcppubsub::open },
    Kind {
        name: "github",
        required: &["appID", "installationID", "privateKey"],
        examine: github::examine,
        open: github::open,
    },
    Kind::plain("googlechat", &["webhooks"], googlechat::open),
    Kind::plain("grafana", &["apiUrl", "apiKey"], grafana::open),
    Kind::plain("mattermost", &["apiURL", "token"], mattermost::open),
    Kind { name: "nats", required: &["url"], examine: nats::examine, open: nats::open },
    Kind::plain("newrelic", &["apiKey"], newrelic::open),
    Kind::plain("opsgenie", &["apiUrl", "apiKeys"], opsgenie::open),
    Kind::plain("pagerduty", &["token"], pagerduty::open),
    Kind::plain("pagerdutyv2", &["serviceKeys"], pagerdutyv2::open),
    Kind::plain("pushover", &["token"], pushover::open),
    Kind::plain("rocketchat", &["email", "password", "serverUrl"], rocketchat::open),
    Kind::plain("slack", &["token"], slack::open),
    Kind::plain("teams", &["recipientUrls"], teams::open),
    Kind::plain("teams-workflows", &["recipientUrls"], teams_workflows::open),
    Kind::plain("telegram", &["token"], telegram::open),
    Kind::plain("webex", &["token"], webex::open),
    Kind::plain("webhook", &["url"], webhook::open),
];

impl Service {
    /// Reads a service. An unknown type is an error of this entry only.
    pub(crate) fn read(kind: &str, name: &str, options: Json) -> Result<Self, String> {
        let Some(known) = KINDS.iter().find(|known| known.name == kind) else {
            return Err(format!("service type '{kind}' is not supported"));
        };
        let options = Options::read(options)?;
        if let Some(field) = known.required.iter().find(|field| !options.has(field)) {
            return Err(format!("the option {field} is missing"));
        }
        (known.examine)(&options)?;
        Ok(Self { kind: kind.to_owned(), name: name.to_owned(), options })
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

/// Text of a path or query of an address.
fn escaped(text: &str) -> String {
    let sign = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(sign).collect()
}

/// An address and a path with one slash between them.
fn joined(base: &str, path: &str) -> String {
    format!("{}/{}", base.trim_end_matches('/'), path.trim_start_matches('/'))
}
