//! What a Rollout waits for, as far as the stored objects tell.
//!
//! The controller knows exactly; it is not asked here. Only what its own words in the status and the sizes of the
//! ReplicaSets leave no doubt about is told.

use jiff::{SignedDuration, Timestamp};
use tidegate_api::duration::GoDuration;
use tidegate_api::names::{analysis_phase, condition, pause_reason, phase};
use tidegate_api::rollout::{PauseCondition, Rollout, RolloutAnalysisRunStatus, RolloutCondition, RolloutStatus};
use tidegate_api::values::{IntOrString, Time};
use tidegate_api::wire::{Items, Text};
use tidegate_engine::{Waiting, steps};

use crate::info::RolloutInfo;

/// What the Rollout waits for, in the words every face of the product uses; nothing when it is healthy.
pub fn waiting_for(rollout: &Rollout, info: &RolloutInfo) -> Vec<String> {
    if info.status == phase::HEALTHY {
        return Vec::new();
    }
    let unset = RolloutStatus::default();
    let status = rollout.status.as_ref().unwrap_or(&unset);
    let generation = rollout.metadata.generation.unwrap_or_default();
    if status.observed_generation.text().parse::<i64>().is_ok_and(|observed| observed < generation) {
        return vec!["the controller to see the last change of the spec".to_owned()];
    }
    held(rollout, status).unwrap_or_else(|| under_way(rollout, status, info)).iter().map(ToString::to_string).collect()
}

/// What holds the whole Rollout.
fn held(rollout: &Rollout, status: &RolloutStatus) -> Option<Vec<Waiting>> {
    if let Some(invalid) = found(status, condition::INVALID_SPEC) {
        return Some(vec![Waiting::ValidSpec { message: invalid.message.text().to_owned() }]);
    }
    if status.abort == Some(true) {
        return Some(vec![Waiting::Retry]);
    }
    if rollout.spec.paused == Some(true) {
        return Some(vec![Waiting::SpecPaused]);
    }
    let pauses = status.pause_conditions.items();
    (!pauses.is_empty()).then(|| pauses.iter().map(|pause| end_of_pause(rollout, status, pause)).collect())
}

fn found<'a>(status: &'a RolloutStatus, kind: &str) -> Option<&'a RolloutCondition> {
    status.conditions.items().iter().find(|condition| condition.kind.text() == kind)
}

fn end_of_pause(rollout: &Rollout, status: &RolloutStatus, pause: &PauseCondition) -> Waiting {
    let reason = pause.reason.text();
    let lasts = match reason {
        pause_reason::CANARY_PAUSE_STEP => step_pause(rollout, status),
        pause_reason::BLUE_GREEN_PAUSE => {
            let seconds = rollout.spec.blue_green().and_then(|strategy| strategy.auto_promotion_seconds);
            seconds.filter(|seconds| *seconds > 0).map(|seconds| SignedDuration::from_secs(i64::from(seconds)))
        }
        _ => None,
    };
    let start = pause.start_time.as_ref().and_then(Time::instant);
    match (start, lasts) {
        (Some(start), Some(lasts)) => Waiting::PauseUntil { end: start.checked_add(lasts).unwrap_or(Timestamp::MAX) },
        _ => Waiting::Approval { reason: reason.to_owned() },
    }
}

fn step_pause(rollout: &Rollout, status: &RolloutStatus) -> Option<SignedDuration> {
    let (_, step) = steps::current(rollout.spec.canary()?, status.current_step_index)?;
    let seconds = match step.pause.as_ref()?.duration.as_ref()? {
        IntOrString::Int(seconds) => i64::from(*seconds),
        IntOrString::Text(text) => match text.parse() {
            Ok(seconds) => seconds,
            Err(_) => GoDuration::parse(text).ok()?.as_seconds(),
        },
    };
    Some(SignedDuration::from_secs(seconds))
}

/// What is on its way: analyses, experiments, pods, routes.
fn under_way(rollout: &Rollout, status: &RolloutStatus, info: &RolloutInfo) -> Vec<Waiting> {
    let mut waiting = Vec::new();
    let canary = status.canary.as_ref();
    let blue_green = status.blue_green.as_ref();
    let runs = [
        canary.and_then(|state| state.current_step_analysis_run_status.as_ref()),
        blue_green.and_then(|state| state.pre_promotion_analysis_run_status.as_ref()),
        blue_green.and_then(|state| state.post_promotion_analysis_run_status.as_ref()),
    ];
    let is_running = |run: &&RolloutAnalysisRunStatus| !analysis_phase::is_completed(run.status.text());
    let running = runs.into_iter().flatten().filter(is_running);
    waiting.extend(running.map(|run| Waiting::Analysis { run: run.name.text().to_owned() }));
    let experiment = canary.map_or("", |state| state.current_experiment.text());
    if info
        .experiments
        .iter()
        .any(|one| one.object_meta.name == experiment && !analysis_phase::is_completed(&one.status))
    {
        waiting.push(Waiting::Experiment { name: experiment.to_owned() });
    }
    let short = info.replica_sets.iter().filter(|set| set.available < set.wanted);
    waiting.extend(short.map(|set| Waiting::Pods {
        set: set.object_meta.name.clone(),
        available: set.available,
        wanted: set.wanted,
    }));
    let routes = found(status, condition::TRAFFIC_ROUTING).filter(|routes| routes.status.text() == "False");
    waiting.extend(routes.map(|routes| Waiting::Routes { problem: routes.message.text().to_owned() }));
    let restart = rollout.spec.restart_at.as_ref().filter(|at| Some(*at) != status.restarted_at.as_ref());
    waiting.extend(restart.and_then(Time::instant).map(|at| Waiting::RestartAt { at }));
    waiting
}
