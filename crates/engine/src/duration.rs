//! When an update began and ended, and how long it waited for people.

use tidegate_api::names::{completion_status, condition, pause_reason, reason};
use tidegate_api::rollout::{RolloutDuration, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::conditions;
use crate::pass::Pass;
use crate::progress;
use crate::rollback;
use crate::sets::SetFacts;
use crate::steps::{self, StepKind};

fn is_in_progress(duration: &RolloutDuration) -> bool {
    duration.rollout_started_at.is_some() && duration.finished_at.is_none()
}

impl Pass<'_> {
    pub(crate) fn track_duration(&self, status: &mut RolloutStatus) {
        let mut duration = status.duration.clone().unwrap_or_default();
        let has_changed = self.old.current_pod_hash.text().is_empty() || self.has_changed();
        let at_target =
            progress::is_completed(status) && self.sets.new.is_some_and(|new| new.available() >= self.replicas());
        if is_in_progress(&duration) {
            if has_changed {
                self.note_change(&mut duration);
            }
            if at_target && is_in_progress(&duration) {
                self.finish(&mut duration, completion_status::PROMOTED);
            } else if status.abort == Some(true) && is_in_progress(&duration) {
                self.finish(&mut duration, completion_status::ABORTED);
            }
        }
        let is_retry = conditions::has_reason(self.old, condition::PROGRESSING, reason::ROLLOUT_ABORTED)
            && status.abort != Some(true);
        if !is_in_progress(&duration) && !at_target && (has_changed || is_retry) {
            duration = RolloutDuration { rollout_started_at: Some(Time::from(self.now)), ..RolloutDuration::default() };
        }
        if is_in_progress(&duration) {
            self.track_manual_pause(status, &mut duration);
        }
        status.duration = (duration != RolloutDuration::default()).then_some(duration);
    }

    fn note_change(&self, duration: &mut RolloutDuration) {
        if rollback::is_rollback(&self.sets, self.old.stable_rs.text()) {
            let fast = self.is_fast_rollback();
            let how = if fast { completion_status::FAST_ROLLED_BACK } else { completion_status::ROLLED_BACK };
            duration.completion_status = Some(how.to_owned());
        } else {
            duration.completion_status = None;
            self.finish(duration, completion_status::SUPERSEDED);
        }
    }

    fn finish(&self, duration: &mut RolloutDuration, how: &str) {
        self.end_manual_pause(duration);
        duration.finished_at = Some(Time::from(self.now));
        duration.completion_status.get_or_insert_with(|| how.to_owned());
    }

    fn track_manual_pause(&self, status: &RolloutStatus, duration: &mut RolloutDuration) {
        if self.waits_for_a_person(status) {
            duration.manual_pause_started_at.get_or_insert_with(|| Time::from(self.now));
        } else {
            self.end_manual_pause(duration);
        }
    }

    fn end_manual_pause(&self, duration: &mut RolloutDuration) {
        let Some(began) = duration.manual_pause_started_at.take().and_then(|time| time.instant()) else { return };
        let seconds = self.now.duration_since(began).as_secs().max(0);
        let total = duration.total_manual_pause_duration_seconds.unwrap_or(0).saturating_add(seconds);
        duration.total_manual_pause_duration_seconds = (total != 0).then_some(total);
    }

    fn waits_for_a_person(&self, status: &RolloutStatus) -> bool {
        let has = |wanted: &str| status.pause_conditions.items().iter().any(|pause| pause.reason.text() == wanted);
        let step = self.canary().and_then(|canary| steps::current(canary, status.current_step_index));
        let is_endless = step
            .is_some_and(|(_, step)| matches!(steps::kind(step), StepKind::Pause(pause) if pause.duration.is_none()));
        let is_manual = self.blue_green().is_some_and(|found| !found.auto_promotion_enabled_or_default());
        self.spec().paused == Some(true)
            || has(pause_reason::INCONCLUSIVE_ANALYSIS)
            || has(pause_reason::INCONCLUSIVE_EXPERIMENT)
            || (has(pause_reason::CANARY_PAUSE_STEP) && is_endless)
            || (has(pause_reason::BLUE_GREEN_PAUSE) && is_manual)
    }
}
