//! Objects whose state we no longer know for sure: a write of ours ended without an answer, or somebody else was first.
//! Before the next plan they are read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_runtime::Key;

/// A kind that we write and read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Rollout,
    ReplicaSet,
    Service,
    AnalysisRun,
    Experiment,
    VirtualService,
    DestinationRule,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rollout => "Rollout",
            Self::ReplicaSet => "ReplicaSet",
            Self::Service => "Service",
            Self::AnalysisRun => "AnalysisRun",
            Self::Experiment => "Experiment",
            Self::VirtualService => "VirtualService",
            Self::DestinationRule => "DestinationRule",
        }
    }
}

/// Objects by the Rollout whose plan wrote them.
type ByRollout = BTreeMap<Key, BTreeSet<(Kind, Key)>>;

/// What we no longer know for sure.
#[derive(Clone, Default)]
pub(crate) struct Uncertain(Arc<Mutex<ByRollout>>);

impl Uncertain {
    fn lock(&self) -> MutexGuard<'_, ByRollout> {
        // Single insertions and removals: nothing can be left half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This object must be read again before the next plan.
    pub(crate) fn add(&self, rollout: &Key, kind: Kind, object: &Key) {
        self.lock().entry(rollout.clone()).or_default().insert((kind, object.clone()));
    }

    /// What must be read before a plan for this Rollout.
    pub(crate) fn of(&self, rollout: &Key) -> Vec<(Kind, Key)> {
        self.lock().get(rollout).into_iter().flatten().cloned().collect()
    }

    /// This object has been read.
    pub(crate) fn remove(&self, rollout: &Key, kind: Kind, object: &Key) {
        let mut all = self.lock();
        if let Some(objects) = all.get_mut(rollout) {
            objects.remove(&(kind, object.clone()));
            if objects.is_empty() {
                all.remove(rollout);
            }
        }
    }

    /// The Rollout is gone.
    pub(crate) fn forget(&self, rollout: &Key) {
        self.lock().remove(rollout);
    }
}
