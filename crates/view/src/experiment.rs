//! Experiments and what belongs to them.

use std::cmp::Reverse;

use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::{Experiment, ExperimentStatus};
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;

use crate::info::{ExperimentInfo, Meta};
use crate::objects::{created, is_owned, name, revision};
use crate::{ExperimentObjects, Objects, Pod, analysis, icon, replica_set};

impl ExperimentInfo {
    /// The view of one Experiment.
    pub fn new(objects: &ExperimentObjects) -> Self {
        let view = info(&objects.experiment, &objects.replica_sets, &objects.pods, &objects.analysis_runs);
        Self { object_meta: Meta::full(&objects.experiment.metadata), ..view }
    }
}

/// The Experiments of a Rollout: newest revision first, then the oldest.
pub(crate) fn of_rollout(objects: &Objects) -> Vec<ExperimentInfo> {
    let uid = objects.rollout.metadata.uid.text();
    let mut owned: Vec<&Experiment> =
        objects.experiments.iter().filter(|experiment| is_owned(&experiment.metadata, uid)).collect();
    owned.sort_by_key(|experiment| {
        let metadata = &experiment.metadata;
        (Reverse(revision(metadata)), created(metadata), name(metadata))
    });
    let children = |experiment| info(experiment, &objects.replica_sets, &objects.pods, &objects.analysis_runs);
    owned.into_iter().map(children).collect()
}

fn info(experiment: &Experiment, sets: &[ReplicaSet], pods: &[Pod], runs: &[AnalysisRun]) -> ExperimentInfo {
    let unset = ExperimentStatus::default();
    let status = experiment.status.as_ref().unwrap_or(&unset);
    let uid = experiment.metadata.uid.text();
    ExperimentInfo {
        object_meta: Meta::brief(&experiment.metadata),
        icon: icon::of_analysis(status.phase.text()),
        revision: revision(&experiment.metadata),
        status: status.phase.text().to_owned(),
        message: status.message.text().to_owned(),
        replica_sets: replica_set::owned_by(uid, sets, pods),
        analysis_runs: analysis::owned_by(uid, runs),
    }
}
