//! The sizes of the ReplicaSets of a blue-green Rollout.

use tidegate_api::defaults::SCALE_DOWN_DELAY_SECONDS;
use tidegate_api::names::analysis_phase;
use tidegate_api::rollout::BlueGreenStrategy;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::{Items, Text};

use crate::mutation::{self, Mutation};
use crate::pass::Pass;
use crate::scale_down::Delay;
use crate::sets::SetFacts;

impl<'a> Pass<'a> {
    pub(super) fn size_blue_green_sets(&mut self, strategy: &'a BlueGreenStrategy) {
        let delay = self.preview_abort_delay(strategy);
        if let Some(new) = self.sets.new
            && delay.is_none()
            // The deadline is what tells a fast rollback from an update: it stays until the switch can be made.
            && (self.is_saturated(new) || !self.is_within_delay())
        {
            self.remove_deadline(new);
        }
        if let Some(stable) = self.sets.distinct_stable() {
            self.remove_deadline(stable);
            let size = mutation::pick(Mutation::ShrinksTheStableSet, self.replicas() - 1, self.replicas());
            self.scale(stable, size, false);
        }
        if let Some(new) = self.sets.new {
            let held = delay.and_then(|seconds| match seconds {
                0 => Some(self.scale(new, new.spec_replicas(), true)),
                // Pods behind the active Service are never taken away.
                _ if self.selected(strategy.active_service.text()) == new.hash() => None,
                seconds => self.hold_aborted_set(new, seconds),
            });
            if held.is_none() {
                self.scale(new, self.new_size(strategy), false);
            }
            self.scale_workload_progressively();
        }
        if !self.keeps_old_sets(strategy) {
            let delay =
                Delay::new(strategy.scale_down_delay_seconds_or_default(), strategy.scale_down_delay_revision_limit);
            let services = [strategy.active_service.as_deref(), strategy.preview_service.as_deref()];
            self.scale_down_old_blue_greens(delay, &services);
        }
    }

    /// Seconds the new set of an aborted update keeps its pods, 0 for always; none when it is not held.
    fn preview_abort_delay(&self, strategy: &BlueGreenStrategy) -> Option<i32> {
        let is_held = self.is_aborted() && self.sets.distinct_stable().is_some();
        is_held.then(|| strategy.abort_scale_down_delay_seconds.unwrap_or(SCALE_DOWN_DELAY_SECONDS))
    }

    /// The size of the new set before and after its promotion.
    pub(super) fn new_size(&self, strategy: &BlueGreenStrategy) -> i32 {
        let full = self.replicas();
        let Some(preview) = strategy.preview_replica_count else { return full };
        let new = self.sets.new_hash();
        let active = self.set_with_hash(self.active_hash());
        if active.is_none_or(|active| active.hash() == new) || self.promotes_fully() {
            return full;
        }
        let is_paused = self.spec().paused == Some(true) || !self.old.pause_conditions.items().is_empty();
        if new == self.old.current_pod_hash.text() && !is_paused && self.has_checkpoint() { full } else { preview }
    }

    /// Whether the new set has exactly the pods it should have now.
    pub(super) fn is_new_ready(&self, strategy: &BlueGreenStrategy) -> bool {
        let size = self.new_size(strategy);
        self.sets.new.is_some_and(|new: &ReplicaSet| new.spec_replicas() == size && new.available() == size)
    }

    /// Whether old sets must stay because it is not yet clear that they are not needed again.
    fn keeps_old_sets(&self, strategy: &BlueGreenStrategy) -> bool {
        let is_analysing = strategy.post_promotion_analysis.is_some()
            && strategy.scale_down_delay_seconds.is_none()
            && !self.skips_post_analysis()
            && self.current_phase(self.stored().post_promotion_analysis_run_status.as_ref())
                != Some(analysis_phase::SUCCESSFUL);
        self.is_inconclusive() || is_analysing
    }
}
