//! How many pods each ReplicaSet should have: pure arithmetic on a few numbers.

mod basic;
mod routed;
mod surge;
mod threshold;

pub use basic::{next as next_basic, target as basic_target};
pub use routed::{desired_weight as routed_desired_weight, target as routed_target, traffic_count};
pub use surge::{FencePosts, fence_posts, max_unavailable};
pub use threshold::is_met as threshold_is_met;

use tidegate_api::rollout::CanaryStrategy;

use crate::mutation::{self, Mutation};
use crate::steps;

/// The sizes of one ReplicaSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetSize {
    /// Pods asked for.
    pub spec: i32,
    /// Pods there are.
    pub actual: i32,
    /// Pods that have been ready for long enough.
    pub available: i32,
}

/// How many pods the two ReplicaSets of a canary should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Of the new template.
    pub canary: i32,
    /// Of the stable one.
    pub stable: i32,
}

/// The weights the router was last given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Of the canary.
    pub canary: i32,
    /// Of the stable set.
    pub stable: i32,
}

/// Everything the arithmetic looks at.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// `spec.replicas`.
    pub replicas: i32,
    /// The strategy.
    pub canary: &'a CanaryStrategy,
    /// `status.currentStepIndex`.
    pub step_index: Option<i32>,
    /// The persisted `status.abort`.
    pub abort: bool,
    /// All the weight belongs to the new template: asked for in full, first deploy, or nothing to update.
    pub is_full: bool,
    /// The set of the new template.
    pub new: Option<SetSize>,
    /// The stable set, absent when it is the new one.
    pub stable: Option<SetSize>,
    /// Sets that are neither.
    pub others: Vec<SetSize>,
}

impl Situation<'_> {
    /// The weight that means all traffic.
    pub fn max_weight(&self) -> i32 {
        // Zero or less is refused by validation; dividing by it must still be impossible.
        self.canary.max_traffic_weight_or_default().max(1)
    }

    /// The weight the steps ask for.
    pub fn step_weight(&self) -> i32 {
        if self.abort && !mutation::is(Mutation::KeepsTheWeightOfTheAborted) {
            return 0;
        }
        steps::weight_at(self.canary, self.step_index).unwrap_or_else(|| self.max_weight())
    }

    fn stable_available(&self) -> i32 {
        self.stable.map_or(0, |set| set.available)
    }
}

/// `part * whole / of`, rounded up.
fn share_up(part: i32, whole: i32, of: i32) -> i32 {
    let product = i64::from(part) * i64::from(whole);
    clamp(-((-product).div_euclid(i64::from(of))))
}

/// `part * whole / of`, rounded down.
pub(crate) fn share_down(part: i32, whole: i32, of: i32) -> i32 {
    clamp((i64::from(part) * i64::from(whole)).div_euclid(i64::from(of)))
}

/// A sum that ends at the limits.
pub(crate) fn sum(numbers: impl IntoIterator<Item = i32>) -> i32 {
    numbers.into_iter().fold(0, i32::saturating_add)
}

/// Sizes are 32-bit numbers; absurd input ends at the limits instead of wrapping.
fn clamp(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
}
