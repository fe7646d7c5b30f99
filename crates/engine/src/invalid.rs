//! A Rollout that cannot be carried out as it is written.

use jiff::Timestamp;
use tidegate_api::names::{condition, reason};
use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_api::wire::Text;

use crate::conditions::{self, NewCondition};
use crate::observed::Observed;
use crate::pass::later;
use crate::persist::set_phase;
use crate::plan::{Event, Plan, StatusChange};
use crate::steps;
use crate::waiting::Waiting;

/// Seconds after which an invalid Rollout is looked at again, in case no watch tells of the correction.
pub(crate) const RETRY_SECONDS: i64 = 20;

/// Says what is wrong and touches nothing else.
pub(crate) fn plan(seen: &Observed, old: &RolloutStatus, now: Timestamp, problem: &str) -> Plan {
    let rollout = &seen.rollout;
    let mut status = old.clone();
    status.observed_generation = Some(rollout.metadata.generation.unwrap_or_default().to_string());
    let (message, news) = mark(rollout, &mut status, problem, now);
    set_phase(rollout, &mut status);
    if status != *old {
        // Nothing is stored for the sake of the index alone: the steps may come back with the correction.
        steps::keep_within(rollout, &mut status);
    }
    let events = news.into_iter().collect();
    let status = (status != *old).then(|| StatusChange { status: Box::new(status), events });
    Plan {
        status,
        wake_at: Some(later(now, RETRY_SECONDS)),
        waiting_for: vec![Waiting::ValidSpec { message }],
        ..Plan::default()
    }
}

/// Sets the condition; gives the message and, when it is news, the event that tells of it.
pub(crate) fn mark(
    rollout: &Rollout,
    status: &mut RolloutStatus,
    problem: &str,
    now: Timestamp,
) -> (String, Option<Event>) {
    let name = rollout.metadata.name.text();
    let message = format!("The Rollout \"{name}\" is invalid: {problem}");
    let known = conditions::get(status, condition::INVALID_SPEC);
    if known.is_some_and(|known| known.message.text() == message) {
        return (message, None);
    }
    conditions::remove(status, condition::INVALID_SPEC);
    let wanted = NewCondition::new(condition::INVALID_SPEC, conditions::TRUE, reason::INVALID_SPEC, message.clone());
    conditions::set(status, wanted, now);
    let event = Event::warning(reason::INVALID_SPEC, message.clone());
    (message, Some(event))
}
