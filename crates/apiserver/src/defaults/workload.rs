//! Defaults of workloads and of what governs them.

use serde_json::{Value, json};

use super::pod::spec as pod_spec;
use super::{each, show_null};
use crate::object::{at, child_mut, default_to, map_mut, name, text, uid};

const TEMPLATE: [&str; 3] = ["spec", "template", "spec"];

fn template(object: &mut Value) {
    child_mut(object, &["spec", "template", "metadata"]);
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
    child_mut(object, &["status"]);
    each(object, &["status"], "conditions", |condition| {
        show_null(map_mut(condition), &["lastUpdateTime", "lastTransitionTime"]);
    });
}

pub(super) fn replica_set(object: &mut Value) {
    template(object);
    default_to(child_mut(object, &["spec"]), "replicas", 1);
    default_to(child_mut(object, &["status"]), "replicas", 0);
    each(object, &["status"], "conditions", |condition| {
        show_null(map_mut(condition), &["lastTransitionTime"]);
    });
}

pub(super) fn stateful_set(object: &mut Value) {
    template(object);
    let spec = child_mut(object, &["spec"]);
    default_to(spec, "replicas", 1);
    default_to(spec, "serviceName", "");
    default_to(spec, "podManagementPolicy", "OrderedReady");
    default_to(spec, "revisionHistoryLimit", 10);
    let retention = json!({"whenDeleted": "Retain", "whenScaled": "Retain"});
    default_to(spec, "persistentVolumeClaimRetentionPolicy", retention);
    let strategy = child_mut(object, &["spec", "updateStrategy"]);
    default_to(strategy, "type", "RollingUpdate");
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        default_to(child_mut(object, &["spec", "updateStrategy", "rollingUpdate"]), "partition", 0);
    }
    let status = child_mut(object, &["status"]);
    default_to(status, "replicas", 0);
    default_to(status, "availableReplicas", 0);
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
    let status = child_mut(object, &["status"]);
    for field in ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"] {
        default_to(status, field, 0);
    }
}

pub(super) fn job(object: &mut Value) {
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
    if !manual {
        own_labels(object);
    }
    child_mut(object, &["status"]);
}

/// A job selects its pods by its own uid.
fn own_labels(object: &mut Value) {
    let (uid, name) = (uid(object).to_owned(), name(object).to_owned());
    for path in [&["spec", "template", "metadata", "labels"][..], &["metadata", "labels"]] {
        let already = at(object, path).is_some_and(|labels| text(labels, &["job-name"]) == name);
        if already && path[0] == "metadata" || at(object, path).and_then(|l| l.get("controller-uid")).is_some() {
            continue;
        }
        let labels = child_mut(object, path);
        labels.insert("batch.kubernetes.io/controller-uid".to_owned(), json!(uid));
        labels.insert("batch.kubernetes.io/job-name".to_owned(), json!(name));
        labels.insert("controller-uid".to_owned(), json!(uid));
        labels.insert("job-name".to_owned(), json!(name));
    }
    let spec = child_mut(object, &["spec"]);
    default_to(spec, "selector", json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
}

pub(super) fn disruption_budget(object: &mut Value) {
    let status = child_mut(object, &["status"]);
    for field in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        default_to(status, field, 0);
    }
}

pub(super) fn autoscaler(object: &mut Value) {
    let spec = child_mut(object, &["spec"]);
    default_to(spec, "minReplicas", 1);
    let target = json!({"type": "Utilization", "averageUtilization": 80});
    default_to(spec, "metrics", json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]));
    let status = child_mut(object, &["status"]);
    default_to(status, "desiredReplicas", 0);
    status.entry("currentMetrics").or_insert(Value::Null);
}
