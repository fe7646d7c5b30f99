//! Settings of the metric providers.

use std::collections::BTreeMap;

use crate::raw::Raw;
use crate::values::{IntOrString, Metadata};
use crate::wire::wire;

wire! {
    /// Prometheus.
    pub struct PrometheusProvider {
        /// Address of the server.
        "address" address: String,
        /// How to log in.
        "authentication" authentication: Authentication,
        /// Headers to send.
        "headers" headers: Vec<Header>,
        /// Whether to accept any certificate.
        "insecure" insecure: bool,
        /// The PromQL query.
        "query" query: String,
        /// Asks for a range instead of one value.
        "rangeQuery" range_query: PrometheusRangeQuery,
        /// Seconds to wait for an answer.
        "timeout" timeout: i64,
    }

    /// A range of time, each end an expression.
    pub struct PrometheusRangeQuery {
        /// Its end.
        "end" end: String,
        /// Its start.
        "start" start: String,
        /// Distance of the points, such as 1m.
        "step" step: String,
    }

    /// How to log in. At most one is set.
    pub struct Authentication {
        /// User name and password.
        "basicAuth" basic_auth: BasicAuth,
        /// OAuth 2 client credentials.
        "oauth2" oauth2: OAuth2,
        /// AWS request signing.
        "sigv4" sigv4: SigV4,
    }

    /// User name and password.
    pub struct BasicAuth {
        /// The password.
        "password" password: String,
        /// The user.
        "username" username: String,
    }

    /// OAuth 2 client credentials.
    pub struct OAuth2 {
        /// The client.
        "clientId" client_id: String,
        /// Its secret.
        "clientSecret" client_secret: String,
        /// Scopes to ask for.
        "scopes" scopes: Vec<String>,
        /// Where to get a token.
        "tokenUrl" token_url: String,
    }

    /// AWS request signing.
    pub struct SigV4 {
        /// Profile of the credentials file.
        "profile" profile: String,
        /// Region.
        "region" region: String,
        /// Role to take.
        "roleArn" role_arn: String,
    }

    /// A header to send.
    pub struct Header {
        /// Its name.
        "key" [required] key: String,
        /// Its value.
        "value" [required] value: String,
    }

    /// An HTTP request.
    pub struct WebProvider {
        /// How to log in.
        "authentication" authentication: Authentication,
        /// Body to send.
        "body" body: String,
        /// Headers to send.
        "headers" headers: Vec<Header>,
        /// Whether to accept any certificate.
        "insecure" insecure: bool,
        /// Body to send, as JSON.
        "jsonBody" json_body: Raw,
        /// Which part of the answer is the value.
        "jsonPath" json_path: String,
        /// GET, POST or PUT. Default GET.
        "method" method: String,
        /// Seconds to wait for an answer. Default 10.
        "timeoutSeconds" timeout_seconds: i64,
        /// The address.
        "url" [required] url: String,
    }

    /// A Kubernetes Job whose exit is the value.
    pub struct JobProvider {
        /// Labels and annotations on the Job.
        "metadata" metadata: Metadata,
        /// The Job.
        "spec" [required] spec: Raw,
    }

    /// Datadog.
    pub struct DatadogProvider {
        /// How a series becomes one value.
        "aggregator" aggregator: String,
        /// v1 or v2. Default v1.
        "apiVersion" api_version: String,
        /// Formula over the queries, with v2.
        "formula" formula: String,
        /// How far back to look. Default 5m.
        "interval" interval: String,
        /// Named queries, with v2.
        "queries" queries: BTreeMap<String, String>,
        /// The query.
        "query" query: String,
        /// How long to wait for an answer. Default 10s.
        "requestTimeout" request_timeout: String,
        /// The Secret with the keys.
        "secretRef" secret_ref: SecretRef,
    }

    /// A Secret.
    pub struct SecretRef {
        /// Its name.
        "name" name: String,
        /// Whether it is in the run's namespace instead of the controller's.
        "namespaced" namespaced: bool,
    }

    /// New Relic.
    pub struct NewRelicProvider {
        /// The Secret with the account.
        "profile" profile: String,
        /// The NRQL query.
        "query" [required] query: String,
        /// Seconds to wait for an answer.
        "timeout" timeout: i64,
    }

    /// Wavefront.
    pub struct WavefrontProvider {
        /// Address of the server.
        "address" address: String,
        /// The query.
        "query" query: String,
    }

    /// Graphite.
    pub struct GraphiteProvider {
        /// Address of the server.
        "address" address: String,
        /// The query.
        "query" query: String,
    }

    /// InfluxDB.
    pub struct InfluxdbProvider {
        /// The Secret with the account.
        "profile" profile: String,
        /// The Flux query.
        "query" query: String,
    }

    /// Apache SkyWalking.
    pub struct SkywalkingProvider {
        /// Address of the server.
        "address" address: String,
        /// How far back to look.
        "interval" interval: String,
        /// The GraphQL query.
        "query" query: String,
    }

    /// Amazon CloudWatch.
    pub struct CloudWatchProvider {
        /// How far back to look. Default 5m.
        "interval" interval: String,
        /// The queries.
        "metricDataQueries" [required] metric_data_queries: Vec<CloudWatchMetricDataQuery>,
    }

    /// A CloudWatch query.
    pub struct CloudWatchMetricDataQuery {
        /// Mathematical expression over other queries.
        "expression" expression: String,
        /// Its name.
        "id" id: String,
        /// Its label.
        "label" label: String,
        /// The metric.
        "metricStat" metric_stat: CloudWatchMetricStat,
        /// Seconds per point.
        "period" period: IntOrString,
        /// Whether it is part of the answer.
        "returnData" return_data: bool,
    }

    /// A CloudWatch metric and how to summarise it.
    pub struct CloudWatchMetricStat {
        /// The metric.
        "metric" metric: CloudWatchMetric,
        /// Seconds per point.
        "period" period: IntOrString,
        /// The statistic.
        "stat" stat: String,
        /// The unit.
        "unit" unit: String,
    }

    /// A CloudWatch metric.
    pub struct CloudWatchMetric {
        /// Its dimensions.
        "dimensions" dimensions: Vec<CloudWatchDimension>,
        /// Its name.
        "metricName" metric_name: String,
        /// Its namespace.
        "namespace" namespace: String,
    }

    /// A dimension of a CloudWatch metric.
    pub struct CloudWatchDimension {
        /// Its name.
        "name" name: String,
        /// Its value.
        "value" value: String,
    }

    /// Kayenta.
    pub struct KayentaProvider {
        /// Address of the server.
        "address" [required] address: String,
        /// The application.
        "application" [required] application: String,
        /// The canary configuration.
        "canaryConfigName" [required] canary_config_name: String,
        /// Account that holds the configuration.
        "configurationAccountName" [required] configuration_account_name: String,
        /// Whether to look back from the end.
        "lookback" lookback: bool,
        /// Account that holds the metrics.
        "metricsAccountName" [required] metrics_account_name: String,
        /// What to compare.
        "scopes" [required] scopes: Vec<KayentaScope>,
        /// Account that stores the results.
        "storageAccountName" [required] storage_account_name: String,
        /// Which scores pass.
        "threshold" [required] threshold: KayentaThreshold,
    }

    /// What Kayenta compares.
    pub struct KayentaScope {
        /// The stable side.
        "controlScope" [required] control_scope: KayentaScopeDetail,
        /// The canary side.
        "experimentScope" [required] experiment_scope: KayentaScopeDetail,
        /// Its name.
        "name" [required] name: String,
    }

    /// One side of a comparison.
    pub struct KayentaScopeDetail {
        /// Its end.
        "end" end: String,
        /// The region.
        "region" [required] region: String,
        /// The scope.
        "scope" [required] scope: String,
        /// Its start.
        "start" start: String,
        /// Seconds per point.
        "step" [required] step: i64,
    }

    /// Which Kayenta scores pass.
    pub struct KayentaThreshold {
        /// From here inconclusive.
        "marginal" [required] marginal: i64,
        /// From here successful.
        "pass" [required] pass: i64,
    }
}
