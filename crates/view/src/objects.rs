//! What a view is made from.

use serde_json::Value;
use tidegate_api::ObjectMeta;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::names::annotations;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;

use crate::Pod;

/// A Rollout and objects among which its children are; those of others do no harm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    /// The Rollout.
    pub rollout: Rollout,
    /// ReplicaSets.
    pub replica_sets: Vec<ReplicaSet>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// Experiments.
    pub experiments: Vec<Experiment>,
    /// AnalysisRuns.
    pub analysis_runs: Vec<AnalysisRun>,
    /// The pod template of the workload that the Rollout refers to, if it does and there is one.
    pub workload_template: Option<Raw>,
}

/// An Experiment and objects among which its children are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExperimentObjects {
    /// The Experiment.
    pub experiment: Experiment,
    /// ReplicaSets.
    pub replica_sets: Vec<ReplicaSet>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// AnalysisRuns.
    pub analysis_runs: Vec<AnalysisRun>,
}

/// Whether one object belongs to another.
pub(crate) fn is_owned(child: &ObjectMeta, owner_uid: &str) -> bool {
    child.owner_references.iter().flatten().any(|owner| owner.uid == owner_uid) && !owner_uid.is_empty()
}

/// The revision an object was made for; 0 when it says nothing.
pub(crate) fn revision(metadata: &ObjectMeta) -> i64 {
    annotation(metadata, annotations::REVISION).parse().unwrap_or_default()
}

/// An annotation, empty when there is none.
pub(crate) fn annotation<'a>(metadata: &'a ObjectMeta, name: &str) -> &'a str {
    metadata.annotations.as_ref().and_then(|all| all.get(name)).map_or("", String::as_str)
}

/// A label, empty when there is none.
pub(crate) fn label<'a>(metadata: &'a ObjectMeta, name: &str) -> &'a str {
    metadata.labels.as_ref().and_then(|all| all.get(name)).map_or("", String::as_str)
}

/// Oldest first.
pub(crate) fn created(metadata: &ObjectMeta) -> Option<jiff::Timestamp> {
    metadata.creation_timestamp.as_ref().map(|time| time.0)
}

/// The name, empty when there is none.
pub(crate) fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.text()
}

/// Name and image of every container in one list of a pod template.
pub(crate) fn containers(template: Option<&Raw>, list: &str) -> Vec<crate::ContainerInfo> {
    let Some(template) = template else { return Vec::new() };
    let value = template.to_value();
    let items = value.pointer(&format!("/spec/{list}")).and_then(Value::as_array).into_iter().flatten();
    let text = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    items.map(|item| crate::ContainerInfo { name: text(item, "name"), image: text(item, "image") }).collect()
}
