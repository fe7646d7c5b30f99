//! ReplicaSets, the roles they play and how they are.

use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;

use crate::info::{Meta, ReplicaSetInfo};
use crate::objects::{annotation, containers, is_owned, label, revision};
use crate::pod::ByOwner;
use crate::{Pod, icon};

/// The ReplicaSets of an owner, newest revision first, without roles.
pub(crate) fn owned_by(uid: &str, sets: &[ReplicaSet], pods: &[Pod]) -> Vec<ReplicaSetInfo> {
    owned_with(uid, sets, pods, |_, _| {})
}

/// Those of a Rollout, with the roles they play in it.
pub(crate) fn of_rollout(rollout: &Rollout, sets: &[ReplicaSet], pods: &[Pod]) -> Vec<ReplicaSetInfo> {
    let unset = RolloutStatus::default();
    let status = rollout.status.as_ref().unwrap_or(&unset);
    owned_with(rollout.metadata.uid.text(), sets, pods, |info, set| {
        roles(info, label(&set.metadata, labels::POD_TEMPLATE_HASH), rollout, status);
    })
}

fn owned_with(
    uid: &str,
    sets: &[ReplicaSet],
    pods: &[Pod],
    with_roles: impl Fn(&mut ReplicaSetInfo, &ReplicaSet),
) -> Vec<ReplicaSetInfo> {
    let pods = ByOwner::new(pods);
    let owned = sets.iter().filter(|set| is_owned(&set.metadata, uid));
    let mut infos: Vec<ReplicaSetInfo> = owned
        .map(|set| {
            let mut info = info(set, &pods);
            with_roles(&mut info, set);
            info
        })
        .collect();
    infos.sort_by(|a, b| b.revision.cmp(&a.revision).then_with(|| a.object_meta.name.cmp(&b.object_meta.name)));
    infos
}

fn info(set: &ReplicaSet, pods: &ByOwner<'_>) -> ReplicaSetInfo {
    let images = |list| {
        let found = containers(set.spec.template.as_ref(), list);
        found.into_iter().map(|container| container.image).collect()
    };
    let status = status(set);
    ReplicaSetInfo {
        object_meta: Meta::brief(&set.metadata),
        status,
        icon: icon::of_replica_set(status),
        revision: revision(&set.metadata),
        replicas: set.status.replicas,
        available: set.status.available_replicas,
        wanted: set.spec.replicas.unwrap_or(1),
        template: annotation(&set.metadata, annotations::EXPERIMENT_TEMPLATE_NAME).to_owned(),
        scale_down_deadline: annotation(&set.metadata, annotations::SCALE_DOWN_DEADLINE).to_owned(),
        images: images("containers"),
        init_container_images: images("initContainers"),
        pods: pods.of_set(set),
        ..ReplicaSetInfo::default()
    }
}

fn status(set: &ReplicaSet) -> &'static str {
    let wanted = set.spec.replicas.unwrap_or(1);
    let has_failed =
        |condition: &tidegate_api::view::Condition| condition.kind == "ReplicaFailure" && condition.status == "True";
    if set.metadata.generation.unwrap_or_default() > set.status.observed_generation {
        "Progressing"
    } else if set.status.conditions.iter().any(has_failed) {
        "ReplicaFailure"
    } else if set.status.available_replicas < wanted {
        "Progressing"
    } else if wanted == 0 {
        "ScaledDown"
    } else {
        "Healthy"
    }
}

/// A spec with both strategies is invalid, and shown with the roles of both.
fn roles(info: &mut ReplicaSetInfo, hash: &str, rollout: &Rollout, status: &RolloutStatus) {
    let is_stable = hash == status.stable_rs.text();
    if let Some(canary) = rollout.spec.canary() {
        info.stable = is_stable;
        info.canary = !is_stable && hash == status.current_pod_hash.text();
        if canary.ping_pong.is_some() {
            let stable_is_ping = status.canary.as_ref().is_some_and(|state| state.stable_ping_pong.text() == "ping");
            info.ping = if stable_is_ping { info.stable } else { info.canary };
            info.pong = if stable_is_ping { info.canary } else { info.stable };
        }
    }
    if rollout.spec.blue_green().is_some() {
        let state = status.blue_green.as_ref();
        info.stable = is_stable;
        info.active = hash == state.map_or("", |state| state.active_selector.text());
        info.preview = !info.active && hash == state.map_or("", |state| state.preview_selector.text());
    }
}
