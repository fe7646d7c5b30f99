//! The sizes of the ReplicaSets of a canary.

use jiff::SignedDuration;
use tidegate_api::defaults::SCALE_DOWN_DELAY_SECONDS;
use tidegate_api::rollout::{CanaryStrategy, WeightDestination};
use tidegate_api::view::ReplicaSet;

use crate::counts::{self, Counts, Weights};
use crate::mutation::{self, Mutation};
use crate::pass::{Held, Pass, plain_weights};
use crate::routing;
use crate::sets::{Deadline, SetFacts};
use crate::waiting::Waiting;

impl<'a> Pass<'a> {
    /// Sizes one set per look: stable first, then the new one, then old ones; says whether one changes.
    pub(super) fn size_canary_sets(&mut self, canary: &'a CanaryStrategy) -> bool {
        if self.is_halted() {
            return false;
        }
        let delay = self.abort_delay(canary);
        if let Some(new) = self.sets.new
            && delay.is_none()
            && !self.lost_its_traffic_lately(canary, new)
        {
            self.remove_deadline(new);
        }
        if let Some(stable) = self.sets.distinct_stable() {
            self.remove_deadline(stable);
            // Sized by the weights that are stored: it never shrinks in the look that moves its traffic away.
            let stored = self.stored_weights(canary);
            let mut target = self.next_counts(canary, Some(stored)).stable;
            if target < stable.spec_replicas()
                && let Some(now) = self.stable_weight_in_routes(canary)
            {
                // Somebody else may have sent requests back here, which is not repaired yet.
                let weights = Weights { stable: stored.stable.max(now), ..stored };
                target = self.next_counts(canary, Some(weights)).stable;
            }
            if canary.traffic_routing.is_some() && self.sets.new.is_none_or(|new| new.serving() == 0) {
                // Whatever weights say: nobody else is there to take over.
                target = target.max(stable.spec_replicas().min(self.replicas()));
            }
            let is_too_early = target < stable.spec_replicas() && (self.held == Some(Held::Routes) || self.drains());
            if !is_too_early && self.scale(stable, target, false) {
                return true;
            }
        }
        if let Some(new) = self.sets.new {
            let scaled = self.size_new_canary(canary, new, delay);
            self.scale_workload_progressively();
            if scaled {
                return true;
            }
        }
        self.scale_down_old_canaries(canary) || self.make_room(canary)
    }

    /// The weights of before. Where none were ever stored, or only half of them, or none that is more than zero, all that the canary
    /// does not have may be with stable.
    fn stored_weights(&self, canary: &CanaryStrategy) -> Weights {
        let stored = self.old.canary.as_ref().and_then(|state| state.weights.as_ref());
        let weight = |found: &Option<WeightDestination>| found.as_ref().and_then(|found| found.weight);
        let canary_weight = stored.and_then(|stored| weight(&stored.canary)).unwrap_or(0);
        let rest = self.situation(canary).max_weight().saturating_sub(canary_weight);
        let stable = stored.and_then(|stored| weight(&stored.stable)).filter(|stable| canary_weight > 0 || *stable > 0);
        Weights { canary: canary_weight, stable: stable.unwrap_or(rest) }
    }

    /// Pods of old sets serve and cannot go before others do; the new set gets none while surge is used up by stable pods that
    /// do not serve. The goal does not ask for those: they go, or nothing would ever move.
    fn make_room(&mut self, canary: &'a CanaryStrategy) -> bool {
        let (Some(new), Some(stable)) = (self.sets.new, self.sets.distinct_stable()) else { return false };
        let at = self.situation(canary);
        let is_held_up = canary.traffic_routing.is_none() && counts::sum(at.others.iter().map(|set| set.spec)) > 0;
        let goal = counts::basic_target(&at);
        let needed = goal.stable.max(stable.serving());
        let can_give = is_held_up && new.spec_replicas() < goal.canary && stable.spec_replicas() > needed;
        can_give && self.scale(stable, needed, false)
    }

    fn size_new_canary(&mut self, canary: &'a CanaryStrategy, new: &'a ReplicaSet, delay: Option<AbortDelay>) -> bool {
        let carries = plain_weights(self.weights.as_ref()).is_some_and(|weights| weights.canary > 0);
        let held = match delay {
            // Its time begins when no traffic is left.
            Some(_) if self.held.is_some() || carries => Some(self.scale(new, new.spec_replicas(), true)),
            Some(AbortDelay::Forever) => Some(self.scale(new, new.spec_replicas(), true)),
            Some(AbortDelay::Seconds(seconds)) => self.hold_aborted_set(new, seconds),
            None => None,
        };
        held.unwrap_or_else(|| {
            let is_stable = self.sets.stable.is_some_and(|stable| stable.name() == new.name());
            let target = if is_stable && canary.traffic_routing.is_some() {
                // Whatever the step says that a status of before is at: requests go here, or are about to.
                self.replicas()
            } else {
                self.next_counts(canary, plain_weights(self.weights.as_ref())).canary
            };
            let shrinks = target < new.spec_replicas();
            // Requests come here as long as they cannot be sent elsewhere.
            let serves = self.held == Some(Held::Routes) || (self.held.is_some() && carries);
            let is_too_early = serves || self.drains() || self.lost_its_traffic_lately(canary, new);
            if shrinks && is_too_early {
                return self.scale(new, new.spec_replicas(), false);
            }
            self.scale(new, target, false)
        })
    }

    /// Whether a set that was stable a moment ago, and is the new one again, may still get requests from proxies that are behind.
    /// Its deadline says since when it is not: it was set when its traffic had moved away.
    fn lost_its_traffic_lately(&mut self, canary: &CanaryStrategy, new: &ReplicaSet) -> bool {
        let (Deadline::At(deadline), Some(drain)) = (new.deadline(), routing::drain_seconds(self.rollout)) else {
            return false;
        };
        let delay = canary.scale_down_delay_seconds_or_default().max(drain);
        let left = SignedDuration::from_secs(i64::from(delay.saturating_sub(drain)));
        let Some(until) = deadline.checked_sub(left).ok().filter(|until| *until > self.now) else { return false };
        self.wait(Waiting::Propagation { until });
        self.wake(until);
        true
    }

    fn next_counts(&self, canary: &'a CanaryStrategy, weights: Option<Weights>) -> Counts {
        let at = self.situation(canary);
        if canary.traffic_routing.is_some() { counts::routed_target(&at, weights) } else { counts::next_basic(&at) }
    }

    /// Whether and how long the canary of an aborted update keeps its pods.
    fn abort_delay(&self, canary: &CanaryStrategy) -> Option<AbortDelay> {
        if !self.is_aborted() || self.sets.distinct_stable().is_none() || canary.traffic_routing.is_none() {
            return None;
        }
        match canary.abort_scale_down_delay_seconds {
            Some(0) => Some(AbortDelay::Forever),
            Some(seconds) => Some(AbortDelay::Seconds(seconds)),
            None if canary.dynamic_stable_scale == Some(true) => None,
            None => Some(AbortDelay::Seconds(SCALE_DOWN_DELAY_SECONDS)),
        }
    }

    /// Whether both sets have the size the current step asks for.
    pub(super) fn is_at_desired_counts(&self, canary: &'a CanaryStrategy, weights: Option<Weights>) -> bool {
        let at = self.situation(canary);
        let is_routed = canary.traffic_routing.is_some();
        let goal = if is_routed { counts::routed_target(&at, weights) } else { counts::basic_target(&at) };
        let has_pods = counts::threshold_is_met(canary, at.new, goal.canary);
        if !has_pods && !mutation::is(Mutation::PassesWeightsWithoutPods) {
            return false;
        }
        if is_routed && canary.dynamic_stable_scale == Some(true) {
            return true;
        }
        // With a threshold some new pods may be missing, and then the stable set may not shrink all the way.
        let has_threshold = !is_routed && canary.replica_progress_threshold.is_some();
        let stable_goal = if has_threshold { counts::next_basic(&at).stable } else { goal.stable };
        let is_stable_sized = match self.sets.stable {
            Some(stable) if self.sets.distinct_stable().is_none() => stable.size().spec == stable.size().actual,
            Some(stable) => stable.size().spec == stable_goal && stable.size().actual == stable_goal,
            None => false,
        };
        let old_pods = counts::sum(at.others.iter().map(|set| set.available));
        is_stable_sized && (is_routed || old_pods == 0)
    }
}

/// What holds the canary of an aborted update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AbortDelay {
    /// It keeps its pods.
    Forever,
    /// It keeps them for so long after the stable set is complete.
    Seconds(i32),
}
