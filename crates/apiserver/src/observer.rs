//! Who wants to know what happened: every write that took effect and every event that reached a watcher.

use std::sync::Arc;

use serde_json::Value;

use crate::faults::{Call, Delivery};

/// A write that took effect. One request may cause several: garbage collection follows it at once.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// The request that caused it.
    pub call: &'a Call<'a>,
    /// The plural and the group of what was written, as in `pods` and `replicasets.apps`.
    pub resource: &'a str,
    /// Its namespace, empty if none.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The version of the write.
    pub revision: u64,
    /// What was there before, without `managedFields`.
    pub old: Option<&'a Arc<Value>>,
    /// What is there now, without `managedFields`; of a removal the last state.
    pub new: &'a Arc<Value>,
    /// Whether the object is gone.
    pub removed: bool,
}

/// What became of an event on its way to a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Arrived,
    /// It was put aside and may arrive later.
    HeldBack,
    /// It was lost.
    Lost,
    /// The watch ended instead.
    Ended,
    /// The watch ended with 410 instead.
    Expired,
}

/// Takes note of what happens. It is called while the server is locked, so it must not call the server.
pub trait Observer: Send + Sync {
    /// A write took effect.
    fn written(&self, write: &Written<'_>) {
        let _ = write;
    }

    /// An event met its fate.
    fn delivered(&self, delivery: &Delivery<'_>, fate: Fate) {
        let _ = (delivery, fate);
    }
}

/// Takes note of nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
