//! The Experiment controller: `tidegate_experiment::step` decides, this looks and writes.
//!
//! ```text
//!   look.rs      one look at one Experiment: observe ──▶ step ──▶ writes, status, events
//!   observe.rs   caches ──▶ what a step is made from
//!   traffic.rs   Services of Experiments that routes of their Rollout still name
//!   write.rs     the one place that writes for an Experiment
//! ```

mod look;
mod observe;
mod traffic;
mod write;

pub(crate) use look::work;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tidegate_experiment::Part;
use tidegate_runtime::{Backoff, Key, Queue};
use tokio::time::Instant;

use crate::controller::Told;
use crate::uncertain::{Kind, Uncertain};

/// How long a write has to be refused before that counts: a quota, a role or a webhook may be wrong for a moment, and an
/// Experiment that has failed does not come back.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the parts of the Experiment controller share.
pub(crate) struct Experiments {
    pub queue: Queue<Key>,
    /// Objects of Experiments that are read again before the next look.
    uncertain: Uncertain,
    undecodable: Told<(String, String)>,
    /// Since when writes are refused.
    refused: Mutex<BTreeMap<Key, BTreeMap<Part, Instant>>>,
}

impl Experiments {
    pub(crate) fn new() -> Self {
        Self {
            queue: Queue::new(Backoff::default()),
            uncertain: Uncertain::default(),
            undecodable: Told::new(),
            refused: Mutex::default(),
        }
    }

    /// Notes that a write was refused; says whether it has been for long enough.
    fn is_refused_for_good(&self, experiment: &Key, part: &Part) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let since = refused.entry(experiment.clone()).or_default().entry(part.clone()).or_insert_with(Instant::now);
        since.elapsed() >= PATIENCE
    }

    /// Nothing is refused any more.
    fn forget_refusals(&self, experiment: &Key) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).remove(experiment);
    }

    /// An object of an Experiment may not be what we think it is.
    pub(crate) fn doubt(&self, experiment: &Key, kind: Kind, object: &Key) {
        self.uncertain.add(experiment, kind, object);
    }
}
