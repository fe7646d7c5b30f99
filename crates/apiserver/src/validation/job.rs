//! Rules for jobs.

use serde_json::{Value, json};

use super::pod;
use super::rules::Findings;
use super::workload::{immutable, selector_matches_template};
use crate::object::{at, map_mut, number, text, uid};

/// Jobs.
pub(super) fn job(object: &Value, old: Option<&Value>, found: &mut Findings) {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let numbers = ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];
    found.not_negative(spec, "spec", &numbers);
    found.choice("spec.completionMode", text(spec, &["completionMode"]), &["NonIndexed", "Indexed"]);
    selector(object, found);
    pod::template(object, found);
    let policy = text(object, &["spec", "template", "spec", "restartPolicy"]);
    if matches!(policy, "Always" | "") {
        found.required_as("spec.template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\"");
    }
    if let Some(old) = old {
        for field in ["completions", "selector", "completionMode"] {
            immutable(object, old, &["spec", field], found);
        }
        template_update(object, old, found);
    }
    if let Some(status) = object.get("status") {
        found.not_negative(status, "status", &["active", "succeeded", "failed", "ready"]);
    }
}

fn selector(object: &Value, found: &mut Findings) {
    let Some(selector) = at(object, &["spec", "selector"]).filter(|s| !s.is_null()) else {
        found.required("spec.selector");
        selector_matches_template(object, found);
        return;
    };
    found.selector("spec.selector", selector);
    let manual = at(object, &["spec", "manualSelector"]) == Some(&Value::Bool(true));
    let own = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid(object)}});
    if !manual && *selector != own {
        found.invalid("spec.selector", selector.clone(), "`selector` not auto-generated");
    }
    selector_matches_template(object, found);
}

/// The template stays as it is, except that a suspended job that has not begun may still be told where to
/// run and with what.
fn template_update(object: &Value, old: &Value, found: &mut Findings) {
    let suspended = at(old, &["spec", "suspend"]) == Some(&Value::Bool(true));
    let started = at(old, &["status", "startTime"]).is_some_and(|time| !time.is_null());
    let runs = number(old, &["status", "active"]).unwrap_or(0) > 0;
    if !suspended || started || runs {
        return immutable(object, old, &["spec", "template"], found);
    }
    if fixed_part(object) != fixed_part(old) {
        immutable(object, old, &["spec", "template", "spec"], found);
    }
}

fn fixed_part(job: &Value) -> Value {
    let mut spec = at(job, &["spec", "template", "spec"]).cloned().unwrap_or_default();
    let map = map_mut(&mut spec);
    for field in ["nodeSelector", "affinity", "tolerations", "schedulingGates"] {
        map.remove(field);
    }
    for kind in ["containers", "initContainers"] {
        if let Some(Value::Array(containers)) = map.get_mut(kind) {
            containers.iter_mut().for_each(|container| drop(map_mut(container).remove("resources")));
        }
    }
    spec
}
