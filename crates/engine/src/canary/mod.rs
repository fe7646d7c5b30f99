//! A canary: the order of one look at it.

mod routes;
mod services;
mod sizes;
mod status;
mod traffic;
mod verify;

pub use traffic::managed_routes_at;

use tidegate_api::names::pause_reason;
use tidegate_api::rollout::CanaryStrategy;
use tidegate_api::values::Time;

use crate::pass::{Pass, later};
use crate::pause;
use crate::persist::nonzero;
use crate::sets::SetFacts;
use crate::steps::{self, StepKind};
use crate::waiting::Waiting;

impl<'a> Pass<'a> {
    /// One look at a canary. A look completes at most one step.
    pub(crate) fn canary_pass(&mut self, canary: &'a CanaryStrategy) {
        self.sync_new_set();
        if self.has_changed() {
            // Nothing is scaled and no traffic moves before the new beginning is stored.
            self.finish_canary(canary);
            return;
        }
        if self.restart_pods() {
            // Counts are out of date now; the evictions bring the next look.
            return;
        }
        self.sync_role_metadata();
        self.clean_up_history();
        self.switch_ping_pong(canary);
        self.switch_canary_services(canary);
        self.route_traffic(canary);
        if self.is_aborted() && self.writes_routes() {
            // Traffic first, also that of others who are given up in the same moment; all else follows in the next look.
            return;
        }
        self.run_experiments(canary);
        self.run_canary_analyses(canary);
        if !self.pause.has_added() && !self.size_canary_sets(canary) {
            self.start_pause(canary);
        }
        self.finish_canary(canary);
    }

    /// Sizes only, after `spec.replicas` has changed.
    pub(crate) fn canary_scaling_pass(&mut self, canary: &'a CanaryStrategy) {
        self.sync_new_set();
        self.size_canary_sets(canary);
        let mut status = self.old.clone();
        status.available_replicas = nonzero(self.sets.sum(SetFacts::available));
        status.hpa_replicas = nonzero(self.sets.sum(|set| set.size().actual));
        self.persist(status);
    }

    /// Begins a pause step, once everything before it has been reached.
    fn start_pause(&mut self, canary: &CanaryStrategy) {
        if self.spec().paused == Some(true) || self.promotes_fully() || self.is_aborted() {
            return;
        }
        let Some((_, step)) = steps::current(canary, self.old.current_step_index) else { return };
        let StepKind::Pause(pause) = steps::kind(step) else { return };
        let Some(stored) = pause::stored(self.old, pause_reason::CANARY_PAUSE_STEP) else {
            if self.old.controller_pause != Some(true) {
                self.pause.add(pause_reason::CANARY_PAUSE_STEP);
                if let Some(seconds) = pause.duration_seconds() {
                    let end = self.after_seconds(seconds.saturating_add(1));
                    self.wake(end);
                }
            }
            return;
        };
        let began = stored.start_time.as_ref().and_then(Time::instant);
        match (pause.duration_seconds(), began) {
            (Some(seconds), Some(began)) => {
                let end = later(began, seconds);
                // Times are stored in whole seconds and the end itself still belongs to the pause.
                self.wake(later(end, 1));
                self.wait(Waiting::PauseUntil { end });
            }
            _ => self.wait(Waiting::Approval { reason: pause_reason::CANARY_PAUSE_STEP.to_owned() }),
        }
    }
}
