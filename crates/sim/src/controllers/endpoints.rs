//! Where a Service leads: one EndpointSlice per Service, with the pods it selects.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use super::pods::ready_since;

/// The slice a Service should have; `None` for one without a selector, whose endpoints are somebody else's.
pub fn slice_of(service: &Service, pods: &[&Pod]) -> Option<Value> {
    let spec = service.spec.as_ref()?;
    let selector = spec.selector.as_ref().filter(|selector| !selector.is_empty())?;
    let name = service.metadata.name.as_deref()?;
    let mut endpoints: Vec<Value> =
        pods.iter().filter(|pod| selects(selector, pod)).filter_map(|pod| endpoint(pod)).collect();
    endpoints.sort_by_key(|endpoint| endpoint["targetRef"]["name"].to_string());
    let ports: Vec<Value> = spec.ports.iter().flatten().map(|port| {
        let number = match &port.target_port {
            Some(IntOrString::Int(number)) => Some(*number),
            Some(IntOrString::String(name)) => named_port(pods, selector, name),
            None => Some(port.port),
        };
        json!({"name": port.name.clone().unwrap_or_default(), "port": number, "protocol": port.protocol.as_deref().unwrap_or("TCP")})
    }).collect();
    Some(json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": format!("{name}-sim"),
            "namespace": service.metadata.namespace,
            "labels": {"kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": name, "uid": service.metadata.uid,
                "controller": true, "blockOwnerDeletion": true}],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": ports,
    }))
}

fn selects(selector: &BTreeMap<String, String>, pod: &Pod) -> bool {
    let labels = pod.metadata.labels.as_ref();
    selector.iter().all(|(key, value)| labels.is_some_and(|labels| labels.get(key) == Some(value)))
}

/// A pod that has an address and has not ended.
fn endpoint(pod: &Pod) -> Option<Value> {
    let status = pod.status.as_ref()?;
    let address = status.pod_ip.as_deref().filter(|address| !address.is_empty())?;
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        return None;
    }
    let leaving = pod.metadata.deletion_timestamp.is_some();
    let serving = ready_since(pod).is_some();
    Some(json!({
        "addresses": [address],
        "conditions": {"ready": serving && !leaving, "serving": serving, "terminating": leaving},
        "nodeName": pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        "targetRef": {"kind": "Pod", "name": pod.metadata.name, "namespace": pod.metadata.namespace, "uid": pod.metadata.uid},
    }))
}

fn named_port(pods: &[&Pod], selector: &BTreeMap<String, String>, name: &str) -> Option<i32> {
    let pod = pods.iter().find(|pod| selects(selector, pod))?;
    let containers = &pod.spec.as_ref()?.containers;
    let mut ports = containers.iter().flat_map(|container| container.ports.iter().flatten());
    ports.find(|port| port.name.as_deref() == Some(name)).map(|port| port.container_port)
}
