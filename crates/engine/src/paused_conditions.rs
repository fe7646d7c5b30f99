//! Conditions that say whether an update is paused, resumed or tried again.

use tidegate_api::names::{condition, reason};
use tidegate_api::wire::{Items, Text};

use crate::conditions::{self, NewCondition};
use crate::pass::Pass;
use crate::persist::set_phase;
use crate::plan::StatusChange;
use crate::progress;

impl Pass<'_> {
    /// Brings those conditions in line; says whether that is all this look does.
    pub(crate) fn sync_paused_conditions(&mut self) -> bool {
        let generation = self.rollout.metadata.generation.unwrap_or_default().to_string();
        if self.old.observed_generation.text() != generation {
            return false;
        }
        let is_paused = self.spec().paused == Some(true) || !self.old.pause_conditions.items().is_empty();
        let says = |wanted: &str| conditions::has_reason(self.old, condition::PROGRESSING, wanted);
        let says_aborted = says(reason::ROLLOUT_ABORTED);
        let mut status = self.old.clone();
        let mut changed = false;
        if is_paused != says(reason::ROLLOUT_PAUSED) && !says_aborted && !progress::is_completed(self.old) {
            let (why, message) = if is_paused {
                (reason::ROLLOUT_PAUSED, "Rollout is paused")
            } else {
                (reason::ROLLOUT_RESUMED, "Rollout is resumed")
            };
            let wanted = NewCondition::new(condition::PROGRESSING, conditions::UNKNOWN, why, message);
            changed |= conditions::set(&mut status, wanted, self.now);
        }
        if says_aborted && self.old.abort != Some(true) {
            let message = "Retrying Rollout after abort";
            let wanted = NewCondition::new(condition::PROGRESSING, conditions::UNKNOWN, reason::ROLLOUT_RETRY, message);
            changed |= conditions::set(&mut status, wanted, self.now);
        }
        let says_paused = conditions::is_true(self.old, condition::PAUSED);
        // What an abort means for a pause is stored together with the abort; other controllers leave it as it was.
        if is_paused != says_paused && !says_aborted {
            let value = if is_paused { conditions::TRUE } else { conditions::FALSE };
            let wanted = NewCondition::new(condition::PAUSED, value, reason::ROLLOUT_PAUSED, "Rollout is paused");
            if is_paused || conditions::get(&status, condition::PAUSED).is_some() {
                changed |= conditions::set(&mut status, wanted, self.now);
            }
        }
        if changed {
            set_phase(self.rollout, &mut status);
            self.track_duration(&mut status);
            self.plan.status = Some(StatusChange { status: Box::new(status), events: Vec::new() });
        }
        changed
    }
}
