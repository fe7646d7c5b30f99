//! Rules for services, ingresses, events, config maps and secrets.

use serde_json::{Value, json};

use super::names::label_problems;
use crate::object::{at, list, namespace, number, text};
use crate::status::Cause;

const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";

/// Services.
pub(super) fn service(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let kind = text(object, &["spec", "type"]);
    let headless = text(object, &["spec", "clusterIP"]) == "None";
    let ports = list(object, &["spec", "ports"]);
    if ports.is_empty() && !headless && kind != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    for (index, port) in ports.iter().enumerate() {
        check_port(port, index, ports.len() > 1, &mut causes);
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if !kinds.contains(&kind) {
        causes.push(Cause::unsupported("spec.type", &json!(kind), &kinds));
    }
    let affinities = ["ClientIP", "None"];
    let affinity = text(object, &["spec", "sessionAffinity"]);
    if !affinities.contains(&affinity) {
        causes.push(Cause::unsupported("spec.sessionAffinity", &json!(affinity), &affinities));
    }
    if let Some(old) = old {
        let external = text(old, &["spec", "type"]) == "ExternalName" || kind == "ExternalName";
        let (now, before) = (at(object, &["spec", "clusterIPs"]), at(old, &["spec", "clusterIPs"]));
        if now != before && !external {
            let shown = now.unwrap_or(&Value::Null);
            causes.push(Cause::invalid("spec.clusterIPs[0]", shown, "may not change once set"));
        }
    }
    causes
}

fn check_port(port: &Value, index: usize, named: bool, causes: &mut Vec<Cause>) {
    let field = |part: &str| format!("spec.ports[{index}].{part}");
    let name = text(port, &["name"]);
    if name.is_empty() && named {
        causes.push(Cause::required(field("name"), ""));
    } else if !name.is_empty() {
        causes.extend(label_problems(name).iter().map(|text| Cause::invalid(field("name"), &json!(name), text)));
    }
    let value = number(port, &["port"]).unwrap_or(0);
    if !(1..=65_535).contains(&value) {
        causes.push(Cause::invalid(field("port"), &json!(value), PORT_RANGE));
    }
    let protocols = ["SCTP", "TCP", "UDP"];
    let protocol = text(port, &["protocol"]);
    if !protocols.contains(&protocol) {
        causes.push(Cause::unsupported(field("protocol"), &json!(protocol), &protocols));
    }
    if let Some(target) = number(port, &["targetPort"]).filter(|t| !(1..=65_535).contains(t)) {
        causes.push(Cause::invalid(field("targetPort"), &json!(target), PORT_RANGE));
    }
}

/// Config maps and secrets: size, keys, and those marked as immutable.
pub(super) fn data(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut size = 0_usize;
    for part in ["data", "binaryData"] {
        for (key, value) in object.get(part).and_then(Value::as_object).into_iter().flatten() {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if key.is_empty() || !key.chars().all(fits) || key == "." || key.starts_with("..") {
                let text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
                    'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
                causes.push(Cause::invalid(format!("{part}[{key}]"), &json!(key), text));
            }
            size = size.saturating_add(value.as_str().map_or(0, str::len));
        }
    }
    if size > 1024 * 1024 {
        let message = "Too long: may not be more than 1048576 bytes".to_owned();
        causes.push(Cause { reason: "FieldValueTooLong".to_owned(), message, field: String::new() });
    }
    let Some(old) = old else { return causes };
    if old.get("immutable") == Some(&Value::Bool(true)) {
        if object.get("immutable") != Some(&Value::Bool(true)) {
            causes.push(Cause::forbidden("immutable", "field is immutable when `immutable` is set"));
        }
        for part in ["data", "binaryData"] {
            if object.get(part) != old.get(part) {
                causes.push(Cause::forbidden(part, "field is immutable when `immutable` is set"));
            }
        }
    }
    if old.get("type") != object.get("type") {
        let shown = object.get("type").cloned().unwrap_or_default();
        causes.push(Cause::invalid("type", &shown, "field is immutable"));
    }
    causes
}

/// Events live in the namespace of what they are about.
pub(super) fn event(object: &Value) -> Vec<Cause> {
    let about = text(object, &["involvedObject", "namespace"]);
    let own = namespace(object);
    let fits = about == own || about.is_empty() && matches!(own, "default" | "kube-system");
    if fits {
        return Vec::new();
    }
    vec![Cause::invalid("involvedObject.namespace", &json!(about), "does not match event.namespace")]
}

/// Ingresses.
pub(super) fn ingress(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let rules = list(object, &["spec", "rules"]);
    if rules.is_empty() && at(object, &["spec", "defaultBackend"]).is_none() {
        let shown = at(object, &["spec", "rules"]).cloned().unwrap_or_default();
        causes.push(Cause::invalid("spec", &shown, "either `defaultBackend` or `rules` must be specified"));
    }
    for (index, rule) in rules.iter().enumerate() {
        for (number, path) in list(rule, &["http", "paths"]).iter().enumerate() {
            let field = format!("spec.rules[{index}].http.paths[{number}]");
            let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
            match text(path, &["pathType"]) {
                "" => causes.push(Cause::required(format!("{field}.pathType"), "pathType must be specified")),
                kind if !kinds.contains(&kind) => {
                    causes.push(Cause::unsupported(format!("{field}.pathType"), &json!(kind), &kinds));
                }
                "ImplementationSpecific" => {}
                _ if !text(path, &["path"]).starts_with('/') => {
                    let shown = json!(text(path, &["path"]));
                    causes.push(Cause::invalid(format!("{field}.path"), &shown, "must be an absolute path"));
                }
                _ => {}
            }
        }
    }
    causes
}
