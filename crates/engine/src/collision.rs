//! What follows when a ReplicaSet cannot be made.

use jiff::Timestamp;
use tidegate_api::names::{condition, reason};
use tidegate_api::rollout::RolloutStatus;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;

use crate::conditions::{self, NewCondition};
use crate::new_set::has_template;
use crate::observed::Observed;
use crate::plan::{Event, Plan, StatusChange};
use crate::sets::SetFacts;

/// Whether a ReplicaSet that has taken the name is the very one we wanted to make.
pub fn is_as_good(seen: &Observed, wanted: &ReplicaSet, existing: &ReplicaSet) -> bool {
    let owners = existing.metadata.owner_references.as_deref().unwrap_or_default();
    let is_ours = owners
        .iter()
        .any(|owner| owner.controller == Some(true) && Some(&owner.uid) == seen.rollout.metadata.uid.as_ref());
    is_ours && wanted.spec.template.as_ref().is_some_and(|template| has_template(existing, &template.to_value()))
}

fn stored(seen: &Observed) -> RolloutStatus {
    seen.rollout.status.clone().unwrap_or_default()
}

/// The name is taken by something else: the next hash will be another one.
pub fn after_collision(seen: &Observed) -> Plan {
    let mut status = stored(seen);
    status.collision_count = Some(status.collision_count.unwrap_or(0).saturating_add(1));
    Plan { status: Some(StatusChange { status: Box::new(status), events: Vec::new() }), ..Plan::default() }
}

/// The ReplicaSet was refused.
pub fn after_failed_create(seen: &Observed, wanted: &ReplicaSet, problem: &str, now: Timestamp) -> Plan {
    let mut status = stored(seen);
    let message = format!("Failed to create new replica set \"{}\": {problem}", wanted.name());
    let failed =
        NewCondition::new(condition::PROGRESSING, conditions::FALSE, reason::REPLICA_SET_CREATE_ERROR, message.clone());
    // One event per failure that is news; the retries say nothing new.
    let known = conditions::get(&status, condition::PROGRESSING);
    let is_news = known
        .is_none_or(|known| known.reason.text() != reason::REPLICA_SET_CREATE_ERROR || known.message.text() != message);
    if is_news {
        conditions::replace(&mut status, failed, now);
    }
    let events = if is_news { vec![Event::warning(reason::REPLICA_SET_CREATE_ERROR, message)] } else { Vec::new() };
    Plan { status: is_news.then(|| StatusChange { status: Box::new(status), events }), ..Plan::default() }
}
