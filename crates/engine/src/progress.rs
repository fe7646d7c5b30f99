//! Words about a status: progressed, healthy, completed.

use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_api::wire::{Items, Text};

/// Reason of the Progressing condition of a Rollout that names something this controller does not drive.
pub(crate) const UNSUPPORTED: &str = "Unsupported";

/// Whether the update is over.
pub(crate) fn is_completed(status: &RolloutStatus) -> bool {
    let stable = status.stable_rs.text();
    !stable.is_empty() && stable == status.current_pod_hash.text()
}

/// Whether something moved on between two statuses.
pub(crate) fn has_progressed(old: &RolloutStatus, new: &RolloutStatus) -> bool {
    let number = Option::unwrap_or_default;
    let left_over = |status: &RolloutStatus| number(status.replicas).saturating_sub(number(status.updated_replicas));
    let moved_step = matches!((old.current_step_index, new.current_step_index), (Some(a), Some(b)) if a != b);
    number(old.updated_replicas) != number(new.updated_replicas)
        || left_over(new) < left_over(old)
        || number(new.ready_replicas) > number(old.ready_replicas)
        || number(new.available_replicas) > number(old.available_replicas)
        || old.stable_rs.text() != new.stable_rs.text()
        || moved_step
        || old.current_step_hash.text() != new.current_step_hash.text()
        || selectors(old) != selectors(new)
}

fn selectors(status: &RolloutStatus) -> (&str, &str) {
    let state = status.blue_green.as_ref();
    state.map_or(("", ""), |state| (state.active_selector.text(), state.preview_selector.text()))
}

/// Whether all is as asked.
pub(crate) fn is_healthy(rollout: &Rollout, status: &RolloutStatus) -> bool {
    let replicas = rollout.spec.replicas_or_default();
    let updated = status.updated_replicas.unwrap_or_default();
    let available = status.available_replicas.unwrap_or_default();
    if updated != replicas || available != replicas {
        return false;
    }
    if let Some(blue_green) = rollout.spec.blue_green() {
        let current = status.current_pod_hash.text();
        let (active, preview) = selectors(status);
        let has_preview = !blue_green.preview_service.text().is_empty();
        return !current.is_empty() && active == current && (!has_preview || preview == current);
    }
    let steps = rollout.spec.canary().map_or(0, |canary| canary.steps.items().len());
    let all_steps = match (steps, status.current_step_index) {
        (0, _) | (_, None) => true,
        (count, Some(index)) => usize::try_from(index) == Ok(count),
    };
    status.replicas.unwrap_or_default() == replicas && is_completed(status) && all_steps
}
