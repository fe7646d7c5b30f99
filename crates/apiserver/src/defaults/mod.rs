//! Defaults of built-in kinds: what a client sees back that it did not send.

mod network;
mod pod;
mod workload;

use serde_json::{Map, Value, json};

use crate::encoding::base64;
use crate::object::{at, child_mut, default_to, list, map_mut, meta_mut, name, text};
use crate::state::State;

/// Fills in the defaults of a built-in object; `old` is what it replaces.
pub(crate) fn apply(state: &mut State, id: &str, object: &mut Value, old: Option<&Value>) {
    match id {
        "namespaces" => namespace(object, old.is_none()),
        "pods" => pod::pod(object),
        "services" => network::service(state, object, old),
        "endpoints" => network::endpoints(object),
        "endpointslices.discovery.k8s.io" => network::endpoint_slice(object),
        "ingresses.networking.k8s.io" => network::ingress(object),
        "secrets" => secret(object),
        "events" => event(object),
        "nodes" => node(object, old.is_none()),
        "deployments.apps" => workload::deployment(object),
        "replicasets.apps" => workload::replica_set(object),
        "statefulsets.apps" => workload::stateful_set(object),
        "daemonsets.apps" => workload::daemon_set(object),
        "jobs.batch" => workload::job(object),
        "poddisruptionbudgets.policy" => workload::disruption_budget(object),
        "horizontalpodautoscalers.autoscaling" => workload::autoscaler(object),
        "leases.coordination.k8s.io" => drop(child_mut(object, &["spec"])),
        "roles.rbac.authorization.k8s.io" | "clusterroles.rbac.authorization.k8s.io" => role(object),
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => binding(object),
        crate::crd::DEFINITIONS => crate::crd::defaults(object, old),
        _ => {}
    }
    tidy_metadata(object);
}

/// Removes nulls in maps, which typed kinds cannot tell from absence.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Empty collections of metadata are not shown.
fn tidy_metadata(object: &mut Value) {
    let empty = |value: &Value| {
        value.as_object().is_some_and(Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_str().is_some_and(str::is_empty)
    };
    let meta = meta_mut(object);
    for field in ["labels", "annotations", "finalizers", "ownerReferences", "generateName"] {
        if meta.get(field).is_some_and(empty) {
            meta.remove(field);
        }
    }
}

/// `null` fields that the typed kinds print even when empty.
fn show_null(map: &mut Map<String, Value>, fields: &[&str]) {
    for field in fields {
        map.entry(*field).or_insert(Value::Null);
    }
}

fn namespace(object: &mut Value, new: bool) {
    let own = name(object).to_owned();
    child_mut(object, &["metadata", "labels"]).insert("kubernetes.io/metadata.name".to_owned(), json!(own));
    if new {
        child_mut(object, &["spec"]).insert("finalizers".to_owned(), json!(["kubernetes"]));
        child_mut(object, &["status"]).insert("phase".to_owned(), json!("Active"));
    }
}

fn secret(object: &mut Value) {
    let map = map_mut(object);
    default_to(map, "type", "Opaque");
    if let Some(Value::Object(plain)) = map.remove("stringData") {
        let data = child_mut(object, &["data"]);
        for (key, value) in plain {
            data.insert(key, json!(base64(value.as_str().unwrap_or_default().as_bytes())));
        }
    }
}

fn event(object: &mut Value) {
    let map = map_mut(object);
    default_to(map, "involvedObject", json!({}));
    default_to(map, "source", json!({}));
    default_to(map, "reportingComponent", "");
    default_to(map, "reportingInstance", "");
    show_null(map, &["firstTimestamp", "lastTimestamp", "eventTime"]);
}

fn node(object: &mut Value, new: bool) {
    let spec = child_mut(object, &["spec"]);
    if new && !spec.contains_key("taints") {
        spec.insert("taints".to_owned(), json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]));
    }
    let status = child_mut(object, &["status"]);
    default_to(status, "daemonEndpoints", json!({"kubeletEndpoint": {"Port": 0}}));
    let info = child_mut(object, &["status", "nodeInfo"]);
    for field in [
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ] {
        default_to(info, field, "");
    }
}

fn role(object: &mut Value) {
    if list(object, &["rules"]).is_empty() {
        map_mut(object).insert("rules".to_owned(), Value::Null);
    }
}

fn binding(object: &mut Value) {
    default_to(child_mut(object, &["roleRef"]), "apiGroup", "rbac.authorization.k8s.io");
    if let Some(Value::Array(subjects)) = map_mut(object).get_mut("subjects") {
        for subject in subjects {
            if matches!(text(subject, &["kind"]), "User" | "Group") && at(subject, &["apiGroup"]).is_none() {
                default_to(map_mut(subject), "apiGroup", "rbac.authorization.k8s.io");
            }
        }
    }
}

/// Calls a function for each map in a list.
fn each(object: &mut Value, path: &[&str], field: &str, change: impl Fn(&mut Value)) {
    if at(object, path).is_none_or(|v| v.get(field).is_none()) {
        return;
    }
    if let Some(Value::Array(items)) = child_mut(object, path).get_mut(field) {
        items.iter_mut().filter(|item| item.is_object()).for_each(change);
    }
}
