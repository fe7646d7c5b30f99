//! Rules for pods and pod templates.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::names::label_problems;
use crate::object::{at, child_mut, list, map_mut, text};
use crate::status::Cause;

const UPDATABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// What is wrong with a pod.
pub(super) fn pod(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    spec(object, &["spec"], "spec", &mut causes);
    if let Some(old) = old {
        if frozen(object) != frozen(old) {
            causes.push(Cause::forbidden("spec", UPDATABLE));
        }
        let before = list(old, &["spec", "tolerations"]);
        let after = list(object, &["spec", "tolerations"]);
        if before.iter().any(|t| !after.contains(t)) {
            let text = "existing toleration can not be modified except its tolerationSeconds";
            causes.push(Cause::forbidden("spec.tolerations", text));
        }
    }
    causes
}

/// The part of a spec that never changes. A gated pod may still be given a node, which binding does elsewhere.
fn frozen(pod: &Value) -> Value {
    let mut copy = pod.get("spec").cloned().unwrap_or_default();
    let map = map_mut(&mut copy);
    for field in ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"] {
        map.remove(field);
    }
    for field in ["containers", "initContainers"] {
        if let Some(Value::Array(containers)) = child_mut(&mut copy, &[]).get_mut(field) {
            containers.iter_mut().for_each(|c| drop(map_mut(c).remove("image")));
        }
    }
    copy
}

/// What is wrong with a pod spec at a path.
pub(super) fn spec(object: &Value, path: &[&str], field: &str, causes: &mut Vec<Cause>) {
    let empty = json!({});
    let spec = at(object, path).unwrap_or(&empty);
    let mut names = BTreeSet::new();
    for (kind, required) in [("initContainers", false), ("containers", true)] {
        let containers = list(spec, &[kind]);
        if containers.is_empty() && required {
            causes.push(Cause::required(format!("{field}.{kind}"), ""));
        }
        for (index, container) in containers.iter().enumerate() {
            check_container(container, &format!("{field}.{kind}[{index}]"), &mut names, causes);
        }
    }
    check_choice(spec, field, "restartPolicy", &["Always", "OnFailure", "Never"], causes);
    check_choice(spec, field, "dnsPolicy", &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"], causes);
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|s| s < 0) {
        let value = &spec["terminationGracePeriodSeconds"];
        let text = "must be greater than or equal to 0";
        causes.push(Cause::invalid(format!("{field}.terminationGracePeriodSeconds"), value, text));
    }
}

fn check_choice(spec: &Value, field: &str, name: &str, allowed: &[&str], causes: &mut Vec<Cause>) {
    let value = text(spec, &[name]);
    if !allowed.contains(&value) {
        causes.push(Cause::unsupported(format!("{field}.{name}"), &json!(value), allowed));
    }
}

fn check_container(container: &Value, field: &str, names: &mut BTreeSet<String>, causes: &mut Vec<Cause>) {
    let name = text(container, &["name"]);
    if name.is_empty() {
        causes.push(Cause::required(format!("{field}.name"), ""));
    } else {
        let problems = label_problems(name);
        causes.extend(problems.iter().map(|text| Cause::invalid(format!("{field}.name"), &json!(name), text)));
    }
    if text(container, &["image"]).is_empty() {
        causes.push(Cause::required(format!("{field}.image"), ""));
    }
    for (index, port) in list(container, &["ports"]).iter().enumerate() {
        let number = port.get("containerPort").and_then(Value::as_i64).unwrap_or(0);
        let place = format!("{field}.ports[{index}].containerPort");
        if number == 0 {
            causes.push(Cause::required(place, ""));
        } else if !(1..=65_535).contains(&number) {
            causes.push(Cause::invalid(place, &json!(number), "must be between 1 and 65535, inclusive"));
        }
    }
    if !name.is_empty() && !names.insert(name.to_owned()) {
        let message = format!("Duplicate value: {name:?}");
        causes.push(Cause { reason: "FieldValueDuplicate".to_owned(), message, field: format!("{field}.name") });
    }
    let policy = text(container, &["imagePullPolicy"]);
    let allowed = ["Always", "IfNotPresent", "Never"];
    if !allowed.contains(&policy) {
        causes.push(Cause::unsupported(format!("{field}.imagePullPolicy"), &json!(policy), &allowed));
    }
}
