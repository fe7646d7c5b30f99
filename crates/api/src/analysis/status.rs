//! What the controller says about an AnalysisRun.

use std::collections::BTreeMap;

use crate::values::Time;
use crate::wire::wire;

wire! {
    /// What has been measured and what follows from it.
    pub struct AnalysisRunStatus {
        /// When it ended.
        "completedAt" completed_at: Time,
        /// Count of metrics that decide nothing, by phase.
        "dryRunSummary" dry_run_summary: RunSummary,
        /// Why the phase is what it is.
        "message" message: String,
        /// One entry per metric.
        "metricResults" metric_results: Vec<MetricResult>,
        /// Pending, Running, Successful, Failed, Error or Inconclusive.
        "phase" [required] phase: String,
        /// Count of metrics by phase.
        "runSummary" run_summary: RunSummary,
        /// When it began.
        "startedAt" started_at: Time,
    }

    /// Count of metrics by phase.
    pub struct RunSummary {
        /// All.
        "count" count: i32,
        /// In error.
        "error" error: i32,
        /// Failed.
        "failed" failed: i32,
        /// Inconclusive.
        "inconclusive" inconclusive: i32,
        /// Successful.
        "successful" successful: i32,
    }

    /// What a metric has shown.
    pub struct MetricResult {
        /// Errors since the last measurement that was none.
        "consecutiveError" consecutive_error: i32,
        /// Successes since the last measurement that was none.
        "consecutiveSuccess" consecutive_success: i32,
        /// Measurements without errors.
        "count" count: i32,
        /// Whether it decides nothing.
        "dryRun" dry_run: bool,
        /// Measurements in error.
        "error" error: i32,
        /// Measurements that failed.
        "failed" failed: i32,
        /// Measurements that were inconclusive.
        "inconclusive" inconclusive: i32,
        /// The latest measurements.
        "measurements" measurements: Vec<Measurement>,
        /// Why the phase is what it is.
        "message" message: String,
        /// What the provider says about the metric.
        "metadata" metadata: BTreeMap<String, String>,
        /// The metric.
        "name" [required] name: String,
        /// Its phase.
        "phase" [required] phase: String,
        /// Measurements that succeeded.
        "successful" successful: i32,
    }

    /// One measurement.
    pub struct Measurement {
        /// When it ended.
        "finishedAt" finished_at: Time,
        /// Why the phase is what it is.
        "message" message: String,
        /// What the provider says about it.
        "metadata" metadata: BTreeMap<String, String>,
        /// Its phase.
        "phase" [required] phase: String,
        /// When to look again.
        "resumeAt" resume_at: Time,
        /// When it began.
        "startedAt" started_at: Time,
        /// The value.
        "value" value: String,
    }
}
