//! AnalysisTemplate, ClusterAnalysisTemplate and AnalysisRun.

mod metric;
mod providers;
mod status;

pub use metric::{Metric, MetricProvider};
pub use providers::{
    Authentication, BasicAuth, CloudWatchDimension, CloudWatchMetric, CloudWatchMetricDataQuery, CloudWatchMetricStat,
    CloudWatchProvider, DatadogProvider, GraphiteProvider, Header, InfluxdbProvider, JobProvider, KayentaProvider,
    KayentaScope, KayentaScopeDetail, KayentaThreshold, NewRelicProvider, OAuth2, PrometheusProvider,
    PrometheusRangeQuery, SecretRef, SigV4, SkywalkingProvider, WavefrontProvider, WebProvider,
};
pub use status::{AnalysisRunStatus, Measurement, MetricResult, RunSummary};

use crate::kind::kind;
use crate::rollout::{AnalysisTemplateRef, DryRun, FieldRef, MeasurementRetention};
use crate::wire::wire;

kind! {
    /// Metrics to measure and what counts as success, for use in one namespace.
    pub struct AnalysisTemplate {
        kind: "AnalysisTemplate", plural: "analysistemplates", scope: Namespaced,
        spec: AnalysisTemplateSpec,
    }
}

kind! {
    /// Metrics to measure and what counts as success, for use in every namespace.
    pub struct ClusterAnalysisTemplate {
        kind: "ClusterAnalysisTemplate", plural: "clusteranalysistemplates", scope: Cluster,
        spec: AnalysisTemplateSpec,
    }
}

kind! {
    /// One run of an analysis.
    pub struct AnalysisRun {
        kind: "AnalysisRun", plural: "analysisruns", scope: Namespaced,
        spec: AnalysisRunSpec, status: AnalysisRunStatus,
    }
}

wire! {
    /// Metrics to measure and what counts as success.
    pub struct AnalysisTemplateSpec {
        /// Arguments, used as {{args.NAME}}.
        "args" args: Vec<Argument>,
        /// Metrics that are measured but decide nothing.
        "dryRun" dry_run: Vec<DryRun>,
        /// How many measurements to keep per metric.
        "measurementRetention" measurement_retention: Vec<MeasurementRetention>,
        /// The metrics.
        "metrics" metrics: Vec<Metric>,
        /// Other templates to include.
        "templates" templates: Vec<AnalysisTemplateRef>,
    }

    /// One run of an analysis.
    pub struct AnalysisRunSpec {
        /// Arguments, used as {{args.NAME}}.
        "args" args: Vec<Argument>,
        /// Metrics that are measured but decide nothing.
        "dryRun" dry_run: Vec<DryRun>,
        /// How many measurements to keep per metric.
        "measurementRetention" measurement_retention: Vec<MeasurementRetention>,
        /// The metrics.
        "metrics" [required] metrics: Vec<Metric>,
        /// Ends the run early.
        "terminate" terminate: bool,
        /// When the finished run is deleted.
        "ttlStrategy" ttl_strategy: TtlStrategy,
    }

    /// An argument of a template or run.
    pub struct Argument {
        /// Its name.
        "name" [required] name: String,
        /// The value itself.
        "value" value: String,
        /// Where to take the value from.
        "valueFrom" value_from: ValueFrom,
    }

    /// Where to take an argument's value from.
    pub struct ValueFrom {
        /// A field of the owning object.
        "fieldRef" field_ref: FieldRef,
        /// A key of a Secret.
        "secretKeyRef" secret_key_ref: SecretKeyRef,
    }

    /// A key of a Secret.
    pub struct SecretKeyRef {
        /// The key.
        "key" [required] key: String,
        /// The Secret.
        "name" [required] name: String,
    }

    /// When a finished run is deleted.
    pub struct TtlStrategy {
        /// Seconds after it ended.
        "secondsAfterCompletion" seconds_after_completion: i32,
        /// Seconds after it failed.
        "secondsAfterFailure" seconds_after_failure: i32,
        /// Seconds after it succeeded.
        "secondsAfterSuccess" seconds_after_success: i32,
    }
}
