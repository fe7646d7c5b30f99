//! Rules for workloads and what governs them.

use serde_json::{Value, json};

use super::pod;
use crate::object::{at, number, text};
use crate::selector::LabelSelector;
use crate::status::Cause;

fn non_negative(object: &Value, path: &[&str], causes: &mut Vec<Cause>) {
    if let Some(value) = number(object, path).filter(|n| *n < 0) {
        causes.push(Cause::invalid(path.join("."), &json!(value), "must be greater than or equal to 0"));
    }
}

/// Deployments, replica sets, stateful sets, daemon sets.
pub(super) fn workload(kind: &str, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    non_negative(object, &["spec", "replicas"], &mut causes);
    check_selector(object, kind, &mut causes);
    pod::spec(object, &["spec", "template", "spec"], "spec.template.spec", &mut causes);
    let policy = text(object, &["spec", "template", "spec", "restartPolicy"]);
    if matches!(policy, "OnFailure" | "Never") {
        let field = "spec.template.spec.restartPolicy";
        causes.push(Cause::unsupported(field, &json!(policy), &["Always"]));
    }
    if kind == "Deployment" {
        check_strategy(object, &mut causes);
    }
    non_negative(object, &["spec", "minReadySeconds"], &mut causes);
    non_negative(object, &["spec", "revisionHistoryLimit"], &mut causes);
    if let Some(old) = old {
        immutable(object, old, &["spec", "selector"], &mut causes);
        if kind == "StatefulSet" {
            stateful_set_update(object, old, &mut causes);
        }
    }
    causes
}

fn check_strategy(object: &Value, causes: &mut Vec<Cause>) {
    let kind = text(object, &["spec", "strategy", "type"]);
    if matches!(kind, "Recreate" | "RollingUpdate") {
        return;
    }
    // The real server prints its internal struct here.
    let message = format!(
        "Unsupported value: {{\"Type\":{kind:?},\"RollingUpdate\":null}}: supported values: \"Recreate\", \"RollingUpdate\""
    );
    let field = "spec.strategy".to_owned();
    causes.push(Cause { reason: "FieldValueNotSupported".to_owned(), message, field });
}

fn check_selector(object: &Value, kind: &str, causes: &mut Vec<Cause>) {
    let selector = at(object, &["spec", "selector"]);
    let is_empty = selector.is_some_and(|s| LabelSelector::of_object(s).is_empty());
    match selector {
        None => causes.push(Cause::required("spec.selector", "")),
        Some(shown) if is_empty => {
            let word = match kind {
                "StatefulSet" => "statefulset",
                "DaemonSet" => "daemonset",
                _ => "deployment",
            };
            let text = format!("empty selector is invalid for {word}");
            causes.push(Cause::invalid("spec.selector", shown, &text));
            return;
        }
        Some(_) => {}
    }
    let labels = at(object, &["spec", "template", "metadata", "labels"]);
    let matches = selector.is_some_and(|s| LabelSelector::of_object(s).matches_labels(labels));
    if !matches {
        let shown = labels.unwrap_or(&Value::Null);
        let text = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", shown, text));
    }
}

fn immutable(object: &Value, old: &Value, path: &[&str], causes: &mut Vec<Cause>) {
    let (now, before) = (at(object, path), at(old, path));
    if now != before {
        causes.push(Cause::invalid(path.join("."), now.unwrap_or(&Value::Null), "field is immutable"));
    }
}

fn stateful_set_update(object: &Value, old: &Value, causes: &mut Vec<Cause>) {
    const ALLOWED: [&str; 8] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
        "selector",
    ];
    let frozen = |set: &Value| {
        let mut spec = set.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
        spec.retain(|field, _| !ALLOWED.contains(&field.as_str()));
        spec
    };
    if frozen(object) != frozen(old) {
        let text = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
            'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
            forbidden";
        causes.push(Cause::forbidden("spec", text));
    }
}

/// Jobs.
pub(super) fn job(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"] {
        non_negative(object, &["spec", field], &mut causes);
    }
    pod::spec(object, &["spec", "template", "spec"], "spec.template.spec", &mut causes);
    let policy = text(object, &["spec", "template", "spec", "restartPolicy"]);
    if policy == "Always" {
        let message = "Required value: valid values: \"OnFailure\", \"Never\"".to_owned();
        let field = "spec.template.spec.restartPolicy".to_owned();
        causes.push(Cause { reason: "FieldValueRequired".to_owned(), message, field });
    }
    if let Some(old) = old {
        for field in ["completions", "selector", "template", "completionMode"] {
            let suspended = old.get("spec").and_then(|s| s.get("suspend")) == Some(&Value::Bool(true));
            if !(field == "template" && suspended) {
                immutable(object, old, &["spec", field], &mut causes);
            }
        }
    }
    causes
}

/// Horizontal pod autoscalers.
pub(super) fn autoscaler(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let least = number(object, &["spec", "minReplicas"]).unwrap_or(1);
    let most = number(object, &["spec", "maxReplicas"]).unwrap_or(0);
    if least < 1 {
        causes.push(Cause::invalid("spec.minReplicas", &json!(least), "must be greater than or equal to 1"));
    }
    if most < 1 {
        causes.push(Cause::required("spec.maxReplicas", "must be set and greater than 0"));
    }
    if most < least {
        let text = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &json!(most), text));
    }
    for part in ["kind", "name"] {
        if text(object, &["spec", "scaleTargetRef", part]).is_empty() {
            causes.push(Cause::required(format!("spec.scaleTargetRef.{part}"), ""));
        }
    }
    if text(object, &["spec", "scaleTargetRef", "apiVersion"]).is_empty() {
        let field = "spec.scaleTargetRef.apiVersion";
        causes.push(Cause::invalid(field, &json!(""), "apiVersion must specify API group"));
    }
    causes
}

/// Pod disruption budgets.
pub(super) fn disruption_budget(object: &Value) -> Vec<Cause> {
    let spec = |field: &str| at(object, &["spec", field]).is_some_and(|v| !v.is_null());
    if spec("minAvailable") && spec("maxUnavailable") {
        // The real server prints its internal struct here.
        let part = |field: &str| at(object, &["spec", field]).cloned().unwrap_or_default().to_string();
        let message = format!(
            "Invalid value: {{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}: \
             minAvailable and maxUnavailable cannot be both set",
            part("minAvailable"),
            part("selector"),
            part("maxUnavailable"),
            part("unhealthyPodEvictionPolicy")
        );
        return vec![Cause { reason: "FieldValueInvalid".to_owned(), message, field: "spec".to_owned() }];
    }
    Vec::new()
}

/// Leases.
pub(super) fn lease(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(seconds) = number(object, &["spec", "leaseDurationSeconds"]).filter(|s| *s <= 0) {
        causes.push(Cause::invalid("spec.leaseDurationSeconds", &json!(seconds), "must be greater than 0"));
    }
    non_negative(object, &["spec", "leaseTransitions"], &mut causes);
    causes
}

/// Role bindings.
pub(super) fn role_binding(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if text(object, &["roleRef", "name"]).is_empty() {
        causes.push(Cause::required("roleRef.name", ""));
    }
    if old.is_some_and(|old| at(object, &["roleRef"]) != at(old, &["roleRef"])) {
        let shown = at(object, &["roleRef"]).cloned().unwrap_or_default();
        causes.push(Cause::invalid("roleRef", &shown, "cannot change roleRef"));
    }
    causes
}
