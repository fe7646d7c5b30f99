//! Conversations with services, without I/O.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use tidegate_analysis::{Provider, provider};
use tidegate_api::wire::Text;
use tidegate_expr::Value;

use crate::call::Call;
use crate::client::TransportError;
use crate::message::{Request, Response};

/// What a service has said about a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// What conditions see.
    pub result: Value,
    /// What people see.
    pub value: String,
    /// More about the measurement.
    pub metadata: BTreeMap<String, String>,
    /// Whether the value is kept when the conditions cannot be evaluated.
    pub keeps_value: bool,
}

impl Reading {
    /// A reading without metadata.
    pub fn new(result: Value, value: impl Into<String>) -> Self {
        Self { result, value: value.into(), metadata: BTreeMap::new(), keeps_value: false }
    }
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// Send this and tell what came back.
    Ask(Box<Request>),
    /// The conditions of the metric judge this.
    Done(Reading),
    /// The service has judged itself.
    Judged {
        /// Successful, Failed or Inconclusive.
        phase: &'static str,
        /// What people see.
        value: String,
    },
    /// It takes longer; ask again after a while.
    Later {
        /// What to remember.
        metadata: BTreeMap<String, String>,
        /// How long to wait.
        wait: SignedDuration,
    },
}

/// Why there is no reading.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Something is wrong.
    #[error("{0}")]
    Error(String),
    /// The service has nothing; the metric's policy for that decides.
    #[error("{0}")]
    NoData(String),
}

impl Failure {
    /// In words.
    pub fn text(self) -> String {
        match self {
            Self::NoData(text) | Self::Error(text) => text,
        }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Error(text)
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        Self::Error(text.to_owned())
    }
}

/// A conversation: requests come out, answers go in, until there is a reading.
pub trait Talk: Send {
    /// The first request.
    fn begin(&mut self) -> Result<Turn, Failure>;

    /// What an answer means.
    fn hear(&mut self, response: &Response) -> Result<Turn, Failure>;

    /// What it means that nothing came back; by default that is the error.
    fn unanswered(&mut self, error: &TransportError) -> Result<Turn, Failure> {
        Err(Failure::Error(error.to_string()))
    }

    /// What is said about the metric itself, such as the query after substitution.
    fn metadata(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// Opens the conversation a metric needs.
pub fn open<'a>(call: Call<'a>) -> Result<Box<dyn Talk + 'a>, Failure> {
    let name = call.metric.name.text();
    let Some(kind) = provider(call.metric) else {
        return Err(Failure::Error(format!("no valid provider in metric '{name}'")));
    };
    match kind {
        #[cfg(feature = "prometheus")]
        Provider::Prometheus => Ok(Box::new(crate::prometheus::Prometheus::new(call)?)),
        #[cfg(feature = "web")]
        Provider::Web => Ok(Box::new(crate::web::Web::new(call)?)),
        #[cfg(feature = "datadog")]
        Provider::Datadog => Ok(Box::new(crate::datadog::Datadog::new(call)?)),
        #[cfg(feature = "newrelic")]
        Provider::NewRelic => Ok(Box::new(crate::newrelic::NewRelic::new(call)?)),
        #[cfg(feature = "wavefront")]
        Provider::Wavefront => Ok(Box::new(crate::wavefront::Wavefront::new(call)?)),
        #[cfg(feature = "cloudwatch")]
        Provider::CloudWatch => Ok(Box::new(crate::cloudwatch::CloudWatch::new(call)?)),
        #[cfg(feature = "graphite")]
        Provider::Graphite => Ok(Box::new(crate::graphite::Graphite::new(call)?)),
        #[cfg(feature = "influxdb")]
        Provider::Influxdb => Ok(Box::new(crate::influxdb::Influxdb::new(call)?)),
        #[cfg(feature = "skywalking")]
        Provider::Skywalking => Ok(Box::new(crate::skywalking::Skywalking::new(call)?)),
        #[cfg(feature = "kayenta")]
        Provider::Kayenta => Ok(Box::new(crate::kayenta::Kayenta::new(call)?)),
        Provider::Plugin => Err(Failure::Error(format!(
            "metric '{name}' uses provider.plugin, and metric plugins are not supported by this controller; use one of \
             the built-in providers or a Job"
        ))),
        Provider::Job => Err(Failure::Error(format!("metric '{name}' is a Job, which is no conversation"))),
        // Reached when a provider is left out of the build.
        #[cfg(not(all(
            feature = "cloudwatch",
            feature = "datadog",
            feature = "graphite",
            feature = "influxdb",
            feature = "kayenta",
            feature = "newrelic",
            feature = "prometheus",
            feature = "skywalking",
            feature = "wavefront",
            feature = "web"
        )))]
        other => Err(Failure::Error(format!(
            "metric '{name}' uses {}, which was left out when this controller was built",
            other.type_name()
        ))),
    }
}
