//! Whether an update goes back to a template that has run before, and how near that one is.

use tidegate_api::names::annotations;
use tidegate_api::rollout::Rollout;
use tidegate_api::view::ReplicaSet;

use crate::sets::{SetFacts, Sets};

/// Whether the new set is the stable one or older than it.
pub(crate) fn is_rollback(sets: &Sets<'_>, stable_hash: &str) -> bool {
    let Some(new) = sets.new else { return false };
    (!stable_hash.is_empty() && new.hash() == stable_hash) || sets.stable.is_some_and(|stable| is_older(new, stable))
}

fn is_older(one: &ReplicaSet, other: &ReplicaSet) -> bool {
    matches!((one.created(), other.created()), (Some(one), Some(other)) if one < other)
}

/// Whether so few revisions lie between that steps, pauses and analysis may be skipped.
pub(crate) fn is_within_window(rollout: &Rollout, sets: &Sets<'_>) -> bool {
    let revisions = rollout.spec.rollback_window.as_ref().and_then(|window| window.revisions).unwrap_or(0);
    let (Some(new), Some(stable)) = (sets.new, sets.stable) else { return false };
    if revisions <= 0 || !is_older(new, stable) {
        return false;
    }
    let between = sets.all.iter().filter(|set| {
        set.annotation(annotations::EXPERIMENT_NAME).is_none() && is_older(new, set) && is_older(set, stable)
    });
    i64::try_from(between.count()).is_ok_and(|count| count < i64::from(revisions))
}
