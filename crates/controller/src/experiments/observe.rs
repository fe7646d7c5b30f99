//! From caches to what a step is made from. What decides over the end of an Experiment is asked for where the caches do
//! not know it: they may be late.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::{Api, Resource};
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use tidegate_api::experiment::{Experiment, ExperimentAnalysis};
use tidegate_api::kind::Kind;
use tidegate_api::names::analysis_phase;
use tidegate_api::rollout::AnalysisTemplateRef;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::{Items, Text};
use tidegate_experiment::{Observed, Refused};
use tidegate_runtime::{Key, Store};
use tidegate_validate::references::{Found, Lookup};

use super::traffic::{self, Traffic};
use crate::cache::{BY_OWNER, controller_of};
use crate::controller::Shared;
use crate::error::LookError;
use crate::observe::follow;

/// What was seen beside the Experiment itself.
#[derive(Default)]
pub(super) struct Sight {
    pub replica_sets: Vec<ReplicaSet>,
    pub services: Vec<Service>,
    runs: Vec<AnalysisRun>,
    taken_names: BTreeSet<String>,
    missing_runs: BTreeMap<String, String>,
    found: Found,
    traffic: Traffic,
}

impl Sight {
    pub(super) fn observed<'a>(
        &'a self,
        experiment: &'a Experiment,
        refused: &'a Refused,
        now: Timestamp,
    ) -> Observed<'a> {
        Observed {
            experiment,
            replica_sets: &self.replica_sets,
            services: &self.services,
            runs: &self.runs,
            taken_names: &self.taken_names,
            missing_runs: &self.missing_runs,
            found: &self.found,
            refused,
            routed: &self.traffic.routed,
            least_delay: self.traffic.least_delay,
            now,
        }
    }
}

/// Takes everything a step for this Experiment needs.
pub(super) async fn observe(shared: &Shared, experiment: &Experiment) -> Result<Sight, LookError> {
    let cache = &shared.executor.cache;
    let (uid, namespace) = (experiment.metadata.uid.text(), experiment.metadata.namespace.text());
    let is_here = |metadata: &tidegate_api::ObjectMeta| metadata.namespace.text() == namespace;
    let sets = cache.replica_sets.find(BY_OWNER, uid);
    let services = cache.services.find(BY_OWNER, uid);
    let runs = cache.analysis_runs.find(BY_OWNER, uid);
    let mut sight = Sight {
        replica_sets: sets.iter().filter(|set| is_here(&set.metadata)).map(|set| (**set).clone()).collect(),
        services: services.iter().filter(|found| is_here(&found.metadata)).map(|found| (**found).clone()).collect(),
        runs: runs.iter().filter(|run| is_here(&run.metadata)).map(|run| (**run).clone()).collect(),
        traffic: traffic::of(shared, experiment).await?,
        ..Sight::default()
    };
    see_recorded_runs(shared, experiment, &mut sight).await?;
    let unbegun = unbegun(experiment);
    if !unbegun.is_empty() {
        see_templates(shared, namespace, &unbegun, &mut sight).await?;
        let is_foreign = |metadata| controller_of(metadata).is_none_or(|owner| owner.uid != uid);
        // Among names that begin like all of ours: there may be very many others.
        let others = cache.analysis_runs.beginning(namespace, &format!("{}-", experiment.metadata.name.text()));
        let others = others.iter().filter(|run| is_foreign(&run.metadata));
        sight.taken_names = others.filter_map(|run| run.metadata.name.clone()).collect();
    }
    Ok(sight)
}

/// Analyses that have no run and may get one.
fn unbegun(experiment: &Experiment) -> Vec<&ExperimentAnalysis> {
    let status = experiment.status.as_ref();
    if status.is_some_and(|status| analysis_phase::is_completed(status.phase.text())) {
        return Vec::new();
    }
    let entries = status.map_or(&[][..], |status| status.analysis_runs.items());
    let is_begun = |analysis: &ExperimentAnalysis| {
        entries.iter().any(|entry| entry.name == analysis.name && !entry.analysis_run.text().is_empty())
    };
    experiment.spec.analyses.items().iter().filter(|analysis| !is_begun(analysis)).collect()
}

/// Runs that the status names; the cache may not have heard of one yet.
async fn see_recorded_runs(shared: &Shared, experiment: &Experiment, sight: &mut Sight) -> Result<(), LookError> {
    let namespace = experiment.metadata.namespace.text();
    let entries = experiment.status.as_ref().map_or(&[][..], |status| status.analysis_runs.items());
    for entry in entries.iter().filter(|entry| !analysis_phase::is_completed(entry.phase.text())) {
        let name = entry.analysis_run.text();
        if name.is_empty() || sight.runs.iter().any(|run| run.metadata.name.text() == name) {
            continue;
        }
        let key = Key::new(namespace, name);
        if let Some(run) = shared.executor.cache.analysis_runs.get(&key) {
            sight.runs.push((*run).clone());
            continue;
        }
        let api: Api<AnalysisRun> = Api::namespaced(shared.executor.client.clone(), namespace);
        match api.get_opt(name).await {
            Ok(Some(run)) => sight.runs.push(run),
            Ok(None) => {
                let text = format!("analysisruns.argoproj.io \"{name}\" not found");
                sight.missing_runs.insert(name.to_owned(), text);
            }
            Err(error) => return Err(LookError::api("get", "AnalysisRun", &key, error)),
        }
    }
    Ok(())
}

async fn see_templates(
    shared: &Shared,
    namespace: &str,
    analyses: &[&ExperimentAnalysis],
    sight: &mut Sight,
) -> Result<(), LookError> {
    let (cache, client) = (&shared.executor.cache, &shared.executor.client);
    for analysis in analyses {
        let name = analysis.template_name.text();
        let is_cluster = analysis.cluster_scope == Some(true);
        let (missing, looked) = if is_cluster {
            let api = Api::<ClusterAnalysisTemplate>::all(client.clone());
            let key = Key::new("", name);
            (ask(&api, &cache.cluster_templates, &key).await?, &mut sight.found.cluster_templates)
        } else {
            let api = Api::<AnalysisTemplate>::namespaced(client.clone(), namespace);
            let key = Key::new(namespace, name);
            (ask(&api, &cache.templates, &key).await?, &mut sight.found.templates)
        };
        if let Some(text) = missing {
            looked.insert(name.to_owned(), Lookup::Missing(text));
        }
        let reference = AnalysisTemplateRef {
            template_name: analysis.template_name.clone(),
            cluster_scope: analysis.cluster_scope,
            ..AnalysisTemplateRef::default()
        };
        follow(shared, namespace, vec![reference], &mut sight.found);
    }
    Ok(())
}

/// Asks the API for a template that the cache does not know; says why if there is none. One that may not be read is as good
/// as none.
async fn ask<K>(api: &Api<K>, cache: &Store<K>, key: &Key) -> Result<Option<String>, LookError>
where
    K: Resource + Kind + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    if cache.get(key).is_some() {
        return Ok(None);
    }
    match api.get_opt(&key.name).await {
        Ok(Some(template)) => {
            cache.put_own(template);
            Ok(None)
        }
        Ok(None) => Ok(Some(format!("{} '{}' not found", K::KIND, key.name))),
        Err(kube::Error::Api(status)) if status.is_forbidden() => Ok(Some(status.message)),
        Err(error) => Err(LookError::api("get", K::KIND, key, error)),
    }
}
