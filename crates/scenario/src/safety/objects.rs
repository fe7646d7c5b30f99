//! Where things are written in objects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tidegate_sim::journal::Mirror;

pub(super) use crate::observer::{HASH_LABEL, owner, text};

pub(super) const NAMESPACE: &str = "default";
pub(super) const ROLLOUTS: &str = "rollouts.argoproj.io";
pub(super) const SETS: &str = "replicasets.apps";
pub(super) const SERVICES: &str = "services";

pub(super) fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

pub(super) fn uid(object: &Value) -> &str {
    text(&object["metadata"]["uid"])
}

pub(super) fn hash(set: &Value) -> &str {
    text(&set["metadata"]["labels"][HASH_LABEL])
}

/// The template a Service leads to, empty if any.
pub(super) fn selected(service: &Value) -> &str {
    text(&service["spec"]["selector"][HASH_LABEL])
}

pub(super) fn size(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

pub(super) fn available(set: &Value) -> i64 {
    set["status"]["availableReplicas"].as_i64().unwrap_or(0)
}

pub(super) fn is_leaving(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// The Rollout that controls an object.
pub(super) fn rollout_of<'a>(mirror: &'a Mirror, object: &Value) -> Option<&'a Arc<Value>> {
    let (kind, name) = owner(object)?;
    if kind == "Rollout" { mirror.get(ROLLOUTS, NAMESPACE, name) } else { None }
}

/// ReplicaSets of a Rollout.
pub(super) fn sets_of<'a>(mirror: &'a Mirror, rollout: &'a Value) -> impl Iterator<Item = &'a Arc<Value>> {
    mirror.of(SETS).filter(|set| owner(set) == Some(("Rollout", name(rollout))))
}

/// Values over time, as far back as somebody may still act on them.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<(Duration, i64)>);

impl History {
    pub(super) fn note(&mut self, at: Duration, value: i64, window: Duration) {
        if self.0.back().is_none_or(|(_, last)| *last != value) {
            self.0.push_back((at, value));
        }
        self.forget(at, window);
    }

    /// What was true before the window counts as long as nothing replaced it before the window began.
    fn forget(&mut self, at: Duration, window: Duration) {
        while self.0.get(1).is_some_and(|(then, _)| *then + window < at) {
            self.0.pop_front();
        }
    }

    pub(super) fn most(&mut self, at: Duration, window: Duration) -> i64 {
        self.forget(at, window);
        self.0.iter().map(|(_, value)| *value).max().unwrap_or(0)
    }

    pub(super) fn least(&mut self, at: Duration, window: Duration) -> i64 {
        self.forget(at, window);
        self.0.iter().map(|(_, value)| *value).min().unwrap_or(0)
    }
}
