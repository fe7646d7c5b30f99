//! Phase and message of a Rollout, the two words everybody looks at first.

use tidegate_api::names::{analysis_phase, annotations, condition, phase, reason};
use tidegate_api::rollout::{BlueGreenStrategy, CanaryStrategy, Rollout, RolloutSpec, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::progress::UNSUPPORTED;

/// A phase and why it is that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Healthy, Progressing, Paused or Degraded; for objects of other controllers whatever they wrote.
    pub phase: String,
    /// Why; empty when there is nothing to say.
    pub message: String,
}

impl Phase {
    fn new(phase: &str, message: impl Into<String>) -> Self {
        Self { phase: phase.to_owned(), message: message.into() }
    }

    fn progressing(message: &str) -> Self {
        Self::new(phase::PROGRESSING, message)
    }
}

/// Where the pod template of a Rollout came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateSource {
    /// The object as it is stored.
    AsStored,
    /// Its `workloadRef` was resolved in memory, as the controller does.
    Resolved,
}

/// What to show people: first whether the status belongs to this spec at all, then what it says.
pub fn shown(rollout: &Rollout, source: TemplateSource) -> Phase {
    let unset = RolloutStatus::default();
    let status = rollout.status.as_ref().unwrap_or(&unset);
    if is_older(status.observed_generation.text(), rollout.metadata.generation.unwrap_or_default()) {
        return Phase::progressing("waiting for rollout spec update to be observed");
    }
    if status.controller_pause == Some(true) && status.pause_conditions.items().is_empty() {
        return Phase::progressing("waiting for rollout to unpause");
    }
    if source == TemplateSource::Resolved && workload_unobserved(rollout, status) {
        return Phase::progressing("waiting for rollout spec update to be observed for the reference workload");
    }
    if !status.phase.text().is_empty() {
        return Phase::new(status.phase.text(), status.message.text());
    }
    calculated(&rollout.spec, status)
}

/// Text that is no number counts as observed: objects of the very first releases carry hashes there.
fn is_older(observed: &str, generation: i64) -> bool {
    observed.parse::<i64>().is_ok_and(|observed| observed < generation)
}

fn workload_unobserved(rollout: &Rollout, status: &RolloutStatus) -> bool {
    let annotation = rollout.metadata.annotations.as_ref().and_then(|all| all.get(annotations::WORKLOAD_GENERATION));
    let wanted = annotation.and_then(|text| text.parse::<i64>().ok());
    let observed = status.workload_observed_generation.text().parse::<i64>().ok();
    matches!((wanted, observed), (Some(wanted), Some(observed)) if wanted != observed)
}

/// What follows from spec and status alone; the controller writes this into `status.phase` and `status.message`.
pub fn calculated(spec: &RolloutSpec, status: &RolloutStatus) -> Phase {
    degraded(status)
        .or_else(|| paused(spec, status))
        .or_else(|| waiting_for_pods(spec, status))
        .or_else(|| match (spec.blue_green(), spec.canary()) {
            (Some(blue_green), _) => waiting_in_blue_green(blue_green, status),
            (None, Some(canary)) => waiting_in_canary(canary, status),
            (None, None) => None,
        })
        .unwrap_or_else(|| Phase::new(phase::HEALTHY, ""))
}

fn degraded(status: &RolloutStatus) -> Option<Phase> {
    status.conditions.items().iter().find_map(|found| {
        let (message, why) = (found.message.text(), found.reason.text());
        if found.kind.text() == condition::INVALID_SPEC {
            return Some(Phase::new(phase::DEGRADED, format!("{}: {message}", condition::INVALID_SPEC)));
        }
        matches!(why, reason::ROLLOUT_ABORTED | reason::PROGRESS_DEADLINE_EXCEEDED | UNSUPPORTED)
            .then(|| Phase::new(phase::DEGRADED, format!("{why}: {message}")))
    })
}

fn paused(spec: &RolloutSpec, status: &RolloutStatus) -> Option<Phase> {
    if spec.paused == Some(true) {
        return Some(Phase::new(phase::PAUSED, "manually paused"));
    }
    status.pause_conditions.items().first().map(|first| Phase::new(phase::PAUSED, first.reason.text()))
}

fn waiting_for_pods(spec: &RolloutSpec, status: &RolloutStatus) -> Option<Phase> {
    let updated = status.updated_replicas.unwrap_or_default();
    if spec.restart_at.as_ref().is_some_and(|wanted| !is_same_instant(wanted, status.restarted_at.as_ref())) {
        return Some(Phase::progressing("rollout is restarting"));
    }
    if updated < spec.replicas_or_default() {
        return Some(Phase::progressing("more replicas need to be updated"));
    }
    if status.available_replicas.unwrap_or_default() < updated {
        return Some(Phase::progressing("updated replicas are still becoming available"));
    }
    None
}

/// Another spelling of the same instant is the same instant.
fn is_same_instant(wanted: &Time, done: Option<&Time>) -> bool {
    done.is_some_and(|done| wanted == done || wanted.instant().is_some_and(|wanted| Some(wanted) == done.instant()))
}

fn is_fully_promoted(status: &RolloutStatus) -> bool {
    let stable = status.stable_rs.text();
    !stable.is_empty() && stable == status.current_pod_hash.text()
}

fn waiting_in_blue_green(blue_green: &BlueGreenStrategy, status: &RolloutStatus) -> Option<Phase> {
    let state = status.blue_green.as_ref();
    let active = state.map_or("", |state| state.active_selector.text());
    if active.is_empty() || active != status.current_pod_hash.text() {
        return Some(Phase::progressing("active service cutover pending"));
    }
    if is_fully_promoted(status) {
        return None;
    }
    let run = state.and_then(|state| state.post_promotion_analysis_run_status.as_ref());
    let analysis_over = run.is_some_and(|run| analysis_phase::is_completed(run.status.text()));
    if blue_green.post_promotion_analysis.is_some() && !analysis_over {
        return Some(Phase::progressing("waiting for analysis to complete"));
    }
    Some(Phase::progressing("waiting for post-promotion verification to complete"))
}

fn waiting_in_canary(canary: &CanaryStrategy, status: &RolloutStatus) -> Option<Phase> {
    let old_pods = status.replicas.unwrap_or_default() > status.updated_replicas.unwrap_or_default();
    if canary.traffic_routing.is_none() && old_pods {
        return Some(Phase::progressing("old replicas are pending termination"));
    }
    (!is_fully_promoted(status)).then(|| Phase::progressing("waiting for all steps to complete"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(json: serde_json::Value) -> Rollout {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_resolved_workload_must_be_observed_but_a_stored_object_is_taken_at_its_word() {
        let rollout = rollout(serde_json::json!({
            "metadata": {"annotations": {annotations::WORKLOAD_GENERATION: "3"}},
            "status": {"phase": "Healthy", "workloadObservedGeneration": "2"},
        }));
        assert_eq!(shown(&rollout, TemplateSource::AsStored).phase, "Healthy");
        assert_eq!(
            shown(&rollout, TemplateSource::Resolved).message,
            "waiting for rollout spec update to be observed for the reference workload"
        );
    }

    #[test]
    fn a_rollout_without_status_is_waiting_for_pods() {
        let phase =
            shown(&rollout(serde_json::json!({"spec": {"strategy": {"canary": {}}}})), TemplateSource::AsStored);
        assert_eq!(phase, Phase::progressing("more replicas need to be updated"));
    }
}
