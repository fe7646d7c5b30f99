//! Work that is due, now or later: each key once, never by two workers at a time, slower after failures.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::metrics::{Distribution, NamedQueue, QueueFigures, Registry, queue_bounds};

/// How long a key waits after so many failures.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// After the first.
    pub base: Duration,
    /// At most.
    pub cap: Duration,
}

impl Default for Backoff {
    /// The values that client-go's controllers are run with by the project we stand in for.
    fn default() -> Self {
        Self { base: Duration::from_millis(1), cap: Duration::from_secs(10) }
    }
}

impl Backoff {
    fn delay(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }
}

/// Why a key is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Something outside has changed, or its time has come.
    News,
    /// It goes on from what it did itself. News of others come first: whoever wants an abort does not wait until others
    /// have told of theirs.
    GoesOn,
}

struct Inner<T> {
    /// Ready, in the order they became so, by cause; one whose cause is another by now is passed over.
    news: VecDeque<T>,
    goes_on: VecDeque<T>,
    queued: BTreeMap<T, Cause>,
    /// How many in a row were given out because of news.
    news_in_a_row: u32,
    running: BTreeSet<T>,
    /// Added again while running.
    again: BTreeSet<T>,
    /// When keys become ready.
    later: BTreeMap<T, Instant>,
    failures: BTreeMap<T, u32>,
    /// How often in a row a key asked to come again by itself.
    streaks: BTreeMap<T, u32>,
    is_closed: bool,
    /// Since when keys wait, those that run and must run again included.
    waiting_since: BTreeMap<T, Instant>,
    running_since: BTreeMap<T, Instant>,
    adds: u64,
    retries: u64,
    waited: Distribution,
    worked: Distribution,
}

/// How many news come before one that only goes on, so that it goes on.
const MOST_NEWS_IN_A_ROW: u32 = 8;

/// How often in a row a key may come again at once; after that it is slowed down like a failing one.
const QUICK_STREAK: u32 = 16;

/// The queue. Clones share it.
pub struct Queue<T> {
    inner: Arc<Mutex<Inner<T>>>,
    changed: Arc<Notify>,
    backoff: Backoff,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), changed: Arc::clone(&self.changed), backoff: self.backoff }
    }
}

impl<T: Ord + Clone> Queue<T> {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        let bounds = queue_bounds();
        let inner = Inner {
            news: VecDeque::new(),
            goes_on: VecDeque::new(),
            queued: BTreeMap::new(),
            news_in_a_row: 0,
            running: BTreeSet::new(),
            again: BTreeSet::new(),
            later: BTreeMap::new(),
            failures: BTreeMap::new(),
            streaks: BTreeMap::new(),
            is_closed: false,
            waiting_since: BTreeMap::new(),
            running_since: BTreeMap::new(),
            adds: 0,
            retries: 0,
            waited: Distribution::new(&bounds),
            worked: Distribution::new(&bounds),
        };
        Self { inner: Arc::new(Mutex::new(inner)), changed: Arc::new(Notify::new()), backoff }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        // Nothing below panics between two steps that belong together.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This key is due now: something outside has changed.
    pub fn add(&self, key: T) {
        let mut inner = self.lock();
        inner.streaks.remove(&key);
        inner.add(key);
        drop(inner);
        self.changed.notify_one();
    }

    /// This key wants to go on from what it did itself: at once, but slower and slower if it never comes to rest.
    pub fn again(&self, key: T) -> Duration {
        let delay = {
            let mut inner = self.lock();
            let streak = inner.streaks.entry(key.clone()).or_insert(0);
            *streak = streak.saturating_add(1);
            streak.checked_sub(QUICK_STREAK).map_or(Duration::ZERO, |over| self.backoff.delay(over))
        };
        self.add_after(key, delay);
        delay
    }

    /// This key is due after a while, or earlier if it already was.
    pub fn add_after(&self, key: T, delay: Duration) {
        let at = Instant::now() + delay;
        let mut inner = self.lock();
        inner.retries += 1;
        let due = inner.later.entry(key).or_insert(at);
        *due = (*due).min(at);
        drop(inner);
        self.changed.notify_one();
    }

    /// This key failed: it is due again, later each time.
    pub fn retry(&self, key: T) -> Duration {
        let delay = {
            let mut inner = self.lock();
            let failures = inner.failures.entry(key.clone()).or_insert(0);
            let delay = self.backoff.delay(*failures);
            *failures = failures.saturating_add(1);
            delay
        };
        self.add_after(key, delay);
        delay
    }

    /// This key succeeded and is at rest: its failures are forgotten.
    pub fn forget(&self, key: &T) {
        let mut inner = self.lock();
        inner.failures.remove(key);
        inner.streaks.remove(key);
    }

    /// How often a key has failed since it last succeeded.
    pub fn failures(&self, key: &T) -> u32 {
        self.lock().failures.get(key).copied().unwrap_or(0)
    }

    /// The next key, for this worker alone until [`Self::done`]; none when the queue is closed.
    pub async fn next(&self) -> Option<T> {
        loop {
            let changed = self.changed.notified();
            let wait = {
                let mut inner = self.lock();
                inner.ripen(Instant::now());
                if let Some(key) = inner.take() {
                    // Somebody else may be waiting for the rest.
                    self.changed.notify_one();
                    return Some(key);
                }
                if inner.is_closed {
                    drop(inner);
                    self.changed.notify_waiters();
                    self.changed.notify_one();
                    return None;
                }
                inner.later.values().min().copied()
            };
            match wait {
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// This worker is done with a key.
    pub fn done(&self, key: &T) {
        let mut inner = self.lock();
        inner.running.remove(key);
        if let Some(since) = inner.running_since.remove(key) {
            inner.worked.observe(since.elapsed().as_secs_f64());
        }
        if inner.again.remove(key) {
            inner.push(key.clone());
        }
        drop(inner);
        self.changed.notify_one();
    }

    /// Gives out no more keys.
    pub fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        inner.news.clear();
        inner.goes_on.clear();
        inner.queued.clear();
        inner.later.clear();
        inner.again.clear();
        inner.waiting_since.clear();
        drop(inner);
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// How many keys are ready.
    pub fn len(&self) -> usize {
        self.lock().queued.len()
    }

    /// Whether none is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is to be said about the queue now.
    pub fn figures(&self) -> QueueFigures
    where
        T: std::fmt::Display,
    {
        let inner = self.lock();
        let running = inner.running_since.iter();
        QueueFigures {
            depth: inner.waiting_since.len(),
            later: inner.later.len(),
            failing: inner.failures.len(),
            adds: inner.adds,
            retries: inner.retries,
            waited: inner.waited.clone(),
            worked: inner.worked.clone(),
            running: running.map(|(key, since)| (key.to_string(), since.elapsed().as_secs_f64())).collect(),
        }
    }

    /// From now on Prometheus is told about this queue, under a name.
    pub fn register(&self, name: &'static str, registry: &Registry)
    where
        T: std::fmt::Display + Send + Sync + 'static,
    {
        registry.add(NamedQueue { name, queue: self.clone() });
    }
}

impl<T: Ord + Clone> Inner<T> {
    fn add(&mut self, key: T) {
        if self.is_closed {
            return;
        }
        self.later.remove(&key);
        if let std::collections::btree_map::Entry::Vacant(entry) = self.waiting_since.entry(key.clone()) {
            entry.insert(Instant::now());
            self.adds += 1;
        }
        if self.running.contains(&key) {
            self.again.insert(key);
        } else {
            self.push(key);
        }
    }

    fn push(&mut self, key: T) {
        if self.is_closed {
            return;
        }
        let cause = if self.streaks.contains_key(&key) { Cause::GoesOn } else { Cause::News };
        match self.queued.get(&key) {
            Some(known) if *known == cause || *known == Cause::News => return,
            _ => {}
        }
        self.queued.insert(key.clone(), cause);
        match cause {
            Cause::News => self.news.push_back(key),
            Cause::GoesOn => self.goes_on.push_back(key),
        }
    }

    /// Moves what has become due to the ready ones, earliest first.
    fn ripen(&mut self, now: Instant) {
        let mut due: Vec<(Instant, T)> =
            self.later.iter().filter(|(_, at)| **at <= now).map(|(key, at)| (*at, key.clone())).collect();
        due.sort();
        for (_, key) in due {
            self.add(key);
        }
    }

    fn take(&mut self) -> Option<T> {
        let key = self.pop()?;
        self.queued.remove(&key);
        self.running.insert(key.clone());
        if let Some(since) = self.waiting_since.remove(&key) {
            self.waited.observe(since.elapsed().as_secs_f64());
        }
        self.running_since.insert(key.clone(), Instant::now());
        Some(key)
    }

    fn pop(&mut self) -> Option<T> {
        let order = if self.news_in_a_row < MOST_NEWS_IN_A_ROW {
            [Cause::News, Cause::GoesOn]
        } else {
            [Cause::GoesOn, Cause::News]
        };
        for cause in order {
            let ready = if cause == Cause::News { &mut self.news } else { &mut self.goes_on };
            while let Some(key) = ready.pop_front() {
                if self.queued.get(&key) == Some(&cause) {
                    self.news_in_a_row = if cause == Cause::News { self.news_in_a_row.saturating_add(1) } else { 0 };
                    return Some(key);
                }
            }
        }
        None
    }
}
