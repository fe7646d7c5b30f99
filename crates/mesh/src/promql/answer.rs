//! The HTTP API of Prometheus without HTTP.

use serde_json::{Value as Json, json};

use super::evaluator::{Row, Value, evaluate, evaluate_range};
use super::literals::duration;
use super::parser::parse;
use super::{Expr, QueryError};
use crate::Millis;
use crate::telemetry::{Labels, Sample, Store};

/// Status and body of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The JSON.
    pub body: Json,
}

/// Answers `/api/v1/query` and `/api/v1/query_range`. Parameters are those of the URL or the form, decoded; `now` is
/// the time of a query that names none.
pub fn answer(store: &Store, path: &str, parameters: &[(String, String)], now: Millis) -> Reply {
    let get = |name: &str| parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let query = get("query").unwrap_or_default();
    let result = match path.trim_end_matches('/') {
        "/api/v1/query" => moment(get("time"), "time", Some(now)).and_then(|at| instant_data(store, query, at)),
        "/api/v1/query_range" => range_parameters(&get).and_then(|(span, step)| range_data(store, query, span, step)),
        _ => {
            let what = format!("{path} is not supported here; use /api/v1/query or /api/v1/query_range");
            return Reply { status: 404, body: failure("not_found", &what) };
        }
    };
    reply(result)
}

/// The body of `/api/v1/query`.
pub fn instant_body(store: &Store, query: &str, at: Millis) -> Json {
    reply(instant_data(store, query, at)).body
}

/// The body of `/api/v1/query_range`.
pub fn range_body(store: &Store, query: &str, span: (Millis, Millis), step: Millis) -> Json {
    reply(range_data(store, query, span, step)).body
}

fn reply(result: Result<Json, QueryError>) -> Reply {
    match result {
        Ok(data) => Reply { status: 200, body: json!({"status": "success", "data": data}) },
        Err(QueryError::Execution(what)) => Reply { status: 422, body: failure("execution", &what) },
        Err(QueryError::Parameter(what)) => Reply { status: 400, body: failure("bad_data", &what) },
        Err(error @ QueryError::Parse { .. }) => {
            Reply { status: 400, body: failure("bad_data", &format!("invalid parameter \"query\": {error}")) }
        }
    }
}

fn failure(kind: &str, what: &str) -> Json {
    json!({"status": "error", "errorType": kind, "error": what})
}

fn instant_data(store: &Store, query: &str, at: Millis) -> Result<Json, QueryError> {
    let expr: Expr = parse(query)?;
    Ok(match evaluate(store, &expr, at)? {
        Value::Scalar(value) => json!({"resultType": "scalar", "result": point(Sample { at, value })}),
        Value::Text(text) => json!({"resultType": "string", "result": [seconds(at), text]}),
        Value::Vector(vector) => {
            let one = |labels: &Labels, value| json!({"metric": labels, "value": point(Sample { at, value })});
            let all: Vec<Json> = vector.iter().map(|element| one(&element.labels, element.value)).collect();
            json!({"resultType": "vector", "result": all})
        }
        Value::Matrix(rows) => matrix(&rows),
    })
}

fn range_data(store: &Store, query: &str, span: (Millis, Millis), step: Millis) -> Result<Json, QueryError> {
    Ok(matrix(&evaluate_range(store, &parse(query)?, span, step)?))
}

fn matrix(rows: &[Row]) -> Json {
    let one = |row: &Row| {
        let values: Vec<Json> = row.samples.iter().map(|sample| point(*sample)).collect();
        json!({"metric": row.labels, "values": values})
    };
    json!({"resultType": "matrix", "result": rows.iter().map(one).collect::<Vec<_>>()})
}

fn point(sample: Sample) -> Json {
    json!([seconds(sample.at), written(sample.value)])
}

/// Whole seconds are written without a fraction.
fn seconds(at: Millis) -> Json {
    if at % 1000 == 0 { json!(at / 1000) } else { json!(at as f64 / 1000.0) }
}

fn written(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() }
    } else {
        value.to_string()
    }
}

fn range_parameters<'a>(get: &impl Fn(&str) -> Option<&'a str>) -> Result<((Millis, Millis), Millis), QueryError> {
    let from = moment(get("start"), "start", None)?;
    let to = moment(get("end"), "end", None)?;
    let step = get("step").unwrap_or_default();
    let millis = step.parse::<f64>().ok().filter(|step| step.is_finite()).map(|step| (step * 1000.0) as Millis);
    match millis.or_else(|| duration(step)) {
        Some(step) => Ok(((from, to), step)),
        None => wrong("step", &format!("cannot parse {step:?} to a valid duration")),
    }
}

/// Seconds since the epoch, with or without a fraction, or a time as in `2026-01-31T12:00:00Z`.
fn moment(text: Option<&str>, name: &str, default: Option<Millis>) -> Result<Millis, QueryError> {
    let text = text.unwrap_or_default();
    if let (true, Some(default)) = (text.is_empty(), default) {
        return Ok(default);
    }
    let millis =
        text.parse::<f64>().ok().filter(|seconds| seconds.abs() < 1e14).map(|seconds| (seconds * 1000.0).round());
    match millis {
        Some(millis) => Ok(millis as Millis),
        None => match text.parse::<jiff::Timestamp>() {
            Ok(time) => Ok(time.as_millisecond()),
            Err(_) => wrong(name, &format!("cannot parse {text:?} to a valid timestamp")),
        },
    }
}

fn wrong<T>(name: &str, what: &str) -> Result<T, QueryError> {
    Err(QueryError::Parameter(format!("invalid parameter {name:?}: {what}")))
}
