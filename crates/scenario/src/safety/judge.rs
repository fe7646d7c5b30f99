//! Holds a world to the invariants outside an experiment.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_sim::faults::Menu;
use tidegate_sim::journal::{Change, Mirror};
use tidegate_sim::{Invariant, World};

use super::objects::{NAMESPACE, text};
use super::{SUBJECT, at_every_write};

pub(super) const LOCK: &str = "argo-rollouts-controller-lock";
const LEASES: &str = "leases.coordination.k8s.io";

/// Who holds the lease.
pub(super) fn holder(mirror: &Mirror) -> String {
    let lease = mirror.get(LEASES, NAMESPACE, LOCK);
    lease.map(|lease| text(&lease["spec"]["holderIdentity"]).to_owned()).unwrap_or_default()
}

/// What was seen so far.
pub(super) struct Verdict {
    invariants: Vec<Box<dyn Invariant>>,
    /// Controllers that wrote anything.
    pub writers: BTreeSet<String>,
    /// The first rule that was broken.
    pub broken: Option<String>,
}

/// Looks at every write. Controllers act under our name, with a number if there are several; then whoever writes must
/// hold the lease.
#[derive(Clone)]
pub(super) struct Judge(Arc<Mutex<Verdict>>);

impl Judge {
    pub(super) fn over(world: &World) -> Self {
        let menu = Menu::calm();
        let invariants = at_every_write(&menu);
        let verdict = Verdict { invariants, writers: BTreeSet::new(), broken: None };
        let judge = Self(Arc::new(Mutex::new(verdict)));
        let listening = judge.clone();
        world.journal().listen(Box::new(move |change, mirror| listening.verdict().see(change, mirror)));
        judge
    }

    pub(super) fn verdict(&self) -> MutexGuard<'_, Verdict> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Verdict {
    fn see(&mut self, change: &Change, mirror: &Mirror) {
        let mut change = change.clone();
        if change.client.starts_with(SUBJECT) && change.key.0 != LEASES {
            let holder = holder(mirror);
            if change.client != SUBJECT && holder != change.client {
                self.accuse(&change, &format!("{} writes {} while {holder} leads", change.client, change.key.0));
            }
            self.writers.insert(std::mem::replace(&mut change.client, SUBJECT.to_owned()));
        }
        let broken = |invariant: &mut Box<dyn Invariant>| {
            let result = invariant.on_change(&change, mirror);
            result.err().map(|text| format!("{}: {text}", invariant.name()))
        };
        let broken: Vec<String> = self.invariants.iter_mut().filter_map(broken).collect();
        broken.iter().for_each(|text| self.accuse(&change, text));
    }

    /// Only the first broken rule counts: the rest often follows from it.
    fn accuse(&mut self, change: &Change, text: &str) {
        self.broken.get_or_insert_with(|| format!("{:.3} s: {text}", change.at.as_secs_f64()));
    }
}
