//! Rules for pods and pod templates.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::container::{Surroundings, container};
use super::names::subdomain_problems;
use super::pod_update;
use super::rules::Findings;
use crate::object::{at, list, number, text};

/// What is wrong with a pod.
pub(super) fn pod(object: &Value, old: Option<&Value>, found: &mut Findings) {
    match old {
        // What is stored has been found right, but for the node, which a binding sets without a look at its name.
        Some(old) if old.get("spec") == object.get("spec") => node_name(object.get("spec"), found),
        _ => spec(object, &["spec"], "spec", found),
    }
    if let Some(old) = old {
        pod_update::update(object, old, found);
    }
}

fn node_name(spec: Option<&Value>, found: &mut Findings) {
    let node = spec.and_then(|spec| spec.get("nodeName")).and_then(Value::as_str).unwrap_or_default();
    if !node.is_empty() {
        found.problems("spec.nodeName", node, subdomain_problems(node));
    }
}

/// What is wrong with a pod template at `spec.template`.
pub(super) fn template(object: &Value, found: &mut Findings) {
    let path = ["spec", "template"];
    let metadata = |name: &str| at(object, &["spec", "template", "metadata", name]);
    found.labels("spec.template.labels", metadata("labels"));
    found.annotations("spec.template.annotations", metadata("annotations"));
    spec(object, &[path[0], path[1], "spec"], "spec.template.spec", found);
}

/// What is wrong with a pod spec at a path.
fn spec(object: &Value, path: &[&str], field: &str, found: &mut Findings) {
    let empty = json!({});
    let spec = at(object, path).unwrap_or(&empty);
    let volumes = volumes(list(spec, &["volumes"]), field, found);
    let mut names = BTreeSet::new();
    for kind in ["containers", "initContainers"] {
        let containers = list(spec, &[kind]);
        if containers.is_empty() && kind == "containers" {
            found.required(format!("{field}.{kind}"));
        }
        let around = Surroundings { volumes: volumes.clone(), init: kind == "initContainers" };
        for (index, one) in containers.iter().enumerate() {
            let field = format!("{field}.{kind}[{index}]");
            container(one, &field, &around, found);
            let name = text(one, &["name"]);
            if !name.is_empty() && !names.insert(name) {
                found.duplicate(format!("{field}.name"), name);
            }
        }
    }
    let policies = ["Always", "OnFailure", "Never"];
    found.choice(&format!("{field}.restartPolicy"), text(spec, &["restartPolicy"]), &policies);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    found.choice(&format!("{field}.dnsPolicy"), text(spec, &["dnsPolicy"]), &policies);
    found.labels(&format!("{field}.nodeSelector"), spec.get("nodeSelector"));
    for name in ["nodeName", "serviceAccountName"] {
        let value = text(spec, &[name]);
        if !value.is_empty() {
            found.problems(&format!("{field}.{name}"), value, subdomain_problems(value));
        }
    }
    if let Some(seconds) = number(spec, &["activeDeadlineSeconds"]).filter(|s| !(1..=2_147_483_647).contains(s)) {
        found.invalid(format!("{field}.activeDeadlineSeconds"), seconds, "must be between 1 and 2147483647, inclusive");
    }
    tolerations(list(spec, &["tolerations"]), field, found);
}

fn volumes<'a>(volumes: &'a [Value], field: &str, found: &mut Findings) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, volume) in volumes.iter().enumerate() {
        let field = format!("{field}.volumes[{index}]");
        let name = text(volume, &["name"]);
        if name.is_empty() {
            found.required(format!("{field}.name"));
        } else {
            found.label(&format!("{field}.name"), name);
            if !names.insert(name) {
                found.duplicate(format!("{field}.name"), name);
            }
        }
        let sources = volume.as_object().into_iter().flat_map(Map::keys).filter(|key| *key != "name");
        for more in sources.skip(1) {
            found.forbidden(format!("{field}.{more}"), "may not specify more than 1 volume type");
        }
    }
    names
}

fn tolerations(tolerations: &[Value], field: &str, found: &mut Findings) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let field = format!("{field}.tolerations[{index}].operator");
        let value = text(toleration, &["value"]);
        match text(toleration, &["operator"]) {
            "Exists" if !value.is_empty() => {
                found.invalid(field, value, "value must be empty when `operator` is 'Exists'");
            }
            "" | "Equal" | "Exists" => {}
            other => found.choice(&field, other, &["Equal", "Exists"]),
        }
    }
}
