//! Defaults of services, endpoints and ingresses.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::each;
use crate::object::{child_mut, default_to, list, map_mut, text};
use crate::state::State;

pub(super) fn service(state: &mut State, object: &mut Value, old: Option<&Value>) {
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
    let kind = text(object, &["spec", "type"]).to_owned();
    if kind != "ExternalName" {
        address(state, object, old);
        let spec = child_mut(object, &["spec"]);
        default_to(spec, "ipFamilies", json!(["IPv4"]));
        default_to(spec, "ipFamilyPolicy", "SingleStack");
        default_to(spec, "internalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        default_to(child_mut(object, &["spec"]), "externalTrafficPolicy", "Cluster");
        node_ports(state, object, old);
    }
    if kind == "LoadBalancer" {
        default_to(child_mut(object, &["spec"]), "allocateLoadBalancerNodePorts", true);
    }
    if text(object, &["spec", "sessionAffinity"]) == "ClientIP" {
        let config = child_mut(object, &["spec", "sessionAffinityConfig", "clientIP"]);
        default_to(config, "timeoutSeconds", 10_800);
    }
    child_mut(object, &["status", "loadBalancer"]);
}

/// A new service gets an address; an update that does not name one keeps the one it has.
fn address(state: &State, object: &mut Value, old: Option<&Value>) {
    if text(object, &["spec", "clusterIP"]).is_empty() {
        let listed = list(object, &["spec", "clusterIPs"]).first().and_then(Value::as_str).map(str::to_owned);
        let kept = old.map(|o| text(o, &["spec", "clusterIP"]).to_owned()).filter(|ip| !ip.is_empty());
        let chosen = listed.or(kept).unwrap_or_else(|| state.free_address());
        child_mut(object, &["spec"]).insert("clusterIP".to_owned(), json!(chosen));
    }
    let chosen = text(object, &["spec", "clusterIP"]).to_owned();
    let moved = old.is_some_and(|o| {
        text(o, &["spec", "clusterIP"]) != chosen
            && list(o, &["spec", "clusterIPs"]) == list(object, &["spec", "clusterIPs"])
    });
    let spec = child_mut(object, &["spec"]);
    if spec.get("clusterIPs").and_then(Value::as_array).is_none_or(Vec::is_empty) || moved {
        spec.insert("clusterIPs".to_owned(), json!([chosen]));
    }
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

pub(super) fn endpoints(object: &mut Value) {
    each(object, &[], "subsets", |subset| {
        each(subset, &[], "ports", |port| default_to(map_mut(port), "protocol", "TCP"));
    });
}

pub(super) fn endpoint_slice(object: &mut Value) {
    each(object, &[], "endpoints", |endpoint| default_to(map_mut(endpoint), "conditions", json!({})));
    each(object, &[], "ports", |port| {
        let map = map_mut(port);
        default_to(map, "name", "");
        default_to(map, "protocol", "TCP");
    });
    let map = map_mut(object);
    for field in ["endpoints", "ports"] {
        if map.get(field).and_then(Value::as_array).is_none_or(Vec::is_empty) {
            map.insert(field.to_owned(), Value::Null);
        }
    }
}

pub(super) fn ingress(object: &mut Value) {
    child_mut(object, &["spec"]);
    child_mut(object, &["status", "loadBalancer"]);
}
