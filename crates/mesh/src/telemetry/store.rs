//! Samples over time, bounded in number and age.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::Millis;

/// Names and values; the name of the metric is that of `__name__`.
pub type Labels = BTreeMap<String, String>;

/// The not-a-number that Prometheus writes when a series has ended.
pub const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// Whether a value marks the end of a series. Comparing will not do: no not-a-number equals another.
pub fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE.to_bits()
}

/// A value at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Millis,
    /// What.
    pub value: f64,
}

/// One series, oldest sample first.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its labels.
    pub labels: Arc<Labels>,
    pub(crate) samples: VecDeque<Sample>,
}

impl Series {
    /// All samples, oldest first.
    pub fn samples(&self) -> impl Iterator<Item = Sample> {
        self.samples.iter().copied()
    }

    /// Samples from one moment to another, both included.
    pub(crate) fn between(&self, from: Millis, to: Millis) -> impl DoubleEndedIterator<Item = Sample> {
        let start = self.samples.partition_point(|sample| sample.at < from);
        let end = self.samples.partition_point(|sample| sample.at <= to);
        self.samples.range(start..end.max(start)).copied()
    }
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most so many series; others are not taken and counted as refused.
    pub series: usize,
    /// Samples older than this are dropped.
    pub retention: Millis,
}

impl Default for Limits {
    fn default() -> Self {
        Self { series: 20_000, retention: 30 * 60 * 1000 }
    }
}

/// Names a series without its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeriesId(u64);

/// All series.
#[derive(Clone, Debug, Default)]
pub struct Store {
    limits: Limits,
    ids: BTreeMap<Arc<Labels>, SeriesId>,
    series: BTreeMap<SeriesId, Series>,
    next: u64,
    refused: u64,
}

impl Store {
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Adds a sample. Returns whether it was taken: not past the limit of series, nor before the last of its series.
    pub fn append(&mut self, labels: &Labels, at: Millis, value: f64) -> bool {
        self.id(labels).is_some_and(|id| self.push(id, at, value))
    }

    /// The series with these labels, made if need be.
    pub(crate) fn id(&mut self, labels: &Labels) -> Option<SeriesId> {
        if let Some(id) = self.ids.get(labels) {
            return Some(*id);
        }
        if self.series.len() >= self.limits.series {
            self.refused += 1;
            return None;
        }
        let id = SeriesId(self.next);
        self.next += 1;
        let labels = Arc::new(labels.clone());
        self.ids.insert(Arc::clone(&labels), id);
        self.series.insert(id, Series { labels, samples: VecDeque::new() });
        Some(id)
    }

    pub(crate) fn push(&mut self, id: SeriesId, at: Millis, value: f64) -> bool {
        let Some(series) = self.series.get_mut(&id) else { return false };
        if series.samples.back().is_some_and(|last| last.at >= at) {
            return false;
        }
        series.samples.push_back(Sample { at, value });
        let oldest = at.saturating_sub(self.limits.retention);
        while series.samples.front().is_some_and(|sample| sample.at < oldest) {
            series.samples.pop_front();
        }
        true
    }

    pub(crate) fn remove(&mut self, id: SeriesId) {
        if let Some(series) = self.series.remove(&id) {
            self.ids.remove(&series.labels);
        }
    }

    /// All series in the order they came.
    pub fn series(&self) -> impl Iterator<Item = &Series> {
        self.series.values()
    }

    /// How much is kept.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// How often a series was not taken because there were too many.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
