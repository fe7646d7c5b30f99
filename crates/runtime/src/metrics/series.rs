//! Counters and histograms, one series per combination of label values.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Page, Source};

/// Series of one name. Labels carry names that users choose: a process that lives for long must not drown in them.
const MOST_SERIES: usize = 50_000;

/// How values were distributed.
#[derive(Clone, Debug)]
pub struct Distribution {
    bounds: Arc<[f64]>,
    /// Values up to each bound and not up to the one before; the last is for those above all.
    counts: Vec<u64>,
    sum: f64,
}

impl Distribution {
    /// Nothing seen yet; bounds grow.
    pub fn new(bounds: &[f64]) -> Self {
        Self { bounds: bounds.into(), counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    /// Takes in a value.
    pub fn observe(&mut self, value: f64) {
        let place = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum += value;
    }

    pub(super) fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.counts.iter().copied()
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum
    }
}

/// What all series of one name share.
struct Family<V> {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    series: Mutex<Series<V>>,
}

struct Series<V> {
    values: BTreeMap<Vec<String>, V>,
    /// Series that will go: those whose first labels are these, at this moment.
    doomed: BTreeMap<Vec<String>, Instant>,
    /// How often something was not counted because there were too many series.
    dropped: u64,
}

impl<V> Family<V> {
    fn new(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Self {
        let series = Series { values: BTreeMap::new(), doomed: BTreeMap::new(), dropped: 0 };
        Self { name, help, labels, series: Mutex::new(series) }
    }

    fn lock(&self) -> MutexGuard<'_, Series<V>> {
        // A panic between two steps could lose a count, nothing more.
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, values: &[&str], make: impl FnOnce() -> V, change: impl FnOnce(&mut V)) {
        debug_assert_eq!(values.len(), self.labels.len(), "{}", self.name);
        let mut series = self.lock();
        let key: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        if series.values.len() >= MOST_SERIES && !series.values.contains_key(&key) {
            series.dropped += 1;
            return;
        }
        change(series.values.entry(key).or_insert_with(make));
    }

    fn forget_after(&self, first: &[&str], delay: Duration) {
        let now = Instant::now();
        let mut series = self.lock();
        series.bury(now);
        series.doomed.insert(first.iter().map(|value| (*value).to_owned()).collect(), now + delay);
    }

    fn keep(&self, first: &[&str]) {
        let first: Vec<String> = first.iter().map(|value| (*value).to_owned()).collect();
        let mut series = self.lock();
        series.bury(Instant::now());
        series.doomed.remove(&first);
    }

    fn collect(&self, page: &mut Page, mut write: impl FnMut(&mut Page, &[(&str, &str)], &V)) {
        let mut series = self.lock();
        series.bury(Instant::now());
        for (values, value) in &series.values {
            let labels: Vec<(&str, &str)> =
                self.labels.iter().copied().zip(values.iter().map(String::as_str)).collect();
            write(page, &labels, value);
        }
        if series.dropped > 0 {
            let help = "What was not counted because a metric has too many series.";
            page.counter("metric_series_dropped_total", help, &[("metric", self.name)], series.dropped as f64);
        }
    }
}

impl<V> Series<V> {
    fn bury(&mut self, now: Instant) {
        let due: Vec<Vec<String>> =
            self.doomed.iter().filter(|(_, at)| **at <= now).map(|(first, _)| first.clone()).collect();
        for first in due {
            self.doomed.remove(&first);
            self.values.retain(|values, _| !values.starts_with(&first));
        }
    }
}

/// Figures that only grow. Clones share them.
#[derive(Clone)]
pub struct Counters(Arc<Family<f64>>);

impl Counters {
    /// None yet.
    pub fn new(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Self {
        Self(Arc::new(Family::new(name, help, labels)))
    }

    /// One more, for these values of the labels, in their order.
    pub fn increment(&self, values: &[&str]) {
        self.0.with(values, || 0.0, |count| *count += 1.0);
    }

    /// The series whose first labels have these values go after a while: what they count is gone.
    pub fn forget_after(&self, first: &[&str], delay: Duration) {
        self.0.forget_after(first, delay);
    }

    /// They stay after all.
    pub fn keep(&self, first: &[&str]) {
        self.0.keep(first);
    }
}

impl Source for Counters {
    fn collect(&self, page: &mut Page) {
        self.0.collect(page, |page, labels, count| page.counter(self.0.name, self.0.help, labels, *count));
    }
}

/// Distributions. Clones share them.
#[derive(Clone)]
pub struct Histograms {
    family: Arc<Family<Distribution>>,
    bounds: &'static [f64],
}

impl Histograms {
    /// Nothing seen yet; bounds grow.
    pub fn new(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        bounds: &'static [f64],
    ) -> Self {
        Self { family: Arc::new(Family::new(name, help, labels)), bounds }
    }

    /// Takes in a value.
    pub fn observe(&self, values: &[&str], value: f64) {
        self.family.with(values, || Distribution::new(self.bounds), |seen| seen.observe(value));
    }

    /// The series whose first labels have these values go after a while: what they measure is gone.
    pub fn forget_after(&self, first: &[&str], delay: Duration) {
        self.family.forget_after(first, delay);
    }

    /// They stay after all.
    pub fn keep(&self, first: &[&str]) {
        self.family.keep(first);
    }
}

impl Source for Histograms {
    fn collect(&self, page: &mut Page) {
        let family = &self.family;
        family.collect(page, |page, labels, seen| page.histogram(family.name, family.help, labels, seen));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &impl Source) -> String {
        let mut page = Page::default();
        source.collect(&mut page);
        page.text()
    }

    #[tokio::test(start_paused = true)]
    async fn series_of_what_is_gone_are_seen_once_more_and_then_go() {
        let sales = Counters::new("sales_total", "Sales.", &["town", "shop", "kind"]);
        for shop in ["old", "new"] {
            sales.increment(&["Bern", shop, "bread"]);
            sales.increment(&["Bern", shop, "cake"]);
        }
        for shop in ["old", "new"] {
            sales.forget_after(&["Bern", shop], Duration::from_secs(65));
        }
        sales.keep(&["Bern", "new"]);
        tokio::time::sleep(Duration::from_secs(64)).await;
        assert_eq!(text(&sales).matches("shop=\"old\"").count(), 2);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(text(&sales).matches("shop=\"old\"").count(), 0);
        assert_eq!(text(&sales).matches("shop=\"new\"").count(), 2);
    }

    #[test]
    fn too_many_series_are_counted_instead_of_kept() {
        let sales = Counters::new("sales_total", "Sales.", &["shop"]);
        for shop in 0..=MOST_SERIES {
            sales.increment(&[&shop.to_string()]);
        }
        sales.increment(&["0"]);
        let text = text(&sales);
        assert!(text.contains("sales_total{shop=\"0\"} 2\n"));
        assert!(text.contains("metric_series_dropped_total{metric=\"sales_total\"} 1\n"));
    }
}
