//! What we read of objects that are not ours.
//!
//! A view keeps the metadata and the few fields somebody here asks for; the rest is dropped when the object is
//! read. Views are for reading only: whoever changes such an object sends a patch, so that nothing gets lost. The
//! ReplicaSet is the exception: its spec is small, kept whole, and written back whole.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::ObjectMeta;
use crate::raw::Raw;
use crate::values::{IntOrString, LabelSelector, Time};
use crate::wire::wire;

/// A condition in the status of a built-in kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// For programs.
    pub reason: String,
    /// For people.
    pub message: String,
    /// When status last changed.
    pub last_transition_time: Option<Time>,
}

/// A ReplicaSet. The one object here that is written from its view, so nothing of it may be dropped.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicaSet {
    /// Name, labels, annotations, owners.
    pub metadata: ObjectMeta,
    /// What is asked for.
    pub spec: ReplicaSetSpec,
    /// What there is.
    pub status: ReplicaSetStatus,
}

impl Serialize for ReplicaSet {
    /// Writes what a client may write: everything but the status.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("apiVersion", "apps/v1")?;
        map.serialize_entry("kind", "ReplicaSet")?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("spec", &self.spec)?;
        map.end()
    }
}

wire! {
    /// What a ReplicaSet asks for.
    pub struct ReplicaSetSpec {
        /// Pods; the API server always sets it.
        "replicas" replicas: i32,
        /// Seconds a pod must be ready before it counts as available.
        "minReadySeconds" min_ready_seconds: i32,
        /// Which pods belong to it.
        "selector" selector: LabelSelector,
        /// The pod to run.
        "template" template: Raw,
    }
}

/// What a ReplicaSet has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetStatus {
    /// Pods.
    pub replicas: i32,
    /// Pods that are ready.
    pub ready_replicas: i32,
    /// Pods that have been ready for long enough.
    pub available_replicas: i32,
    /// Generation this status belongs to.
    pub observed_generation: i64,
    /// What holds or does not hold.
    pub conditions: Vec<Condition>,
}

/// A Deployment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Deployment {
    /// Name, labels, annotations, owners.
    pub metadata: ObjectMeta,
    /// What is asked for.
    pub spec: DeploymentSpec,
    /// What there is.
    pub status: DeploymentStatus,
}

/// What a Deployment asks for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DeploymentSpec {
    /// Pods.
    pub replicas: Option<i32>,
    /// Which pods belong to it.
    pub selector: Option<LabelSelector>,
    /// The pod to run.
    pub template: Option<Raw>,
}

/// What a Deployment has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    /// Pods.
    pub replicas: i32,
    /// Pods that have been ready for long enough.
    pub available_replicas: i32,
    /// Generation this status belongs to.
    pub observed_generation: i64,
}

/// A Pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Name, labels, annotations, owners.
    pub metadata: ObjectMeta,
    /// What there is.
    pub status: PodStatus,
}

/// What a Pod says about itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// Pending, Running, Succeeded, Failed or Unknown.
    pub phase: String,
    /// For programs.
    pub reason: String,
    /// What holds or does not hold.
    pub conditions: Vec<Condition>,
    /// One entry per init container.
    pub init_container_statuses: Vec<ContainerStatus>,
    /// One entry per container.
    pub container_statuses: Vec<ContainerStatus>,
}

/// What a container says about itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// The container.
    pub name: String,
    /// Whether it passes its readiness probe.
    pub ready: bool,
    /// How often it was started again.
    pub restart_count: i32,
    /// What it does now.
    pub state: ContainerState,
}

/// What a container does now; one field is set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// It is not running yet.
    pub waiting: Option<ContainerReason>,
    /// It runs.
    pub running: Option<ContainerRunning>,
    /// It has ended.
    pub terminated: Option<ContainerReason>,
}

/// Why a container waits or has ended.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerReason {
    /// For programs.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Exit code of an ended container.
    pub exit_code: i32,
    /// Signal that ended it, if one did.
    pub signal: i32,
}

/// Since when a container runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerRunning {
    /// The start.
    pub started_at: Option<Time>,
}

/// A Service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Service {
    /// Name, labels, annotations, owners.
    pub metadata: ObjectMeta,
    /// What is asked for.
    pub spec: ServiceSpec,
}

/// What a Service asks for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ServiceSpec {
    /// Labels of the pods it sends traffic to.
    pub selector: BTreeMap<String, String>,
    /// Where it listens.
    pub ports: Vec<ServicePort>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServicePort {
    /// Its name; may be empty where there is one only.
    pub name: String,
    /// Its number.
    pub port: i32,
    /// The port of the pods, if it is another.
    pub target_port: Option<IntOrString>,
}

/// A Job.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Name, labels, annotations, owners.
    pub metadata: ObjectMeta,
    /// What there is.
    pub status: JobStatus,
}

/// How far a Job is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobStatus {
    /// Pods that run.
    pub active: i32,
    /// Pods that succeeded.
    pub succeeded: i32,
    /// Pods that failed.
    pub failed: i32,
    /// When it began.
    pub start_time: Option<Time>,
    /// When it succeeded.
    pub completion_time: Option<Time>,
    /// What holds or does not hold.
    pub conditions: Vec<Condition>,
}

#[cfg(feature = "kube")]
macro_rules! resource {
    ($($view:ident: $group:literal / $plural:literal),* $(,)?) => {$(
        impl kube_core::Resource for $view {
            type DynamicType = ();
            type Scope = kube_core::NamespaceResourceScope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                stringify!($view).into()
            }

            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                "v1".into()
            }

            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    )*};
}

#[cfg(feature = "kube")]
resource! {
    ReplicaSet: "apps" / "replicasets",
    Deployment: "apps" / "deployments",
    Pod: "" / "pods",
    Service: "" / "services",
    Job: "batch" / "jobs",
}
