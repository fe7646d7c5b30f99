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

use tidegate_runtime::{Backoff, Key, Queue};

use crate::controller::Told;
use crate::uncertain::{Kind, Uncertain};

/// What the parts of the Experiment controller share.
pub(crate) struct Experiments {
    pub queue: Queue<Key>,
    /// Objects of Experiments that are read again before the next look.
    uncertain: Uncertain,
    undecodable: Told<(String, String)>,
}

impl Experiments {
    pub(crate) fn new() -> Self {
        Self { queue: Queue::new(Backoff::default()), uncertain: Uncertain::default(), undecodable: Told::new() }
    }

    /// An object of an Experiment may not be what we think it is.
    pub(crate) fn doubt(&self, experiment: &Key, kind: Kind, object: &Key) {
        self.uncertain.add(experiment, kind, object);
    }
}
