//! Rules for deployments, replica sets, stateful sets and daemon sets.

use serde_json::{Value, json};

use super::pod;
use super::rules::Findings;
use crate::object::{at, number, text};
use crate::selector::LabelSelector;

/// A workload of this kind.
pub(super) fn workload(kind: &str, object: &Value, old: Option<&Value>, found: &mut Findings) {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    found.not_negative(spec, "spec", &["replicas", "minReadySeconds"]);
    selector(object, kind, found);
    // What is stored has been found right, so a template that stays as it is needs no other look.
    let template = |object| at(object, &["spec", "template"]);
    if old.is_none_or(|old| template(old) != template(object)) {
        pod::template(object, found);
    }
    let policy = text(object, &["spec", "template", "spec", "restartPolicy"]);
    found.choice("spec.template.spec.restartPolicy", policy, &["Always"]);
    if at(object, &["spec", "template", "spec", "activeDeadlineSeconds"]).is_some() {
        // A deployment is refused in the words of the sets it makes.
        let named = if kind == "Deployment" { "ReplicaSet" } else { kind };
        let why = format!("activeDeadlineSeconds in {named} is not Supported");
        found.forbidden("spec.template.spec.activeDeadlineSeconds", &why);
    }
    match kind {
        "Deployment" => deployment(spec, found),
        "StatefulSet" => stateful_set(spec, found),
        _ => {}
    }
    if let Some(old) = old {
        match kind {
            "StatefulSet" => stateful_set_update(object, old, found),
            _ => immutable(object, old, &["spec", "selector"], found),
        }
    }
    status(kind, object, found);
}

fn deployment(spec: &Value, found: &mut Findings) {
    found.not_negative(spec, "spec", &["revisionHistoryLimit", "progressDeadlineSeconds"]);
    let ready = number(spec, &["minReadySeconds"]).unwrap_or(0);
    if let Some(deadline) = number(spec, &["progressDeadlineSeconds"]).filter(|d| *d <= ready) {
        found.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
    }
    let rolling = at(spec, &["strategy", "rollingUpdate"]);
    match text(spec, &["strategy", "type"]) {
        "Recreate" => {
            if rolling.is_some() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                found.forbidden("spec.strategy.rollingUpdate", why);
            }
        }
        "RollingUpdate" => rolling_update(rolling.unwrap_or(&json!({})), found),
        // The real server prints its internal structure here, in the order of its fields.
        other => {
            let part = |name: &str| rolling.and_then(|r| r.get(name)).cloned().unwrap_or(json!(0));
            let rolling = rolling.map_or("null".to_owned(), |_| {
                format!("{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}", part("maxUnavailable"), part("maxSurge"))
            });
            let shown = format!("{{\"Type\":{other:?},\"RollingUpdate\":{rolling}}}");
            let message = format!("Unsupported value: {shown}: supported values: \"Recreate\", \"RollingUpdate\"");
            let (reason, field) = ("FieldValueNotSupported".to_owned(), "spec.strategy".to_owned());
            found.0.push(crate::status::Cause { reason, message, field });
        }
    }
}

fn rolling_update(rolling: &Value, found: &mut Findings) {
    let zero = json!(0);
    let part = |name: &str| rolling.get(name).unwrap_or(&zero);
    for name in ["maxUnavailable", "maxSurge"] {
        found.count_or_percent(&format!("spec.strategy.rollingUpdate.{name}"), part(name));
    }
    let field = "spec.strategy.rollingUpdate.maxUnavailable";
    let is_zero = |value: &Value| *value == json!(0) || *value == json!("0%");
    if is_zero(part("maxUnavailable")) && is_zero(part("maxSurge")) {
        found.invalid(field, part("maxUnavailable").clone(), "may not be 0 when `maxSurge` is 0");
    }
    found.at_most_all(field, part("maxUnavailable"));
}

fn stateful_set(spec: &Value, found: &mut Findings) {
    let policy = text(spec, &["podManagementPolicy"]);
    if !matches!(policy, "OrderedReady" | "Parallel") {
        found.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'");
    }
    let service = text(spec, &["serviceName"]);
    if !service.is_empty() {
        found.label("spec.serviceName", service);
    }
    let rolling = at(spec, &["updateStrategy", "rollingUpdate"]);
    let shown = |rolling: Option<&Value>| {
        rolling.map_or("null".to_owned(), |r| {
            let part = |name: &str, absent: Value| r.get(name).cloned().unwrap_or(absent);
            let (partition, most) = (part("partition", json!(0)), part("maxUnavailable", Value::Null));
            format!("{{\"Partition\":{partition},\"MaxUnavailable\":{most}}}")
        })
    };
    match text(spec, &["updateStrategy", "type"]) {
        "RollingUpdate" => {
            let empty = json!({});
            let field = "spec.updateStrategy.rollingUpdate";
            found.not_negative(rolling.unwrap_or(&empty), field, &["partition"]);
        }
        "OnDelete" if rolling.is_some() => {
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            found.printed("spec.updateStrategy.rollingUpdate", &shown(rolling), why);
        }
        "OnDelete" => {}
        other => {
            let shown = format!("{{\"Type\":{other:?},\"RollingUpdate\":{}}}", shown(rolling));
            found.printed("spec.updateStrategy", &shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

fn selector(object: &Value, kind: &str, found: &mut Findings) {
    let Some(selector) = at(object, &["spec", "selector"]).filter(|s| !s.is_null()) else {
        found.required("spec.selector");
        return selector_matches_template(object, found);
    };
    if LabelSelector::of_object(selector).is_empty() {
        let word = match kind {
            "StatefulSet" => "statefulset",
            "DaemonSet" => "daemonset",
            _ => "deployment",
        };
        return found.invalid("spec.selector", selector.clone(), &format!("empty selector is invalid for {word}"));
    }
    if found.selector("spec.selector", selector) {
        selector_matches_template(object, found);
    } else {
        let why = if kind == "StatefulSet" { "" } else { "invalid label selector" };
        found.invalid("spec.selector", selector.clone(), why);
    }
}

/// A selector must find the pods that the template makes; an absent one finds none.
pub(super) fn selector_matches_template(object: &Value, found: &mut Findings) {
    let selector = at(object, &["spec", "selector"]).filter(|s| !s.is_null());
    let labels = at(object, &["spec", "template", "metadata", "labels"]);
    if !selector.is_some_and(|s| LabelSelector::of_object(s).matches_labels(labels)) {
        let shown = labels.cloned().unwrap_or_default();
        found.invalid("spec.template.metadata.labels", shown, "`selector` does not match template `labels`");
    }
}

/// A field that stays as it is.
pub(super) fn immutable(object: &Value, old: &Value, path: &[&str], found: &mut Findings) {
    let (now, before) = (at(object, path), at(old, path));
    if now != before {
        found.invalid(path.join("."), now.cloned().unwrap_or_default(), "field is immutable");
    }
}

fn stateful_set_update(object: &Value, old: &Value, found: &mut Findings) {
    const ALLOWED: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
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
        found.forbidden("spec", text);
    }
}

/// Counts of a status: none below zero, none above the whole.
fn status(kind: &str, object: &Value, found: &mut Findings) {
    let Some(status) = object.get("status") else { return };
    let parts: &[&str] = match kind {
        "Deployment" => &["updatedReplicas", "readyReplicas", "availableReplicas"],
        "ReplicaSet" => &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        "StatefulSet" => &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
        _ => return,
    };
    found.not_negative(status, "status", &["replicas"]);
    found.not_negative(status, "status", parts);
    found.not_negative(status, "status", &["unavailableReplicas", "observedGeneration", "collisionCount"]);
    let count = |name: &str| number(status, &[name]).unwrap_or(0);
    for part in parts {
        if count(part) > count("replicas") {
            found.invalid(format!("status.{part}"), count(part), "cannot be greater than status.replicas");
        }
    }
    if count("availableReplicas") > count("readyReplicas") {
        let named = if kind == "StatefulSet" { "status.readyReplicas" } else { "readyReplicas" };
        let why = format!("cannot be greater than {named}");
        found.invalid("status.availableReplicas", count("availableReplicas"), &why);
    }
}
