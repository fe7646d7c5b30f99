//! A Rollout that cannot be carried out as it is written.

use jiff::Timestamp;
use tidegate_api::names::{condition, reason};
use tidegate_api::rollout::RolloutStatus;
use tidegate_api::wire::Text;

use crate::conditions::{self, NewCondition};
use crate::observed::Observed;
use crate::pass::later;
use crate::persist::set_phase;
use crate::plan::{Event, Plan, StatusChange};
use crate::steps;
use crate::waiting::Waiting;

/// Seconds after which an invalid Rollout is looked at again, in case no watch tells of the correction.
const RETRY_SECONDS: i64 = 20;

/// Says what is wrong and touches nothing else.
pub(crate) fn plan(seen: &Observed, old: &RolloutStatus, now: Timestamp, problem: &str) -> Plan {
    let rollout = &seen.rollout;
    let name = rollout.metadata.name.text();
    let message = format!("The Rollout \"{name}\" is invalid: {problem}");
    let mut status = old.clone();
    status.observed_generation = Some(rollout.metadata.generation.unwrap_or_default().to_string());
    let known = conditions::get(old, condition::INVALID_SPEC);
    let is_news = known.is_none_or(|known| known.message.text() != message);
    let mut events = Vec::new();
    if is_news {
        conditions::remove(&mut status, condition::INVALID_SPEC);
        let wanted =
            NewCondition::new(condition::INVALID_SPEC, conditions::TRUE, reason::INVALID_SPEC, message.clone());
        conditions::set(&mut status, wanted, now);
        events.push(Event::warning(reason::INVALID_SPEC, message.clone()));
    }
    set_phase(rollout, &mut status);
    if status != *old {
        // Nothing is stored for the sake of the index alone: the steps may come back with the correction.
        steps::keep_within(rollout, &mut status);
    }
    let status = (status != *old).then(|| StatusChange { status: Box::new(status), events });
    Plan {
        status,
        wake_at: Some(later(now, RETRY_SECONDS)),
        waiting_for: vec![Waiting::ValidSpec { message }],
        ..Plan::default()
    }
}
