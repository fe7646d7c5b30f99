//! What a step looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use tidegate_api::analysis::{AnalysisRun, Measurement};

/// A run, what is known about it and the time.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// As it is stored.
    pub run: &'a AnalysisRun,
    /// What has been read of the Secrets a step asked for.
    pub secrets: &'a Secrets,
    /// What providers have brought since the status was written.
    pub reports: &'a [Report],
    /// Calls to providers that have not reported, by metric.
    pub under_way: &'a BTreeMap<String, UnderWay>,
    /// Metrics whose measurement in flight has news: it is looked after now, whatever time it is due.
    pub nudged: &'a BTreeSet<String>,
    /// The time.
    pub now: Timestamp,
}

/// What a provider is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Take a new measurement.
    Start,
    /// Look after one that takes longer.
    Resume,
    /// End one early.
    Terminate,
}

/// A call to a provider that has not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// What it was asked for.
    pub task: Task,
    /// Since when.
    pub since: Timestamp,
}

/// What a provider has brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The metric.
    pub metric: String,
    /// What it was asked for.
    pub task: Task,
    /// The measurement: with a phase that is over, or Running and a time to resume.
    pub measurement: Measurement,
    /// What the provider says about the metric itself, such as the query after substitution.
    pub metadata: BTreeMap<String, String>,
}

/// What has been read of one key of a Secret.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretState {
    /// Its content.
    Found(String),
    /// There is no such Secret or key; ends the run. The text says which.
    Missing(String),
    /// It could not be read right now; the measurement is an error and tried again.
    Unreadable(String),
}

impl fmt::Debug for SecretState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(_) => f.write_str("Found(*****)"),
            Self::Missing(text) => f.debug_tuple("Missing").field(text).finish(),
            Self::Unreadable(text) => f.debug_tuple("Unreadable").field(text).finish(),
        }
    }
}

impl SecretState {
    /// That the Secret has no such key, in the words people know.
    pub fn no_key(secret: &str, key: &str) -> Self {
        Self::Missing(format!("key '{key}' does not exist in secret '{secret}'"))
    }

    /// That there is no such Secret, in the words people know.
    pub fn no_secret(secret: &str) -> Self {
        Self::Missing(format!("secrets \"{secret}\" not found"))
    }
}

/// What has been read, by Secret and key.
pub type Secrets = BTreeMap<(String, String), SecretState>;
