//! The view of one Rollout: weights, counts, children.

use tidegate_api::rollout::{CanaryStrategy, Rollout, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};
use tidegate_engine::phase::{self, TemplateSource};

use crate::info::{Meta, ReplicaSetInfo, RolloutInfo};
use crate::objects::containers;
use crate::{Objects, analysis, experiment, icon, replica_set, waiting};

impl RolloutInfo {
    /// The view of one Rollout and its children.
    pub fn new(objects: &Objects) -> Self {
        let rollout = &objects.rollout;
        let unset = RolloutStatus::default();
        let status = rollout.status.as_ref().unwrap_or(&unset);
        let shown = phase::shown(rollout, TemplateSource::AsStored);
        let template = objects.workload_template.as_ref().or(rollout.spec.template.as_ref());
        let mut info = Self {
            object_meta: Meta::full(&rollout.metadata),
            icon: icon::of_rollout(&shown.phase),
            status: shown.phase,
            message: shown.message,
            strategy: strategy(rollout),
            ready: status.ready_replicas.unwrap_or_default(),
            current: status.replicas.unwrap_or_default(),
            desired: rollout.spec.replicas_or_default(),
            updated: status.updated_replicas.unwrap_or_default(),
            available: status.available_replicas.unwrap_or_default(),
            restarted_at: restarted_at(status),
            generation: status.observed_generation.text().to_owned(),
            replica_sets: replica_set::of_rollout(rollout, &objects.replica_sets, &objects.pods),
            experiments: experiment::of_rollout(objects),
            analysis_runs: analysis::owned_by(rollout.metadata.uid.text(), &objects.analysis_runs),
            containers: containers(template, "containers"),
            init_containers: containers(template, "initContainers"),
            ..Self::default()
        };
        if let Some(canary) = rollout.spec.canary() {
            info.step = step(canary, status).unwrap_or_default();
            if !info.step.is_empty() {
                let steps = canary.steps.items().iter();
                info.steps = steps.map(|step| serde_json::to_value(step).unwrap_or_default()).collect();
            }
            info.set_weight = set_weight(canary, status).to_string();
            info.actual_weight = actual_weight(canary, status, &info.replica_sets).to_string();
        }
        info.waiting_for = waiting::waiting_for(rollout, &info);
        info
    }
}

/// `Canary`, `BlueGreen`, or nothing.
pub(crate) fn strategy(rollout: &Rollout) -> &'static str {
    match (rollout.spec.canary(), rollout.spec.blue_green()) {
        (Some(_), _) => "Canary",
        (None, Some(_)) => "BlueGreen",
        (None, None) => "",
    }
}

/// `1/4`, when there are steps and the controller has begun to count.
pub(crate) fn step(canary: &CanaryStrategy, status: &RolloutStatus) -> Option<String> {
    let count = canary.steps.items().len();
    let index = status.current_step_index?;
    (count > 0).then(|| format!("{index}/{count}"))
}

/// Index of the step under way; none when there are no steps or all are done.
fn current_step(canary: &CanaryStrategy, status: &RolloutStatus) -> Option<usize> {
    let index = usize::try_from(status.current_step_index.unwrap_or_default()).ok()?;
    (index < canary.steps.items().len()).then_some(index)
}

pub(crate) fn set_weight(canary: &CanaryStrategy, status: &RolloutStatus) -> i32 {
    if status.abort == Some(true) {
        return 0;
    }
    match current_step(canary, status) {
        None => canary.max_traffic_weight_or_default(),
        Some(index) => canary.steps.items()[..=index].iter().rev().find_map(|step| step.set_weight).unwrap_or(0),
    }
}

fn actual_weight(canary: &CanaryStrategy, status: &RolloutStatus, sets: &[ReplicaSetInfo]) -> i64 {
    let full = i64::from(canary.max_traffic_weight_or_default());
    if current_step(canary, status).is_none() {
        return full;
    }
    let available = i64::from(status.available_replicas.unwrap_or_default());
    if available == 0 {
        return 0;
    }
    if canary.traffic_routing.is_none() {
        let set = sets.iter().rev().find(|set| set.canary);
        return set.map_or(0, |set| i64::from(set.available) * full / available);
    }
    match status.canary.as_ref().and_then(|state| state.weights.as_ref()) {
        Some(weights) => i64::from(weights.canary.as_ref().and_then(|canary| canary.weight).unwrap_or_default()),
        None => i64::from(set_weight(canary, status)),
    }
}

fn restarted_at(status: &RolloutStatus) -> String {
    match status.restarted_at.as_ref().and_then(Time::instant) {
        Some(moment) => moment.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string(),
        None => "Never".to_owned(),
    }
}
