//! What may change in a pod that exists.

use serde_json::Value;

use super::rules::Findings;
use crate::object::{child_mut, list, map_mut, number, text};

const UPDATABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// What is wrong with the change from one pod to another.
pub(super) fn update(object: &Value, old: &Value, found: &mut Findings) {
    for kind in ["containers", "initContainers"] {
        if list(object, &["spec", kind]).len() != list(old, &["spec", kind]).len() {
            found.forbidden(format!("spec.{kind}"), "pod updates may not add or remove containers");
            return;
        }
    }
    deadline(object, old, found);
    let before = list(old, &["spec", "tolerations"]);
    let after = list(object, &["spec", "tolerations"]);
    if before.iter().any(|t| !after.iter().any(|a| same_toleration(a, t))) {
        found.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds");
    }
    // Most writes to a pod are of its status.
    if object.get("spec") != old.get("spec") && frozen(object) != frozen(old) {
        found.forbidden("spec", UPDATABLE);
    }
}

fn same_toleration(one: &Value, other: &Value) -> bool {
    ["key", "operator", "value", "effect"].iter().all(|part| text(one, &[part]) == text(other, &[part]))
}

/// A deadline can be set, or brought nearer.
fn deadline(object: &Value, old: &Value, found: &mut Findings) {
    let seconds = |pod: &Value| number(pod, &["spec", "activeDeadlineSeconds"]);
    let field = "spec.activeDeadlineSeconds";
    match (seconds(object), seconds(old)) {
        (Some(now), Some(before)) if now > before => {
            found.invalid(field, now, "must be less than or equal to previous value");
        }
        (None, Some(_)) => found.invalid(field, Value::Null, "must not update from a positive integer to nil value"),
        _ => {}
    }
}

/// The part of a spec that never changes. A gated pod may still be given a node, which binding does elsewhere.
fn frozen(pod: &Value) -> Value {
    let mut copy = pod.get("spec").cloned().unwrap_or_default();
    let map = map_mut(&mut copy);
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        map.remove(field);
    }
    for field in ["containers", "initContainers"] {
        if let Some(Value::Array(containers)) = child_mut(&mut copy, &[]).get_mut(field) {
            containers.iter_mut().for_each(|c| drop(map_mut(c).remove("image")));
        }
    }
    copy
}
