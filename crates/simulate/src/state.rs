//! Where a Rollout stands, as every face of the product shows it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use tidegate_view::{Objects, RolloutInfo};

use crate::seen::Watched;

/// Pods of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pods {
    /// Ready ones.
    pub ready: i64,
    /// All.
    pub total: i64,
}

/// Where a Rollout stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub phase: String,
    pub message: String,
    /// `1/4`, or nothing.
    pub step: String,
    /// The share of traffic that the new version should have, in percent.
    pub weight: i64,
    pub old: Pods,
    pub new: Pods,
    pub waiting: Vec<String>,
    pub is_aborted: bool,
    /// Whether only a person ends the pause.
    pub waits_for_person: bool,
    /// Whether what is stable is what is wanted, and whether that is the old version.
    pub is_promoted: bool,
    pub is_old: bool,
}

const HASH: &str = "/metadata/labels/rollouts-pod-template-hash";

/// Where a Rollout stands whose old version has this hash.
pub(crate) fn state(watched: &Watched, old: &str) -> State {
    let Some(rollout) = watched.rollout.as_deref() else {
        return State { phase: "Gone".to_owned(), ..State::default() };
    };
    let objects = Objects {
        rollout: typed(rollout).unwrap_or_default(),
        replica_sets: watched.sets.values().filter_map(|set| typed(set)).collect(),
        experiments: all(watched.experiments.values()),
        analysis_runs: all(watched.runs.values()),
        ..Objects::default()
    };
    let info = RolloutInfo::new(&objects);
    let text = |pointer: &str| rollout.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (current, stable) = (text("/status/currentPodHash"), text("/status/stableRS"));
    let is_aborted = rollout.pointer("/status/abort") == Some(&Value::Bool(true));
    let is_old = current == old;
    let (mut before, mut after) = (Pods::default(), Pods::default());
    for set in watched.sets.values() {
        let count = |field: &str| set.pointer(&format!("/status/{field}")).and_then(Value::as_i64).unwrap_or(0);
        let is_before = set.pointer(HASH).and_then(Value::as_str) == Some(old);
        let pods = if is_before { &mut before } else { &mut after };
        pods.ready += count("readyReplicas");
        pods.total += count("replicas");
    }
    let weight = match info.strategy {
        "BlueGreen" => i64::from(text("/status/blueGreen/activeSelector") != old) * 100,
        _ if is_old || is_aborted => 0,
        _ => info.set_weight.parse().unwrap_or(0),
    };
    State {
        waits_for_person: info
            .waiting_for
            .iter()
            .any(|what| what.starts_with("someone to promote") || what.starts_with("spec.paused to become false")),
        is_promoted: !stable.is_empty() && stable == current,
        // The steps of an update that is long over say nothing about the next.
        step: if is_old && info.status == "Healthy" { String::new() } else { info.step },
        phase: info.status,
        message: info.message,
        weight,
        old: before,
        new: after,
        waiting: info.waiting_for,
        is_aborted,
        is_old,
    }
}

fn typed<T: DeserializeOwned>(object: &Value) -> Option<T> {
    serde_json::from_value(object.clone()).ok()
}

fn all<'a, T: DeserializeOwned>(objects: impl Iterator<Item = &'a Arc<Value>>) -> Vec<T> {
    objects.filter_map(|object| typed(object)).collect()
}
