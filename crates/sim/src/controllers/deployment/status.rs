//! What a Deployment says about itself.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentStatus, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{View, available, name};

/// The status to write, if it differs from the present one.
pub(super) fn of(view: &View<'_>, now: Timestamp) -> Option<DeploymentStatus> {
    let sum = |part: fn(&ReplicaSet) -> i32| -> i32 { view.sets.iter().map(|set| part(set)).sum() };
    let pods = |set: &ReplicaSet| set.status.as_ref().map_or(0, |status| status.replicas);
    let ready = sum(|set| set.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0));
    let terminating = sum(|set| set.status.as_ref().and_then(|status| status.terminating_replicas).unwrap_or(0));
    let serving = sum(available);
    let total = sum(pods);
    let positive = |number: i32| (number != 0).then_some(number);
    let mut status = DeploymentStatus {
        observed_generation: view.deployment.metadata.generation,
        replicas: positive(total),
        updated_replicas: positive(view.new.map_or(0, pods)),
        ready_replicas: positive(ready),
        available_replicas: positive(serving),
        unavailable_replicas: positive((view.replicas() - serving).max(0)),
        terminating_replicas: Some(terminating),
        ..view.deployment.status.clone().unwrap_or_default()
    };
    let (_, missing) = view.fence_posts();
    let enough = serving >= view.replicas() - missing;
    set(&mut status, if enough { AVAILABLE } else { UNAVAILABLE }, now);
    if let Some(new) = view.new {
        let complete =
            view.new.map_or(0, pods) == view.replicas() && total == view.replicas() && serving == view.replicas();
        progress(view, &mut status, new, complete, now);
    }
    (view.deployment.status.as_ref() != Some(&status)).then_some(status)
}

struct Words {
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: &'static str,
}

const AVAILABLE: Words = Words {
    kind: "Available",
    status: "True",
    reason: "MinimumReplicasAvailable",
    message: "Deployment has minimum availability.",
};
const UNAVAILABLE: Words = Words {
    kind: "Available",
    status: "False",
    reason: "MinimumReplicasUnavailable",
    message: "Deployment does not have minimum availability.",
};

fn set(status: &mut DeploymentStatus, words: Words, now: Timestamp) {
    replace(status, words.kind, words.status, words.reason, words.message.to_owned(), now);
}

/// Sets a condition; one that is already so keeps its times.
fn replace(status: &mut DeploymentStatus, kind: &str, holds: &str, reason: &str, message: String, now: Timestamp) {
    let conditions = status.conditions.get_or_insert_default();
    let old = conditions.iter().position(|condition| condition.type_.as_deref() == Some(kind));
    let mut transition = Some(Time(now));
    if let Some(index) = old {
        let found = &conditions[index];
        if found.status.as_deref() == Some(holds) && found.reason.as_deref() == Some(reason) {
            return;
        }
        if found.status.as_deref() == Some(holds) {
            transition.clone_from(&found.last_transition_time);
        }
        conditions.remove(index);
    }
    conditions.push(DeploymentCondition {
        type_: Some(kind.to_owned()),
        status: Some(holds.to_owned()),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_transition_time: transition,
        last_update_time: Some(Time(now)),
    });
}

fn progress(view: &View<'_>, status: &mut DeploymentStatus, new: &ReplicaSet, complete: bool, now: Timestamp) {
    let set_name = name(new);
    if complete {
        let message = format!("ReplicaSet \"{set_name}\" has successfully progressed.");
        replace(status, "Progressing", "True", "NewReplicaSetAvailable", message, now);
        return;
    }
    let before = view.deployment.status.clone().unwrap_or_default();
    let moved = before.updated_replicas != status.updated_replicas
        || before.ready_replicas < status.ready_replicas
        || before.available_replicas < status.available_replicas
        || before.replicas > status.replicas;
    let known = before.conditions.iter().flatten().any(|condition| condition.type_.as_deref() == Some("Progressing"));
    if moved || !known {
        let message = format!("ReplicaSet \"{set_name}\" is progressing.");
        replace(status, "Progressing", "True", "ReplicaSetUpdated", message, now);
    }
}
