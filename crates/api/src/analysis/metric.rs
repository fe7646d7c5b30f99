//! One metric of an analysis.

use super::providers::{
    CloudWatchProvider, DatadogProvider, GraphiteProvider, InfluxdbProvider, JobProvider, KayentaProvider,
    NewRelicProvider, PrometheusProvider, SkywalkingProvider, WavefrontProvider, WebProvider,
};
use crate::raw::Raw;
use crate::values::IntOrString;
use crate::wire::wire;

wire! {
    /// Something to measure and what counts as success.
    pub struct Metric {
        /// Errors in a row after which the metric counts as failed. Default 4.
        "consecutiveErrorLimit" consecutive_error_limit: IntOrString,
        /// Successes in a row after which the metric is done. Default 0: not used.
        "consecutiveSuccessLimit" consecutive_success_limit: IntOrString,
        /// How many measurements. Default 1, without end when interval is set.
        "count" count: IntOrString,
        /// Expression that makes a measurement a failure.
        "failureCondition" failure_condition: String,
        /// Failures that are still accepted. Default 0; -1 accepts any number.
        "failureLimit" failure_limit: IntOrString,
        /// Inconclusive measurements that are still accepted. Default 0.
        "inconclusiveLimit" inconclusive_limit: IntOrString,
        /// Wait before the first measurement, such as 30s.
        "initialDelay" initial_delay: String,
        /// Time between measurements, such as 1m.
        "interval" interval: String,
        /// Its name, unique in the run.
        "name" [required] name: String,
        /// Where the value comes from.
        "provider" [required] provider: MetricProvider,
        /// Expression that makes a measurement a success.
        "successCondition" success_condition: String,
    }

    /// Where a metric's value comes from. Exactly one is set; the others take no room.
    pub struct MetricProvider {
        /// Amazon CloudWatch.
        "cloudWatch" cloud_watch: Box<CloudWatchProvider>,
        /// Datadog.
        "datadog" datadog: Box<DatadogProvider>,
        /// Graphite.
        "graphite" graphite: Box<GraphiteProvider>,
        /// InfluxDB.
        "influxdb" influxdb: Box<InfluxdbProvider>,
        /// A Kubernetes Job.
        "job" job: Box<JobProvider>,
        /// Kayenta.
        "kayenta" kayenta: Box<KayentaProvider>,
        /// New Relic.
        "newRelic" new_relic: Box<NewRelicProvider>,
        /// Metric plugins, by name, each with its own configuration.
        "plugin" plugin: Raw,
        /// Prometheus.
        "prometheus" prometheus: Box<PrometheusProvider>,
        /// Apache SkyWalking.
        "skywalking" skywalking: Box<SkywalkingProvider>,
        /// Wavefront.
        "wavefront" wavefront: Box<WavefrontProvider>,
        /// An HTTP request.
        "web" web: Box<WebProvider>,
    }
}
