//! What a step is made from.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_validate::references::Found;

/// A write of which the API server may say no, by the template or analysis it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The ReplicaSet of a template is made.
    Set(String),
    /// The ReplicaSet of a template is resized.
    Size(String),
    /// The Service of a template is made.
    Service(String),
    /// The Service of a template is deleted.
    NoService(String),
    /// The AnalysisRun of an analysis is made.
    Run(String),
    /// The AnalysisRun of an analysis is ended.
    NoRun(String),
}

/// Writes that were refused for good, with what the API server said.
pub type Refused = BTreeMap<Part, String>;

/// Everything seen of one Experiment.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The Experiment as it is stored.
    pub experiment: &'a Experiment,
    /// ReplicaSets that it controls.
    pub replica_sets: &'a [ReplicaSet],
    /// Services that it controls.
    pub services: &'a [Service],
    /// AnalysisRuns that it controls, and those that its status names.
    pub runs: &'a [AnalysisRun],
    /// Names of AnalysisRuns of others in its namespace.
    pub taken_names: &'a BTreeSet<String>,
    /// AnalysisRuns that the status names and that are not there, with what the API server said.
    pub missing_runs: &'a BTreeMap<String, String>,
    /// Templates of analyses, nested ones too.
    pub found: &'a Found,
    /// Writes that were refused for good.
    pub refused: &'a Refused,
    /// Services that still get traffic from somebody: their pods stay.
    pub routed: &'a BTreeSet<String>,
    /// Seconds that pods behind a Service stay at least after traffic was taken away from it.
    pub least_delay: i32,
    /// The time.
    pub now: Timestamp,
}
