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

    /// Where a metric's value comes from. Exactly one is set.
    pub struct MetricProvider {
        /// Amazon CloudWatch.
        "cloudWatch" cloud_watch: CloudWatchProvider,
        /// Datadog.
        "datadog" datadog: DatadogProvider,
        /// Graphite.
        "graphite" graphite: GraphiteProvider,
        /// InfluxDB.
        "influxdb" influxdb: InfluxdbProvider,
        /// A Kubernetes Job.
        "job" job: JobProvider,
        /// Kayenta.
        "kayenta" kayenta: KayentaProvider,
        /// New Relic.
        "newRelic" new_relic: NewRelicProvider,
        /// Metric plugins, by name, each with its own configuration.
        "plugin" plugin: Raw,
        /// Prometheus.
        "prometheus" prometheus: PrometheusProvider,
        /// Apache SkyWalking.
        "skywalking" skywalking: SkywalkingProvider,
        /// Wavefront.
        "wavefront" wavefront: WavefrontProvider,
        /// An HTTP request.
        "web" web: WebProvider,
    }
}
