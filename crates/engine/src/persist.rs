//! The status: what is carried over, what is counted anew, and the conditions, phase and times that follow.

use tidegate_api::names::{condition, reason};
use tidegate_api::rollout::{BlueGreenStatus, CanaryStatus, Rollout, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};
use tidegate_validate::labels;

use crate::conditions::{self, NewCondition};
use crate::mutation::{self, Mutation};
use crate::pass::{Pass, later};
use crate::phase;
use crate::plan::{Event, StatusChange};
use crate::progress;
use crate::sets::SetFacts;
use crate::steps::{self, StepKind};
use crate::targets;
use crate::waiting::Waiting;

/// Absent when zero, as the status is written.
pub(crate) fn nonzero(number: i32) -> Option<i32> {
    (number != 0).then_some(number)
}

/// Absent when empty.
pub(crate) fn nonempty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl Pass<'_> {
    /// The status before the strategy has its say.
    pub(crate) fn base_status(&self) -> RolloutStatus {
        let old = self.old;
        let albs = self.albs.clone().or_else(|| old.albs.clone().filter(|_| self.keeps_albs()));
        let mut status = RolloutStatus {
            conditions: old.conditions.clone(),
            collision_count: old.collision_count,
            current_pod_hash: nonempty(self.sets.new_hash()),
            current_step_hash: nonempty(&self.steps_hash),
            stable_rs: old.stable_rs.clone(),
            promote_full: old.promote_full.filter(|full| *full),
            replicas: nonzero(self.sets.sum(|set| set.size().actual)),
            updated_replicas: nonzero(self.sets.new.map_or(0, |set| set.size().actual)),
            ready_replicas: nonzero(self.sets.sum(SetFacts::ready)),
            restarted_at: self.restarted_at.clone(),
            alb: albs.as_ref().and_then(|all| all.last().cloned()),
            albs,
            duration: old.duration.clone(),
            canary: Some(match self.blue_green() {
                Some(_) => CanaryStatus::default(),
                None => self.canary_state(),
            }),
            blue_green: Some(BlueGreenStatus::default()),
            unknown: old.unknown.clone(),
            ..RolloutStatus::default()
        };
        conditions::remove(&mut status, condition::INVALID_SPEC);
        if conditions::has_reason(&status, condition::PROGRESSING, progress::UNSUPPORTED) {
            conditions::remove(&mut status, condition::PROGRESSING);
        }
        status
    }

    /// Where nobody asks AWS, what it said before is not true for ever.
    fn keeps_albs(&self) -> bool {
        self.seen.routes.aws.is_on || targets::occasion(self.rollout, 0).is_none()
    }

    fn canary_state(&self) -> CanaryStatus {
        let stored = self.old.canary.as_ref();
        CanaryStatus {
            stable_ping_pong: stored.and_then(|state| state.stable_ping_pong.clone()),
            weights: self.weights.clone(),
            current_step_analysis_run_status: self.runs.step.clone(),
            current_background_analysis_run_status: self.runs.background.clone(),
            current_experiment: self.experiment.clone(),
            step_plugin_statuses: stored.and_then(|state| state.step_plugin_statuses.clone()),
            unknown: stored.map(|state| state.unknown.clone()).unwrap_or_default(),
        }
    }

    /// Finishes the status and, if it differs from the stored one, asks for it to be written.
    pub(crate) fn persist(&mut self, mut status: RolloutStatus) {
        self.observe_generation(&mut status);
        self.abort_if_out_of_time(&status);
        self.pause.apply(self.old, &mut status, self.now);
        if self.old.aborted_at.is_none() && status.current_pod_hash.text() != self.sets.new_hash() {
            // Not acted on before the revision in force is the recorded one: see `end_abort`.
            status.aborted_at = None;
        }
        if status.abort == Some(true) {
            // Otherwise the next look would undo the abort.
            status.promote_full = None;
        }
        if self.keeps_controller_pause {
            status.controller_pause = Some(true);
        }
        self.set_conditions(&mut status);
        self.tell_about_routes(&mut status);
        set_phase(self.rollout, &mut status);
        self.track_duration(&mut status);
        self.tell_about_pauses(&status);
        if status == *self.old {
            self.wake_at_progress_deadline(&status);
            return;
        }
        let events = std::mem::take(&mut self.events);
        self.plan.status = Some(StatusChange { status: Box::new(status), events });
    }

    pub(crate) fn observe_generation(&self, status: &mut RolloutStatus) {
        status.observed_generation = Some(self.rollout.metadata.generation.unwrap_or_default().to_string());
        status.workload_observed_generation = self.workload_generation();
    }

    /// Routes that cannot be written are a condition for as long as that lasts, and an event when it begins.
    fn tell_about_routes(&mut self, status: &mut RolloutStatus) {
        let problem = self.plan.waiting_for.iter().find_map(|waiting| match waiting {
            Waiting::Routes { problem } => Some(problem.clone()),
            _ => None,
        });
        let Some(problem) = problem else {
            conditions::remove(status, condition::TRAFFIC_ROUTING);
            return;
        };
        let known = conditions::get(status, condition::TRAFFIC_ROUTING);
        if known.is_some_and(|known| known.message.text() == problem) {
            return;
        }
        let why = reason::TRAFFIC_ROUTING_ERROR;
        let wanted = NewCondition::new(condition::TRAFFIC_ROUTING, conditions::FALSE, why, problem.clone());
        conditions::replace(status, wanted, self.now);
        self.events.push(Event::warning(why, problem));
    }

    fn tell_about_pauses(&mut self, status: &RolloutStatus) {
        let (before, after) = (self.old.pause_conditions.items(), status.pause_conditions.items());
        match (before.first().filter(|_| !mutation::is(Mutation::TellsOfEveryLook)), after.first()) {
            (None, Some(first)) => {
                let message = format!("Rollout is paused ({})", first.reason.text());
                self.events.push(Event::normal(reason::ROLLOUT_PAUSED, message));
            }
            (Some(_), None) if status.abort != Some(true) => {
                self.events.push(Event::normal(reason::ROLLOUT_RESUMED, "Rollout is resumed"));
            }
            _ => {}
        }
    }

    /// Whether waiting is what the current step is about, so that no deadline applies.
    pub(crate) fn is_indefinite_step(&self, status: &RolloutStatus) -> bool {
        let step = self.canary().and_then(|canary| steps::current(canary, self.old.current_step_index));
        let waits = step.is_some_and(|(_, step)| {
            matches!(steps::kind(step), StepKind::Experiment(_) | StepKind::Analysis(_) | StepKind::Pause(_))
        });
        waits || conditions::is_true(status, condition::PAUSED)
    }

    fn has_timed_out(&self) -> bool {
        let Some(progressing) = conditions::get(self.old, condition::PROGRESSING) else { return false };
        match progressing.reason.text() {
            reason::ROLLOUT_ABORTED | reason::ROLLOUT_PAUSED => false,
            reason::PROGRESS_DEADLINE_EXCEEDED => true,
            _ => progressing
                .last_update_time
                .as_ref()
                .and_then(Time::instant)
                .is_some_and(|updated| later(updated, self.progress_deadline()) < self.now),
        }
    }

    fn progress_deadline(&self) -> i64 {
        let seconds = i64::from(self.spec().progress_deadline_seconds_or_default());
        mutation::pick(Mutation::HalvesTheDeadline, seconds / 2, seconds)
    }

    fn timeout_applies(&self, status: &RolloutStatus) -> bool {
        !self.is_indefinite_step(status) && !self.sets.other_has_deadline() && self.has_timed_out()
    }

    fn abort_if_out_of_time(&mut self, status: &RolloutStatus) {
        let is_wanted = self.spec().progress_deadline_abort == Some(true) || mutation::is(Mutation::AbortsUnasked);
        if !is_wanted || self.is_aborted() || progress::is_completed(status) {
            return;
        }
        if status.current_pod_hash.text() != self.sets.new_hash() {
            // The time that is over is that of the revision before.
            return;
        }
        if progress::has_progressed(self.old, status) || !self.timeout_applies(status) {
            return;
        }
        let message = self.about_new_set("has timed out progressing.");
        self.pause.add_abort(message);
    }

    /// A sentence about the new set, or about the Rollout when there is none.
    fn about_new_set(&self, what: &str) -> String {
        match self.sets.new {
            Some(new) => format!("ReplicaSet \"{}\" {what}", new.name()),
            None => format!("Rollout \"{}\" {what}", self.name()),
        }
    }

    fn set_conditions(&mut self, status: &mut RolloutStatus) {
        let now = self.now;
        if conditions::get(status, condition::PROGRESSING).is_none()
            && let Some(new) = self.sets.new
        {
            let message = format!("Found new replica set \"{}\"", new.name());
            let found =
                NewCondition::new(condition::PROGRESSING, conditions::TRUE, reason::FOUND_NEW_REPLICA_SET, message);
            conditions::set(status, found, now);
        }
        let is_paused = self.spec().paused == Some(true) || !status.pause_conditions.items().is_empty();
        let is_healthy = progress::is_healthy(self.rollout, status);
        let was_healthy = conditions::is_true(status, condition::HEALTHY);
        if is_healthy && !is_paused {
            self.replace_workload();
        }
        let became_unhealthy = self.set_healthy(status, !is_paused && is_healthy, was_healthy);
        self.set_progressing(status, is_healthy, became_unhealthy);
        let is_available = self.is_available(status);
        let message = if is_available {
            "Rollout has minimum availability"
        } else {
            "Rollout does not have minimum availability"
        };
        let value = if is_available { conditions::TRUE } else { conditions::FALSE };
        conditions::set(status, NewCondition::new(condition::AVAILABLE, value, reason::AVAILABLE, message), now);
        self.copy_replica_failure(status);
        self.set_completed(status);
    }

    fn set_healthy(&self, status: &mut RolloutStatus, is_healthy: bool, was_healthy: bool) -> bool {
        let (value, message) = match is_healthy {
            true => (conditions::TRUE, "Rollout is healthy"),
            false if conditions::get(status, condition::HEALTHY).is_some() => {
                (conditions::FALSE, "Rollout is not healthy")
            }
            false => return false,
        };
        let wanted = NewCondition::new(condition::HEALTHY, value, reason::ROLLOUT_HEALTHY, message);
        conditions::set(status, wanted, self.now) && was_healthy && !is_healthy
    }

    fn set_progressing(&mut self, status: &mut RolloutStatus, is_healthy: bool, became_unhealthy: bool) {
        let now = self.now;
        let kind = condition::PROGRESSING;
        if status.abort == Some(true) && status.current_pod_hash.text() != self.sets.new_hash() {
            // The abort belongs to the revision before, or is not acted on yet.
            return;
        }
        if status.abort == Some(true) {
            let revision = self.revision;
            let mut message = format!("Rollout aborted update to revision {revision}");
            if let Some(cause) = self.pause.abort_cause().filter(|cause| !cause.is_empty()) {
                message = format!("{message}: {cause}");
            }
            let aborted = NewCondition::new(kind, conditions::FALSE, reason::ROLLOUT_ABORTED, message.clone());
            let is_news = conditions::set(status, aborted, now);
            if is_news {
                self.events.push(Event::warning(reason::ROLLOUT_ABORTED, message));
            }
            if is_news || self.old.observed_generation != status.observed_generation {
                self.end_paused_condition(status);
            }
            return;
        }
        if is_healthy {
            let message = self.about_new_set("has successfully progressed.");
            let wanted = NewCondition::new(kind, conditions::TRUE, reason::NEW_REPLICA_SET_AVAILABLE, message);
            conditions::set(status, wanted, now);
        } else if progress::has_progressed(self.old, status) || became_unhealthy {
            let wanted = if became_unhealthy && progress::is_completed(status) {
                let message = "Rollout does not have minimum availability";
                NewCondition::new(kind, conditions::TRUE, reason::REPLICA_SET_NOT_AVAILABLE, message)
            } else {
                let message = self.about_new_set("is progressing.");
                NewCondition::new(kind, conditions::TRUE, reason::REPLICA_SET_UPDATED, message)
            };
            // Always written anew: the deadline counts from the last progress.
            conditions::replace(status, wanted, now);
        } else if self.timeout_applies(status) {
            let message = self.about_new_set("has timed out progressing.");
            let wanted = NewCondition::new(kind, conditions::FALSE, reason::PROGRESS_DEADLINE_EXCEEDED, message);
            conditions::set(status, wanted, now);
        }
    }

    /// What is aborted is not paused, unless somebody has paused the whole Rollout.
    fn end_paused_condition(&self, status: &mut RolloutStatus) {
        if self.spec().paused != Some(true) && conditions::is_true(status, condition::PAUSED) {
            let (kind, why) = (condition::PAUSED, reason::ROLLOUT_PAUSED);
            conditions::set(status, NewCondition::new(kind, conditions::FALSE, why, "Rollout is paused"), self.now);
        }
    }

    fn copy_replica_failure(&self, status: &mut RolloutStatus) {
        let new_first = self.sets.new.into_iter().chain(self.sets.all.iter().copied());
        let failure = new_first.flat_map(|set| &set.status.conditions).find(|found| found.kind == "ReplicaFailure");
        let Some(failure) = failure else {
            conditions::remove(status, condition::REPLICA_FAILURE);
            return;
        };
        let value = match failure.status.as_str() {
            "True" => conditions::TRUE,
            "False" => conditions::FALSE,
            _ => conditions::UNKNOWN,
        };
        let at = failure.last_transition_time.as_ref().and_then(Time::instant).unwrap_or(self.now);
        let wanted = NewCondition::new(condition::REPLICA_FAILURE, value, &failure.reason, failure.message.clone());
        conditions::set(status, wanted, at);
    }

    fn set_completed(&mut self, status: &mut RolloutStatus) {
        let is_completed = progress::is_completed(status);
        let value = if is_completed { conditions::TRUE } else { conditions::FALSE };
        let wanted =
            NewCondition::new(condition::COMPLETED, value, reason::ROLLOUT_COMPLETED, reason::ROLLOUT_COMPLETED);
        if conditions::set(status, wanted, self.now) && !is_completed {
            let revision = self.revision;
            let hash = status.current_pod_hash.text();
            let message = format!("Rollout not completed, started update to revision {revision} ({hash})");
            self.events.push(Event::normal(reason::ROLLOUT_NOT_COMPLETED, message));
        }
    }

    fn wake_at_progress_deadline(&mut self, status: &RolloutStatus) {
        let Some(progressing) = conditions::get(status, condition::PROGRESSING) else { return };
        let is_paused = self.spec().paused == Some(true) || !status.pause_conditions.items().is_empty();
        let is_over = progressing.reason.text() == reason::PROGRESS_DEADLINE_EXCEEDED;
        if is_over || is_paused || status.abort == Some(true) || self.is_indefinite_step(status) {
            return;
        }
        if progress::is_healthy(self.rollout, status) {
            return;
        }
        if let Some(updated) = progressing.last_update_time.as_ref().and_then(Time::instant) {
            self.wake(later(updated, self.progress_deadline() + 1));
        }
    }

    /// Whether enough pods serve.
    fn is_available(&self, status: &RolloutStatus) -> bool {
        match self.blue_green() {
            Some(_) => {
                let active = status.blue_green.as_ref().map_or("", |state| state.active_selector.text());
                let set = self.sets.all.iter().copied().find(|set| !active.is_empty() && set.hash() == active);
                set.is_some_and(|set| self.is_saturated(set))
            }
            None => self.sets.sum(SetFacts::available) >= self.replicas(),
        }
    }

    /// The selector of the Rollout as text, for the scale subresource.
    pub(crate) fn selector_text(&self) -> Option<String> {
        nonempty(&labels::text(self.selector))
    }
}

/// Writes phase and message.
pub(crate) fn set_phase(rollout: &Rollout, status: &mut RolloutStatus) {
    let shown = phase::calculated(&rollout.spec, status);
    status.phase = nonempty(&shown.phase);
    status.message = nonempty(&shown.message);
}
