//! Blue-green: two full sets of pods and one switch between them; the order of one look at it.

mod sizes;
mod status;
mod switch;

use tidegate_api::rollout::{BlueGreenStatus, BlueGreenStrategy};
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;

use crate::pass::Pass;
use crate::persist::nonzero;
use crate::rollback;
use crate::sets::{Deadline, SetFacts};

impl<'a> Pass<'a> {
    /// One look at a blue-green Rollout.
    pub(crate) fn blue_green_pass(&mut self, strategy: &'a BlueGreenStrategy) {
        self.sync_new_set();
        if self.restore_active_service(strategy) {
            // A Service that selects nothing looks like a first deploy: nothing is decided before it is right again.
            return;
        }
        if !self.is_halted()
            && let Some(preview) = strategy.preview_service.as_deref().filter(|name| !name.is_empty())
        {
            self.switch_service(preview, self.sets.new_hash());
        }
        if self.has_changed() {
            self.finish_blue_green(strategy);
            return;
        }
        self.restart_pods();
        self.size_blue_green_sets(strategy);
        self.clean_up_history();
        self.pause_before_promotion(strategy);
        self.switch_active_service(strategy);
        // Only a canary that this Rollout was before can have left any.
        self.terminate_experiments(None);
        self.run_blue_green_analyses(strategy);
        self.sync_role_metadata();
        self.finish_blue_green(strategy);
    }

    /// Sizes only, after `spec.replicas` has changed.
    pub(crate) fn blue_green_scaling_pass(&mut self, strategy: &'a BlueGreenStrategy) {
        self.sync_new_set();
        self.size_blue_green_sets(strategy);
        let mut status = self.old.clone();
        let active = self.set_with_hash(self.active_hash());
        status.available_replicas =
            nonzero(active.map_or_else(|| self.sets.sum(SetFacts::available), SetFacts::available));
        status.hpa_replicas =
            nonzero(active.map_or_else(|| self.sets.sum(|set| set.size().actual), |set| set.size().actual));
        self.persist(status);
    }

    fn stored(&self) -> BlueGreenStatus {
        self.old.blue_green.clone().unwrap_or_default()
    }

    /// The template behind the active Service when the status was stored.
    fn active_hash(&self) -> &'a str {
        self.old.blue_green.as_ref().map_or("", |state| state.active_selector.text())
    }

    fn set_with_hash(&self, hash: &str) -> Option<&'a ReplicaSet> {
        self.sets.all.iter().copied().find(|set| !hash.is_empty() && set.hash() == hash)
    }

    fn has_checkpoint(&self) -> bool {
        self.old.blue_green.as_ref().is_some_and(|state| state.scale_up_preview_check_point == Some(true))
    }

    /// Whether a set has all the pods of the Rollout.
    pub(crate) fn is_saturated(&self, set: &ReplicaSet) -> bool {
        let (replicas, size) = (self.replicas(), set.size());
        size.spec == replicas && set.desired_replicas() == Some(replicas) && size.available == replicas
    }

    /// Whether going back needs no pause and no analysis.
    pub(crate) fn is_fast_rollback(&self) -> bool {
        let stable = self.old.stable_rs.text();
        if !rollback::is_rollback(&self.sets, stable) {
            return false;
        }
        let is_stable = !stable.is_empty() && self.sets.new_hash() == stable;
        is_stable || self.is_rollback_within_window() || (self.blue_green().is_some() && self.is_within_delay())
    }

    /// Whether the new set still runs because its time has not come yet: it served everything a moment ago.
    fn is_within_delay(&self) -> bool {
        let Some(new) = self.sets.new else { return false };
        matches!(new.deadline(), Deadline::At(at) if at > self.now)
    }
}
