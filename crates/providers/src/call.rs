//! What a provider knows when it is asked.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tidegate_api::analysis::{AnalysisRun, Measurement, Metric};

/// What does not change while the controller runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The controller's own namespace, where credentials of providers lie.
    pub namespace: String,
    /// Environment variables that providers look at.
    pub environment: BTreeMap<String, String>,
    /// The version, for user agents.
    pub version: String,
}

impl Surroundings {
    /// An environment variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// One call: what to measure, for which run, with which credentials, at what time.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The run.
    pub run: &'a AnalysisRun,
    /// The metric with all arguments in place.
    pub metric: &'a Metric,
    /// The measurement to resume, when it is one.
    pub measurement: Option<&'a Measurement>,
    /// The Secret the provider asked for, by key.
    pub credentials: &'a BTreeMap<String, String>,
    /// What does not change.
    pub surroundings: &'a Surroundings,
    /// The time.
    pub now: Timestamp,
}
