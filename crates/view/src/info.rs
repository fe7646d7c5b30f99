//! The read model, in the shape programs read it: values that are zero or empty are left out of the JSON.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use tidegate_api::ObjectMeta;
use tidegate_api::wire::Text;

/// Which object, of its metadata what people ask for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its identity.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Its version in the API.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// How often its spec changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Timestamp>,
    /// Its labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Meta {
    /// Name, namespace, identity and age: what is shown of children.
    pub(crate) fn brief(metadata: &ObjectMeta) -> Self {
        Self {
            name: metadata.name.text().to_owned(),
            namespace: metadata.namespace.text().to_owned(),
            uid: metadata.uid.text().to_owned(),
            creation_timestamp: metadata.creation_timestamp.as_ref().map(|time| time.0),
            ..Self::default()
        }
    }

    /// All that is shown of the object asked for.
    pub(crate) fn full(metadata: &ObjectMeta) -> Self {
        Self {
            resource_version: metadata.resource_version.text().to_owned(),
            generation: metadata.generation.unwrap_or_default(),
            labels: metadata.labels.clone().unwrap_or_default(),
            annotations: metadata.annotations.clone().unwrap_or_default(),
            ..Self::brief(metadata)
        }
    }
}

/// A Rollout and all that belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutInfo {
    /// The Rollout.
    pub object_meta: Meta,
    /// Its phase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Why the phase is what it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The phase as one character.
    pub icon: &'static str,
    /// `Canary`, `BlueGreen` or nothing.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub strategy: &'static str,
    /// Index of the current step and number of steps, `1/4`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// Weight the canary should have.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub set_weight: String,
    /// Weight the canary has.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub actual_weight: String,
    /// Pods that are ready.
    #[serde(skip_serializing_if = "is_zero")]
    pub ready: i32,
    /// Pods in all.
    #[serde(skip_serializing_if = "is_zero")]
    pub current: i32,
    /// Pods that are asked for.
    #[serde(skip_serializing_if = "is_zero")]
    pub desired: i32,
    /// Pods of the current template.
    #[serde(skip_serializing_if = "is_zero")]
    pub updated: i32,
    /// Pods that have been ready for long enough.
    #[serde(skip_serializing_if = "is_zero")]
    pub available: i32,
    /// The last restart, or `Never`.
    pub restarted_at: String,
    /// Generation that the controller has seen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub generation: String,
    /// Its ReplicaSets, newest revision first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replica_sets: Vec<ReplicaSetInfo>,
    /// Its Experiments, newest revision first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<ExperimentInfo>,
    /// Its AnalysisRuns, newest revision first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub analysis_runs: Vec<AnalysisRunInfo>,
    /// Containers of its pod template.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<ContainerInfo>,
    /// Its canary steps, as they are in the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Value>,
    /// Init containers of its pod template.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_containers: Vec<ContainerInfo>,
    /// What it waits for, in words; not part of the JSON that other programs know.
    #[serde(skip)]
    pub waiting_for: Vec<String>,
}

/// An Experiment and all that belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExperimentInfo {
    /// The Experiment.
    pub object_meta: Meta,
    /// Its phase as one character.
    pub icon: &'static str,
    /// Revision of the Rollout it belongs to.
    #[serde(skip_serializing_if = "is_zero")]
    pub revision: i64,
    /// Its phase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Why the phase is what it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Its ReplicaSets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replica_sets: Vec<ReplicaSetInfo>,
    /// Its AnalysisRuns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub analysis_runs: Vec<AnalysisRunInfo>,
}

/// A ReplicaSet, the roles it plays and its pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSetInfo {
    /// The ReplicaSet.
    pub object_meta: Meta,
    /// Progressing, Healthy, ReplicaFailure or ScaledDown.
    pub status: &'static str,
    /// The same as one character.
    pub icon: &'static str,
    /// Its revision.
    #[serde(skip_serializing_if = "is_zero")]
    pub revision: i64,
    /// Whether it is the stable one.
    #[serde(skip_serializing_if = "is_false")]
    pub stable: bool,
    /// Whether it is the canary.
    #[serde(skip_serializing_if = "is_false")]
    pub canary: bool,
    /// Whether the active Service points at it.
    #[serde(skip_serializing_if = "is_false")]
    pub active: bool,
    /// Whether the preview Service points at it.
    #[serde(skip_serializing_if = "is_false")]
    pub preview: bool,
    /// Whether the ping Service points at it.
    #[serde(skip_serializing_if = "is_false")]
    pub ping: bool,
    /// Whether the pong Service points at it.
    #[serde(skip_serializing_if = "is_false")]
    pub pong: bool,
    /// Its pods.
    #[serde(skip_serializing_if = "is_zero")]
    pub replicas: i32,
    /// Its pods that have been ready for long enough.
    #[serde(skip_serializing_if = "is_zero")]
    pub available: i32,
    /// Template of the Experiment it was made from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// When it may be scaled down, as written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scale_down_deadline: String,
    /// Images of its containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Images of its init containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_container_images: Vec<String>,
    /// Pods it should have; not part of the JSON that other programs know.
    #[serde(skip)]
    pub wanted: i32,
    /// Its pods, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<PodInfo>,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodInfo {
    /// The pod.
    pub object_meta: Meta,
    /// What kubectl would say about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The same as one character.
    pub icon: &'static str,
    /// Ready containers and all containers, `1/2`.
    pub ready: String,
    /// How often its containers were started again.
    #[serde(skip_serializing_if = "is_zero")]
    pub restarts: i32,
}

/// A container of a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ContainerInfo {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
}

/// An AnalysisRun and its measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnalysisRunInfo {
    /// The AnalysisRun.
    pub object_meta: Meta,
    /// Its phase as one character.
    pub icon: &'static str,
    /// Revision of the Rollout it belongs to.
    #[serde(skip_serializing_if = "is_zero")]
    pub revision: i64,
    /// Its phase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Measurements that succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub successful: i32,
    /// Measurements that failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: i32,
    /// Measurements that said neither.
    #[serde(skip_serializing_if = "is_zero")]
    pub inconclusive: i32,
    /// Measurements that could not be made.
    #[serde(skip_serializing_if = "is_zero")]
    pub error: i32,
    /// Measurements that are Jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobInfo>,
    /// All others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub non_job_info: Vec<MeasurementInfo>,
    /// The metrics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricInfo>,
    /// Spec and status as the API has them.
    pub spec_and_status: SpecAndStatus,
}

/// Spec and status of an AnalysisRun.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpecAndStatus {
    /// What is asked for.
    pub spec: Value,
    /// What was found.
    pub status: Value,
}

/// A measurement that is a Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobInfo {
    /// The Job.
    pub object_meta: Meta,
    /// Phase of the measurement.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The same as one character.
    pub icon: &'static str,
    /// The metric.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric_name: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

/// A measurement that is no Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeasurementInfo {
    /// The value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Its phase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The metric.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric_name: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

/// A metric of an AnalysisRun.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricInfo {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What makes a measurement a success.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub success_condition: String,
    /// How many measurements.
    #[serde(skip_serializing_if = "is_zero")]
    pub count: i32,
    /// Inconclusive measurements that are accepted.
    #[serde(skip_serializing_if = "is_zero")]
    pub inconclusive_limit: i32,
    /// Failures that are accepted.
    #[serde(skip_serializing_if = "is_zero")]
    pub failure_limit: i32,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

fn is_false(value: &bool) -> bool {
    !value
}
