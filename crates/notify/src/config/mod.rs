//! Configuration: a ConfigMap and a Secret. A bad entry is left out and named; all others count.

mod secrets;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value as Json;
use tidegate_expr::Value;
use tidegate_manifest::read_value;

use crate::message::{Conversation, Failure, Memory, Notification};
use crate::selector::Selector;
use crate::services::{self, Service};
use crate::subscriptions::Destination;
use crate::template::{self, NotificationTemplate};
use crate::{Condition, Sending};

/// Something wrong with one entry of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{key}: {text}")]
pub struct Problem {
    /// The key of the ConfigMap.
    pub key: String,
    /// What is wrong.
    pub text: String,
}

/// A subscription that looks at labels instead of annotations.
#[derive(Clone, Debug)]
pub struct GlobalSubscription {
    /// Who is told.
    pub destinations: Vec<Destination>,
    /// Of what; empty for the default triggers.
    pub triggers: Vec<String>,
    /// About which objects.
    pub selector: Selector,
}

/// A configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Services by name.
    pub services: BTreeMap<String, Service>,
    /// Templates by name.
    pub templates: BTreeMap<String, NotificationTemplate>,
    /// Triggers by name.
    pub triggers: BTreeMap<String, Vec<Condition>>,
    /// Subscriptions for all objects.
    pub subscriptions: Vec<GlobalSubscription>,
    /// Triggers of subscriptions that name none.
    pub default_triggers: Vec<String>,
    /// The same for single services.
    pub service_default_triggers: BTreeMap<String, Vec<String>>,
    /// The Secret.
    pub secrets: BTreeMap<String, Vec<u8>>,
    /// What is wrong with single entries.
    pub problems: Vec<Problem>,
    /// Whether options may name files of the machine that sends. Those of tenants may not: the files are not theirs.
    pub may_read_files: bool,
}

impl Config {
    /// Reads a configuration.
    pub fn read(entries: &BTreeMap<String, String>, secrets: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut config = Self { secrets: secrets.clone(), ..Self::default() };
        for (key, text) in entries {
            if let Err(text) = config.entry(key, text) {
                let text = config.redact(&text);
                config.problems.push(Problem { key: key.clone(), text });
            }
        }
        config
    }

    /// With the right to name files.
    #[must_use]
    pub fn with_files(mut self) -> Self {
        self.may_read_files = true;
        self
    }

    fn entry(&mut self, key: &str, text: &str) -> Result<(), String> {
        if let Some(name) = key.strip_prefix("template.") {
            let template = NotificationTemplate::read(name, read_value(text)?)?;
            self.templates.insert(name.to_owned(), template);
        } else if let Some(name) = key.strip_prefix("trigger.") {
            let Json::Array(entries) = list(text)? else { return Err("must be a list of conditions".to_owned()) };
            let conditions = entries.iter().map(Condition::read).collect::<Result<_, _>>()?;
            self.triggers.insert(name.to_owned(), conditions);
        } else if key.starts_with("service.") {
            self.service(key, text)?;
        } else if key == "subscriptions" {
            self.subscriptions(key, text)?;
        } else if key == "defaultTriggers" {
            self.default_triggers = names(text)?;
        } else if let Some(service) = key.strip_prefix("defaultTriggers.") {
            self.service_default_triggers.insert(service.to_owned(), names(text)?);
        }
        // Other keys are other people's, such as `context`.
        Ok(())
    }

    fn service(&mut self, key: &str, text: &str) -> Result<(), String> {
        let parts: Vec<&str> = key.split('.').collect();
        let (kind, name) = match parts[..] {
            [_, kind] => (kind, kind),
            [_, kind, name] => (kind, name),
            _ => {
                return Err(format!("invalid service key; expected 'service.<type>(.<name>)' but got '{key}'"));
            }
        };
        let mut options = read_value(text)?;
        for missing in secrets::fill(&mut options, &self.secrets) {
            let text = format!("config referenced '{missing}', but key does not exist in secret");
            self.problems.push(Problem { key: key.to_owned(), text });
        }
        let service = Service::read(kind, name, options)?;
        self.services.insert(name.to_owned(), service);
        Ok(())
    }

    /// Entries are judged one by one, too.
    fn subscriptions(&mut self, key: &str, text: &str) -> Result<(), String> {
        let Json::Array(entries) = list(text)? else { return Err("must be a list of subscriptions".to_owned()) };
        for (index, entry) in entries.iter().enumerate() {
            match subscription(entry) {
                Ok(subscription) => self.subscriptions.push(subscription),
                Err(text) => self.problems.push(Problem { key: key.to_owned(), text: format!("[{index}]: {text}") }),
            }
        }
        Ok(())
    }

    /// A text without anything that the Secret holds.
    pub fn redact(&self, text: &str) -> String {
        secrets::redact(text, &self.secrets)
    }

    /// Writes a message. The first template that cannot be found or written is the failure.
    pub fn notification(
        &self,
        sending: &Sending,
        variables: &BTreeMap<String, Value>,
        now: Timestamp,
    ) -> Result<Notification, Failure> {
        let service = self.services.get(&sending.destination.service);
        let service_type = service.map_or(sending.destination.service.as_str(), |service| service.kind.as_str());
        let data = template::data(variables, service_type, &sending.destination.recipient);
        let mut notification = Notification::default();
        for name in &sending.templates {
            let Some(template) = self.templates.get(name) else {
                return Err(Failure::lasting(format!("template '{name}' is not supported")));
            };
            template.write(&mut notification, &data, now).map_err(|error| Failure::lasting(error.to_string()))?;
        }
        Ok(notification)
    }

    /// Opens the conversation that delivers a message.
    pub fn conversation(
        &self,
        notification: &Notification,
        destination: &Destination,
        memory: &Memory,
        now: Timestamp,
    ) -> Result<Box<dyn Conversation>, Failure> {
        let Some(service) = self.services.get(&destination.service) else {
            let name = &destination.service;
            return Err(Failure::lasting(format!("notification service '{name}' is not supported")));
        };
        services::open(service, notification, &destination.recipient, memory, now)
    }
}

/// A list; no text at all is an empty one.
fn list(text: &str) -> Result<Json, String> {
    Ok(match read_value(text)? {
        Json::Null => Json::Array(Vec::new()),
        value => value,
    })
}

fn names(text: &str) -> Result<Vec<String>, String> {
    let wrong = || "must be a list of trigger names".to_owned();
    let Json::Array(items) = list(text)? else { return Err(wrong()) };
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>().ok_or_else(wrong)
}

fn subscription(entry: &Json) -> Result<GlobalSubscription, String> {
    let texts = |name: &str| match &entry[name] {
        Json::Null => Ok(Vec::new()),
        Json::Array(items) => {
            let items = items.iter().map(|item| item.as_str().map(str::to_owned));
            items.collect::<Option<Vec<_>>>().ok_or_else(|| format!("{name} must be a list of texts"))
        }
        _ => Err(format!("{name} must be a list of texts")),
    };
    let destination = |text: &String| {
        let (service, recipient) = text.split_once(':').unwrap_or((text, ""));
        Destination { service: service.to_owned(), recipient: recipient.to_owned() }
    };
    let selector = match &entry["selector"] {
        Json::Null => Selector::default(),
        Json::String(text) => Selector::read(text)?,
        _ => return Err("selector must be text such as app=web".to_owned()),
    };
    let destinations = texts("recipients")?.iter().map(destination).collect();
    Ok(GlobalSubscription { destinations, triggers: texts("triggers")?, selector })
}
