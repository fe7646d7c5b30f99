//! Datadog: timeseries of version 1 and scalars of version 2 of its API.

mod v1;
mod v2;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;
use tidegate_api::analysis::DatadogProvider;
use tidegate_api::duration::GoDuration;
use tidegate_api::wire::Text;

use crate::call::Call;
use crate::credentials::has_datadog_environment;
use crate::message::{Request, Response};
use crate::talk::{Failure, Talk, Turn};

const DEFAULT_ADDRESS: &str = "https://api.datadoghq.com";
const DEFAULT_INTERVAL: &str = "5m";
const DEFAULT_TIMEOUT: &str = "10s";

/// A query to Datadog.
#[derive(Debug)]
pub struct Datadog {
    request: Request,
    is_v2: bool,
}

/// Keys and address.
struct Keys {
    address: String,
    api: String,
    application: String,
}

/// The time a query covers.
struct Window {
    from: Timestamp,
    to: Timestamp,
}

impl Datadog {
    /// The query of a metric.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = DatadogProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.datadog.as_deref()).unwrap_or(&none);
        let is_v2 = settings.api_version.text() == "v2";
        check(settings, is_v2)?;
        let timeout = timeout(settings)?;
        let keys = keys(call)?;
        let window = window(settings, call.now)?;
        let request = if is_v2 { v2::request(settings, &keys, &window) } else { v1::request(settings, &keys, &window) };
        let request = request
            .header("Content-Type", "application/json")
            .header("DD-API-KEY", keys.api)
            .header("DD-APPLICATION-KEY", keys.application)
            .within(timeout);
        Ok(Self { request, is_v2 })
    }
}

fn check(settings: &DatadogProvider, is_v2: bool) -> Result<(), Failure> {
    let (query, formula) = (settings.query.text(), settings.formula.text());
    let queries = settings.queries.as_ref().map_or(0, std::collections::BTreeMap::len);
    let rules = [
        (query.is_empty() && queries == 0, "Must have either a query or queries. Please review the Analysis Template."),
        (
            !query.is_empty() && queries > 0,
            "Cannot have both a query and queries. Please review the Analysis Template.",
        ),
        (
            !is_v2 && query.is_empty(),
            "Query is empty. API Version v1 only supports using the query parameter in your Analysis Template.",
        ),
        (
            !formula.is_empty() && queries == 0,
            "Formula are only valid when queries are set. Please review the Analysis Template.",
        ),
        (queries > 1 && formula.is_empty(), "When multiple queries are provided you must include a formula."),
        (
            !is_v2 && !settings.aggregator.text().is_empty(),
            "Aggregator is not supported in v1. Please review the Analysis Template.",
        ),
    ];
    match rules.into_iter().find(|(is_broken, _)| *is_broken) {
        Some((_, text)) => Err(text.into()),
        None => Ok(()),
    }
}

fn timeout(settings: &DatadogProvider) -> Result<Duration, Failure> {
    let text = match settings.request_timeout.text() {
        "" => DEFAULT_TIMEOUT,
        text => text,
    };
    let parsed = GoDuration::parse(text).map_err(|error| {
        format!("Could not parse the request timeout: {error}. Please review the Analysis Template.")
    })?;
    match u64::try_from(parsed.as_nanoseconds()) {
        Ok(nanoseconds) if nanoseconds > 0 => Ok(Duration::from_nanos(nanoseconds)),
        _ => Err("Request timeout must be a positive duration (e.g. 30s). Please review the Analysis Template.".into()),
    }
}

fn keys(call: Call<'_>) -> Result<Keys, Failure> {
    let read = |name: &str| call.credentials.get(name).cloned().unwrap_or_default();
    let mut keys = Keys { address: read("address"), api: read("api-key"), application: read("app-key") };
    if call.credentials.is_empty() && has_datadog_environment(call.surroundings) {
        let variable = |name: &str| call.surroundings.environment.get(name).cloned().unwrap_or_default();
        keys =
            Keys { address: variable("DD_ADDRESS"), api: variable("DD_API_KEY"), application: variable("DD_APP_KEY") };
    }
    if keys.api.is_empty() || keys.application.is_empty() {
        return Err("failed to find the credentials for datadog metrics provider".into());
    }
    if keys.address.is_empty() {
        keys.address = DEFAULT_ADDRESS.to_owned();
    }
    keys.address = keys.address.trim_end_matches('/').to_owned();
    Ok(keys)
}

fn window(settings: &DatadogProvider, now: Timestamp) -> Result<Window, Failure> {
    let text = match settings.interval.text() {
        "" => DEFAULT_INTERVAL,
        text => text,
    };
    let interval = GoDuration::parse(text).map_err(|error| error.to_string())?;
    let from = now.checked_sub(SignedDuration::from_nanos(interval.as_nanoseconds())).unwrap_or(now);
    Ok(Window { from, to: now })
}

impl Talk for Datadog {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request.clone())))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        let body = response.text();
        match response.status {
            200 => {}
            code @ (401 | 403) => {
                return Err(format!("received authentication error response code: {code} {body}").into());
            }
            code => return Err(format!("received non 2xx response code: {code} {body}").into()),
        }
        let json: Json = response.json().map_err(|error| format!("Could not parse JSON body: {error}"))?;
        if self.is_v2 { v2::read(&json) } else { v1::read(&json) }.map(Turn::Done)
    }
}
