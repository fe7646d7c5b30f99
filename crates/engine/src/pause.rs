//! Pauses and aborts: what one pass adds to or takes from what is stored.

use jiff::Timestamp;
use tidegate_api::rollout::{PauseCondition, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

/// What changes in one pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct PauseChange {
    added: Vec<&'static str>,
    removed: Vec<&'static str>,
    clears: bool,
    abort: AbortChange,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum AbortChange {
    #[default]
    Keep,
    /// With the cause, which may be empty.
    Add(String),
    Remove,
}

impl PauseChange {
    pub(crate) fn add(&mut self, reason: &'static str) {
        self.added.push(reason);
    }

    pub(crate) fn remove(&mut self, reason: &'static str) {
        self.removed.push(reason);
    }

    /// Whether this pass pauses.
    pub(crate) fn has_added(&self) -> bool {
        !self.added.is_empty()
    }

    /// Drops all pauses.
    pub(crate) fn clear(&mut self) {
        self.clears = true;
    }

    pub(crate) fn add_abort(&mut self, cause: impl Into<String>) {
        self.abort = AbortChange::Add(cause.into());
    }

    pub(crate) fn remove_abort(&mut self) {
        self.abort = AbortChange::Remove;
    }

    /// Why this pass aborts, if it does.
    pub(crate) fn abort_cause(&self) -> Option<&str> {
        match &self.abort {
            AbortChange::Add(cause) => Some(cause),
            _ => None,
        }
    }

    pub(crate) fn is_aborted(&self, old: &RolloutStatus) -> bool {
        match self.abort {
            AbortChange::Add(_) => true,
            AbortChange::Remove => false,
            AbortChange::Keep => old.abort == Some(true),
        }
    }

    /// Writes the pause and abort fields.
    pub(crate) fn apply(&self, old: &RolloutStatus, new: &mut RolloutStatus, now: Timestamp) {
        (new.pause_conditions, new.controller_pause) = (None, None);
        if self.is_aborted(old) {
            new.abort = Some(true);
            new.aborted_at = old.aborted_at.clone().or_else(|| Some(Time::from(now)));
            return;
        }
        // What a retry has left there stays: to take it away would take away an abort that has come since.
        (new.abort, new.aborted_at) = (old.abort.filter(|abort| !abort), None);
        if self.clears {
            return;
        }
        let old_pauses = old.pause_conditions.items();
        let mut pauses: Vec<PauseCondition> =
            old_pauses.iter().filter(|pause| !self.removed.contains(&pause.reason.text())).cloned().collect();
        let kept = pauses.len();
        for reason in &self.added {
            if !has(&pauses, reason) {
                pauses.push(PauseCondition {
                    reason: Some((*reason).to_owned()),
                    start_time: Some(Time::from(now)),
                    ..PauseCondition::default()
                });
            }
        }
        if !pauses.is_empty() {
            let is_new = pauses.len() > kept;
            new.controller_pause = if is_new { Some(true) } else { old.controller_pause };
            new.pause_conditions = Some(pauses);
        }
    }
}

fn has(pauses: &[PauseCondition], reason: &str) -> bool {
    pauses.iter().any(|pause| pause.reason.text() == reason)
}

/// The stored pause with this reason.
pub(crate) fn stored<'a>(status: &'a RolloutStatus, reason: &str) -> Option<&'a PauseCondition> {
    status.pause_conditions.items().iter().find(|pause| pause.reason.text() == reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: serde_json::Value) -> RolloutStatus {
        serde_json::from_value(json).unwrap()
    }

    fn after(change: &PauseChange, old: serde_json::Value) -> serde_json::Value {
        let mut new = RolloutStatus::default();
        change.apply(&status(old), &mut new, "2026-01-01T00:00:09.9Z".parse().unwrap());
        serde_json::to_value(new).unwrap()
    }

    #[test]
    fn a_new_pause_is_the_controllers_and_an_old_one_keeps_its_time() {
        let mut change = PauseChange::default();
        change.add("CanaryPauseStep");
        change.add("InconclusiveAnalysisRun");
        let old = serde_json::json!({"pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]});
        assert_eq!(
            after(&change, old),
            serde_json::json!({"controllerPause": true, "pauseConditions": [
                {"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"},
                {"reason": "InconclusiveAnalysisRun", "startTime": "2026-01-01T00:00:09Z"},
            ]})
        );
    }

    #[test]
    fn an_abort_ends_every_pause_and_keeps_its_first_time() {
        let paused = serde_json::json!({"pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "t"}], "controllerPause": true});
        let mut change = PauseChange::default();
        change.add_abort("why");
        assert_eq!(after(&change, paused), serde_json::json!({"abort": true, "abortedAt": "2026-01-01T00:00:09Z"}));
        let aborted = serde_json::json!({"abort": true, "abortedAt": "2026-01-01T00:00:00Z"});
        assert_eq!(after(&PauseChange::default(), aborted.clone()), aborted);
        let mut change = PauseChange::default();
        change.remove_abort();
        assert_eq!(after(&change, aborted), serde_json::json!({}));
    }

    #[test]
    fn a_retry_that_is_seen_late_leaves_an_abort_that_came_after_it() {
        let retried = status(serde_json::json!({"abort": false}));
        let mut new = RolloutStatus::default();
        PauseChange::default().apply(&retried, &mut new, "2026-01-01T00:00:09Z".parse().unwrap());
        assert_eq!(crate::status_patch::between(Some(&retried), &new), None, "a patch would end the abort");
    }

    #[test]
    fn a_person_who_resumed_leaves_nothing_behind() {
        assert_eq!(after(&PauseChange::default(), serde_json::json!({"controllerPause": true})), serde_json::json!({}));
    }
}
