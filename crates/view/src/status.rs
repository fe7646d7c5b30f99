//! One line about a Rollout, for `status`.

use tidegate_api::names::phase;

use crate::info::RolloutInfo;

/// Whether all is as asked.
pub fn is_healthy(info: &RolloutInfo) -> bool {
    info.status == phase::HEALTHY
}

/// Whether something has gone wrong.
pub fn is_degraded(info: &RolloutInfo) -> bool {
    info.status == phase::DEGRADED
}

/// The line when asked once: the two ends stand alone.
pub fn status_line(info: &RolloutInfo) -> String {
    if is_healthy(info) || is_degraded(info) {
        info.status.clone()
    } else {
        format!("{} - {}", info.status, info.message)
    }
}

/// The line while watching: with the message, if there is one.
pub fn watched_line(info: &RolloutInfo) -> String {
    if info.message.is_empty() { info.status.clone() } else { format!("{} - {}", info.status, info.message) }
}
