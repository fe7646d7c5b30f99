//! Who is told about an object: annotations of the object and subscriptions of the configuration.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use tidegate_manifest::read_value;

use crate::Config;

const PREFIX: &str = "notifications.argoproj.io/";

/// Who is told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination {
    /// The service by its name in the configuration.
    pub service: String,
    /// The channel, address, key: what the service makes of it.
    pub recipient: String,
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.service, self.recipient)
    }
}

/// What subscriptions look at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Labels of the object.
    pub labels: &'a BTreeMap<String, String>,
    /// Annotations of the object.
    pub annotations: &'a BTreeMap<String, String>,
}

/// Destinations by trigger, as often as they are named: first those of the configuration, then those of the object.
pub fn destinations(config: &Config, subject: Subject<'_>) -> BTreeMap<String, Vec<Destination>> {
    let mut found: BTreeMap<String, Vec<Destination>> = BTreeMap::new();
    let mut add = |trigger: &str, destination: Destination| {
        found.entry(trigger.to_owned()).or_default().push(destination);
    };
    for subscription in config.subscriptions.iter().filter(|known| known.selector.matches(subject.labels)) {
        let triggers = match subscription.triggers.as_slice() {
            [] => &config.default_triggers,
            _ => &subscription.triggers,
        };
        for trigger in triggers {
            subscription.destinations.iter().for_each(|destination| add(trigger, destination.clone()));
        }
    }
    for (key, value) in subject.annotations {
        let Some(key) = key.strip_prefix(PREFIX) else { continue };
        if key == "subscriptions" {
            for (trigger, destination) in listed(config, value) {
                add(&trigger, destination);
            }
        } else if let Some(name) = key.strip_prefix("subscribe.") {
            for (trigger, destination) in named(config, name, value) {
                add(&trigger, destination);
            }
        }
    }
    found
}

/// The same without repetitions, in order.
pub(crate) fn without_repetitions(destinations: &[Destination]) -> Vec<Destination> {
    let mut seen = BTreeSet::new();
    destinations.iter().filter(|destination| seen.insert((*destination).clone())).cloned().collect()
}

fn default_triggers<'a>(config: &'a Config, service: &str) -> &'a [String] {
    config.service_default_triggers.get(service).unwrap_or(&config.default_triggers)
}

/// `subscribe.<trigger>.<service>` and `subscribe.<service>`.
fn named(config: &Config, name: &str, value: &str) -> Vec<(String, Destination)> {
    let parts: Vec<&str> = name.split('.').collect();
    let (triggers, service) = match parts[..] {
        [service] => (default_triggers(config, service).to_vec(), service),
        [trigger, service] => (vec![trigger.to_owned()], service),
        _ => return Vec::new(),
    };
    let recipients = recipients(value);
    let pairs = triggers.iter().flat_map(|trigger| recipients.iter().map(move |recipient| (trigger, recipient)));
    let destination = |recipient: &str| Destination { service: service.to_owned(), recipient: recipient.to_owned() };
    pairs.map(|(trigger, recipient)| (trigger.clone(), destination(recipient))).collect()
}

/// Recipients between semicolons; no text at all is one recipient without a name, as webhooks want it.
fn recipients(value: &str) -> Vec<&str> {
    if value.trim().is_empty() {
        return vec![""];
    }
    value.split(';').map(str::trim).filter(|recipient| !recipient.is_empty()).collect()
}

/// A list of `{trigger: [..], destinations: [{service, recipients: [..]}]}`. What does not fit is left out.
fn listed(config: &Config, text: &str) -> Vec<(String, Destination)> {
    let Ok(Json::Array(entries)) = read_value(text) else { return Vec::new() };
    let texts = |value: &Json| match value {
        Json::String(one) => vec![one.clone()],
        Json::Array(many) => many.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for entry in &entries {
        let triggers = texts(&entry["trigger"]);
        for place in entry["destinations"].as_array().into_iter().flatten() {
            let Some(service) = place["service"].as_str() else { continue };
            let recipients = match texts(&place["recipients"]) {
                none if none.is_empty() => vec![String::new()],
                some => some,
            };
            let triggers = if triggers.is_empty() { default_triggers(config, service) } else { &triggers };
            for trigger in triggers {
                for recipient in &recipients {
                    let (service, recipient) = (service.to_owned(), recipient.clone());
                    found.push((trigger.clone(), Destination { service, recipient }));
                }
            }
        }
    }
    found
}
