//! A canary without a router: pods stand for traffic.

use crate::mutation::{self, Mutation};

use super::{Counts, FencePosts, SetSize, Situation, clamp, fence_posts, share_down, share_up, sum};

/// The counts that come closest to the weight the steps ask for.
pub fn target(at: &Situation<'_>) -> Counts {
    let max = at.max_weight();
    let weight = if at.is_full { max } else { at.step_weight() };
    if at.stable.is_none() {
        return Counts { canary: at.replicas, stable: 0 };
    }
    closest(at.replicas, weight, max, fence_posts(at.canary, at.replicas).surge)
}

/// One way to split pods.
#[derive(Clone, Copy)]
struct Split {
    canary: i32,
    total: i32,
}

impl Split {
    /// Distance from the wanted weight as a fraction: numerator and denominator.
    fn distance(self, weight: i32, max: i32) -> (i64, i64) {
        let wanted = i64::from(weight) * i64::from(self.total);
        ((i64::from(self.canary) * i64::from(max) - wanted).abs(), i64::from(self.total))
    }
}

fn closest(replicas: i32, weight: i32, max: i32, surge: i32) -> Counts {
    if replicas <= 0 {
        return Counts { canary: 0, stable: 0 };
    }
    let (up, down) = (share_up(weight, replicas, max), share_down(weight, replicas, max));
    let zero_allowed = weight == max || weight == 0 || (replicas == 1 && surge == 0);
    // A count that lies exactly between two whole numbers is rounded up, never down.
    let tied = |pods: i32| 2 * (i64::from(pods) * i64::from(weight)).rem_euclid(i64::from(max)) == i64::from(max);
    let down_allowed = down != 0 || zero_allowed;
    let with_one_more = replicas.saturating_add(1);
    let options = [
        (up < replicas || zero_allowed, Split { canary: up, total: replicas }),
        (!tied(replicas) && down_allowed, Split { canary: down, total: replicas }),
        (surge > 0, Split { canary: up, total: with_one_more }),
        (surge > 0 && !tied(with_one_more) && down_allowed, Split { canary: down, total: with_one_more }),
    ];
    let mut best: Option<(Split, (i64, i64))> = None;
    for (_, split) in options.into_iter().filter(|(allowed, _)| *allowed) {
        let (off, of) = split.distance(weight, max);
        let is_closer = best.is_none_or(|(_, (best_off, best_of))| {
            i128::from(off) * i128::from(best_of) < i128::from(best_off) * i128::from(of)
        });
        if is_closer {
            best = Some((split, (off, of)));
        }
    }
    // Nothing is left when no surge is allowed and the count is half a pod short of all: one pod stays stable.
    let split = best.map_or(Split { canary: replicas - 1, total: replicas }, |(split, _)| split);
    Counts { canary: split.canary, stable: split.total.saturating_sub(split.canary) }
}

/// The sizes to ask for next on the way to [`target`], within surge and unavailability.
pub fn next(at: &Situation<'_>) -> Counts {
    let goal = target(at);
    let FencePosts { surge, unavailable } = fence_posts(at.canary, at.replicas);
    let most = at.replicas.saturating_add(surge);
    let old_pods = sum(at.others.iter().map(|set| set.spec));
    let new = at.new.unwrap_or_default();
    let stable = at.stable.unwrap_or_default();
    let mut up = most.saturating_sub(sum([new.spec, stable.spec, old_pods]));
    let mut counts = Counts { canary: new.spec, stable: stable.spec };

    if stable.spec < goal.stable && up > 0 {
        counts.stable = goal.stable.min(stable.spec.saturating_add(up));
        up = up.saturating_sub(counts.stable.saturating_sub(stable.spec));
    }
    if new.spec < goal.canary && up > 0 {
        counts.canary = goal.canary.min(new.spec.saturating_add(up));
    }
    if old_pods > 0 {
        return counts;
    }
    let unavailable = mutation::pick(Mutation::LowersTheFloor, unavailable.saturating_add(1), unavailable);
    let fewest = at.replicas.saturating_sub(unavailable);
    let increasing = at.new.is_none() || goal.canary >= new.spec;
    let removable = countable(new, !increasing).saturating_add(countable(stable, increasing));
    if removable <= fewest {
        return counts;
    }
    let down = removable.saturating_sub(fewest);
    if !increasing {
        if new.spec > goal.canary {
            counts.canary = goal.canary.max(new.spec.saturating_sub(down));
        }
        let (canary, stable) = adjust(counts.canary, new, counts.stable, at.stable, most, fewest);
        Counts { canary, stable }
    } else if at.stable.is_some() {
        if stable.spec > goal.stable {
            counts.stable = goal.stable.max(stable.spec.saturating_sub(down));
        }
        let (stable, canary) = adjust(counts.stable, stable, counts.canary, at.new, most, fewest);
        Counts { canary, stable }
    } else {
        counts
    }
}

/// Pods that may be taken away: those asked for when missing ones do not matter, else those that really serve.
fn countable(set: SetSize, ignores_availability: bool) -> i32 {
    let ignores_availability = ignores_availability || mutation::is(Mutation::CountsPodsThatDoNotServe);
    if ignores_availability || set.spec < set.available { set.spec } else { set.available }
}

/// Keeps the sum within the most allowed without giving up pods that serve: first the other set is cut, then as much
/// of the cut as is needed for availability is given back, then the draining set pays.
fn adjust(drained: i32, drain: SetSize, other: i32, other_set: Option<SetSize>, most: i32, fewest: i32) -> (i32, i32) {
    let (mut drained, mut other) = (drained, other);
    let beyond = |one: i32, two: i32| clamp(i64::from(one) + i64::from(two) - i64::from(most)).max(0);
    let over = beyond(other, drained);
    if let Some(set) = other_set {
        other = other.saturating_sub(over);
        let available = drain.available.min(drained).saturating_add(set.available.min(other));
        let lost = set.available.saturating_sub(other).max(0);
        let needed = fewest.saturating_sub(available).max(0);
        other = other.saturating_add(lost.min(needed));
    }
    drained = drained.saturating_sub(beyond(other, drained));
    (drained, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(replicas: i32, weight: i32, surge: i32) -> (i32, i32) {
        let counts = closest(replicas, weight, 100, surge);
        (counts.canary, counts.stable)
    }

    #[test]
    fn the_split_that_comes_closest_wins_and_nobody_is_drained_before_the_end() {
        for (replicas, weight, surge, canary, stable) in [
            (1, 49, 0, 0, 1),
            (1, 50, 0, 1, 0),
            (1, 50, 1, 1, 1),
            (2, 99, 0, 1, 1),
            (2, 99, 1, 2, 1),
            (3, 34, 1, 1, 2),
            (3, 49, 1, 2, 2),
            (10, 15, 0, 2, 8),
            (10, 18, 1, 2, 9),
            (10, 24, 1, 3, 8),
            (10, 99, 1, 10, 1),
            (10, 100, 1, 10, 0),
            (0, 50, 1, 0, 0),
        ] {
            assert_eq!(split(replicas, weight, surge), (canary, stable), "{replicas} pods at {weight}, surge {surge}");
        }
    }

    #[test]
    fn a_weight_half_a_pod_short_of_all_leaves_one_stable_pod() {
        for (replicas, weight) in [(2, 75), (5, 90), (10, 95), (25, 98), (50, 99)] {
            assert_eq!(split(replicas, weight, 0), (replicas - 1, 1));
        }
    }
}
