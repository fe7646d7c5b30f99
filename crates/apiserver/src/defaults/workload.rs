//! Defaults of workloads and of what governs them.

use serde_json::{Map, Value, json};

use super::pod::spec as pod_spec;
use crate::object::{at, child_mut, default_to, name, uid};

const TEMPLATE: [&str; 3] = ["spec", "template", "spec"];

fn template(object: &mut Value) {
    pod_spec(object, &TEMPLATE);
}

pub(super) fn deployment(object: &mut Value) {
    template(object);
    let spec = child_mut(object, &["spec"]);
    default_to(spec, "replicas", 1);
    default_to(spec, "revisionHistoryLimit", 10);
    default_to(spec, "progressDeadlineSeconds", 600);
    let strategy = child_mut(object, &["spec", "strategy"]);
    default_to(strategy, "type", "RollingUpdate");
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        let rolling = child_mut(object, &["spec", "strategy", "rollingUpdate"]);
        default_to(rolling, "maxUnavailable", "25%");
        default_to(rolling, "maxSurge", "25%");
    }
}

pub(super) fn replica_set(object: &mut Value) {
    template(object);
    default_to(child_mut(object, &["spec"]), "replicas", 1);
}

pub(super) fn stateful_set(object: &mut Value) {
    template(object);
    let spec = child_mut(object, &["spec"]);
    default_to(spec, "replicas", 1);
    default_to(spec, "podManagementPolicy", "OrderedReady");
    default_to(spec, "revisionHistoryLimit", 10);
    let retention = json!({"whenDeleted": "Retain", "whenScaled": "Retain"});
    default_to(spec, "persistentVolumeClaimRetentionPolicy", retention);
    let strategy = child_mut(object, &["spec", "updateStrategy"]);
    default_to(strategy, "type", "RollingUpdate");
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        default_to(child_mut(object, &["spec", "updateStrategy", "rollingUpdate"]), "partition", 0);
    }
}

pub(super) fn daemon_set(object: &mut Value) {
    template(object);
    default_to(child_mut(object, &["spec"]), "revisionHistoryLimit", 10);
    let strategy = child_mut(object, &["spec", "updateStrategy"]);
    default_to(strategy, "type", "RollingUpdate");
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        let rolling = child_mut(object, &["spec", "updateStrategy", "rollingUpdate"]);
        default_to(rolling, "maxUnavailable", 1);
        default_to(rolling, "maxSurge", 0);
    }
}

pub(super) fn job(object: &mut Value, new: bool) {
    template(object);
    let spec = child_mut(object, &["spec"]);
    if spec.get("completions").is_none() && spec.get("parallelism").is_none() {
        default_to(spec, "completions", 1);
    }
    default_to(spec, "parallelism", 1);
    default_to(spec, "backoffLimit", 6);
    default_to(spec, "completionMode", "NonIndexed");
    default_to(spec, "suspend", false);
    default_to(spec, "manualSelector", false);
    let replacement = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    default_to(spec, "podReplacementPolicy", replacement);
    let manual = spec.get("manualSelector") == Some(&json!(true));
    if at(object, &["metadata", "labels"]).and_then(Value::as_object).is_none_or(Map::is_empty)
        && let Some(labels) = at(object, &["spec", "template", "metadata", "labels"]).cloned()
    {
        child_mut(object, &["metadata"]).insert("labels".to_owned(), labels);
    }
    if new && !manual {
        own_labels(object);
    }
}

/// A job selects its pods by its own uid.
fn own_labels(object: &mut Value) {
    let (uid, name) = (uid(object).to_owned(), name(object).to_owned());
    let labels = child_mut(object, &["spec", "template", "metadata", "labels"]);
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ] {
        labels.insert(key.to_owned(), json!(value));
    }
    let selected = child_mut(object, &["spec", "selector", "matchLabels"]);
    selected.insert("batch.kubernetes.io/controller-uid".to_owned(), json!(uid));
}

pub(super) fn autoscaler(object: &mut Value) {
    let spec = child_mut(object, &["spec"]);
    default_to(spec, "minReplicas", 1);
    let target = json!({"type": "Utilization", "averageUtilization": 80});
    default_to(spec, "metrics", json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]));
    if spec.get("behavior").is_some() {
        behaviour(object);
    }
}

/// Both sides of a behaviour get policies once one of them is described.
fn behaviour(object: &mut Value) {
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let up = child_mut(object, &["spec", "behavior", "scaleUp"]);
    default_to(up, "stabilizationWindowSeconds", 0);
    default_to(up, "selectPolicy", "Max");
    default_to(up, "policies", json!([{"type": "Pods", "value": 4, "periodSeconds": 15}, percent]));
    let down = child_mut(object, &["spec", "behavior", "scaleDown"]);
    default_to(down, "selectPolicy", "Max");
    default_to(down, "policies", json!([percent]));
}
