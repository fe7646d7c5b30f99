//! What happened in a world: a mirror of its objects, and one readable line for every write that took effect and every
//! event that a watch delivered. The same seed gives the same bytes.
//!
//! ```text
//!     12.345 write manager            create replicasets.apps/default/web-bdf rv 87 | spec.replicas 3 …
//!     12.345 event manager #4         ADDED  replicasets.apps/default/web-bdf rv 87
//!     12.345 event node-agent #9      LOST   pods/default/web-bdf-x2 rv 88
//!     14.000 story user: rolls web to web:2
//! ```
//!
//! The time is in virtual seconds since the start; `#4` is the number of the watch.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tidegate_apiserver::{Delivery, Fate, Observer, Verb, Written};
use tokio::time::Instant;

use crate::differences;

/// Resource (`pods`, `replicasets.apps`), namespace and name.
pub type ObjectKey = (String, String, String);

/// A write, as invariants see it.
#[derive(Clone, Debug)]
pub struct Change {
    /// Who caused it.
    pub client: String,
    /// What the request was.
    pub verb: Verb,
    /// Which subresource the request named, empty if none.
    pub subresource: String,
    /// What was written. Garbage collection may have touched other objects than the request named.
    pub key: ObjectKey,
    /// When, since the start.
    pub at: Duration,
    /// What was there before.
    pub old: Option<Arc<Value>>,
    /// What is there now, or was there last.
    pub new: Arc<Value>,
    /// Whether the object is gone.
    pub removed: bool,
}

/// All objects, as the server has them.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    objects: BTreeMap<ObjectKey, Arc<Value>>,
}

impl Mirror {
    /// One object.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.objects.get(&(resource.to_owned(), namespace.to_owned(), name.to_owned()))
    }

    /// The objects of a resource, in order.
    pub fn of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a Arc<Value>> {
        let start = (resource.to_owned(), String::new(), String::new());
        self.objects.range(start..).take_while(move |((found, _, _), _)| found == resource).map(|(_, object)| object)
    }

    /// All objects, in order.
    pub fn all(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        self.objects.iter()
    }

    fn take_in(&mut self, change: &Change) {
        if change.removed {
            self.objects.remove(&change.key);
        } else {
            self.objects.insert(change.key.clone(), Arc::clone(&change.new));
        }
    }
}

/// Sees each write at the moment it takes effect, with the objects as they are after it.
pub type Listener = Box<dyn FnMut(&Change, &Mirror) + Send>;

#[derive(Default)]
struct Inner {
    log: String,
    story: Vec<String>,
    mirror: Mirror,
    writes: u64,
    events: u64,
    listener: Option<Listener>,
}

/// Keeps the history of one world.
pub struct Journal {
    started: Instant,
    keeps_log: bool,
    inner: Mutex<Inner>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("keeps_log", &self.keeps_log).finish_non_exhaustive()
    }
}

impl Journal {
    /// A journal that starts now; lines are costly, so they are kept only on request. Call it inside a runtime.
    pub fn new(keeps_log: bool) -> Self {
        Self { started: Instant::now(), keeps_log, inner: Mutex::default() }
    }

    /// Lets somebody see every write.
    pub fn listen(&self, listener: Listener) {
        self.lock().listener = Some(listener);
    }

    /// Virtual time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Notes something that is worth telling when a run fails.
    pub fn tell(&self, line: &str) {
        let text = format!("{} story {line}", stamp(self.elapsed()));
        let mut inner = self.lock();
        if self.keeps_log {
            let _ = writeln!(inner.log, "{text}");
        }
        inner.story.push(text);
    }

    /// The event log so far.
    pub fn log(&self) -> String {
        self.lock().log.clone()
    }

    /// What was told so far.
    pub fn story(&self) -> Vec<String> {
        self.lock().story.clone()
    }

    /// The objects as they are now.
    pub fn mirror(&self) -> Mirror {
        self.lock().mirror.clone()
    }

    /// How many writes took effect and how many events were delivered.
    pub fn counts(&self) -> (u64, u64) {
        let inner = self.lock();
        (inner.writes, inner.events)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Journal {
    fn written(&self, write: &Written<'_>) {
        let change = Change {
            client: write.call.client.to_owned(),
            verb: write.call.verb,
            subresource: write.call.subresource.to_owned(),
            key: (write.resource.to_owned(), write.namespace.to_owned(), write.name.to_owned()),
            at: self.elapsed(),
            old: write.old.cloned(),
            new: Arc::clone(write.new),
            removed: write.removed,
        };
        let mut inner = self.lock();
        inner.writes += 1;
        if self.keeps_log {
            let line = write_line(&change, write.revision);
            inner.log.push_str(&line);
        }
        let inner = &mut *inner;
        inner.mirror.take_in(&change);
        if let Some(listener) = &mut inner.listener {
            listener(&change, &inner.mirror);
        }
    }

    fn delivered(&self, delivery: &Delivery<'_>, fate: Fate) {
        let mut inner = self.lock();
        inner.events += u64::from(fate == Fate::Arrived);
        if !self.keeps_log {
            return;
        }
        let what = match fate {
            Fate::Arrived => delivery.kind,
            Fate::HeldBack => "HELD",
            Fate::Lost => "LOST",
            Fate::Ended => "END",
            Fate::Expired => "EXPIRE",
        };
        let text = |field: &str| delivery.object["metadata"][field].as_str().unwrap_or_default();
        let group = if delivery.group.is_empty() { String::new() } else { format!(".{}", delivery.group) };
        let who = format!("{} #{}", delivery.client, delivery.watch);
        let _ = writeln!(
            inner.log,
            "{} event {who:<18} {what:<8} {}{group}/{}/{} rv {}",
            stamp(self.elapsed()),
            delivery.resource,
            text("namespace"),
            text("name"),
            text("resourceVersion"),
        );
    }
}

fn write_line(change: &Change, revision: u64) -> String {
    let verb = match (change.verb, change.subresource.as_str()) {
        (verb, "") => format!("{verb:?}").to_lowercase(),
        (verb, subresource) => format!("{}/{subresource}", format!("{verb:?}").to_lowercase()),
    };
    let effect = if change.removed { " gone" } else { "" };
    let summary = differences::summary(change.old.as_deref(), &change.new);
    let (resource, namespace, name) = &change.key;
    let (at, client) = (stamp(change.at), &change.client);
    format!("{at} write {client:<18} {verb:<14} {resource}/{namespace}/{name} rv {revision}{effect}{summary}\n")
}

fn stamp(at: Duration) -> String {
    format!("{:>8}.{:03}", at.as_secs(), at.subsec_millis())
}
