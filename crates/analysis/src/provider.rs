//! Which provider a metric uses.

use tidegate_api::analysis::Metric;

/// The providers, in the order in which they win when several are named (which validation refuses).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// Prometheus.
    Prometheus,
    /// A Kubernetes Job.
    Job,
    /// Kayenta.
    Kayenta,
    /// An HTTP request.
    Web,
    /// Datadog.
    Datadog,
    /// Wavefront.
    Wavefront,
    /// New Relic.
    NewRelic,
    /// Amazon CloudWatch.
    CloudWatch,
    /// Graphite.
    Graphite,
    /// InfluxDB.
    Influxdb,
    /// Apache SkyWalking.
    Skywalking,
    /// A plugin.
    Plugin,
}

impl Provider {
    /// The name that figures of the controller carry.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Prometheus => "Prometheus",
            Self::Job => "Job",
            Self::Kayenta => "Kayenta",
            Self::Web => "Web",
            Self::Datadog => "Datadog",
            Self::Wavefront => "Wavefront",
            Self::NewRelic => "NewRelic",
            Self::CloudWatch => "CloudWatch",
            Self::Graphite => "Graphite",
            Self::Influxdb => "Influxdb",
            Self::Skywalking => "skywalking",
            Self::Plugin => "RPCPlugin",
        }
    }

    /// Whether it judges by itself instead of by the metric's conditions.
    pub fn judges_itself(self) -> bool {
        matches!(self, Self::Job | Self::Kayenta | Self::Plugin)
    }

    /// Whether ending a measurement early means doing something.
    pub(crate) fn can_terminate(self) -> bool {
        matches!(self, Self::Job)
    }
}

/// The provider of a metric.
pub fn provider(metric: &Metric) -> Option<Provider> {
    let named = metric.provider.as_ref()?;
    let table = [
        (named.prometheus.is_some(), Provider::Prometheus),
        (named.job.is_some(), Provider::Job),
        (named.kayenta.is_some(), Provider::Kayenta),
        (named.web.is_some(), Provider::Web),
        (named.datadog.is_some(), Provider::Datadog),
        (named.wavefront.is_some(), Provider::Wavefront),
        (named.new_relic.is_some(), Provider::NewRelic),
        (named.cloud_watch.is_some(), Provider::CloudWatch),
        (named.graphite.is_some(), Provider::Graphite),
        (named.influxdb.is_some(), Provider::Influxdb),
        (named.skywalking.is_some(), Provider::Skywalking),
        (named.plugin.is_some(), Provider::Plugin),
    ];
    table.into_iter().find(|(is_named, _)| *is_named).map(|(_, provider)| provider)
}
