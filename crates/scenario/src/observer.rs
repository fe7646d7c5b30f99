//! Watches one namespace: the newest version of each object, and what was seen on the way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use kube::Client;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world;

pub(crate) const HASH_LABEL: &str = "rollouts-pod-template-hash";
pub(crate) const REVISION: &str = "rollout.argoproj.io/revision";

/// Kinds that a checkpoint may show.
const WATCHED: [&str; 10] = [
    "Rollout",
    "AnalysisRun",
    "Experiment",
    "VirtualService",
    "DestinationRule",
    "ReplicaSet",
    "Deployment",
    "Service",
    "Pod",
    "Event",
];

/// Something seen on the way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Row {
    StepIndex(String, Value),
    Phase(String, Value),
    Weights(String, Value),
    Event { about: String, severity: String, reason: String, message: String, component: String },
}

/// What is known.
#[derive(Default)]
pub(crate) struct Known {
    /// Objects by kind and name.
    pub objects: BTreeMap<&'static str, BTreeMap<String, Value>>,
    /// Placeholders by pod template hash.
    pub hashes: BTreeMap<String, String>,
    /// Rows since the last checkpoint.
    pub rows: Vec<Row>,
    /// How often anything changed.
    pub changes: u64,
    counts: BTreeMap<String, i64>,
}

/// Protocol, name and destinations of every route, in order.
fn weights(spec: &Value) -> Value {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut routes = Vec::new();
    for protocol in ["http", "tls", "tcp"] {
        for route in list(&spec[protocol]) {
            let destinations: Vec<Value> = list(&route["route"])
                .iter()
                .map(|entry| {
                    let to = &entry["destination"];
                    json!([text(&to["host"]), text(&to["subset"]), entry["weight"].as_i64().unwrap_or(0)])
                })
                .collect();
            routes.push(json!([protocol, text(&route["name"]), destinations]));
        }
    }
    routes.into()
}

/// Watches until it is dropped.
pub(crate) struct Observer {
    known: Arc<Mutex<Known>>,
    _tasks: JoinSet<()>,
}

impl Observer {
    pub(crate) fn new(client: &Client, namespace: &str) -> Self {
        let known: Arc<Mutex<Known>> = Arc::default();
        let mut tasks = JoinSet::new();
        for kind in WATCHED {
            let events = watcher(world::api(client, namespace, kind), watcher::Config::default());
            let known = Arc::clone(&known);
            tasks.spawn(async move {
                let mut events = std::pin::pin!(events);
                while let Some(event) = events.next().await {
                    let Ok(event) = event else { continue };
                    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                    match event {
                        Event::Apply(object) | Event::InitApply(object) => {
                            if let Ok(value) = serde_json::to_value(object) {
                                known.see(kind, value);
                            }
                        }
                        Event::Delete(object) => known.lose(kind, &object.metadata.name.unwrap_or_default()),
                        Event::Init | Event::InitDone => {}
                    }
                }
            });
        }
        Self { known, _tasks: tasks }
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Kind and name of the controller of an object.
pub(crate) fn owner(object: &Value) -> Option<(&str, &str)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    Some((text(&owner["kind"]), text(&owner["name"])))
}

impl Known {
    pub(crate) fn all(&self, kind: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.objects.get(kind).into_iter().flatten()
    }

    fn lose(&mut self, kind: &'static str, name: &str) {
        self.changes += 1;
        self.objects.entry(kind).or_default().remove(name);
    }

    fn see(&mut self, kind: &'static str, object: Value) {
        self.changes += 1;
        let name = text(&object["metadata"]["name"]).to_owned();
        match kind {
            "Rollout" => {
                let status = &object["status"];
                if !status["currentStepIndex"].is_null() {
                    self.rows.push(Row::StepIndex(name.clone(), status["currentStepIndex"].clone()));
                }
                if !text(&status["phase"]).is_empty() {
                    self.rows.push(Row::Phase(name.clone(), status["phase"].clone()));
                }
            }
            "VirtualService" => self.rows.push(Row::Weights(name.clone(), weights(&object["spec"]))),
            "ReplicaSet" => self.learn_hash(&object),
            "Event" => self.hear(&object),
            _ => {}
        }
        self.objects.entry(kind).or_default().insert(name, object);
    }

    fn learn_hash(&mut self, set: &Value) {
        let hash = text(&set["metadata"]["labels"][HASH_LABEL]);
        let annotations = &set["metadata"]["annotations"];
        match owner(set) {
            Some(("Rollout", _)) if !hash.is_empty() => {
                let revision = annotations[REVISION].as_str().unwrap_or("?");
                self.hashes.insert(hash.to_owned(), format!("<rev:{revision}>"));
            }
            Some(("Experiment", _)) if !hash.is_empty() => {
                let template = text(&annotations["experiment.argoproj.io/template-name"]);
                self.hashes.entry(hash.to_owned()).or_insert_with(|| format!("<template:{template}>"));
            }
            _ => {}
        }
    }

    fn hear(&mut self, event: &Value) {
        let about = &event["involvedObject"];
        if !matches!(text(&about["kind"]), "Rollout" | "AnalysisRun" | "Experiment") {
            return;
        }
        let uid = text(&event["metadata"]["uid"]).to_owned();
        let count = event["count"].as_i64().unwrap_or(1);
        if count <= self.counts.get(&uid).copied().unwrap_or(0) {
            return;
        }
        self.counts.insert(uid, count);
        self.rows.push(Row::Event {
            about: format!("{}/{}", text(&about["kind"]), text(&about["name"])),
            severity: text(&event["type"]).to_owned(),
            reason: text(&event["reason"]).to_owned(),
            message: text(&event["message"]).to_owned(),
            component: text(&event["source"]["component"]).to_owned(),
        });
    }
}
