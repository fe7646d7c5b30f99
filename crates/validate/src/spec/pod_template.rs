//! The pod template: the rules of Kubernetes that users meet most.
//!
//! The API server has the last word when the ReplicaSet is made; what is checked here is shown before that.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tidegate_api::raw::Raw;
use tidegate_api::values::LabelSelector;
use tidegate_hash::HashError;

use crate::error::FieldError;
use crate::{go_json, labels};

const TEMPLATE: &str = "spec.template";

/// Whether the template has labels or annotations, which one taken from a workload must not have.
pub(super) fn has_metadata(template: &Raw) -> bool {
    let template = template.to_value();
    ["labels", "annotations"]
        .iter()
        .any(|part| template["metadata"][part].as_object().is_some_and(|entries| !entries.is_empty()))
}

/// All broken rules of a template, in the order of the API server.
pub(super) fn check(
    selector: Option<&LabelSelector>,
    template: Option<&Raw>,
    canonical: Option<&Result<String, HashError>>,
) -> Vec<FieldError> {
    if let Some(Err(error)) = canonical {
        return vec![FieldError::internal(TEMPLATE, error.to_string())];
    }
    let template = template.map_or(Value::Null, Raw::to_value);
    let mut errors = Vec::new();
    let pod_labels = string_map(&template["metadata"]["labels"]);
    if !labels::matches(selector, &pod_labels) {
        errors.push(FieldError::invalid(
            format!("{TEMPLATE}.metadata.labels"),
            go_json::labels(pod_labels.iter()),
            "`selector` does not match template `labels`",
        ));
    }
    errors.extend(labels::check_labels(&format!("{TEMPLATE}.metadata.labels"), &pod_labels));
    for key in string_map(&template["metadata"]["annotations"]).keys() {
        let path = format!("{TEMPLATE}.metadata.annotations");
        let problems = labels::qualified_name_problems(&key.to_lowercase());
        errors.extend(problems.into_iter().map(|problem| FieldError::invalid(&path, key.as_str(), problem)));
    }
    errors.extend(check_pod(&template["spec"]));
    errors
}

fn string_map(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn check_pod(pod: &Value) -> Vec<FieldError> {
    let path = format!("{TEMPLATE}.spec");
    let volumes: BTreeSet<&str> = list(&pod["volumes"]).iter().map(|volume| text(&volume["name"])).collect();
    let mut errors = check_volume_names(&path, list(&pod["volumes"]));
    if list(&pod["containers"]).is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for field in ["containers", "initContainers"] {
        for (index, container) in list(&pod[field]).iter().enumerate() {
            let path = format!("{path}.{field}[{index}]");
            errors.extend(check_container(&path, container, &volumes));
            let name = text(&container["name"]);
            if !name.is_empty() && !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
        }
    }
    errors.extend(check_restart_policy(&path, pod));
    if !list(&pod["ephemeralContainers"]).is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(format!("{path}.ephemeralContainers"), detail));
    }
    let restart_policy = pod["restartPolicy"].as_str().filter(|policy| !policy.is_empty()).unwrap_or("Always");
    if restart_policy != "Always" {
        errors.push(FieldError::unsupported(format!("{path}.restartPolicy"), restart_policy, &["Always"]));
    }
    if !pod["activeDeadlineSeconds"].is_null() {
        let detail = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.push(FieldError::forbidden(format!("{path}.activeDeadlineSeconds"), detail));
    }
    errors
}

fn check_restart_policy(path: &str, pod: &Value) -> Option<FieldError> {
    let policy = text(&pod["restartPolicy"]);
    let known = ["Always", "OnFailure", "Never"];
    (!policy.is_empty() && !known.contains(&policy))
        .then(|| FieldError::unsupported(format!("{path}.restartPolicy"), policy, &known))
}

fn check_volume_names(path: &str, volumes: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, volume) in volumes.iter().enumerate() {
        let path = format!("{path}.volumes[{index}].name");
        let name = text(&volume["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if let Some(problem) = labels::dns_label_problems(name).into_iter().next() {
            errors.push(FieldError::invalid(path, name, problem));
        } else if !seen.insert(name) {
            errors.push(FieldError::duplicate(path, name));
        }
    }
    errors
}

fn check_container(path: &str, container: &Value, volumes: &BTreeSet<&str>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(&container["name"]);
    if name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    } else {
        let path = format!("{path}.name");
        errors.extend(
            labels::dns_label_problems(name).into_iter().map(|problem| FieldError::invalid(&path, name, problem)),
        );
    }
    let image = text(&container["image"]);
    if image.is_empty() {
        errors.push(FieldError::required(format!("{path}.image"), ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(format!("{path}.image"), image, detail));
    }
    errors.extend(check_ports(path, list(&container["ports"])));
    errors.extend(check_mounts(path, list(&container["volumeMounts"]), volumes));
    errors
}

fn check_ports(path: &str, ports: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("{path}.ports[{index}]");
        let name = text(&port["name"]);
        if !name.is_empty() {
            let problems = port_name_problems(name);
            if problems.is_empty() && !names.insert(name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            }
            errors
                .extend(problems.into_iter().map(|problem| FieldError::invalid(format!("{path}.name"), name, problem)));
        }
        match port["containerPort"].as_i64().unwrap_or_default() {
            0 => errors.push(FieldError::required(format!("{path}.containerPort"), "")),
            1..=65535 => {}
            number => errors.push(FieldError::invalid(
                format!("{path}.containerPort"),
                number,
                "must be between 1 and 65535, inclusive",
            )),
        }
    }
    errors
}

fn port_name_problems(name: &str) -> Vec<&'static str> {
    let mut problems = Vec::new();
    if name.len() > 15 {
        problems.push("must be no more than 15 characters");
    }
    if !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)");
    }
    if name.contains("--") {
        problems.push("must not contain consecutive hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') {
        problems.push("must not begin or end with a hyphen");
    }
    problems
}

fn check_mounts(path: &str, mounts: &[Value], volumes: &BTreeSet<&str>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut paths = BTreeSet::new();
    for (index, mount) in mounts.iter().enumerate() {
        let path = format!("{path}.volumeMounts[{index}]");
        let name = text(&mount["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else if !volumes.contains(name) {
            errors.push(FieldError::not_found(format!("{path}.name"), name));
        }
        let mount_path = text(&mount["mountPath"]);
        if mount_path.is_empty() {
            errors.push(FieldError::required(format!("{path}.mountPath"), ""));
        } else if !paths.insert(mount_path) {
            errors.push(FieldError::invalid(format!("{path}.mountPath"), mount_path, "must be unique"));
        }
    }
    errors
}
