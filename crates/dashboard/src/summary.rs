//! What a list shows of a Rollout: no pods, no analyses, one short line of JSON.

use serde::Serialize;
use tidegate_view::RolloutInfo;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'a> {
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    strategy: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    step: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    set_weight: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    actual_weight: &'a str,
    desired: i32,
    available: i32,
    updated: i32,
    restarted_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sets: Vec<Set<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    labels: &'a std::collections::BTreeMap<String, String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    waiting_for: &'a [String],
}

/// A ReplicaSet that plays a role or has pods.
#[derive(Serialize)]
struct Set<'a> {
    revision: i64,
    role: &'static str,
    status: &'a str,
    available: i32,
    replicas: i32,
}

/// The summary of a Rollout as JSON.
pub(crate) fn text(info: &RolloutInfo) -> String {
    let sets = info.replica_sets.iter().filter_map(|set| {
        let role = match set {
            set if set.canary => "canary",
            set if set.preview => "preview",
            set if set.active => "active",
            set if set.stable => "stable",
            _ if set.replicas > 0 => "",
            _ => return None,
        };
        Some(Set { revision: set.revision, role, status: set.status, available: set.available, replicas: set.replicas })
    });
    let summary = Summary {
        namespace: &info.object_meta.namespace,
        name: &info.object_meta.name,
        uid: &info.object_meta.uid,
        status: &info.status,
        message: &info.message,
        strategy: info.strategy,
        step: &info.step,
        set_weight: &info.set_weight,
        actual_weight: &info.actual_weight,
        desired: info.desired,
        available: info.available,
        updated: info.updated,
        restarted_at: &info.restarted_at,
        created: info.object_meta.creation_timestamp.map(|time| time.to_string()),
        sets: sets.collect(),
        images: info.containers.iter().map(|container| container.image.as_str()).collect(),
        labels: &info.object_meta.labels,
        waiting_for: &info.waiting_for,
    };
    // Nothing in it can fail to be written.
    serde_json::to_string(&summary).unwrap_or_default()
}
