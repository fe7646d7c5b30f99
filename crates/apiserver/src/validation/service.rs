//! Rules for services.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rules::{Findings, PROTOCOLS};
use crate::object::{at, list, number, text};

/// Services.
pub(super) fn service(object: &Value, old: Option<&Value>, found: &mut Findings) {
    let kind = text(object, &["spec", "type"]);
    let headless = text(object, &["spec", "clusterIP"]) == "None";
    let all = list(object, &["spec", "ports"]);
    if all.is_empty() && !headless && kind != "ExternalName" {
        found.required("spec.ports");
    }
    ports(all, kind, found);
    found.labels("spec.selector", at(object, &["spec", "selector"]));
    found.choice("spec.type", kind, &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    let affinity = text(object, &["spec", "sessionAffinity"]);
    found.choice("spec.sessionAffinity", affinity, &["ClientIP", "None"]);
    if kind == "ExternalName" {
        external_name(object, found);
    } else {
        addresses(object, kind, found);
    }
    let policy = text(object, &["spec", "externalTrafficPolicy"]);
    if !policy.is_empty() && !matches!(kind, "NodePort" | "LoadBalancer") {
        let why = "may only be set for externally-accessible services";
        found.invalid("spec.externalTrafficPolicy", policy, why);
    }
    if !list(object, &["status", "loadBalancer", "ingress"]).is_empty() && kind != "LoadBalancer" {
        found.forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'");
    }
    if let Some(old) = old {
        let external = text(old, &["spec", "type"]) == "ExternalName" || kind == "ExternalName";
        let (now, before) = (at(object, &["spec", "clusterIPs"]), at(old, &["spec", "clusterIPs"]));
        let had = before.and_then(Value::as_array).is_some_and(|ips| !ips.is_empty());
        if now != before && had && !external {
            found.invalid("spec.clusterIPs[0]", now.cloned().unwrap_or_default(), "may not change once set");
        }
    }
}

fn external_name(object: &Value, found: &mut Findings) {
    if !list(object, &["spec", "clusterIPs"]).is_empty() {
        found.forbidden("spec.clusterIPs", "may not be set for ExternalName services");
    }
    // A name may end in a dot, as names do that are complete.
    match text(object, &["spec", "externalName"]) {
        "" => found.required("spec.externalName"),
        name => found.subdomain("spec.externalName", name.strip_suffix('.').unwrap_or(name)),
    }
}

fn addresses(object: &Value, kind: &str, found: &mut Findings) {
    let all = list(object, &["spec", "clusterIPs"]);
    if all.is_empty() && !text(object, &["spec", "clusterIP"]).is_empty() {
        found.required("spec.clusterIPs");
        return;
    }
    if all.first().and_then(Value::as_str) != at(object, &["spec", "clusterIP"]).and_then(Value::as_str) {
        found.invalid("spec.clusterIPs", json!(all), "first value must match `clusterIP`");
        return;
    }
    for (index, address) in all.iter().filter_map(Value::as_str).enumerate() {
        let field = format!("spec.clusterIPs[{index}]");
        match address {
            "None" if matches!(kind, "NodePort" | "LoadBalancer") => {
                found.invalid(field, address, &format!("may not be set to 'None' for {kind} services"));
            }
            "None" | "" => {}
            _ => drop(found.address(&field, address)),
        }
    }
}

fn ports(ports: &[Value], kind: &str, found: &mut Findings) {
    let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in ports.iter().enumerate() {
        let field = |part: &str| format!("spec.ports[{index}].{part}");
        match text(port, &["name"]) {
            "" if ports.len() > 1 => found.required(field("name")),
            "" => {}
            name => {
                found.label(&field("name"), name);
                if !names.insert(name) {
                    found.duplicate(field("name"), name);
                }
            }
        }
        let own = number(port, &["port"]).unwrap_or(0);
        found.port(field("port"), own);
        let protocol = text(port, &["protocol"]);
        found.choice(&field("protocol"), protocol, &PROTOCOLS);
        if let Some(target) = number(port, &["targetPort"]) {
            found.port(field("targetPort"), target);
        }
        if kind == "ClusterIP" && number(port, &["nodePort"]).is_some_and(|n| n != 0) {
            found.forbidden(field("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
        if !places.insert((protocol, own)) {
            // The real server prints its internal structure here, in the order of its fields.
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{protocol:?},\"AppProtocol\":null,\"Port\":{own},\"TargetPort\":0,\
                 \"NodePort\":0}}"
            );
            let message = format!("Duplicate value: {shown}");
            let (reason, field) = ("FieldValueDuplicate".to_owned(), format!("spec.ports[{index}]"));
            found.0.push(crate::status::Cause { reason, message, field });
        }
    }
}
