//! What proxies count, and the samples a Prometheus would scrape of it.

mod counters;
mod series;
mod store;

pub(crate) use counters::Kind;
pub use counters::{Flow, Telemetry, Totals, VersionKey};
pub(crate) use series::Count;
pub use store::{Labels, Limits, STALE, Sample, Series, Store, is_stale};
