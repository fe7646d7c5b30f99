//! Defaults of services: addresses and node ports that the server chooses, and what goes when a service changes its type.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::each;
use crate::object::{at, child_mut, default_to, list, map_mut, text};
use crate::state::State;

/// Everything a service gets. One that is created by a write to its status is not given addresses and ports.
pub(super) fn service(state: &State, object: &mut Value, old: Option<&Value>, subresource: &str) {
    let spec = child_mut(object, &["spec"]);
    default_to(spec, "type", "ClusterIP");
    default_to(spec, "sessionAffinity", "None");
    each(object, &["spec"], "ports", |port| {
        let number = port.get("port").cloned();
        let map = map_mut(port);
        default_to(map, "protocol", "TCP");
        if let Some(number) = number {
            default_to(map, "targetPort", number);
        }
    });
    if let Some(old) = old {
        forget(object, old);
    }
    let kind = text(object, &["spec", "type"]).to_owned();
    let allocates = old.is_some() || subresource.is_empty();
    match kind.as_str() {
        "ExternalName" if allocates => listed_address(object),
        "ExternalName" => {}
        _ => {
            default_to(child_mut(object, &["spec"]), "internalTrafficPolicy", "Cluster");
            if allocates {
                address(state, object, old);
                families(object);
            }
        }
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        default_to(child_mut(object, &["spec"]), "externalTrafficPolicy", "Cluster");
        if allocates {
            node_ports(state, object, old);
        }
    }
    if kind == "LoadBalancer" {
        default_to(child_mut(object, &["spec"]), "allocateLoadBalancerNodePorts", true);
    }
    match text(object, &["spec", "sessionAffinity"]) {
        "ClientIP" => {
            let config = child_mut(object, &["spec", "sessionAffinityConfig", "clientIP"]);
            default_to(config, "timeoutSeconds", 10_800);
        }
        "None" => drop(child_mut(object, &["spec"]).remove("sessionAffinityConfig")),
        _ => {}
    }
}

/// What only the old type had goes with it, unless the client changed it too.
fn forget(object: &mut Value, old: &Value) {
    let kind = text(object, &["spec", "type"]).to_owned();
    let before = text(old, &["spec", "type"]);
    if kind == before {
        return;
    }
    let same = |object: &Value, field: &str| at(object, &["spec", field]) == at(old, &["spec", field]);
    let mut gone: Vec<&str> = Vec::new();
    if kind == "ExternalName" {
        gone.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
    }
    let reachable = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    if reachable(before) && !reachable(&kind) {
        gone.push("externalTrafficPolicy");
        let known: BTreeSet<i64> =
            list(old, &["spec", "ports"]).iter().filter_map(|p| p.get("nodePort")?.as_i64()).collect();
        each(object, &["spec"], "ports", |port| {
            if port.get("nodePort").and_then(Value::as_i64).is_some_and(|n| known.contains(&n)) {
                map_mut(port).remove("nodePort");
            }
        });
    }
    if before == "LoadBalancer" {
        gone.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]);
        child_mut(object, &["status"]).insert("loadBalancer".to_owned(), Value::Object(Map::new()));
    }
    gone.retain(|field| same(object, field));
    let spec = child_mut(object, &["spec"]);
    spec.retain(|field, _| !gone.contains(&field.as_str()));
}

/// A single address is the list of one.
fn listed_address(object: &mut Value) {
    let single = text(object, &["spec", "clusterIP"]).to_owned();
    let spec = child_mut(object, &["spec"]);
    if !single.is_empty() && spec.get("clusterIPs").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        spec.insert("clusterIPs".to_owned(), json!([single]));
    }
}

/// A new service gets an address; an update that does not name one keeps the one it has.
fn address(state: &State, object: &mut Value, old: Option<&Value>) {
    if text(object, &["spec", "clusterIP"]).is_empty() {
        let listed = list(object, &["spec", "clusterIPs"]).first().and_then(Value::as_str).map(str::to_owned);
        let kept = old.map(|o| text(o, &["spec", "clusterIP"]).to_owned()).filter(|ip| !ip.is_empty());
        // One that never had an address gets one only with another type.
        let is_due = old.is_none_or(|o| text(o, &["spec", "type"]) == "ExternalName");
        let Some(chosen) = listed.or(kept).or_else(|| is_due.then(|| state.free_address())) else { return };
        child_mut(object, &["spec"]).insert("clusterIP".to_owned(), json!(chosen));
    }
    let chosen = text(object, &["spec", "clusterIP"]).to_owned();
    let moved = old.is_some_and(|o| {
        text(o, &["spec", "clusterIP"]) != chosen
            && list(o, &["spec", "clusterIPs"]) == list(object, &["spec", "clusterIPs"])
    });
    if moved {
        child_mut(object, &["spec"]).remove("clusterIPs");
    }
    listed_address(object);
}

/// A headless service without a selector says nothing about families, so it gets both.
fn families(object: &mut Value) {
    let selects = at(object, &["spec", "selector"]).and_then(Value::as_object).is_some_and(|s| !s.is_empty());
    let both = text(object, &["spec", "clusterIP"]) == "None" && !selects;
    let spec = child_mut(object, &["spec"]);
    if both && spec.get("ipFamilies").is_none() && spec.get("ipFamilyPolicy").is_none() {
        default_to(spec, "ipFamilies", json!(["IPv4", "IPv6"]));
        default_to(spec, "ipFamilyPolicy", "RequireDualStack");
    }
    default_to(spec, "ipFamilies", json!(["IPv4"]));
    default_to(spec, "ipFamilyPolicy", "SingleStack");
}

fn node_ports(state: &State, object: &mut Value, old: Option<&Value>) {
    let mut mine: BTreeSet<i64> =
        list(object, &["spec", "ports"]).iter().filter_map(|p| p.get("nodePort")?.as_i64()).collect();
    let before: Vec<(Value, Value)> = old
        .map(|o| list(o, &["spec", "ports"]))
        .unwrap_or_default()
        .iter()
        .filter_map(|p| Some((p.get("port")?.clone(), p.get("nodePort")?.clone())))
        .collect();
    let Some(Value::Array(ports)) = child_mut(object, &["spec"]).get_mut("ports") else { return };
    for port in ports.iter_mut().filter(|p| p.is_object() && p.get("nodePort").is_none()) {
        let kept = before.iter().find(|(number, _)| Some(number) == port.get("port")).map(|(_, node)| node.clone());
        let chosen = kept.unwrap_or_else(|| json!(state.free_node_port(&mine)));
        mine.extend(chosen.as_i64());
        map_mut(port).insert("nodePort".to_owned(), chosen);
    }
}

/// A service without the addresses, families and node ports that the server gave it and the client did not name.
pub(crate) fn without_choices(object: &Value, given: &Value) -> Value {
    let mut copy = object.clone();
    let spec = child_mut(&mut copy, &["spec"]);
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if at(given, &["spec", field]).is_none_or(Value::is_null) {
            spec.remove(field);
        }
    }
    if let Some(Value::Array(ports)) = spec.get_mut("ports") {
        for (port, given) in ports.iter_mut().zip(list(given, &["spec", "ports"])) {
            if given.get("nodePort").is_none_or(Value::is_null) {
                map_mut(port).remove("nodePort");
            }
        }
    }
    copy
}
