//! What has been written, kept as far as a run looks at it: objects of the mesh, and of each Rollout all that belongs to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tidegate_sim::journal::{Change, ObjectKey};
use tokio::sync::Notify;

/// Namespace and name.
pub(crate) type Name = (String, String);

/// What a mesh is made of, by resource.
const OF_MESH: [&str; 6] = [
    "virtualservices.networking.istio.io",
    "destinationrules.networking.istio.io",
    "gateways.networking.istio.io",
    "services",
    "endpointslices.discovery.k8s.io",
    "pods",
];
/// Events that are kept between two looks; more come only from something that runs in circles.
const MOST_EVENTS: usize = 20_000;

/// An event of the controller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SeenEvent {
    /// Since the start of the world.
    pub at: Duration,
    pub rollout: Name,
    pub warning: bool,
    pub reason: String,
    pub message: String,
}

/// A Rollout and what belongs to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub rollout: Option<Arc<Value>>,
    pub sets: BTreeMap<String, Arc<Value>>,
    pub runs: BTreeMap<String, Arc<Value>>,
    pub experiments: BTreeMap<String, Arc<Value>>,
    /// Whether anything of it changed since the last look.
    pub is_changed: bool,
    /// The most pods it had at once.
    pub peak: i64,
}

/// Everything that is looked at.
#[derive(Default)]
pub(crate) struct Inner {
    pub mesh: BTreeMap<ObjectKey, Arc<Value>>,
    pub rollouts: BTreeMap<Name, Watched>,
    pub events: Vec<SeenEvent>,
    /// How often each Event was told.
    counts: BTreeMap<Name, i64>,
    /// AnalysisRuns and Experiments, by the Rollout they belong to.
    owners: BTreeMap<(String, String, String), Name>,
    /// Whether routes are made of what Rollouts report.
    pub follows_rollouts: bool,
    /// Hashes of the versions there were before the update.
    pub old: BTreeSet<String>,
}

/// Sees every write.
#[derive(Default)]
pub(crate) struct Seen {
    inner: Mutex<Inner>,
    /// The mesh has something to learn.
    pub mesh_changed: Notify,
    /// Something that the timeline may tell.
    pub told: Notify,
}

impl Seen {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // Each write is taken in whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a write.
    pub(crate) fn take_in(&self, change: &Change) {
        let resource = change.key.0.as_str();
        let mut inner = self.lock();
        if OF_MESH.contains(&resource) {
            if change.removed {
                inner.mesh.remove(&change.key);
            } else {
                inner.mesh.insert(change.key.clone(), Arc::clone(&change.new));
            }
            self.mesh_changed.notify_one();
        }
        if inner.follows_rollouts && resource == "rollouts.argoproj.io" {
            self.mesh_changed.notify_one();
        }
        let is_told = match resource {
            "rollouts.argoproj.io" => inner.take_rollout(change),
            "replicasets.apps" | "analysisruns.argoproj.io" | "experiments.argoproj.io" => inner.take_child(change),
            "events" => inner.take_event(change),
            _ => false,
        };
        if is_told {
            self.told.notify_one();
        }
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Inner {
    fn take_rollout(&mut self, change: &Change) -> bool {
        let watched = self.rollouts.entry((change.key.1.clone(), change.key.2.clone())).or_default();
        watched.rollout = (!change.removed).then(|| Arc::clone(&change.new));
        watched.is_changed = true;
        true
    }

    fn take_child(&mut self, change: &Change) -> bool {
        let (resource, namespace, name) = &change.key;
        let owner = change.new.pointer("/metadata/ownerReferences/0");
        let Some(owner) = owner.filter(|owner| owner["kind"] == "Rollout" || owner["kind"] == "Experiment") else {
            return false;
        };
        let (kind, called) = (text(owner, "/kind"), text(owner, "/name").to_owned());
        let rollout = match kind {
            "Rollout" => Some((namespace.clone(), called)),
            _ => self.owners.get(&("experiments.argoproj.io".to_owned(), namespace.clone(), called)).cloned(),
        };
        let Some(rollout) = rollout else { return false };
        let watched = self.rollouts.entry(rollout.clone()).or_default();
        let kept = match resource.as_str() {
            "replicasets.apps" => &mut watched.sets,
            "analysisruns.argoproj.io" => &mut watched.runs,
            _ => &mut watched.experiments,
        };
        // What analyses found is told even when they are gone.
        if change.removed && resource == "replicasets.apps" {
            kept.remove(name);
        } else {
            kept.insert(name.clone(), Arc::clone(&change.new));
        }
        watched.is_changed = true;
        let pods =
            watched.sets.values().map(|set| set.pointer("/status/replicas").and_then(Value::as_i64).unwrap_or(0));
        watched.peak = watched.peak.max(pods.sum());
        if resource != "replicasets.apps" {
            self.owners.insert((resource.clone(), namespace.clone(), name.clone()), rollout);
        }
        true
    }

    fn take_event(&mut self, change: &Change) -> bool {
        let event = &change.new;
        let count = event["count"].as_i64().unwrap_or(1);
        let key = (change.key.1.clone(), change.key.2.clone());
        if change.removed || self.counts.get(&key).is_some_and(|known| *known >= count) {
            return false;
        }
        self.counts.insert(key, count);
        let namespace = text(event, "/involvedObject/namespace").to_owned();
        let name = text(event, "/involvedObject/name").to_owned();
        let rollout = match text(event, "/involvedObject/kind") {
            "Rollout" => Some((namespace, name)),
            "AnalysisRun" => self.owners.get(&("analysisruns.argoproj.io".to_owned(), namespace, name)).cloned(),
            "Experiment" => self.owners.get(&("experiments.argoproj.io".to_owned(), namespace, name)).cloned(),
            _ => None,
        };
        let Some(rollout) = rollout.filter(|_| self.events.len() < MOST_EVENTS) else { return false };
        self.events.push(SeenEvent {
            at: change.at,
            rollout,
            warning: event["type"] == "Warning",
            reason: text(event, "/reason").to_owned(),
            message: text(event, "/message").to_owned(),
        });
        true
    }
}
