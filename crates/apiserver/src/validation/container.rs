//! Rules for containers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::names::{label_problems, qualified_name_problem};
use super::rules::{Findings, PROTOCOLS};
use crate::object::{at, list, number, text};
use crate::status::Cause;
use crate::typed::nanos;

/// What a container may refer to.
pub(super) struct Surroundings<'a> {
    pub(super) volumes: BTreeSet<&'a str>,
    pub(super) init: bool,
}

/// One container.
pub(super) fn container(one: &Value, field: &str, around: &Surroundings<'_>, found: &mut Findings) {
    let name = text(one, &["name"]);
    if name.is_empty() {
        found.required(format!("{field}.name"));
    } else {
        found.problems(&format!("{field}.name"), name, label_problems(name));
    }
    if text(one, &["image"]).is_empty() {
        found.required(format!("{field}.image"));
    }
    ports(list(one, &["ports"]), field, found);
    for (index, variable) in list(one, &["env"]).iter().enumerate() {
        environment(variable, &format!("{field}.env[{index}]"), found);
    }
    resources(one, field, found);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(described) = one.get(probe) else { continue };
        if around.init && text(one, &["restartPolicy"]) != "Always" {
            let why = "may not be set for init containers without restartPolicy=Always";
            found.forbidden(format!("{field}.{probe}"), why);
        } else {
            self::probe(described, &format!("{field}.{probe}"), probe != "readinessProbe", found);
        }
    }
    let paths = &mut BTreeSet::new();
    for (index, mount) in list(one, &["volumeMounts"]).iter().enumerate() {
        self::mount(mount, &format!("{field}.volumeMounts[{index}]"), around, paths, found);
    }
    let policies = ["Always", "IfNotPresent", "Never"];
    found.choice(&format!("{field}.imagePullPolicy"), text(one, &["imagePullPolicy"]), &policies);
    let ends = ["File", "FallbackToLogsOnError"];
    found.choice(&format!("{field}.terminationMessagePolicy"), text(one, &["terminationMessagePolicy"]), &ends);
}

fn ports(ports: &[Value], field: &str, found: &mut Findings) {
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let field = |part: &str| format!("{field}.ports[{index}].{part}");
        let name = text(port, &["name"]);
        if !name.is_empty() {
            found.problems(&field("name"), name, port_name_problems(name));
            if !names.insert(name) {
                found.duplicate(field("name"), name);
            }
        }
        match number(port, &["containerPort"]).unwrap_or(0) {
            0 => found.required(field("containerPort")),
            number => found.port(field("containerPort"), number),
        }
        if let Some(number) = number(port, &["hostPort"]).filter(|n| *n != 0) {
            found.port(field("hostPort"), number);
        }
        found.choice(&field("protocol"), text(port, &["protocol"]), &PROTOCOLS);
    }
}

/// What is wrong with the name of a port.
fn port_name_problems(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 15 {
        problems.push("must be no more than 15 characters".to_owned());
    }
    if !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

fn environment(variable: &Value, field: &str, found: &mut Findings) {
    let name = text(variable, &["name"]);
    if name.is_empty() {
        found.required(format!("{field}.name"));
    } else if !name.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        found.invalid(format!("{field}.name"), name, why);
    }
    let Some(source) = variable.get("valueFrom") else { return };
    let path = text(source, &["fieldRef", "fieldPath"]);
    if source.get("fieldRef").is_some() && !path.is_empty() && !is_field(path) {
        let why = format!("error converting fieldPath: field label not supported: {path}");
        found.invalid(format!("{field}.valueFrom.fieldRef.fieldPath"), path, &why);
    }
    if !text(variable, &["value"]).is_empty() {
        found.invalid(format!("{field}.valueFrom"), "", "may not be specified when `value` is not empty");
    }
}

/// Fields of the pod that a variable can hold.
fn is_field(path: &str) -> bool {
    path.starts_with("metadata.labels[")
        || path.starts_with("metadata.annotations[")
        || matches!(
            path,
            "metadata.name"
                | "metadata.namespace"
                | "metadata.uid"
                | "spec.nodeName"
                | "spec.serviceAccountName"
                | "status.hostIP"
                | "status.hostIPs"
                | "status.podIP"
                | "status.podIPs"
        )
}

fn resources(one: &Value, field: &str, found: &mut Findings) {
    let amounts = |kind: &str| at(one, &["resources", kind]).and_then(Value::as_object).into_iter().flatten();
    for kind in ["limits", "requests"] {
        for (name, amount) in amounts(kind) {
            let field = format!("{field}.resources.{kind}[{name}]");
            let standard = matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage");
            found.problems(&field, name, qualified_name_problem(name));
            if !standard && !name.contains('/') && !name.starts_with("hugepages-") {
                found.invalid(field.as_str(), name.as_str(), "must be a standard resource type or fully qualified");
                found.invalid(field.as_str(), name.as_str(), "must be a standard resource for containers");
            }
            if nanos(amount.as_str().unwrap_or_default()).is_some_and(|n| n < 0) {
                found.invalid(field, amount.clone(), "must be greater than or equal to 0");
            }
        }
    }
    for (name, request) in amounts("requests") {
        let Some(limit) = at(one, &["resources", "limits", name]).and_then(Value::as_str) else { continue };
        if nanos(request.as_str().unwrap_or_default()) > nanos(limit) {
            let why = format!("must be less than or equal to {name} limit of {limit}");
            found.invalid(format!("{field}.resources.requests"), request.clone(), &why);
        }
    }
}

fn probe(probe: &Value, field: &str, succeeds_once: bool, found: &mut Findings) {
    let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
    let mut given = handlers.iter().filter(|handler| probe.get(**handler).is_some());
    match given.next() {
        None => found.required_as(field, "must specify a handler type"),
        Some(first) => handler(&probe[*first], first, &format!("{field}.{first}"), found),
    }
    for more in given {
        found.forbidden(format!("{field}.{more}"), "may not specify more than 1 handler type");
    }
    let numbers = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
    found.not_negative(probe, field, &numbers);
    let times = number(probe, &["successThreshold"]).unwrap_or(1);
    if succeeds_once && times != 1 {
        found.invalid(format!("{field}.successThreshold"), times, "must be 1");
    }
}

fn handler(handler: &Value, kind: &str, field: &str, found: &mut Findings) {
    if kind == "exec" {
        if list(handler, &["command"]).is_empty() {
            found.required(format!("{field}.command"));
        }
        return;
    }
    match handler.get("port") {
        Some(Value::String(name)) => found.problems(&format!("{field}.port"), name, port_name_problems(name)),
        port => found.port(format!("{field}.port"), port.and_then(Value::as_i64).unwrap_or(0)),
    }
    if kind == "httpGet" {
        found.choice(&format!("{field}.scheme"), text(handler, &["scheme"]), &["HTTP", "HTTPS"]);
    }
}

fn mount<'a>(
    mount: &'a Value,
    field: &str,
    around: &Surroundings<'_>,
    paths: &mut BTreeSet<&'a str>,
    found: &mut Findings,
) {
    let name = text(mount, &["name"]);
    if name.is_empty() {
        found.required(format!("{field}.name"));
    } else if !around.volumes.contains(name) {
        found.0.push(Cause::absent(format!("{field}.name"), &json!(name)));
    }
    let path = text(mount, &["mountPath"]);
    if path.is_empty() {
        found.required(format!("{field}.mountPath"));
    } else if !paths.insert(path) {
        found.invalid(format!("{field}.mountPath"), path, "must be unique");
    }
}
