//! Changes that are one patch: abort, pause, restart, retry, terminate.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::address::{ANALYSIS_RUNS, EXPERIMENTS, ROLLOUTS, Resource};
use crate::error::ApiError;
use crate::request::Cluster;

/// A change that is one patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patch {
    /// Stops an update.
    Abort,
    /// Sets the manual pause.
    Pause,
    /// Tries an aborted update again.
    Retry,
    /// Replaces the pods from a moment on.
    RestartAt(Timestamp),
    /// Runs a finished Experiment again.
    RetryExperiment,
    /// Ends a running AnalysisRun.
    TerminateRun,
    /// Ends a running Experiment.
    TerminateExperiment,
}

impl Patch {
    fn resource(self) -> Resource {
        match self {
            Self::Abort | Self::Pause | Self::Retry | Self::RestartAt(_) => ROLLOUTS,
            Self::RetryExperiment | Self::TerminateExperiment => EXPERIMENTS,
            Self::TerminateRun => ANALYSIS_RUNS,
        }
    }

    fn body(self) -> Value {
        match self {
            Self::Abort => json!({"status": {"abort": true}}),
            Self::Pause => json!({"spec": {"paused": true}}),
            Self::Retry => json!({"status": {"abort": false}}),
            Self::RestartAt(at) => json!({"spec": {"restartAt": at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()}}),
            // Experiments have no status subresource: the status is cleared as part of the object.
            Self::RetryExperiment => json!({"status": null}),
            Self::TerminateRun | Self::TerminateExperiment => json!({"spec": {"terminate": true}}),
        }
    }

    /// Whether it goes to the status, or to the object where there is no such subresource.
    fn is_of_status(self) -> bool {
        matches!(self, Self::Abort | Self::Retry)
    }
}

/// Sends a patch; returns the object as it is now.
pub async fn patch(cluster: &Cluster, name: &str, patch: Patch) -> Result<Value, ApiError> {
    let path = cluster.path(patch.resource(), name)?;
    if patch.is_of_status() {
        cluster.merge_status(&path, &patch.body()).await
    } else {
        cluster.merge(&path, &patch.body()).await
    }
}

/// The name the server gave back.
pub fn name_of<'a>(object: &'a Value, asked: &'a str) -> &'a str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or(asked)
}
