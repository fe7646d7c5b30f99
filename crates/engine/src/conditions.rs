//! The list of conditions: least recently changed first, an entry changes only with its status or reason.

use jiff::Timestamp;
use tidegate_api::rollout::{RolloutCondition, RolloutStatus};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::mutation::{self, Mutation};

/// Status of a condition.
pub(crate) const TRUE: &str = "True";
/// Status of a condition.
pub(crate) const FALSE: &str = "False";
/// Status of a condition.
pub(crate) const UNKNOWN: &str = "Unknown";

/// A condition to be set.
#[derive(Clone, Debug)]
pub(crate) struct NewCondition {
    pub kind: &'static str,
    pub status: &'static str,
    pub reason: String,
    pub message: String,
}

impl NewCondition {
    pub(crate) fn new(kind: &'static str, status: &'static str, reason: &str, message: impl Into<String>) -> Self {
        Self { kind, status, reason: reason.to_owned(), message: message.into() }
    }
}

pub(crate) fn get<'a>(status: &'a RolloutStatus, kind: &str) -> Option<&'a RolloutCondition> {
    status.conditions.items().iter().find(|found| found.kind.text() == kind)
}

pub(crate) fn is_true(status: &RolloutStatus, kind: &str) -> bool {
    get(status, kind).is_some_and(|found| found.status.text() == TRUE)
}

pub(crate) fn has_reason(status: &RolloutStatus, kind: &str, reason: &str) -> bool {
    get(status, kind).is_some_and(|found| found.reason.text() == reason)
}

/// Sets a condition unless one with the same status and reason is there; says whether anything changed.
pub(crate) fn set(status: &mut RolloutStatus, wanted: NewCondition, now: Timestamp) -> bool {
    let same = get(status, wanted.kind)
        .is_some_and(|old| old.status.text() == wanted.status && old.reason.text() == wanted.reason);
    let same = same && !mutation::is(Mutation::StampsConditionsAnew);
    if !same {
        replace(status, wanted, now);
    }
    !same
}

/// Sets a condition even if an equal one is there; the time of the last transition stays while the status does.
pub(crate) fn replace(status: &mut RolloutStatus, wanted: NewCondition, now: Timestamp) {
    let since = get(status, wanted.kind)
        .filter(|old| old.status.text() == wanted.status)
        .and_then(|old| old.last_transition_time.clone());
    remove(status, wanted.kind);
    status.conditions.get_or_insert_default().push(RolloutCondition {
        kind: Some(wanted.kind.to_owned()),
        status: Some(wanted.status.to_owned()),
        reason: Some(wanted.reason),
        message: Some(wanted.message),
        last_update_time: Some(Time::from(now)),
        last_transition_time: Some(since.unwrap_or_else(|| Time::from(now))),
        ..RolloutCondition::default()
    });
}

pub(crate) fn remove(status: &mut RolloutStatus, kind: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|found| found.kind.text() != kind);
        if conditions.is_empty() {
            status.conditions = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equal_condition_stays_and_a_changed_one_moves_to_the_end() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let mut status = RolloutStatus::default();
        assert!(set(&mut status, NewCondition::new("A", TRUE, "r", "one"), at(1)));
        assert!(set(&mut status, NewCondition::new("B", TRUE, "r", "two"), at(2)));
        assert!(!set(&mut status, NewCondition::new("A", TRUE, "r", "another text"), at(3)));
        assert!(set(&mut status, NewCondition::new("A", TRUE, "s", "three"), at(4)));

        let list = status.conditions.items();
        assert_eq!([list[0].kind.text(), list[1].kind.text()], ["B", "A"]);
        assert_eq!(list[1].last_transition_time, Some(Time::from(at(1))));
        assert_eq!(list[1].last_update_time, Some(Time::from(at(4))));
    }
}
