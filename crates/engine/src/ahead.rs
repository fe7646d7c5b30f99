//! Several looks in one: where a look would only write a status from which the next look goes on at once, nobody needs
//! the status in between.
//!
//! A step that is done, the pause after it and the conditions of that pause are three looks and one moment. Each status
//! costs a write, an event for everybody who watches, and another look of our own. Nothing is decided here: every
//! status on the way is one that [`plan`](crate::plan) gives for what is there, and the first look that would write anything else
//! is left for later, when the status before it is stored.

use jiff::Timestamp;

use crate::observed::Observed;
use crate::plan::{Plan, StatusChange};
use crate::planner::{InForce, plan_for};
use crate::restart::needs_pods;

/// Looks that are taken together, at most: more than any two steps need, and an end for statuses that lead in a circle.
const MOST_LOOKS: usize = 16;

/// What to do now, as [`plan`](crate::plan) says it, with the status that is reached without any further write.
pub fn plan_ahead(seen: &Observed, now: Timestamp) -> Plan {
    let mut in_force = InForce::of(seen);
    let mut first = plan_for(seen, now, &in_force);
    // After other writes the world is not the one that was seen.
    if !first.actions.is_empty() {
        return first;
    }
    let Some(mut reached) = first.status.take() else { return first };
    let mut ahead = seen.clone();
    for _ in 1..MOST_LOOKS {
        ahead.rollout.status = Some((*reached.status).clone());
        if needs_pods(&ahead, now) != needs_pods(seen, now) {
            break;
        }
        if !in_force.still_holds(&ahead.rollout) {
            in_force = InForce::of(&ahead);
        }
        let next = plan_for(&ahead, now, &in_force);
        if !next.actions.is_empty() {
            break;
        }
        first.wake_at = next.wake_at;
        first.waiting_for = next.waiting_for;
        let Some(StatusChange { status, events }) = next.status else { break };
        reached.status = status;
        reached.events.extend(events);
    }
    // Statuses that lead in a circle back to the stored one are no change.
    first.status = Some(reached).filter(|reached| seen.rollout.status.as_ref() != Some(&*reached.status));
    first
}
