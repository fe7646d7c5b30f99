//! What `spec.workloadRef` may name.

use tidegate_api::rollout::WorkloadRef;
use tidegate_api::wire::Text;

/// The kinds a pod template can be taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// `apps/Deployment`.
    Deployment,
    /// `apps/ReplicaSet`.
    ReplicaSet,
    /// core `PodTemplate`.
    PodTemplate,
}

/// A kind no pod template can be taken from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workload of type {group}/{kind} is not supported")]
pub struct UnsupportedWorkload {
    /// Its API group, empty for core.
    pub group: String,
    /// Its kind.
    pub kind: String,
}

impl WorkloadKind {
    /// Which kind a reference names.
    pub fn of(reference: &WorkloadRef) -> Result<Self, UnsupportedWorkload> {
        let group = reference.api_version.text().rsplit_once('/').map_or("", |(group, _)| group);
        match (group, reference.kind.text()) {
            ("apps", "Deployment") => Ok(Self::Deployment),
            ("apps", "ReplicaSet") => Ok(Self::ReplicaSet),
            ("", "PodTemplate") => Ok(Self::PodTemplate),
            (group, kind) => Err(UnsupportedWorkload { group: group.to_owned(), kind: kind.to_owned() }),
        }
    }
}
