//! Rules for jobs.

use serde_json::{Value, json};

use super::pod;
use super::rules::Findings;
use super::workload::{immutable, selector_matches_template};
use crate::object::{at, text, uid};

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
        let suspended = old.get("spec").and_then(|s| s.get("suspend")) == Some(&Value::Bool(true));
        for field in ["completions", "selector", "template", "completionMode"] {
            if field != "template" || !only_scheduling_changed(object, old, suspended) {
                immutable(object, old, &["spec", field], found);
            }
        }
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

/// A suspended job may still be told where to run.
fn only_scheduling_changed(object: &Value, old: &Value, suspended: bool) -> bool {
    if !suspended {
        return false;
    }
    let rest = |job: &Value| {
        let mut template = at(job, &["spec", "template"]).cloned().unwrap_or_default();
        for path in [&["metadata"][..], &["spec"]] {
            let map = crate::object::child_mut(&mut template, path);
            for field in ["labels", "annotations", "nodeSelector", "affinity", "tolerations", "schedulingGates"] {
                map.remove(field);
            }
        }
        template
    };
    rest(object) == rest(old)
}
