//! Scaling in the middle of an update: every ReplicaSet gets its share.

use k8s_openapi::api::apps::v1::ReplicaSet;

use super::{MAX_REPLICAS, View, Write, annotation, asked, available, created, name};

/// Brings the sizes of the ReplicaSets in line with changed replicas.
pub(super) fn scale(view: &View<'_>) -> Vec<Write> {
    let active: Vec<&ReplicaSet> = view.sets.iter().copied().filter(|set| asked(set) > 0).collect();
    // With one active set, or none, the newest takes all.
    if active.len() <= 1 {
        let newest = view.new.or_else(|| view.sets.last().copied());
        let target = active.first().copied().or(newest);
        return target.into_iter().filter_map(|set| resized(view, set, view.replicas())).collect();
    }
    let is_saturated = view.new.is_some_and(|new| asked(new) == view.replicas() && available(new) == view.replicas());
    if is_saturated {
        return view.old().filter(|set| asked(set) > 0).map(|set| view.scaled(set, 0)).collect();
    }
    share_out(view, active)
}

/// Spreads what is to be added or removed in proportion to size; the rest goes to the first.
fn share_out(view: &View<'_>, mut active: Vec<&ReplicaSet>) -> Vec<Write> {
    let (surge, _) = view.fence_posts();
    let allowed = if view.replicas() > 0 { view.replicas() + surge } else { 0 };
    let total: i32 = active.iter().map(|set| asked(set)).sum();
    let mut left = allowed - total;
    // Larger sets first; of equal ones the newer when growing, the older when shrinking.
    active.sort_by_key(|set| (std::cmp::Reverse(asked(set)), created(set), name(set).to_owned()));
    if left > 0 {
        active.sort_by_key(|set| (std::cmp::Reverse(asked(set)), std::cmp::Reverse(created(set))));
    }
    let mut targets: Vec<(&ReplicaSet, i32)> = Vec::new();
    for set in active {
        let part = if left == 0 { 0 } else { fraction(view, set, allowed, left) };
        left -= part;
        targets.push((set, asked(set) + part));
    }
    if let Some((_, first)) = targets.first_mut() {
        *first = (*first + left).max(0);
    }
    targets.into_iter().filter_map(|(set, target)| resized(view, set, target)).collect()
}

/// The share of one set in a change, never more than what is left to give.
fn fraction(view: &View<'_>, set: &ReplicaSet, allowed: i32, left: i32) -> i32 {
    let before =
        annotation(set, MAX_REPLICAS).and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::from(view.replicas()));
    if before == 0.0 {
        return 0;
    }
    let target = (f64::from(asked(set)) * f64::from(allowed) / before).round() as i32;
    let change = target - asked(set);
    if left > 0 { change.clamp(0, left) } else { change.clamp(left, 0) }
}

/// A write when size or notes differ.
fn resized(view: &View<'_>, set: &ReplicaSet, replicas: i32) -> Option<Write> {
    let noted = view.size_annotations().iter().all(|(key, value)| annotation(set, key) == Some(value));
    (asked(set) != replicas || !noted).then(|| view.scaled(set, replicas))
}
