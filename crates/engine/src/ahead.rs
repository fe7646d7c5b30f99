//! Several looks in one: where the next look can be known before this one is carried out, nobody needs the status in
//! between.
//!
//! A step that is done, the pause after it and the conditions of that pause are three looks and one moment; so are a new
//! ReplicaSet and its first size, and routes and the step that waited for them. Each status costs a write, an event for
//! everybody who watches, and another look of our own. Nothing is decided here: every status and every write on the way is
//! one that [`plan`](crate::plan) gives for what will be there. What must be stored before more is done is left for later.

use jiff::Timestamp;
use tidegate_api::rollout::RolloutStatus;
use tidegate_api::wire::Text;

use crate::foresee::foresee;
use crate::observed::Observed;
use crate::plan::{Action, Plan, StatusChange, Write};
use crate::planner::{InForce, plan_for};
use crate::restart::needs_pods;
use crate::sets::SetFacts;

/// Looks that are taken together, at most: more than any two steps need, and an end for statuses that lead in a circle.
const MOST_LOOKS: usize = 16;

/// What to do now, as [`plan`](crate::plan) says it, with what follows from it for sure.
pub fn plan_ahead(seen: &Observed, now: Timestamp) -> Plan {
    let mut in_force = InForce::of(seen);
    let mut whole = plan_for(seen, now, &in_force);
    if whole.actions.is_empty() && whole.status.is_none() {
        return whole;
    }
    let mut ahead = seen.clone();
    let mut fresh = whole.actions.clone();
    let mut course = Course::from(seen.rollout.status.as_ref());
    course.follow(whole.status.as_ref());
    for _ in 1..MOST_LOOKS {
        if !foresee(&mut ahead, &fresh, now) {
            break;
        }
        if fresh.iter().any(|action| matches!(action.write, Write::Routes(_) | Write::SwitchService { .. })) {
            // What was answered before says nothing about what follows.
            (ahead.routes.aws.balancers, ahead.routes.aws.targets) = (None, None);
        }
        if let Some(reached) = &whole.status {
            ahead.rollout.status = Some((*reached.status).clone());
        }
        if needs_pods(&ahead, now) != needs_pods(seen, now) {
            break;
        }
        if !in_force.still_holds(&ahead.rollout) {
            in_force = InForce::of(&ahead);
        }
        let next = plan_for(&ahead, now, &in_force);
        if !next.actions.iter().all(|action| may_come_early(&action.write, seen, &ahead)) {
            break;
        }
        let acts = !whole.actions.is_empty() || !next.actions.is_empty();
        if !course.follow(next.status.as_ref()) && acts {
            break;
        }
        (whole.wake_at, whole.waiting_for) = (next.wake_at, next.waiting_for);
        if next.actions.is_empty() && next.status.is_none() {
            break;
        }
        fresh.clone_from(&next.actions);
        join(&mut whole, next.actions, next.status);
    }
    // Statuses that lead in a circle back to the stored one are no change.
    whole.status = whole.status.filter(|reached| seen.rollout.status.as_ref() != Some(&*reached.status));
    whole
}

/// The steps and phases on the way.
struct Course {
    index: (Option<i32>, usize),
    phase: (String, usize),
}

impl Course {
    fn from(status: Option<&RolloutStatus>) -> Self {
        let index = status.and_then(|status| status.current_step_index);
        let phase = status.map_or("", |status| status.phase.text()).to_owned();
        Self { index: (index, 0), phase: (phase, 0) }
    }

    /// Whether nobody who watches misses a step or a phase if only the last status is stored.
    fn follow(&mut self, next: Option<&StatusChange>) -> bool {
        if let Some(StatusChange { status, .. }) = next {
            if status.current_step_index != self.index.0 {
                self.index = (status.current_step_index, self.index.1 + 1);
            }
            if status.phase.text() != self.phase.0 {
                self.phase = (status.phase.text().to_owned(), self.phase.1 + 1);
            }
        }
        self.index.1 <= 1 && self.phase.1 <= 1
    }
}

/// Whether a write may be made before the status is stored from which it follows.
///
/// Pods that come, and stay, harm nobody. Routes follow within one revision: whoever looks next with the old status comes to
/// the same step again. A new revision, a promotion and an abort are stored before anything else follows from them.
fn may_come_early(write: &Write, seen: &Observed, ahead: &Observed) -> bool {
    let (before, after) = (seen.rollout.status.as_ref(), ahead.rollout.status.as_ref());
    let is_same = |of: fn(&RolloutStatus) -> (&str, Option<bool>)| before.map(of) == after.map(of);
    if !is_same(|status| (status.stable_rs.text(), status.abort)) {
        return false;
    }
    match write {
        Write::EditSet { name, edit } => {
            let size = ahead.replica_sets.iter().find(|set| set.name() == name).map(SetFacts::spec_replicas);
            let grows = matches!((edit.replicas, size), (Some(wanted), Some(size)) if wanted >= size);
            grows && edit.template.is_none() && edit.min_ready_seconds.is_none()
        }
        Write::Routes(_) => is_same(|status| (status.current_pod_hash.text(), status.promote_full)),
        _ => false,
    }
}

/// Adds what follows. What people are told comes in the order of the looks: with the status, if there is one.
fn join(whole: &mut Plan, actions: Vec<Action>, status: Option<StatusChange>) {
    let is_told_with_status = whole.status.is_some() || status.is_some();
    let mut told = Vec::new();
    for Action { write, events } in actions {
        let with_write = if is_told_with_status {
            told.extend(events);
            Vec::new()
        } else {
            events
        };
        let made = whole.actions.iter_mut().find_map(|action| match (&mut action.write, &write) {
            (Write::CreateSet(set), Write::EditSet { name, edit }) if set.name() == name => {
                Some((set, &mut action.events, edit))
            }
            _ => None,
        });
        match made {
            // It is made with its first size.
            Some((set, events, edit)) => {
                edit.apply(set);
                events.extend(with_write);
            }
            None => whole.actions.push(Action { write, events: with_write }),
        }
    }
    whole.if_not_stored.extend(told.iter().cloned());
    let reached = whole.status.take().map(|reached| (reached.status, reached.events));
    let (stored, mut events) = reached.map_or((None, Vec::new()), |(status, events)| (Some(status), events));
    events.extend(told);
    let (next, last) = status.map_or((None, Vec::new()), |next| (Some(next.status), next.events));
    events.extend(last);
    whole.status = next.or(stored).map(|status| StatusChange { status, events });
}
