//! What controllers want to know of pods. Pods are most of what happens, and most of a pod concerns nobody but its node:
//! what is not named here is passed over while it is read.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;

/// A pod as controllers see it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Name, labels, owners.
    #[serde(deserialize_with = "tidegate_bare::metadata")]
    pub metadata: ObjectMeta,
    /// What was asked for.
    pub spec: Option<PodSpec>,
    /// What there is.
    pub status: Option<PodStatus>,
}

/// What was asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Where it runs.
    pub node_name: Option<String>,
    /// What runs in it.
    pub containers: Vec<Container>,
}

/// A container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Container {
    /// Ports that Services may name.
    pub ports: Option<Vec<ContainerPort>>,
}

/// A port.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// Its name.
    pub name: Option<String>,
    /// Its number.
    pub container_port: i32,
}

/// What there is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// How far it is.
    pub phase: Option<String>,
    /// Its address.
    #[serde(rename = "podIP")]
    pub pod_ip: Option<String>,
    /// What holds or does not hold.
    pub conditions: Option<Vec<PodCondition>>,
    /// How its containers are.
    pub container_statuses: Option<Vec<ContainerStatus>>,
}

/// Something that holds or does not hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// What.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether.
    pub status: String,
    /// Since when.
    pub last_transition_time: Option<Time>,
}

/// How a container is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// How often it was started again.
    pub restart_count: i32,
    /// What it does now.
    pub state: Option<ContainerState>,
}

/// What a container does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// It has ended.
    pub terminated: Option<Terminated>,
}

/// The end of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terminated {
    /// When.
    pub finished_at: Option<Time>,
}

impl kube::Resource for Pod {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Pod".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "pods".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Whether a pod has neither ended nor been deleted.
pub(crate) fn is_active(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
    phase != "Succeeded" && phase != "Failed" && pod.metadata.deletion_timestamp.is_none()
}

/// Since when a pod is ready, if it is.
pub(crate) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|condition| condition.kind == "Ready" && condition.status == "True")?;
    Some(ready.last_transition_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0))
}

/// When a pod counts as available: at once, later, or not before something else happens.
pub(crate) enum Available {
    Now,
    At(Timestamp),
    Unknown,
}

/// Whether a pod has been ready for `min_ready_seconds`.
pub(crate) fn availability(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> Available {
    let Some(since) = ready_since(pod) else { return Available::Unknown };
    let at = since.saturating_add(SignedDuration::from_secs(i64::from(min_ready_seconds))).unwrap_or(since);
    if at <= now { Available::Now } else { Available::At(at) }
}

/// In which order surplus pods go: those that serve least, first.
///
/// Unassigned before assigned, pending before unknown before running, unready before ready, then the ones that became
/// ready last, with more restarts, created last.
pub(crate) fn deletion_rank(pod: &Pod) -> impl Ord + use<> {
    let assigned = pod.spec.as_ref().is_some_and(|spec| spec.node_name.as_deref().is_some_and(|node| !node.is_empty()));
    let status = pod.status.as_ref();
    let phase = match status.and_then(|status| status.phase.as_deref()).unwrap_or_default() {
        "Pending" => 0,
        "Running" => 2,
        _ => 1,
    };
    let ready = ready_since(pod);
    let restarts = status
        .and_then(|status| status.container_statuses.as_ref())
        .map_or(0, |all| all.iter().map(|container| container.restart_count).max().unwrap_or(0));
    let created = pod.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    let latest_first = |time: Timestamp| std::cmp::Reverse(time);
    let name = pod.metadata.name.clone().unwrap_or_default();
    (
        assigned,
        phase,
        ready.is_some(),
        ready.map(latest_first),
        std::cmp::Reverse(restarts),
        latest_first(created),
        name,
    )
}
