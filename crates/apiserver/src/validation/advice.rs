//! What is allowed but better left: warnings about built-in objects.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::names::label_problems;
use crate::object::{at, list, name, number, text};
use crate::registry::Resource;
use crate::typed::nanos;

const BILLION: i128 = 1_000_000_000;

/// Warnings about an object that is taken; `old` is what it replaces.
pub(crate) fn advice(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    match resource.id.as_str() {
        "pods" if old.is_none() => {
            pod_name(object, "the Pod's hostname", &mut out);
            pod_spec(object.get("spec"), "spec", &mut out);
        }
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" | "jobs.batch" => {
            if old.is_none() && resource.id != "statefulsets.apps" && resource.id != "daemonsets.apps" {
                pod_name(object, "Pod names and hostnames", &mut out);
            }
            if old.is_none_or(|old| old.get("spec") != object.get("spec")) {
                pod_spec(at(object, &["spec", "template", "spec"]), "spec.template.spec", &mut out);
            }
        }
        "services" => service(object, &mut out),
        "ingresses.networking.k8s.io" if old.is_none() => {
            let class = "kubernetes.io/ingress.class";
            if at(object, &["metadata", "annotations", class]).is_some() {
                out.push(format!("annotation {class:?} is deprecated, please use 'spec.ingressClassName' instead"));
            }
        }
        "endpointslices.discovery.k8s.io" if text(object, &["addressType"]) == "FQDN" => {
            out.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        _ => {}
    }
    out
}

fn pod_name(object: &Value, used: &str, out: &mut Vec<String>) {
    let problems = label_problems(name(object));
    if !problems.is_empty() {
        out.push(format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is recommended: \
             [{}]",
            problems.join(" ")
        ));
    }
}

fn service(object: &Value, out: &mut Vec<String>) {
    let spec = |field: &str| text(object, &["spec", field]);
    if !spec("externalName").is_empty() && spec("type") != "ExternalName" {
        out.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec("clusterIP") == "None" && spec("sessionAffinity") == "ClientIP" {
        out.push("spec.SessionAffinity is ignored for headless services".to_owned());
    }
}

fn pod_spec(spec: Option<&Value>, field: &str, out: &mut Vec<String>) {
    let Some(spec) = spec else { return };
    for (key, better) in
        [("beta.kubernetes.io/arch", "kubernetes.io/arch"), ("beta.kubernetes.io/os", "kubernetes.io/os")]
    {
        if at(spec, &["nodeSelector", key]).is_some() {
            out.push(format!("{field}.nodeSelector[{key}]: deprecated since v1.14; use {better:?} instead"));
        }
    }
    for kind in ["initContainers", "containers"] {
        for (index, container) in list(spec, &[kind]).iter().enumerate() {
            self::container(container, &format!("{field}.{kind}[{index}]"), out);
        }
    }
    if number(spec, &["terminationGracePeriodSeconds"]).is_some_and(|s| s < 0) {
        out.push(format!(
            "{field}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
}

fn container(container: &Value, field: &str, out: &mut Vec<String>) {
    for kind in ["limits", "requests"] {
        for name in ["memory", "ephemeral-storage"] {
            let amount = text(container, &["resources", kind, name]);
            if nanos(amount).is_some_and(|n| n % BILLION != 0) {
                out.push(format!(
                    "{field}.resources.{kind}[{name}]: fractional byte value {amount:?} is invalid, must be an integer"
                ));
            }
        }
    }
    let mut variables: BTreeMap<&str, &Value> = BTreeMap::new();
    for (index, variable) in list(container, &["env"]).iter().enumerate() {
        let name = text(variable, &["name"]);
        if variables.insert(name, variable).is_some() {
            out.push(format!(
                "{field}.env[{index}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
    let mut ports: Vec<(Value, usize)> = Vec::new();
    for (index, port) in list(container, &["ports"]).iter().enumerate() {
        let key = json!([port.get("containerPort"), port.get("protocol"), port.get("hostPort"), port.get("hostIP")]);
        match ports.iter().find(|(known, _)| *known == key) {
            Some((_, first)) => {
                out.push(format!("{field}.ports[{index}]: duplicate port definition with {field}.ports[{first}]"));
            }
            None => ports.push((key, index)),
        }
    }
}
