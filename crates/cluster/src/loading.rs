//! Loads what a view needs, and no more: children by label and owner.

use std::collections::BTreeSet;

use serde_json::Value;
use tidegate_api::ObjectMeta;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::kind::Kind as _;
use tidegate_api::names::labels;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::{Items, Text};
use tidegate_view::{ExperimentObjects, Objects, Pod};

use crate::address::{
    ANALYSIS_RUNS, DEPLOYMENTS, EXPERIMENTS, POD_TEMPLATES, PODS, REPLICA_SETS, ROLLOUTS, Resource, Selection,
    selector_text, template_selector,
};
use crate::error::{ApiError, Refusal};
use crate::request::Cluster;

/// More hashes than this would make an address too long; then everything that carries one is looked at.
const MOST_HASHES: usize = 100;

/// The Rollout alone.
pub async fn rollout_alone(cluster: &Cluster, name: &str) -> Result<Rollout, ApiError> {
    cluster.get(ROLLOUTS, name).await.map_err(|error| not_found(error, ROLLOUTS, name))
}

/// Commands that show name the kind in the singular.
fn not_found(error: ApiError, resource: Resource, name: &str) -> ApiError {
    match error {
        ApiError::Refused(refusal) if refusal.code == 404 && refusal.names_object => ApiError::Refused(Refusal {
            message: format!("{}.{} {name:?} not found", resource.singular, resource.group),
            ..refusal
        }),
        other => other,
    }
}

/// A Rollout and all that belongs to it, as far as it may be read.
pub struct Loaded {
    /// What was read.
    pub objects: Objects,
    /// What may not be read.
    pub hidden: Vec<ApiError>,
}

/// Fields of a Rollout that this plugin does not know, in words. They are stored, so a newer CRD has let them pass.
pub fn newer(rollout: &Rollout) -> Option<String> {
    let unknown = rollout.unknown_fields();
    let (first, more) = unknown.split_first()?;
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let name = rollout.metadata.name.text();
    Some(format!(
        "rollout {name:?} has a field that this plugin does not know ({first}{more}): the controller may be newer than the \
         plugin, and know better"
    ))
}

/// A Rollout and all that belongs to it. Kinds that may not be read are left out and named.
pub async fn rollout(cluster: &Cluster, name: &str) -> Result<Loaded, ApiError> {
    let mut hidden = Vec::new();
    let rollout = rollout_alone(cluster, name).await?;
    let (workload_template, selector) = workload(cluster, &rollout).await;
    let by_selector = Selection { labels: selector, ..Selection::default() };
    let mut sets: Vec<ReplicaSet> = readable(cluster.objects(REPLICA_SETS, &by_selector).await, &mut hidden)?;
    let uid = rollout.metadata.uid.text().to_owned();
    let hashes = hashes(&rollout, &sets, &uid);
    let by_hash = Selection::labels(match hashes.len() {
        // Nothing can belong to it yet; nothing has a label with this value either.
        0 => format!("{}=none", labels::POD_TEMPLATE_HASH),
        1..=MOST_HASHES => format!("{} in ({})", labels::POD_TEMPLATE_HASH, Vec::from_iter(hashes).join(",")),
        _ => labels::POD_TEMPLATE_HASH.to_owned(),
    });
    let (pods, runs, experiments) = futures::join!(
        cluster.objects::<Pod>(PODS, &by_selector),
        cluster.objects::<AnalysisRun>(ANALYSIS_RUNS, &by_hash),
        cluster.objects::<Experiment>(EXPERIMENTS, &by_hash),
    );
    let mut pods = readable(pods, &mut hidden)?;
    let mut analysis_runs = readable(runs, &mut hidden)?;
    let mut experiments = readable(experiments, &mut hidden)?;
    experiments.retain(|experiment| is_owned(&experiment.metadata, &uid));
    for experiment in &experiments {
        children(cluster, experiment, Some(&by_selector), &mut sets, &mut pods, &mut analysis_runs).await?;
    }
    let objects = Objects { rollout, replica_sets: sets, pods, experiments, analysis_runs, workload_template };
    Ok(Loaded { objects, hidden })
}

/// What was read; nothing, and a note, where that is not allowed.
fn readable<T>(read: Result<Vec<T>, ApiError>, hidden: &mut Vec<ApiError>) -> Result<Vec<T>, ApiError> {
    match read {
        Err(error) if error.is_forbidden() => {
            hidden.push(error);
            Ok(Vec::new())
        }
        other => other,
    }
}

/// An Experiment and all that belongs to it.
pub async fn experiment(cluster: &Cluster, name: &str) -> Result<ExperimentObjects, ApiError> {
    let experiment: Experiment =
        cluster.get(EXPERIMENTS, name).await.map_err(|error| not_found(error, EXPERIMENTS, name))?;
    let (mut replica_sets, mut pods, mut analysis_runs) = (Vec::new(), Vec::new(), Vec::new());
    children(cluster, &experiment, None, &mut replica_sets, &mut pods, &mut analysis_runs).await?;
    Ok(ExperimentObjects { experiment, replica_sets, pods, analysis_runs })
}

/// Adds the children of an Experiment that are not there yet.
async fn children(
    cluster: &Cluster,
    experiment: &Experiment,
    known: Option<&Selection>,
    sets: &mut Vec<ReplicaSet>,
    pods: &mut Vec<Pod>,
    runs: &mut Vec<AnalysisRun>,
) -> Result<(), ApiError> {
    let templates = experiment.spec.templates.items().iter();
    let selections: BTreeSet<Selection> = templates
        .filter_map(|template| template.selector.as_ref())
        .map(|selector| Selection::labels(template_selector(selector)))
        .filter(|selection| Some(selection) != known)
        .collect();
    for selection in &selections {
        let (more_sets, more_pods) =
            futures::join!(cluster.objects(REPLICA_SETS, selection), cluster.objects::<Pod>(PODS, selection));
        add(sets, more_sets?, |set: &ReplicaSet| &set.metadata);
        add(pods, more_pods?, |pod| &pod.metadata);
    }
    for run in experiment.status.iter().flat_map(|status| status.analysis_runs.items()) {
        match cluster.get(ANALYSIS_RUNS, run.analysis_run.text()).await {
            Ok(found) => add(runs, vec![found], |run: &AnalysisRun| &run.metadata),
            // It may have been removed since; a run that was never made has no name.
            Err(ApiError::Name(_)) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn add<T>(all: &mut Vec<T>, more: Vec<T>, metadata: impl Fn(&T) -> &ObjectMeta) {
    let known: BTreeSet<Option<String>> = all.iter().map(|object| metadata(object).uid.clone()).collect();
    all.extend(more.into_iter().filter(|object| !known.contains(&metadata(object).uid)));
}

fn is_owned(metadata: &ObjectMeta, uid: &str) -> bool {
    metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid)
}

/// Pod template hashes of a Rollout: its AnalysisRuns and Experiments carry one of them.
fn hashes(rollout: &Rollout, sets: &[ReplicaSet], uid: &str) -> BTreeSet<String> {
    let owned = sets.iter().filter(|set| is_owned(&set.metadata, uid));
    let labelled = owned.filter_map(|set| set.metadata.labels.as_ref()?.get(labels::POD_TEMPLATE_HASH).cloned());
    let status = rollout.status.iter().flat_map(|status| [status.current_pod_hash.clone(), status.stable_rs.clone()]);
    labelled.chain(status.flatten()).filter(|hash| !hash.is_empty()).collect()
}

/// The template of the workload that a Rollout refers to, and the selector of its pods. A workload that is missing or
/// of a kind we do not know leaves the containers out.
async fn workload(cluster: &Cluster, rollout: &Rollout) -> (Option<Raw>, Option<String>) {
    let own = rollout.spec.selector.as_ref().map(selector_text);
    let Some(reference) = &rollout.spec.workload_ref else { return (None, own) };
    let (resource, pointer) = match reference.kind.text() {
        "Deployment" => (DEPLOYMENTS, "/spec/template"),
        "ReplicaSet" => (REPLICA_SETS, "/spec/template"),
        "PodTemplate" => (POD_TEMPLATES, "/template"),
        _ => return (None, own),
    };
    let Ok(object) = cluster.get::<Value>(resource, reference.name.text()).await else { return (None, own) };
    let template = object.pointer(pointer).map(Raw::from);
    let selector = object.pointer("/spec/selector").and_then(|value| serde_json::from_value(value.clone()).ok());
    (template, own.or_else(|| selector.as_ref().map(selector_text)))
}
