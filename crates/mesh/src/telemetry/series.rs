//! The series of one flow: names, labels and buckets as Istio has them.

use super::counters::{Flow, Kind};
use super::store::{Labels, SeriesId, Store};
use crate::Millis;

/// Upper bounds in milliseconds of Istio's histograms, without the last, infinite one.
pub(super) const BUCKETS: [(f64, &str); 19] = [
    (0.5, "0.5"),
    (1.0, "1"),
    (5.0, "5"),
    (10.0, "10"),
    (25.0, "25"),
    (50.0, "50"),
    (100.0, "100"),
    (250.0, "250"),
    (500.0, "500"),
    (1000.0, "1000"),
    (2500.0, "2500"),
    (5000.0, "5000"),
    (10_000.0, "10000"),
    (30_000.0, "30000"),
    (60_000.0, "60000"),
    (300_000.0, "300000"),
    (600_000.0, "600000"),
    (1_800_000.0, "1800000"),
    (3_600_000.0, "3600000"),
];

/// What is counted of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(super) total: u64,
    /// Requests no slower than each bound and faster than none before it.
    pub(super) buckets: [u64; BUCKETS.len()],
    pub(super) sum: f64,
    pub(super) changed: Millis,
    /// Known after the first scrape; none for a series that the store did not take.
    pub(super) ids: Vec<Option<SeriesId>>,
}

impl Count {
    pub(crate) fn add(&mut self, at: Millis, times: u64, latency: f64) {
        self.total = self.total.saturating_add(times);
        self.sum += latency * times as f64;
        self.changed = at;
        if let Some(index) = BUCKETS.iter().position(|(bound, _)| latency <= *bound)
            && let Some(bucket) = self.buckets.get_mut(index)
        {
            *bucket = bucket.saturating_add(times);
        }
    }

    /// How many.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// All latencies together, in milliseconds.
    pub(crate) fn latency(&self) -> f64 {
        self.sum
    }

    /// Takes in what was counted elsewhere.
    pub(super) fn join(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.sum += other.sum;
        self.changed = self.changed.max(other.changed);
        for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket = bucket.saturating_add(more);
        }
    }

    /// Writes one sample to each series.
    pub(super) fn scrape(&mut self, flow: &Flow, at: Millis, store: &mut Store) {
        if self.ids.is_empty() || self.ids.contains(&None) {
            self.ids = flow.series().iter().map(|labels| store.id(labels)).collect();
        }
        for (id, value) in self.ids.iter().zip(self.values(flow.kind)) {
            if let Some(id) = id {
                store.push(*id, at, value);
            }
        }
    }

    /// In the order of [`Flow::series`].
    fn values(&self, kind: Kind) -> Vec<f64> {
        let total = self.total as f64;
        let mut values = vec![total];
        if kind == Kind::Request {
            values.extend([self.sum, total]);
            let mut below = 0_u64;
            values.extend(self.buckets.iter().map(|count| {
                below = below.saturating_add(*count);
                below as f64
            }));
            values.push(total);
        }
        values
    }
}

impl Flow {
    /// The labels of all its series.
    fn series(&self) -> Vec<Labels> {
        let named = |name: &str| {
            let mut labels = self.labels();
            labels.insert("__name__".to_owned(), name.to_owned());
            labels
        };
        if self.kind == Kind::Connection {
            return vec![named("istio_tcp_connections_opened_total")];
        }
        let duration = "istio_request_duration_milliseconds";
        let mut all =
            vec![named("istio_requests_total"), named(&format!("{duration}_sum")), named(&format!("{duration}_count"))];
        for bound in BUCKETS.iter().map(|(_, text)| *text).chain(["+Inf"]) {
            let mut labels = named(&format!("{duration}_bucket"));
            labels.insert("le".to_owned(), bound.to_owned());
            all.push(labels);
        }
        all
    }

    fn labels(&self) -> Labels {
        let protocol = match self.kind {
            Kind::Request => "http",
            Kind::Connection => "tcp",
        };
        let mut labels = Labels::from(
            [
                ("reporter", self.reporter),
                ("request_protocol", protocol),
                ("response_flags", self.flags),
                ("destination_service", &self.service),
                ("destination_service_name", &self.service_name),
                ("destination_service_namespace", &self.service_namespace),
                ("destination_workload", &self.workload),
                ("destination_workload_namespace", &self.workload_namespace),
                ("destination_version", &self.version),
                ("destination_canonical_revision", &self.revision),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        if self.kind == Kind::Request {
            labels.insert("response_code".to_owned(), self.code.to_string());
        }
        labels
    }
}
