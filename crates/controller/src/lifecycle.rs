//! What a stored status says about the life of an update: lines in the log, and how long it took.

use tidegate_api::names::completion_status;
use tidegate_api::rollout::{RolloutDuration, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::Text;
use tidegate_runtime::Key;
use tracing::{info, warn};

use crate::metrics::Metrics;

/// An update that is over, in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    /// How it ended.
    pub status: String,
    /// From its beginning to its end.
    pub total: i64,
    /// Of these, what it waited for people.
    pub pause: i64,
}

impl Finished {
    pub(crate) fn progression(&self) -> i64 {
        self.total.saturating_sub(self.pause)
    }
}

fn seconds_between(from: &Time, to: &Time) -> Option<i64> {
    Some(to.instant()?.duration_since(from.instant()?).as_secs().max(0))
}

/// The update that ended with this change of the status, if one did.
fn finished(old: &RolloutDuration, new: &RolloutDuration) -> Option<Finished> {
    if old.rollout_started_at != new.rollout_started_at {
        return superseded(old, new);
    }
    let (start, end) = (new.rollout_started_at.as_ref()?, new.finished_at.as_ref()?);
    if old.finished_at.is_some() || new.completion_status.text().is_empty() {
        return None;
    }
    let pause = new.total_manual_pause_duration_seconds.unwrap_or(0);
    Some(Finished { status: new.completion_status.text().to_owned(), total: seconds_between(start, end)?, pause })
}

/// An update that made way for the next one never shows its end: it is the beginning of the other.
fn superseded(old: &RolloutDuration, new: &RolloutDuration) -> Option<Finished> {
    let (start, end) = (old.rollout_started_at.as_ref()?, new.rollout_started_at.as_ref()?);
    if old.finished_at.is_some() {
        return None;
    }
    let open = old.manual_pause_started_at.as_ref().and_then(|began| seconds_between(began, end)).unwrap_or(0);
    let pause = old.total_manual_pause_duration_seconds.unwrap_or(0).saturating_add(open);
    Some(Finished { status: completion_status::SUPERSEDED.to_owned(), total: seconds_between(start, end)?, pause })
}

/// Takes note of a status that was just stored.
pub(crate) fn stored(metrics: &Metrics, key: &Key, old: Option<&RolloutStatus>, new: &RolloutStatus) {
    let none = RolloutStatus::default();
    let old = old.unwrap_or(&none);
    let (before, after) = (old.duration.clone().unwrap_or_default(), new.duration.clone().unwrap_or_default());
    if let Some(finished) = finished(&before, &after) {
        metrics.finished(&finished);
        say_finished(key, &finished);
    }
    let (rollout, namespace) = (key.name.as_str(), key.namespace.as_str());
    if after.rollout_started_at.is_some() && before.rollout_started_at != after.rollout_started_at {
        let (event, is_retry) = ("rollout_started", old.abort == Some(true) || old.aborted_at.is_some());
        if is_retry {
            info!(rollout, namespace, event, reason = "retry after abort", "Rollout retried");
        } else {
            info!(rollout, namespace, event, reason = "new revision detected", "Rollout started");
        }
    } else if is_rollback(&after) && !is_rollback(&before) {
        let status = after.completion_status.text();
        info!(rollout, namespace, event = "rollout_rollback", status, "Rollout rollback");
    }
    match (old.controller_pause == Some(true), new.controller_pause == Some(true)) {
        (false, true) => {
            let reason = new.pause_conditions.iter().flatten().next().map(|pause| pause.reason.text());
            let reason = reason.unwrap_or_default();
            info!(rollout, namespace, event = "rollout_paused", reason, "Rollout paused");
        }
        (true, false) if new.abort != Some(true) => {
            info!(rollout, namespace, event = "rollout_resumed", "Rollout resumed");
        }
        _ => {}
    }
}

fn is_rollback(duration: &RolloutDuration) -> bool {
    let how = duration.completion_status.text();
    how == completion_status::ROLLED_BACK || how == completion_status::FAST_ROLLED_BACK
}

fn say_finished(key: &Key, finished: &Finished) {
    let (rollout, namespace, status) = (key.name.as_str(), key.namespace.as_str(), finished.status.as_str());
    let (total, pause) = (finished.total, finished.pause);
    let progression = finished.progression();
    macro_rules! say {
        ($level:ident) => {
            $level!(
                rollout,
                namespace,
                event = "rollout_completed",
                status,
                duration_total_seconds = total,
                duration_progression_seconds = progression,
                duration_manual_pause_seconds = pause,
                "Rollout completed"
            )
        };
    }
    if status == completion_status::ABORTED {
        say!(warn);
    } else {
        say!(info);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn duration(value: Value) -> RolloutDuration {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_end_is_seen_once_and_its_parts_add_up() {
        let running = duration(json!({"rolloutStartedAt": "2026-08-01T10:00:00Z"}));
        let over = duration(json!({"rolloutStartedAt": "2026-08-01T10:00:00Z", "finishedAt": "2026-08-01T10:10:00Z",
            "completionStatus": "Promoted", "totalManualPauseDurationSeconds": 300}));
        let seen = finished(&running, &over).unwrap();
        assert_eq!((seen.status.as_str(), seen.total, seen.pause, seen.progression()), ("Promoted", 600, 300, 300));
        assert_eq!(finished(&over, &over), None);
        let unnamed = RolloutDuration { completion_status: None, ..over };
        assert_eq!(finished(&running, &unnamed), None, "without an outcome nothing is counted");
    }

    #[test]
    fn an_update_that_makes_way_for_the_next_is_superseded() {
        let running = duration(json!({"rolloutStartedAt": "2026-08-01T10:00:00Z",
            "manualPauseStartedAt": "2026-08-01T10:01:00Z"}));
        let next = duration(json!({"rolloutStartedAt": "2026-08-01T10:03:00Z"}));
        let seen = finished(&running, &next).unwrap();
        assert_eq!((seen.status.as_str(), seen.total, seen.pause), ("Superseded", 180, 120));
        assert_eq!(finished(&RolloutDuration::default(), &next), None, "the first update of a Rollout follows none");
    }
}
