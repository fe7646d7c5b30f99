//! A canary with a router: the router splits traffic, pods only have to carry it.

use tidegate_api::wire::Items;

use super::{Counts, Situation, Weights, share_up};
use crate::steps;

/// Where the size of the canary comes from.
enum Source {
    Fixed(i32),
    Weight(i32),
}

/// Pods that carry a weight.
pub fn traffic_count(at: &Situation<'_>, weight: i32) -> i32 {
    share_up(weight, at.replicas, at.max_weight())
}

fn at_least_the_minimum(at: &Situation<'_>, count: i32) -> i32 {
    match at.canary.min_pods_per_replica_set {
        Some(minimum) if count != 0 => count.max(minimum.min(at.replicas)),
        _ => count,
    }
}

/// The counts for the sets. `weights` are those the router was given, none when it does not matter where traffic is now.
pub fn target(at: &Situation<'_>, weights: Option<Weights>) -> Counts {
    let is_dynamic = at.canary.dynamic_stable_scale == Some(true);
    let source = source(at);
    let (mut canary, weight) = match source {
        Source::Fixed(count) => (count, 0),
        Source::Weight(weight) => (at_least_the_minimum(at, traffic_count(at, weight)), weight),
    };
    if !is_dynamic {
        return Counts { canary, stable: at.replicas };
    }
    // A scale above the full weight must not make the stable set smaller than nothing.
    let mut stable = traffic_count(at, at.max_weight().saturating_sub(weight)).max(0);
    if let Some(weights) = weights {
        stable = stable.max(traffic_count(at, weights.stable));
        if at.abort {
            canary = canary.max(traffic_count(at, weights.canary));
        }
    }
    Counts { canary: at_least_the_minimum(at, canary), stable: at_least_the_minimum(at, stable) }
}

fn source(at: &Situation<'_>) -> Source {
    if at.is_full {
        return Source::Weight(at.max_weight());
    }
    let keeps_scale_on_abort = at.canary.abort_scale_down_delay_seconds == Some(0);
    let scale = steps::scale_at(at.canary, at.step_index).filter(|_| !at.abort || keeps_scale_on_abort);
    match scale.map(|scale| (scale.replicas, scale.weight)) {
        Some((Some(count), _)) => Source::Fixed(count),
        Some((None, Some(weight))) => Source::Weight(weight),
        _ => Source::Weight(desired_weight(at)),
    }
}

/// The weight the canary should have pods for, apart from `setCanaryScale` and full promotion.
///
/// While an update with a shrinking stable set is taken back, the canary keeps what the stable set cannot carry yet.
pub fn desired_weight(at: &Situation<'_>) -> i32 {
    let (true, Some(true), Some(new), Some(_)) = (at.abort, at.canary.dynamic_stable_scale, at.new, at.stable) else {
        return at.step_weight();
    };
    let uncovered = at.replicas.saturating_sub(at.stable_available());
    let has_delay = at.canary.abort_scale_down_delay_seconds.is_some_and(|seconds| seconds != 0);
    let kept = if has_delay { uncovered } else { uncovered.max(new.available) };
    let earlier = at.canary.steps.items().iter().rev().filter_map(|step| step.set_weight);
    earlier.into_iter().find(|weight| traffic_count(at, *weight) < kept).unwrap_or(0)
}
