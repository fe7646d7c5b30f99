//! What a look at a canary leaves in the status: step, promotion, counts.

use tidegate_api::names::{analysis_phase, pause_reason};
use tidegate_api::rollout::{CanaryStrategy, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::counts;
use crate::mutation::{self, Mutation};
use crate::pass::{Held, Pass, later, plain_weights};
use crate::pause;
use crate::persist::nonzero;
use crate::plan::Event;
use crate::sets::SetFacts;
use crate::steps::{self, StepKind};
use crate::waiting::Waiting;

impl<'a> Pass<'a> {
    pub(super) fn finish_canary(&mut self, canary: &'a CanaryStrategy) {
        let mut status = self.base_status();
        status.available_replicas = nonzero(self.sets.sum(SetFacts::available));
        status.hpa_replicas = nonzero(self.sets.sum(|set| set.size().actual));
        status.selector = self.selector_text();
        let count = self.step_count();
        let has_steps = count > 0;
        if self.has_changed() {
            self.begin_anew(&mut status);
            self.persist(status);
            return;
        }
        let mut index = self.old.current_step_index.unwrap_or(0).clamp(0, count);
        let skips = self.promotes_fully() || self.is_rollback_within_window();
        if skips {
            self.pause.clear();
            self.pause.remove_abort();
            index = count;
        }
        if let Some(why) = self.promotion_reason(canary, index)
            && !(self.is_routed() && self.awaits_proxies())
        {
            self.promote(&mut status, why);
            status.current_step_index = has_steps.then_some(count);
            self.persist(status);
            return;
        }
        if self.is_aborted() {
            let is_back = self.sets.stable.is_some_and(|stable| stable.hash() == self.sets.new_hash());
            status.current_step_index = has_steps.then_some(if is_back { count } else { 0 });
            self.wait(Waiting::Retry);
            self.persist(status);
            return;
        }
        if !skips && let Some((at, step)) = steps::current(canary, Some(index)) {
            if self.is_step_complete(canary, steps::kind(step)) {
                let text = steps::text(step);
                let message = format!("Rollout step {}/{count} completed ({text})", at + 1);
                self.events.push(Event::normal("RolloutStepCompleted", message));
                self.pause.remove(pause_reason::CANARY_PAUSE_STEP);
                if let Some(state) = &mut status.canary {
                    state.current_step_analysis_run_status = None;
                }
                index += mutation::pick(Mutation::SkipsSteps, 2, 1);
            } else {
                self.say_what_step_waits_for(canary, steps::kind(step));
            }
        }
        status.current_step_index = has_steps.then_some(index);
        self.persist(status);
    }

    /// A new template or new steps: back to the first step, or past the last one when the template is known to work.
    fn begin_anew(&mut self, status: &mut RolloutStatus) {
        let count = self.step_count();
        self.pause.clear();
        self.end_abort();
        status.promote_full = None;
        if let Some(state) = &mut status.canary {
            state.current_step_analysis_run_status = None;
            state.current_background_analysis_run_status = None;
            state.step_plugin_statuses = None;
            state.current_experiment = None;
        }
        let kept = self.old.current_step_index.unwrap_or(0);
        let first = mutation::pick(Mutation::KeepsTheStepOfTheLastRevision, kept, 0);
        status.current_step_index = (count > 0).then_some(first);
        let Some(new) = self.sets.new.filter(|_| count > 0) else { return };
        let skip = if new.hash() == self.old.stable_rs.text() {
            "Rollback to stable ReplicaSets"
        } else if self.is_rollback_within_window() && new.spec_replicas() > 0 {
            "Rollback to active ReplicaSets within RollbackWindow"
        } else {
            return;
        };
        status.current_step_index = Some(count);
        self.events.push(Event::normal("SkipSteps", skip));
    }

    /// Why the new set becomes the stable one, if it does.
    fn promotion_reason(&self, canary: &'a CanaryStrategy, index: i32) -> Option<String> {
        if self.sets.stable.is_none() {
            return Some("Initial deploy".to_owned());
        }
        if self.is_aborted() && !mutation::is(Mutation::PromotesTheAborted) {
            return None;
        }
        let new = self.sets.new?;
        let replicas = self.replicas();
        let has_threshold = canary.replica_progress_threshold.is_some();
        let is_complete = new.serving() >= mutation::pick(Mutation::PromotesOnePodShort, replicas - 1, replicas)
            || (has_threshold && counts::threshold_is_met(canary, Some(new.size()), replicas));
        if !is_complete || self.held == Some(Held::Routes) || !self.is_traffic_confirmed(canary, index) {
            return None;
        }
        if self.promotes_fully() {
            return Some("Full promotion requested".to_owned());
        }
        if self.is_rollback_within_window() {
            return Some("Rollback within window".to_owned());
        }
        if new.hash() == self.old.stable_rs.text() {
            return Some("Fast rollback".to_owned());
        }
        let count = self.step_count();
        (index >= count).then(|| format!("Completed all {count} canary steps"))
    }

    /// Nothing is promoted while a router has not confirmed the weight at the end.
    fn is_traffic_confirmed(&self, canary: &CanaryStrategy, index: i32) -> bool {
        let Some(weights) = &self.weights else { return true };
        let weight = weights.canary.as_ref().and_then(|found| found.weight).unwrap_or_default();
        let is_end = index >= self.step_count() && weight == canary.max_traffic_weight_or_default();
        !(is_end && weights.verified == Some(false))
    }

    fn is_step_complete(&self, canary: &'a CanaryStrategy, step: StepKind<'_>) -> bool {
        if self.spec().paused == Some(true) && !mutation::is(Mutation::StepsWhilePaused) {
            return false;
        }
        match step {
            StepKind::SetWeight(_) => {
                let is_confirmed = self.weights.as_ref().and_then(|weights| weights.verified) != Some(false);
                is_confirmed
                    && self.held.is_none()
                    && self.is_at_desired_counts(canary, plain_weights(self.weights.as_ref()))
            }
            StepKind::SetCanaryScale(_) => self.is_at_desired_counts(canary, plain_weights(self.weights.as_ref())),
            StepKind::Pause(pause) => self.is_pause_over(pause.duration_seconds()),
            StepKind::Analysis(_) => {
                let run = self.runs.step.as_ref();
                run.is_some_and(|run| run.status.text() == analysis_phase::SUCCESSFUL)
            }
            StepKind::Experiment(_) => self.is_experiment_successful(),
            // Whatever the pods do; but not before the route is there.
            StepKind::SetHeaderRoute(_) | StepKind::SetMirrorRoute(_) => self.held.is_none(),
            StepKind::Plugin(_) | StepKind::Invalid => false,
        }
    }

    fn is_pause_over(&self, seconds: Option<i64>) -> bool {
        match pause::stored(self.old, pause_reason::CANARY_PAUSE_STEP) {
            None => self.old.controller_pause == Some(true),
            Some(stored) => {
                let began = stored.start_time.as_ref().and_then(Time::instant);
                let seconds = seconds.map(|seconds| mutation::pick(Mutation::EndsPausesEarly, seconds / 2, seconds));
                mutation::is(Mutation::EndsPausesAtOnce)
                    || matches!((seconds, began), (Some(seconds), Some(began)) if self.now > later(began, seconds))
            }
        }
    }

    fn say_what_step_waits_for(&mut self, canary: &'a CanaryStrategy, step: StepKind<'_>) {
        if self.spec().paused == Some(true) {
            self.wait(Waiting::SpecPaused);
            return;
        }
        match step {
            StepKind::SetWeight(_) | StepKind::SetCanaryScale(_) => {
                let at = self.situation(canary);
                let weights = plain_weights(self.weights.as_ref());
                let goal = match canary.traffic_routing {
                    Some(_) => counts::routed_target(&at, weights),
                    None => counts::basic_target(&at),
                };
                if let Some(new) = self.sets.new
                    && new.available() != goal.canary
                {
                    let set = new.name().to_owned();
                    self.wait(Waiting::Pods { set, available: new.available(), wanted: goal.canary });
                }
            }
            StepKind::Analysis(_) => {
                if let Some(run) = self.runs.step.as_ref().map(|run| run.name.text().to_owned()) {
                    self.wait(Waiting::Analysis { run });
                }
            }
            StepKind::Experiment(_) => {
                if let Some(name) = self.experiment.clone() {
                    self.wait(Waiting::Experiment { name });
                }
            }
            _ => {}
        }
        if let Some(first) = self.old.pause_conditions.items().first()
            && !matches!(step, StepKind::Pause(_))
        {
            self.wait(Waiting::Approval { reason: first.reason.text().to_owned() });
        }
    }
}
