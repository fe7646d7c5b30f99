//! Rules for events and leases.

use serde_json::Value;

use super::names::qualified_name_problem;
use super::rules::Findings;
use crate::object::{at, namespace, number, text};

/// Events live in the namespace of what they are about; those with an exact time say more.
pub(super) fn event(object: &Value, found: &mut Findings) {
    let about = text(object, &["involvedObject", "namespace"]);
    let own = namespace(object);
    let fits = about == own || about.is_empty() && matches!(own, "default" | "kube-system");
    if !fits {
        found.invalid("involvedObject.namespace", about, "does not match event.namespace");
    }
    if at(object, &["eventTime"]).is_none_or(Value::is_null) {
        return;
    }
    let component = text(object, &["reportingComponent"]);
    if component.is_empty() {
        found.required("reportingComponent");
    }
    found.problems("reportingComponent", component, qualified_name_problem(component));
    for field in ["reportingInstance", "action", "reason"] {
        if text(object, &[field]).is_empty() {
            found.required(field);
        }
    }
}

/// Leases.
pub(super) fn lease(object: &Value, found: &mut Findings) {
    let Some(spec) = object.get("spec") else { return };
    if let Some(seconds) = number(spec, &["leaseDurationSeconds"]).filter(|s| *s <= 0) {
        found.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    found.not_negative(spec, "spec", &["leaseTransitions"]);
}
