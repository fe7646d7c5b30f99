//! When the active Service is switched, and what comes before it.

use tidegate_api::names::{analysis_phase, pause_reason};
use tidegate_api::rollout::BlueGreenStrategy;
use tidegate_api::values::Time;
use tidegate_api::wire::Text;

use crate::mutation::{self, Mutation};
use crate::pass::{Pass, later};
use crate::pause;
use crate::sets::SetFacts;
use crate::waiting::Waiting;

impl<'a> Pass<'a> {
    /// Whether no pause is needed: going back, asked to skip, first deploy, or switched already.
    fn is_fast_tracked(&self, strategy: &BlueGreenStrategy) -> bool {
        let active = self.selected(strategy.active_service.text());
        self.is_fast_rollback() || self.promotes_fully() || active.is_empty() || active == self.sets.new_hash()
    }

    pub(super) fn pause_before_promotion(&mut self, strategy: &'a BlueGreenStrategy) {
        if self.old.abort == Some(true) || self.is_halted() {
            return;
        }
        if !self.is_new_ready(strategy) {
            self.say_pods_are_missing(strategy);
            return;
        }
        let seconds = strategy.auto_promotion_seconds.unwrap_or(0);
        let pauses = !strategy.auto_promotion_enabled_or_default() || seconds > 0;
        if self.is_fast_tracked(strategy) || self.has_checkpoint() || !pauses {
            self.pause.remove(pause_reason::BLUE_GREEN_PAUSE);
            return;
        }
        if strategy.pre_promotion_analysis.is_some() && !self.is_pre_analysis_successful() {
            return;
        }
        let Some(stored) = pause::stored(self.old, pause_reason::BLUE_GREEN_PAUSE) else {
            if self.old.controller_pause != Some(true) {
                self.pause.add(pause_reason::BLUE_GREEN_PAUSE);
                if strategy.auto_promotion_enabled_or_default() {
                    self.wake(self.after_seconds(i64::from(seconds) + 1));
                }
            }
            return;
        };
        if self.is_pause_completed(strategy) {
            self.pause.remove(pause_reason::BLUE_GREEN_PAUSE);
            return;
        }
        let began = stored.start_time.as_ref().and_then(Time::instant);
        match began.filter(|_| strategy.auto_promotion_enabled_or_default()) {
            Some(began) => {
                let end = later(began, i64::from(seconds));
                self.wake(later(end, 1));
                self.wait(Waiting::PauseUntil { end });
            }
            None => self.wait(Waiting::Approval { reason: pause_reason::BLUE_GREEN_PAUSE.to_owned() }),
        }
    }

    fn say_pods_are_missing(&mut self, strategy: &'a BlueGreenStrategy) {
        if let Some(new) = self.sets.new {
            let (set, wanted) = (new.name().to_owned(), self.new_size(strategy));
            self.wait(Waiting::Pods { set, available: new.available(), wanted });
        }
    }

    fn is_pre_analysis_successful(&self) -> bool {
        let stored = self.stored().pre_promotion_analysis_run_status;
        // A retry waits for a verdict of its own.
        self.old.aborted_at.is_none() && self.current_phase(stored.as_ref()) == Some(analysis_phase::SUCCESSFUL)
    }

    /// Whether the pause before the switch is over, or was never needed.
    pub(super) fn is_pause_completed(&self, strategy: &BlueGreenStrategy) -> bool {
        if self.pause.has_added() {
            return false;
        }
        if self.has_checkpoint() {
            return true;
        }
        let stored = pause::stored(self.old, pause_reason::BLUE_GREEN_PAUSE);
        if !strategy.auto_promotion_enabled_or_default() {
            let is_resumed = self.old.controller_pause == Some(true) && stored.is_none();
            return is_resumed || mutation::is(Mutation::SkipsApproval);
        }
        let seconds = i64::from(strategy.auto_promotion_seconds.unwrap_or(0));
        let seconds = mutation::pick(Mutation::EndsAutoPromotionEarly, 0, seconds);
        let began = stored.and_then(|pause| pause.start_time.as_ref()).and_then(Time::instant);
        seconds <= 0 || began.is_some_and(|began| self.now > later(began, seconds))
    }

    pub(super) fn is_pre_analysis_complete(&self, strategy: &BlueGreenStrategy) -> bool {
        strategy.pre_promotion_analysis.is_none()
            || self.is_pre_analysis_successful()
            || mutation::is(Mutation::SwitchesWithoutAVerdict)
    }

    /// Gives an active Service that was made anew, or whose selector was taken off, the template it had; says whether.
    pub(super) fn restore_active_service(&mut self, strategy: &'a BlueGreenStrategy) -> bool {
        let service = strategy.active_service.text();
        let was_active = self.set_with_hash(self.active_hash()).filter(|set| set.serving() > 0);
        let Some(set) = was_active.filter(|_| self.selected(service).is_empty()) else { return false };
        self.switch_service(service, set.hash());
        true
    }

    pub(super) fn switch_active_service(&mut self, strategy: &'a BlueGreenStrategy) {
        let active = strategy.active_service.text();
        if self.old.abort == Some(true) {
            // Back to stable as soon as it can serve, whatever became of the new pods.
            if let Some(stable) = self.sets.stable.filter(|stable| stable.serving() > 0) {
                let is_complete = stable.serving() >= self.replicas();
                let is_new_gone = self.sets.new.is_none_or(|new| new.serving() == 0);
                if is_complete || is_new_gone {
                    self.switch_service(active, stable.hash());
                }
            }
            return;
        }
        let ignores_pods = mutation::is(Mutation::SwitchesBeforeTheSetIsFull);
        if self.is_halted() || !(ignores_pods || self.is_new_ready(strategy)) {
            return;
        }
        let Some(new) = self.sets.new.filter(|new| ignores_pods || self.is_saturated(new)) else { return };
        let is_approved = self.is_pause_completed(strategy) && self.is_pre_analysis_complete(strategy);
        if self.is_fast_tracked(strategy) || is_approved {
            self.switch_service(active, new.hash());
            self.switched_active = Some(new.hash().to_owned());
        }
    }
}
