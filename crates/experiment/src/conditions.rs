//! The conditions of an Experiment.

use jiff::Timestamp;
use tidegate_api::experiment::ExperimentStatus;
use tidegate_api::names::analysis_phase::{self, SUCCESSFUL};
use tidegate_api::names::{condition, reason};
use tidegate_api::rollout::RolloutCondition;
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::step::{Pass, Step};

/// Reason of an Experiment that is over.
const COMPLETED: &str = "ExperimentCompleted";

/// The condition of a spec that cannot be carried out; nothing else is done.
pub(crate) fn invalid(old: &ExperimentStatus, problem: &str, now: Timestamp) -> Step {
    let known = find(old, condition::INVALID_SPEC);
    if known.is_some_and(|known| known.message.text() == problem && known.status.text() == "True") {
        return Step::default();
    }
    let mut status = old.clone();
    remove_invalid(&mut status);
    push(&mut status, condition::INVALID_SPEC, "True", reason::INVALID_SPEC, problem.to_owned(), now, None);
    Step { status: Some(Box::new(status)), ..Step::default() }
}

pub(crate) fn remove_invalid(status: &mut ExperimentStatus) {
    remove(status, condition::INVALID_SPEC);
}

fn find<'a>(status: &'a ExperimentStatus, kind: &str) -> Option<&'a RolloutCondition> {
    status.conditions.items().iter().find(|found| found.kind.text() == kind)
}

fn remove(status: &mut ExperimentStatus, kind: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|found| found.kind.text() != kind);
        if conditions.is_empty() {
            status.conditions = None;
        }
    }
}

fn push(
    status: &mut ExperimentStatus,
    kind: &str,
    value: &str,
    reason: &str,
    message: String,
    now: Timestamp,
    since: Option<Time>,
) {
    status.conditions.get_or_insert_default().push(RolloutCondition {
        kind: Some(kind.to_owned()),
        status: Some(value.to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_update_time: Some(Time::from(now)),
        last_transition_time: Some(since.unwrap_or_else(|| Time::from(now))),
        ..RolloutCondition::default()
    });
}

impl Pass<'_> {
    pub(crate) fn set_conditions(&mut self) {
        let name = self.name().to_owned();
        let phase = self.status.phase.text().to_owned();
        if phase == SUCCESSFUL {
            let message = format!("Experiment \"{name}\" has successfully ran and completed.");
            self.set_progressing("False", COMPLETED, message, false);
        } else if analysis_phase::is_completed(&phase) {
            self.set_progressing("False", COMPLETED, format!("Experiment \"{name}\" has ended as {phase}."), false);
        } else if self.has_news {
            let message = format!("Experiment \"{name}\" is progressing.");
            self.set_progressing("True", reason::REPLICA_SET_UPDATED, message, true);
        } else if self.old.available_at.is_some() && !self.is_time_over() {
            let message = format!("Experiment \"{name}\" is running.");
            self.set_progressing("True", reason::NEW_REPLICA_SET_AVAILABLE, message, false);
        }
    }

    fn set_progressing(&mut self, value: &str, why: &str, message: String, refreshes: bool) {
        let known = find(&self.status, condition::PROGRESSING);
        let is_same = known.is_some_and(|known| known.status.text() == value && known.reason.text() == why);
        if is_same && !refreshes {
            return;
        }
        let since =
            known.filter(|known| known.status.text() == value).and_then(|known| known.last_transition_time.clone());
        remove(&mut self.status, condition::PROGRESSING);
        push(&mut self.status, condition::PROGRESSING, value, why, message, self.seen.now, since);
    }
}
