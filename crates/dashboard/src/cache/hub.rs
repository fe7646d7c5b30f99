//! Who is told of changes: a change is noted at once, and told at most every fifth of a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tidegate_runtime::Key;
use tokio::sync::{Notify, broadcast, watch};

/// However often a Rollout changes, viewers are told at most this often.
pub(crate) const PACE: Duration = Duration::from_millis(200);
/// Batches that a slow viewer may be behind; after that everything is sent anew.
const MOST_BEHIND: usize = 32;

/// What changed.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Rollouts whose objects changed in any way.
    pub(crate) touched: BTreeSet<Key>,
    /// Summaries that are different now; none where the Rollout is gone.
    pub(crate) summaries: BTreeMap<Key, Option<Arc<str>>>,
}

/// Collects changes and tells of them.
pub(crate) struct Hub {
    dirty: Mutex<BTreeSet<Key>>,
    wake: Notify,
    told: broadcast::Sender<Arc<Batch>>,
    /// The summary of every Rollout as it was last told.
    summaries: Mutex<BTreeMap<Key, Arc<str>>>,
    /// Whether everything was looked at once.
    ready: watch::Sender<bool>,
    /// Views as they were last asked for, so that many viewers of one Rollout cost one view.
    views: Mutex<BTreeMap<Key, Bytes>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self {
            dirty: Mutex::default(),
            wake: Notify::new(),
            told: broadcast::Sender::new(MOST_BEHIND),
            summaries: Mutex::default(),
            ready: watch::Sender::new(false),
            views: Mutex::default(),
        }
    }

    /// Something about a Rollout is different.
    pub(crate) fn touch(&self, key: Key) {
        locked(&self.dirty).insert(key);
        self.wake.notify_one();
    }

    /// Batches from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Batch>> {
        self.told.subscribe()
    }

    /// How many viewers there are.
    pub(crate) fn viewers(&self) -> usize {
        self.told.receiver_count()
    }

    /// Waits until everything was looked at once.
    pub(crate) async fn wait_until_ready(&self) {
        // The sender lives in this very hub.
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
    }

    /// The summaries as they were last told.
    pub(crate) fn summaries(&self) -> Vec<(Key, Arc<str>)> {
        locked(&self.summaries).iter().map(|(key, text)| (key.clone(), Arc::clone(text))).collect()
    }

    /// The view of a Rollout as JSON, made if it is not at hand.
    pub(crate) fn view(&self, key: &Key, make: impl FnOnce() -> Option<Bytes>) -> Option<Bytes> {
        if let Some(found) = locked(&self.views).get(key) {
            return Some(found.clone());
        }
        let made = make()?;
        // What changes while it is made is told after it is kept, and then it is forgotten again.
        locked(&self.views).insert(key.clone(), made.clone());
        if locked(&self.dirty).contains(key) {
            locked(&self.views).remove(key);
        }
        Some(made)
    }

    /// Takes what is dirty, forgets its views and tells of it.
    fn tell(&self, summarise: &impl Fn(&Key) -> Option<String>) {
        let touched = std::mem::take(&mut *locked(&self.dirty));
        if touched.is_empty() {
            return;
        }
        let mut batch = Batch::default();
        for key in &touched {
            locked(&self.views).remove(key);
            let now = summarise(key).map(Arc::<str>::from);
            let mut known = locked(&self.summaries);
            let is_same = known.get(key).map(AsRef::as_ref) == now.as_deref();
            match &now {
                Some(text) => drop(known.insert(key.clone(), Arc::clone(text))),
                None => drop(known.remove(key)),
            }
            if !is_same {
                batch.summaries.insert(key.clone(), now);
            }
        }
        batch.touched = touched;
        // Nobody may be listening.
        let _ = self.told.send(Arc::new(batch));
    }

    /// Tells of changes until it is dropped.
    pub(crate) async fn run(&self, summarise: impl Fn(&Key) -> Option<String>) {
        self.tell(&summarise);
        self.ready.send_replace(true);
        loop {
            self.wake.notified().await;
            self.tell(&summarise);
            tokio::time::sleep(PACE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("n", name)
    }

    #[tokio::test(start_paused = true)]
    async fn a_rollout_that_changes_fifty_times_a_second_is_told_of_five_times() {
        let hub = Arc::new(Hub::new());
        let mut told = hub.subscribe();
        let count = Arc::new(Mutex::new(0));
        let (running, counted) = (Arc::clone(&hub), Arc::clone(&count));
        let task = tokio::spawn(async move {
            running.run(|_| Some(format!("state {}", locked(&counted)))).await;
        });
        tokio::time::sleep(Duration::from_millis(10)).await;
        for _ in 0..50 {
            *locked(&count) += 1;
            hub.touch(key("a"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut batches = Vec::new();
        while let Ok(batch) = told.try_recv() {
            batches.push(batch);
        }
        assert!(batches.len() <= 6, "{} batches", batches.len());
        let last = batches.last().unwrap().summaries[&key("a")].clone().unwrap();
        assert_eq!(&*last, "state 50", "the last state is never lost");
        task.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_does_not_show_in_the_summary_is_told_without_one() {
        let hub = Arc::new(Hub::new());
        let mut told = hub.subscribe();
        let running = Arc::clone(&hub);
        let task = tokio::spawn(async move { running.run(|key| (key.name != "gone").then(|| key.name.clone())).await });
        hub.touch(key("a"));
        assert_eq!(told.recv().await.unwrap().summaries.len(), 1);
        hub.touch(key("a"));
        let again = told.recv().await.unwrap();
        assert!(again.summaries.is_empty() && again.touched.contains(&key("a")));
        hub.touch(key("gone"));
        assert!(told.recv().await.unwrap().summaries.is_empty(), "it was never there");
        task.abort();
    }
}
