//! Prometheus: instant and range queries over its HTTP API.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;
use tidegate_api::analysis::PrometheusProvider;
use tidegate_api::duration::GoDuration;
use tidegate_api::wire::{Items, Text};
use tidegate_expr::base64;
use tidegate_expr::{Value, evaluate_time};

use crate::aws::Signature;
use crate::call::Call;
use crate::form::encoded;
use crate::go_values::{float, floats};
use crate::message::{Authorization, Method, Request, Response};
use crate::oauth2;
use crate::talk::{Failure, Reading, Talk, Turn};

/// Where the address comes from when the metric has none.
const ADDRESS_VARIABLE: &str = "ARGO_ROLLOUTS_PROMETHEUS_ADDRESS";
const DEFAULT_TIMEOUT: u64 = 30;

/// A query to Prometheus.
#[derive(Debug)]
pub struct Prometheus {
    request: Request,
    query: String,
    /// Whether the query was repeated as a GET.
    repeated: bool,
}

impl Prometheus {
    /// The query of a metric.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = PrometheusProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.prometheus.as_deref()).unwrap_or(&none);
        let address = address(settings, call)?;
        let timeout = match settings.timeout.unwrap_or(0) {
            negative if negative < 0 => return Err("prometheus timeout should not be negative".into()),
            0 => DEFAULT_TIMEOUT,
            seconds => seconds.unsigned_abs(),
        };
        let (path, fields) = query(settings, call.now)?;
        let mut request = Request::new(Method::Post, format!("{address}{path}"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(encoded(fields.iter().map(|(name, value)| (*name, value.as_str()))))
            .within(Duration::from_secs(timeout));
        request.insecure = settings.insecure.unwrap_or(false);
        let mut request = authorized(request, settings, &address, call)?;
        for header in settings.headers.items() {
            request = request.header(header.key.text(), header.value.text());
        }
        // A header that says who asks has the last word, and a token would only replace it.
        if request.header_value("authorization").is_some() {
            request.authorization = Authorization::None;
        }
        Ok(Self { request, query: settings.query.text().to_owned(), repeated: false })
    }
}

fn address(settings: &PrometheusProvider, call: Call<'_>) -> Result<String, Failure> {
    let given = match settings.address.text() {
        "" => call.surroundings.variable(ADDRESS_VARIABLE).unwrap_or_default(),
        given => given,
    };
    if given.is_empty() {
        return Err("prometheus address is not configured".into());
    }
    let uri: Option<http::Uri> = given.parse().ok();
    let is_whole = uri.is_some_and(|uri| uri.scheme().is_some() && uri.host().is_some_and(|host| !host.is_empty()));
    if !is_whole {
        return Err("prometheus address is not is url format".into());
    }
    Ok(given.trim_end_matches('/').to_owned())
}

/// Fields of a form.
type Fields = Vec<(&'static str, String)>;

/// The path and the fields of the form.
fn query(settings: &PrometheusProvider, now: Timestamp) -> Result<(&'static str, Fields), Failure> {
    let query = ("query", settings.query.text().to_owned());
    let Some(range) = &settings.range_query else {
        return Ok(("/api/v1/query", vec![query, ("time", seconds(now))]));
    };
    let time = |field: &str, text: &Option<String>| {
        evaluate_time(text.text(), now)
            .map(seconds)
            .map_err(|error| Failure::Error(format!("failed to parse rangeQuery.{field} as time: {error}")))
    };
    let (start, end) = (time("start", &range.start)?, time("end", &range.end)?);
    let step = GoDuration::parse(range.step.text())
        .map_err(|error| Failure::Error(format!("failed to parse rangeQuery.step as duration: {error}")))?;
    let step = float(step.as_nanoseconds() as f64 / 1e9);
    Ok(("/api/v1/query_range", vec![query, ("start", start), ("end", end), ("step", step)]))
}

/// Unix seconds with milliseconds.
fn seconds(at: Timestamp) -> String {
    float(at.as_millisecond() as f64 / 1e3)
}

fn authorized(
    request: Request,
    settings: &PrometheusProvider,
    address: &str,
    call: Call<'_>,
) -> Result<Request, Failure> {
    let Some(how) = &settings.authentication else { return Ok(request) };
    let mut request = request;
    if let Some(basic) = &how.basic_auth {
        let (user, password) = (basic.username.text(), basic.password.text());
        let missing = "missing mandatory parameter in metric for basic auth setup";
        match (user, password) {
            ("", "") => {}
            ("", _) => return Err(format!("{missing}: username").into()),
            (_, "") => return Err(format!("{missing}: password").into()),
            _ => {
                let proof = base64::encode(format!("{user}:{password}").as_bytes());
                request = request.header("Authorization", format!("Basic {proof}"));
            }
        }
    }
    if let Some(sigv4) = &how.sigv4 {
        let (region, profile, role) = (sigv4.region.text(), sigv4.profile.text(), sigv4.role_arn.text());
        let is_asked_for = [region, profile, role].iter().any(|text| !text.is_empty());
        if is_asked_for && address.contains("aps-workspaces") {
            let region = match region {
                "" => call.surroundings.variable("AWS_REGION").or(call.surroundings.variable("AWS_DEFAULT_REGION")),
                region => Some(region),
            };
            let region = region.ok_or("region not configured in sigv4 or in default credentials chain")?;
            request.authorization = Authorization::Aws(Signature {
                service: "aps".to_owned(),
                region: region.to_owned(),
                profile: profile.to_owned(),
                role_arn: role.to_owned(),
            });
        }
    }
    if let Some(credentials) = oauth2::credentials(how.oauth2.as_ref())? {
        request.authorization = Authorization::OAuth2(credentials);
    }
    Ok(request)
}

impl Talk for Prometheus {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request.clone())))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        if matches!(response.status, 403 | 405 | 501) && !self.repeated {
            self.repeated = true;
            let mut again = self.request.clone();
            let form = String::from_utf8_lossy(&again.body).into_owned();
            again.method = Method::Get;
            again.url = format!("{}?{form}", again.url);
            again.body.clear();
            again.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            return Ok(Turn::Ask(Box::new(again)));
        }
        read(response).map(Turn::Done)
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let shown = (!self.query.is_empty()).then(|| ("ResolvedPrometheusQuery".to_owned(), self.query.clone()));
        shown.into_iter().collect()
    }
}

/// What an answer of the query API says.
fn read(response: &Response) -> Result<Reading, Failure> {
    let is_explained = matches!(response.status, 400 | 422);
    if !response.is_success() && !is_explained {
        return Err(Failure::Error(match response.status {
            code @ 400..500 => format!("client_error: client error: {code}"),
            code @ 500..600 => format!("server_error: server error: {code}"),
            code => format!("bad_response: bad response code {code}"),
        }));
    }
    let body = response.json().map_err(|error| format!("bad_response: {error}"))?;
    if body["status"] == "error" {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        return Err(Failure::Error(format!("{}: {}", text("errorType"), text("error"))));
    }
    if is_explained {
        return Err("bad_response: inconsistent body for response code".into());
    }
    let mut reading = result(&body["data"])?;
    let warnings: Vec<String> = body["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .map(|text| format!("\"{text}\""))
        .collect();
    if !warnings.is_empty() {
        reading.metadata.insert("warnings".to_owned(), warnings.join(", "));
    }
    Ok(reading)
}

fn result(data: &Json) -> Result<Reading, Failure> {
    let bad = || Failure::from("bad_response: the result has no values where they belong");
    let series = || data["result"].as_array().into_iter().flatten();
    let numbers: Vec<f64> = match data["resultType"].as_str().unwrap_or_default() {
        "scalar" => {
            let number = sample(&data["result"]).ok_or_else(bad)?;
            return Ok(Reading::new(Value::Float(number), float(number)));
        }
        "vector" => series().map(|one| sample(&one["value"])).collect::<Option<_>>().ok_or_else(bad)?,
        "matrix" => series()
            .flat_map(|one| one["values"].as_array().into_iter().flatten())
            .map(sample)
            .collect::<Option<_>>()
            .ok_or_else(bad)?,
        "string" => return Err("bad_response: unexpected value type \"string\"".into()),
        _ => return Err("Prometheus metric type not supported".into()),
    };
    let text = floats(&numbers);
    Ok(Reading::new(Value::floats(numbers), text))
}

/// The number of `[time, "number"]`.
fn sample(pair: &Json) -> Option<f64> {
    match pair.get(1)?.as_str()? {
        "NaN" => Some(f64::NAN),
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        text => text.parse().ok(),
    }
}
