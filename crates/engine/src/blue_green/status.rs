//! What a look at a blue-green Rollout leaves in the status.

use tidegate_api::names::{analysis_phase, pause_reason};
use tidegate_api::rollout::{BlueGreenStatus, BlueGreenStrategy, RolloutStatus};
use tidegate_api::wire::{Items, Text};
use tidegate_validate::labels;

use crate::pass::Pass;
use crate::persist::{nonempty, nonzero};
use crate::sets::SetFacts;
use crate::waiting::Waiting;

impl<'a> Pass<'a> {
    pub(super) fn finish_blue_green(&mut self, strategy: &'a BlueGreenStrategy) {
        let mut status = self.base_status();
        let begins_anew = self.has_changed();
        if begins_anew {
            self.pause.clear();
            self.end_abort();
            status.promote_full = None;
        }
        if self.promotes_fully() || self.is_rollback_within_window() {
            self.pause.clear();
            self.pause.remove_abort();
        }
        let active = self.selector_after(strategy.active_service.text());
        let preview = self.selector_after(strategy.preview_service.text());
        self.count_pods(&mut status, &active);
        let mut state = BlueGreenStatus {
            active_selector: nonempty(&active),
            preview_selector: nonempty(&preview),
            pre_promotion_analysis_run_status: self.runs.pre.clone().filter(|_| !begins_anew),
            post_promotion_analysis_run_status: self.runs.post.clone().filter(|_| !begins_anew),
            ..BlueGreenStatus::default()
        };
        let is_promoted = match self.switch_is_final(strategy, &active, status.current_pod_hash.text(), begins_anew) {
            Some(why) => {
                self.promote(&mut status, why);
                true
            }
            None => false,
        };
        state.scale_up_preview_check_point =
            (!is_promoted && !begins_anew && self.reaches_checkpoint(strategy)).then_some(true);
        status.blue_green = Some(state);
        status.current_step_index = None;
        self.keep_resume(strategy, &mut status, is_promoted || begins_anew);
        if self.is_aborted() {
            self.wait(Waiting::Retry);
        }
        self.persist(status);
    }

    /// The template a Service selects once this look's writes are done.
    fn selector_after(&self, service: &str) -> String {
        let switched = self.plan.actions.iter().rev().find_map(|action| match &action.write {
            crate::plan::Write::SwitchService { name, hash, .. } if name == service => Some(hash.clone()),
            _ => None,
        });
        switched.unwrap_or_else(|| self.selected(service).to_owned())
    }

    /// Counts are those of the pods that serve; before there are any, those of all.
    fn count_pods(&self, status: &mut RolloutStatus, active: &str) {
        match self.set_with_hash(active) {
            Some(set) => {
                status.available_replicas = nonzero(set.available());
                status.ready_replicas = nonzero(set.ready());
                status.hpa_replicas = nonzero(set.size().actual);
                status.selector = set.spec.selector.as_ref().and_then(|selector| nonempty(&labels::text(selector)));
            }
            None => {
                status.available_replicas = nonzero(self.sets.sum(SetFacts::available));
                status.hpa_replicas = nonzero(self.sets.sum(|set| set.size().actual));
                status.selector = self.selector_text();
            }
        }
    }

    /// Why the new set becomes the stable one, if it does.
    fn switch_is_final(
        &self,
        strategy: &BlueGreenStrategy,
        active: &str,
        current: &str,
        begins_anew: bool,
    ) -> Option<String> {
        if self.sets.stable.is_none() || active.is_empty() {
            return Some("Initial deploy".to_owned());
        }
        // What has only just been switched is not known to a load balancer yet.
        let is_new = self.seen.routes.aws.is_on && self.active_hash() != active;
        let is_unverified = self.awaits_targets || is_new;
        if active != current || is_unverified {
            return None;
        }
        if self.promotes_fully() && !begins_anew {
            return Some("Full promotion requested".to_owned());
        }
        if self.is_fast_rollback() {
            let why = if self.is_rollback_within_window() { "Rollback within window" } else { "Fast rollback" };
            return Some(why.to_owned());
        }
        if self.is_aborted() {
            return None;
        }
        let post = self.runs.post.as_ref().map_or("", |run| run.status.text());
        if strategy.post_promotion_analysis.is_some() && post != analysis_phase::SUCCESSFUL {
            return None;
        }
        Some("Completed blue-green update".to_owned())
    }

    /// Whether the small preview has proven itself and may grow to full size.
    fn reaches_checkpoint(&self, strategy: &BlueGreenStrategy) -> bool {
        let Some(preview) = strategy.preview_replica_count else { return false };
        if self.has_checkpoint() {
            return true;
        }
        self.is_pre_analysis_complete(strategy)
            && self.is_pause_completed(strategy)
            && self.sets.new.is_some_and(|new| new.available() == preview)
    }

    /// A person's word is kept until it is acted on: if a pod went away in this very moment, nobody has to say it twice.
    fn keep_resume(&mut self, strategy: &BlueGreenStrategy, status: &mut RolloutStatus, is_over: bool) {
        let was_resumed = self.old.controller_pause == Some(true)
            && self.old.pause_conditions.items().is_empty()
            && !strategy.auto_promotion_enabled_or_default();
        let is_waiting = !is_over
            && self.switched_active.is_none()
            && !self.pause.has_added()
            && status.blue_green.as_ref().is_none_or(|state| state.scale_up_preview_check_point != Some(true))
            && status.current_pod_hash.text()
                != status.blue_green.as_ref().map_or("", |state| state.active_selector.text());
        self.keeps_controller_pause = was_resumed && is_waiting && !self.is_aborted();
        if self.keeps_controller_pause {
            self.wait(Waiting::Approval { reason: pause_reason::BLUE_GREEN_PAUSE.to_owned() });
        }
    }
}
