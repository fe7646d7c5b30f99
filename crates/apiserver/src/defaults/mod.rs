//! Defaults of built-in kinds: what a client sees back that it did not send.

mod network;
mod pod;
mod service;
mod workload;

pub(crate) use service::without_choices;

use serde_json::{Map, Value, json};

use crate::encoding::base64;
use crate::object::{at, child_mut, default_to, map_mut, meta_mut, name, text};
use crate::registry::Resource;
use crate::state::State;

/// Kinds whose defaults concern nothing outside the spec, or only look whether something is there.
const SETTLED_BY_SPEC: [&str; 3] = ["pods", "deployments.apps", "replicasets.apps"];

/// Fills in the defaults of a built-in object; `old` is what it replaces. A spec that has not changed has them: most
/// writes are about the status, and most of an object is its spec.
pub(crate) fn apply(
    state: &mut State,
    resource: &Resource,
    object: &mut Value,
    old: Option<&Value>,
    subresource: &str,
) {
    let is_settled = SETTLED_BY_SPEC.contains(&resource.id.as_str())
        && old.and_then(|old| old.get("spec")).is_some_and(|spec| object.get("spec") == Some(spec));
    let settled = is_settled.then_some("spec");
    drop_nulls_but(object, settled);
    match resource.id.as_str() {
        "deployments.apps" | "replicasets.apps" if is_settled => {}
        "pods" if is_settled => pod::status(object),
        "namespaces" => namespace(object, old.is_none()),
        "pods" => pod::pod(object, old.is_none()),
        "services" => service::service(state, object, old, subresource),
        "endpoints" => network::endpoints(object),
        "endpointslices.discovery.k8s.io" => network::endpoint_slice(object),
        "secrets" => secret(object),
        "nodes" => node(object, old.is_none()),
        "deployments.apps" => workload::deployment(object),
        "replicasets.apps" => workload::replica_set(object),
        "statefulsets.apps" => workload::stateful_set(object),
        "daemonsets.apps" => workload::daemon_set(object),
        "jobs.batch" => workload::job(object, old.is_none()),
        "horizontalpodautoscalers.autoscaling" => workload::autoscaler(object),
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => binding(object),
        crate::crd::DEFINITIONS => crate::crd::defaults(object, old),
        _ => {}
    }
    tidy_metadata(object);
    crate::typed::shape(resource, object, settled);
}

/// Removes nulls in maps, which typed kinds cannot tell from absence, but not from the field of a name.
fn drop_nulls_but(object: &mut Value, settled: Option<&str>) {
    let Value::Object(map) = object else { return };
    map.retain(|_, value| !value.is_null());
    map.iter_mut().filter(|(key, _)| settled != Some(key.as_str())).for_each(|(_, value)| drop_nulls(value));
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.values().any(Value::is_null) {
                map.retain(|_, value| !value.is_null());
            }
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

fn node(object: &mut Value, new: bool) {
    let spec = child_mut(object, &["spec"]);
    if new && !spec.contains_key("taints") {
        spec.insert("taints".to_owned(), json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]));
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
