//! Tells somebody from what every plan is made, so that tests can hold it against what was written before.

use std::sync::Arc;

use kube::core::ObjectMeta;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::Text;
use tidegate_engine::Observed;
use tidegate_validate::references::Lookup;

/// An object as a plan sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenObject<'a> {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// Its version.
    pub version: &'a str,
}

/// Somebody who is told.
#[derive(Clone)]
pub struct Witness(Arc<Tell>);

type Tell = dyn Fn(&[SeenObject<'_>]) + Send + Sync;

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Witness")
    }
}

impl Witness {
    /// Tells this function of every plan: its Rollout, ReplicaSets and Services.
    pub fn new(tell: impl Fn(&[SeenObject<'_>]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// An Experiment's look: itself, ReplicaSets and Services.
    pub(crate) fn see_all(&self, experiment: &ObjectMeta, sets: &[ReplicaSet], services: &[Service]) {
        let sets = sets.iter().map(|set| object("ReplicaSet", &set.metadata));
        let services = services.iter().map(|service| object("Service", &service.metadata));
        let all: Vec<SeenObject<'_>> =
            std::iter::once(object("Experiment", experiment)).chain(sets).chain(services).collect();
        (self.0)(&all);
    }

    pub(crate) fn see(&self, seen: &Observed) {
        let services = seen.found.services.values().filter_map(|looked| match looked {
            Lookup::Found(service) => Some(object("Service", &service.metadata)),
            _ => None,
        });
        let sets = seen.replica_sets.iter().map(|set| object("ReplicaSet", &set.metadata));
        let all: Vec<SeenObject<'_>> =
            std::iter::once(object("Rollout", &seen.rollout.metadata)).chain(sets).chain(services).collect();
        (self.0)(&all);
    }
}

fn object<'a>(kind: &'static str, metadata: &'a ObjectMeta) -> SeenObject<'a> {
    let (name, uid, version) = (metadata.name.text(), metadata.uid.text(), metadata.resource_version.text());
    SeenObject { kind, name, uid, version }
}
