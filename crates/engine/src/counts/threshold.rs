//! When enough pods are there for a step to count as done.

use tidegate_api::rollout::{CanaryStrategy, ReplicaProgressThreshold};
use tidegate_api::wire::Text;

use super::SetSize;

/// Whether a set has reached `desired`, exactly or as far as `replicaProgressThreshold` asks.
pub fn is_met(canary: &CanaryStrategy, set: Option<SetSize>, desired: i32) -> bool {
    let exact = || set.is_some_and(|set| set.spec == desired && set.available == desired);
    let (Some(threshold), Some(set)) = (&canary.replica_progress_threshold, set) else { return exact() };
    let value = threshold.value.unwrap_or_default();
    if value < 0 {
        return exact();
    }
    if is_percent(threshold) {
        return desired == 0 || i64::from(set.available) * 100 >= i64::from(value) * i64::from(desired);
    }
    set.available >= value
}

fn is_percent(threshold: &ReplicaProgressThreshold) -> bool {
    threshold.kind.text() == "Percent"
}
