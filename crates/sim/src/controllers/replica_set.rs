//! ReplicaSets: as many pods as asked for.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::pods::{Available, Pod, availability, deletion_rank, is_active, ready_since};

/// Pods that one pass creates or deletes at most, as the real controller bursts.
const BURST: usize = 500;

/// What a pass over one ReplicaSet wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// How many pods to create.
    pub create: usize,
    /// Names of pods to delete.
    pub delete: Vec<String>,
    /// The status to write, if it differs.
    pub status: Option<ReplicaSetStatus>,
    /// When to look again although nothing has changed.
    pub wake_at: Option<Timestamp>,
}

/// Compares a ReplicaSet with its pods (those it controls).
pub fn plan(set: &ReplicaSet, pods: &[&Pod], now: Timestamp) -> Plan {
    let active: Vec<&Pod> = pods.iter().copied().filter(|pod| is_active(pod)).collect();
    let mut plan = Plan::default();
    if set.metadata.deletion_timestamp.is_none() {
        let wanted = usize::try_from(set.spec.replicas.unwrap_or(1)).unwrap_or(0);
        if active.len() < wanted {
            plan.create = (wanted - active.len()).min(BURST);
        } else {
            let mut ranked = active.clone();
            ranked.sort_by_cached_key(|pod| deletion_rank(pod));
            let surplus = ranked.into_iter().take((active.len() - wanted).min(BURST));
            plan.delete = surplus.filter_map(|pod| pod.metadata.name.clone()).collect();
        }
    }
    let (status, wake_at) = status(set, pods, &active, now);
    plan.wake_at = wake_at;
    plan.status = (set.status.as_ref() != Some(&status)).then_some(status);
    plan
}

/// A pod of the set: its template, owned by the set, with a name the API server completes.
pub fn pod_of(set: &ReplicaSet) -> core::Pod {
    let template = set.spec.template.clone().unwrap_or_default();
    let from = template.metadata.unwrap_or_default();
    let set_name = set.metadata.name.clone().unwrap_or_default();
    let owner = OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: "ReplicaSet".to_owned(),
        name: set_name.clone(),
        uid: set.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    core::Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{set_name}-")),
            namespace: set.metadata.namespace.clone(),
            labels: from.labels,
            annotations: from.annotations,
            finalizers: from.finalizers,
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec,
        status: None,
    }
}

fn status(set: &ReplicaSet, pods: &[&Pod], active: &[&Pod], now: Timestamp) -> (ReplicaSetStatus, Option<Timestamp>) {
    let template_labels =
        set.spec.template.as_ref().and_then(|template| template.metadata.as_ref()?.labels.clone()).unwrap_or_default();
    let has_all_labels = |pod: &&&Pod| {
        let labels = pod.metadata.labels.clone().unwrap_or_default();
        template_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    };
    let min_ready = set.spec.min_ready_seconds.unwrap_or(0);
    let (mut available, mut wake_at) = (0, None::<Timestamp>);
    for pod in active {
        match availability(pod, min_ready, now) {
            Available::Now => available += 1,
            Available::At(at) => wake_at = Some(wake_at.map_or(at, |earlier| earlier.min(at))),
            Available::Unknown => {}
        }
    }
    let terminating = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some()).count();
    let ready = count(active.iter().filter(|pod| ready_since(pod).is_some()).count());
    let status = ReplicaSetStatus {
        replicas: count(active.len()),
        fully_labeled_replicas: positive(count(active.iter().filter(has_all_labels).count())),
        ready_replicas: positive(ready),
        available_replicas: positive(available),
        terminating_replicas: Some(count(terminating)),
        observed_generation: set.metadata.generation,
        conditions: set.status.as_ref().and_then(|status| status.conditions.clone()),
    };
    (status, wake_at)
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Zero is left out, as the API server writes it.
fn positive(number: i32) -> Option<i32> {
    (number != 0).then_some(number)
}
