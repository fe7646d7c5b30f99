//! The few requests the agent makes, each bounded in time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, Node, Pod, PodStatus};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::{Map, Value, json};
use tidegate_bare::Bare;

use crate::lifecycle::Warning;
use crate::status::whole_seconds;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The pod as the server now has it.
    Written(Box<Pod>),
    /// Done; the watch will show the effect.
    Done,
    /// The pod is gone or has changed meanwhile; the watch will show how.
    Overtaken,
    /// To be tried again.
    Failed(String),
}

async fn bounded<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Outcome> {
    match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(value)) => Ok(value),
        // 409 is both a conflict and a name that is taken.
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Err(Outcome::Overtaken),
        Ok(Err(error)) => Err(Outcome::Failed(error.to_string())),
        Err(_) => Err(Outcome::Failed(format!("no answer within {} s", REQUEST_TIMEOUT.as_secs()))),
    }
}

fn pods_of(client: &Client, pod: &Pod) -> Api<Pod> {
    Api::namespaced(client.clone(), pod.metadata.namespace.as_deref().unwrap_or("default"))
}

/// Binds the pod to `node`.
pub(crate) async fn bind(client: Client, pod: Arc<Pod>, node: String) -> Outcome {
    let name = pod.name_any();
    let body = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": pod.metadata.namespace, "uid": pod.metadata.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    let (api, params) = (pods_of(&client, &pod), PostParams::default());
    let request = api.create_subresource::<_, Value>("binding", &name, &params, &body);
    bounded(request).await.map_or_else(|outcome| outcome, |_| Outcome::Done)
}

/// Writes the status as a merge patch that holds only what changed.
///
/// The resource version goes along: a condition that someone else wrote meanwhile must not be lost.
pub(crate) async fn write_status(
    client: Client,
    pod: Arc<Pod>,
    status: PodStatus,
    warning: Option<Warning>,
    now: Timestamp,
) -> Outcome {
    let Some(patch) = status_patch(&pod, &status) else { return Outcome::Done };
    if let Some(warning) = warning {
        record(&client, &pod, &warning, now).await;
    }
    let api: Api<Bare<Pod>> = Api::namespaced(client, pod.metadata.namespace.as_deref().unwrap_or("default"));
    let (name, params, patch) = (pod.name_any(), PatchParams::default(), Patch::Merge(patch));
    let request = api.patch_status(&name, &params, &patch);
    bounded(request).await.map_or_else(|outcome| outcome, |Bare(pod)| Outcome::Written(Box::new(pod)))
}

/// Every field of a status, chosen by `$choose` from two of them. One that is forgotten here does not compile.
macro_rules! every_field {
    ($choose:expr, $before:expr, $wanted:expr) => {
        every_field!($choose, $before, $wanted;
            allocated_resources, conditions, container_statuses, ephemeral_container_statuses,
            extended_resource_claim_status, host_ip, host_ips, init_container_statuses, message,
            node_allocatable_resource_claim_statuses, nominated_node_name, observed_generation, phase, pod_ip, pod_ips,
            qos_class, reason, resize, resource_claim_statuses, resources, start_time, volume_health)
    };
    ($choose:expr, $before:expr, $wanted:expr; $($field:ident),*) => {
        PodStatus { $($field: $choose(&$before.$field, &$wanted.$field)),* }
    };
}

fn changed<T: Clone + PartialEq>(before: &Option<T>, wanted: &Option<T>) -> Option<T> {
    if before == wanted { None } else { wanted.clone() }
}

fn gone<T: Clone>(before: &Option<T>, wanted: &Option<T>) -> Option<T> {
    if wanted.is_none() { before.clone() } else { None }
}

/// The merge patch from the pod's status to the wanted one; `None` when they cannot be told apart. Only what differs is
/// turned into JSON: this is asked at every step of every pod.
fn status_patch(pod: &Pod, wanted: &PodStatus) -> Option<Value> {
    let none = PodStatus::default();
    let before = pod.status.as_ref().unwrap_or(&none);
    let object = |status: &PodStatus| match serde_json::to_value(status) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let mut changes = object(&every_field!(changed, before, wanted));
    let gone = object(&every_field!(gone, before, wanted));
    changes.extend(gone.into_iter().map(|(field, _)| (field, Value::Null)));
    if changes.is_empty() {
        return None;
    }
    let metadata = json!({"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version});
    Some(json!({"metadata": metadata, "status": changes}))
}

/// Records a warning on the pod. Best effort: the status says the same.
async fn record(client: &Client, pod: &Pod, warning: &Warning, now: Timestamp) {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
    // Named by content, so that saying it twice makes one event.
    let digest = crate::fnv1a(format!("{}{}", warning.reason, warning.message).as_bytes());
    let stamp = whole_seconds(now);
    let body = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": format!("{}.{digest:016x}", pod.name_any()), "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "name": pod.name_any(), "namespace": namespace,
            "uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version,
        },
        "type": "Warning", "reason": warning.reason, "message": warning.message, "count": 1,
        "firstTimestamp": stamp, "lastTimestamp": stamp,
        "source": {"component": "tidegate-node-agent"},
    });
    if let Ok(event) = serde_json::from_value::<Event>(body) {
        let api: Api<Event> = Api::namespaced(client.clone(), namespace);
        let _recorded = bounded(api.create(&PostParams::default(), &event)).await;
    }
}

/// Removes a pod whose containers have stopped.
pub(crate) async fn delete(client: Client, pod: Arc<Pod>) -> Outcome {
    let preconditions = Preconditions { uid: pod.metadata.uid.clone(), resource_version: None };
    let params = DeleteParams::default().grace_period(0).preconditions(preconditions);
    let api = pods_of(&client, &pod);
    bounded(api.delete(&pod.name_any(), &params)).await.map_or_else(|outcome| outcome, |_| Outcome::Done)
}

/// Makes sure that the node exists, is ready and takes pods.
pub(crate) async fn ensure_node(client: &Client, name: &str, address: &str, now: Timestamp) -> Result<(), String> {
    let api: Api<Node> = Api::all(client.clone());
    let labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"});
    let body = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
    let node: Node = serde_json::from_value(body).map_err(|e| e.to_string())?;
    match bounded(api.create(&PostParams::default(), &node)).await {
        Ok(_) | Err(Outcome::Overtaken) => {}
        Err(outcome) => return Err(format!("node {name} could not be created: {outcome:?}")),
    }
    // Admission taints every new node as not ready; the controller that would lift this does not run here.
    let untaint = Patch::Merge(json!({"spec": {"taints": null}}));
    let stamp = whole_seconds(now);
    let resources = json!({"cpu": "64", "memory": "256Gi", "pods": "10000", "ephemeral-storage": "1Ti"});
    let status = Patch::Merge(json!({"status": {
        "capacity": resources, "allocatable": resources,
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "the node agent is running",
            "lastHeartbeatTime": stamp, "lastTransitionTime": stamp,
        }],
    }}));
    let params = PatchParams::default();
    for done in
        [bounded(api.patch(name, &params, &untaint)).await, bounded(api.patch_status(name, &params, &status)).await]
    {
        done.map_err(|outcome| format!("node {name} could not be made ready: {outcome:?}"))?;
    }
    Ok(())
}
