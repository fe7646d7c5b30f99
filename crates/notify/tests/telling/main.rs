//! Who is told what and when: configuration, subscriptions, events, states.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod configuration;
mod events;
mod hostile;
mod states;
mod subscriptions;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tidegate_expr::Value;
use tidegate_notify::{Config, Subject};

fn texts(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn secrets(entries: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
}

fn config(entries: &[(&str, &str)]) -> Config {
    let config = Config::read(&texts(entries), &BTreeMap::new());
    assert_eq!(config.problems, [], "the configuration of a test is good");
    config
}

fn now() -> Timestamp {
    at(0)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_772_366_400 + seconds).unwrap()
}

fn rollout(phase: &str) -> Json {
    json!({
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"replicas": 3, "strategy": {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}]}}},
        "status": {"phase": phase, "currentPodHash": "5f6", "currentStepIndex": 0},
    })
}

fn variables(object: &Json) -> BTreeMap<String, Value> {
    tidegate_notify::variables(object, None, &BTreeMap::new())
}

struct Annotated {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl Annotated {
    fn subject(&self) -> Subject<'_> {
        Subject { labels: &self.labels, annotations: &self.annotations }
    }
}

/// An object with the label `app: web` and subscriptions `trigger.service` to recipients.
fn subscribed(subscriptions: &[(&str, &str)]) -> Annotated {
    let key = |name: &str| format!("notifications.argoproj.io/subscribe.{name}");
    let annotations = subscriptions.iter().map(|(name, value)| (key(name), (*value).to_owned())).collect();
    Annotated { labels: texts(&[("app", "web")]), annotations }
}
