//! Where a Service leads: one EndpointSlice and one Endpoints object per Service, with the pods it selects.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use super::pods::{Pod, ready_since};

/// Label that says which program keeps an Endpoints object.
pub const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
/// Its value for ours; it also tells which of them may be removed with their Service.
pub const ENDPOINTS_MANAGER: &str = "endpoint-controller";
const HEADLESS: &str = "service.kubernetes.io/headless";

/// The slice a Service should have; `None` for one without a selector, whose endpoints are somebody else's.
pub fn slice_of(service: &Service, pods: &[&Pod]) -> Option<Value> {
    let (spec, selector, name) = parts(service)?;
    let mut endpoints: Vec<Value> =
        pods.iter().filter(|pod| selects(selector, pod)).filter_map(|pod| endpoint(spec, pod)).collect();
    endpoints.sort_by_key(|endpoint| endpoint["targetRef"]["name"].to_string());
    let mut labels = labels(service, spec);
    labels.insert("kubernetes.io/service-name".to_owned(), name.to_owned());
    let keeper = "endpointslice-controller.k8s.io".to_owned();
    labels.insert("endpointslice.kubernetes.io/managed-by".to_owned(), keeper);
    let ports: Vec<Value> = ports(spec, selector, pods)
        .into_iter()
        .map(|(name, port, protocol)| json!({"name": name, "port": port, "protocol": protocol}))
        .collect();
    Some(json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": format!("{name}-sim"),
            "namespace": service.metadata.namespace,
            "labels": labels,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": name, "uid": service.metadata.uid,
                "controller": true, "blockOwnerDeletion": true}],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": ports,
    }))
}

/// The Endpoints object a Service should have; `None` for one without a selector.
pub fn endpoints_of(service: &Service, pods: &[&Pod]) -> Option<Value> {
    let (spec, selector, name) = parts(service)?;
    let (mut ready, mut unready) = (Vec::new(), Vec::new());
    for pod in pods.iter().filter(|pod| selects(selector, pod)) {
        let Some(address) = address(pod) else { continue };
        let publishes_all = spec.publish_not_ready_addresses == Some(true);
        if pod.metadata.deletion_timestamp.is_some() && !publishes_all {
            continue;
        }
        let entry = json!({"ip": address, "nodeName": node(pod), "targetRef": reference(pod)});
        if ready_since(pod).is_some() || publishes_all { ready.push(entry) } else { unready.push(entry) }
    }
    let mut subset = json!({});
    for (field, mut entries) in [("addresses", ready), ("notReadyAddresses", unready)] {
        if !entries.is_empty() {
            entries.sort_by_key(|entry| entry["ip"].to_string());
            subset[field] = Value::Array(entries);
        }
    }
    let ports: Vec<Value> = ports(spec, selector, pods)
        .into_iter()
        .map(|(name, port, protocol)| match name.as_str() {
            "" => json!({"port": port, "protocol": protocol}),
            name => json!({"name": name, "port": port, "protocol": protocol}),
        })
        .collect();
    let is_empty = subset.as_object().is_none_or(serde_json::Map::is_empty);
    if !is_empty && !ports.is_empty() {
        subset["ports"] = Value::Array(ports);
    }
    let mut labels = labels(service, spec);
    labels.insert(MANAGED_BY.to_owned(), ENDPOINTS_MANAGER.to_owned());
    let metadata = json!({"name": name, "namespace": service.metadata.namespace, "labels": labels});
    let subsets = if is_empty { Vec::new() } else { vec![subset] };
    Some(json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}))
}

/// Spec, selector and name of a Service that selects pods.
fn parts(service: &Service) -> Option<(&ServiceSpec, &BTreeMap<String, String>, &str)> {
    let spec = service.spec.as_ref()?;
    let selector = spec.selector.as_ref().filter(|selector| !selector.is_empty())?;
    Some((spec, selector, service.metadata.name.as_deref()?))
}

/// The labels of the Service, and a mark if it has no address.
fn labels(service: &Service, spec: &ServiceSpec) -> BTreeMap<String, String> {
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    if spec.cluster_ip.as_deref() == Some("None") {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels
}

fn ports(spec: &ServiceSpec, selector: &BTreeMap<String, String>, pods: &[&Pod]) -> Vec<(String, Option<i32>, String)> {
    let one = |port: &k8s_openapi::api::core::v1::ServicePort| {
        let number = match &port.target_port {
            Some(IntOrString::Int(number)) => Some(*number),
            Some(IntOrString::String(name)) => named_port(pods, selector, name),
            None => Some(port.port),
        };
        (port.name.clone().unwrap_or_default(), number, port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()))
    };
    spec.ports.iter().flatten().map(one).collect()
}

/// Whether a Service's selector selects a pod.
pub(crate) fn selects(selector: &BTreeMap<String, String>, pod: &Pod) -> bool {
    let labels = pod.metadata.labels.as_ref();
    selector.iter().all(|(key, value)| labels.is_some_and(|labels| labels.get(key) == Some(value)))
}

/// The address of a pod that has not ended.
fn address(pod: &Pod) -> Option<&str> {
    let status = pod.status.as_ref()?;
    let address = status.pod_ip.as_deref().filter(|address| !address.is_empty())?;
    (!matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"))).then_some(address)
}

fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn reference(pod: &Pod) -> Value {
    let meta = &pod.metadata;
    json!({"kind": "Pod", "name": meta.name, "namespace": meta.namespace, "uid": meta.uid})
}

fn endpoint(spec: &ServiceSpec, pod: &Pod) -> Option<Value> {
    let address = address(pod)?;
    let leaving = pod.metadata.deletion_timestamp.is_some();
    let serving = ready_since(pod).is_some();
    let ready = serving && !leaving || spec.publish_not_ready_addresses == Some(true);
    Some(json!({
        "addresses": [address],
        "conditions": {"ready": ready, "serving": serving, "terminating": leaving},
        "nodeName": node(pod),
        "targetRef": reference(pod),
    }))
}

fn named_port(pods: &[&Pod], selector: &BTreeMap<String, String>, name: &str) -> Option<i32> {
    let pod = pods.iter().find(|pod| selects(selector, pod))?;
    let containers = &pod.spec.as_ref()?.containers;
    let mut ports = containers.iter().flat_map(|container| container.ports.iter().flatten());
    ports.find(|port| port.name.as_deref() == Some(name)).map(|port| port.container_port)
}
