//! What is known of runs beside what is stored. All of it can be lost: a run then measures again what was under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::AbortHandle;
use tidegate_analysis::{Report, UnderWay};
use tidegate_api::analysis::AnalysisRunStatus;
use tidegate_runtime::Key;

/// A call to a provider that has not reported. Given up when it is dropped.
struct Pending {
    under_way: UnderWay,
    number: u64,
    abort: AbortHandle,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

/// A status that was sent; nobody knows whether it arrived.
struct Sent {
    status: AnalysisRunStatus,
    /// Reports that are in it.
    reports: usize,
}

#[derive(Default)]
struct State {
    uid: String,
    reports: Vec<Report>,
    calls: BTreeMap<String, Pending>,
    nudged: BTreeSet<String>,
    sent: Option<Sent>,
}

/// What a look needs.
#[derive(Default)]
pub(super) struct Known {
    pub reports: Vec<Report>,
    pub under_way: BTreeMap<String, UnderWay>,
    pub nudged: BTreeSet<String>,
}

#[derive(Default)]
struct Inner {
    states: BTreeMap<Key, State>,
    numbers: u64,
}

/// The states of all runs that are under way.
#[derive(Default)]
pub(super) struct States(Mutex<Inner>);

impl States {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every change is a single one: nothing can be left half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a run. A run that only has the name of an earlier one begins anew.
    pub(super) fn of(&self, key: &Key, uid: &str) -> Known {
        let mut inner = self.lock();
        let state = state_of(&mut inner, key, uid);
        Known {
            reports: state.reports.clone(),
            under_way: state.calls.iter().map(|(metric, call)| (metric.clone(), call.under_way)).collect(),
            nudged: state.nudged.clone(),
        }
    }

    /// The run is over or gone; calls under way are given up.
    pub(super) fn forget(&self, key: &Key) {
        let forgotten = self.lock().states.remove(key);
        drop(forgotten);
    }

    /// Nothing is known any more.
    pub(super) fn clear(&self) {
        let forgotten = std::mem::take(&mut self.lock().states);
        drop(forgotten);
    }

    /// A call begins; returns its number.
    pub(super) fn begin(&self, key: &Key, uid: &str, metric: &str, under_way: UnderWay, abort: AbortHandle) -> u64 {
        let mut inner = self.lock();
        inner.numbers += 1;
        let number = inner.numbers;
        let state = state_of(&mut inner, key, uid);
        state.nudged.remove(metric);
        state.calls.insert(metric.to_owned(), Pending { under_way, number, abort });
        number
    }

    /// A call has reported. One that was given up has nothing to say.
    pub(super) fn reported(&self, key: &Key, number: u64, report: Report) {
        let mut inner = self.lock();
        let Some(state) = inner.states.get_mut(key) else { return };
        if state.calls.get(&report.metric).is_some_and(|call| call.number == number) {
            state.calls.remove(&report.metric);
            state.reports.push(report);
        }
    }

    /// A measurement in flight has news.
    pub(super) fn nudge(&self, key: &Key, uid: &str, metric: &str) {
        let mut inner = self.lock();
        state_of(&mut inner, key, uid).nudged.insert(metric.to_owned());
    }

    /// A status with the first so many reports is being sent.
    pub(super) fn sending(&self, key: &Key, status: &AnalysisRunStatus, reports: usize) {
        if let Some(state) = self.lock().states.get_mut(key) {
            state.sent = Some(Sent { status: status.clone(), reports });
        }
    }

    /// Whether it is unknown if the last status arrived.
    pub(super) fn is_unsure(&self, key: &Key) -> bool {
        self.lock().states.get(key).is_some_and(|state| state.sent.is_some())
    }

    /// The run was read: what its status holds already is not told again.
    pub(super) fn settle(&self, key: &Key, stored: Option<&AnalysisRunStatus>) {
        let mut inner = self.lock();
        let Some(state) = inner.states.get_mut(key) else { return };
        if let Some(sent) = state.sent.take().filter(|sent| stored == Some(&sent.status)) {
            state.reports.drain(..sent.reports.min(state.reports.len()));
        }
    }
}

fn state_of<'a>(inner: &'a mut Inner, key: &Key, uid: &str) -> &'a mut State {
    let state = inner.states.entry(key.clone()).or_default();
    if state.uid != uid {
        *state = State { uid: uid.to_owned(), ..State::default() };
    }
    state
}
