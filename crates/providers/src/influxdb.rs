//! InfluxDB 2: Flux queries, answered as annotated CSV.

use std::time::Duration;

use serde_json::json;
use tidegate_api::analysis::InfluxdbProvider;
use tidegate_api::wire::Text;
use tidegate_expr::{Moment, Value};

use crate::call::Call;
use crate::form::escape;
use crate::go_values::float;
use crate::message::{Method, Request, Response};
use crate::talk::{Failure, Reading, Talk, Turn};

const NO_RESULTS: &str = "no results returned from flux query";

/// A Flux query.
#[derive(Debug)]
pub struct Influxdb {
    request: Request,
}

impl Influxdb {
    /// The query of a metric.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = InfluxdbProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.influxdb.as_deref()).unwrap_or(&none);
        let secret = |name: &str| call.credentials.get(name).map(String::as_str).unwrap_or_default();
        let (token, org, address) = (secret("authToken"), secret("org"), secret("address"));
        if token.is_empty() || org.is_empty() || address.is_empty() {
            return Err("authToken, org, or address not found".into());
        }
        let dialect = json!({"annotations": ["datatype", "group", "default"], "delimiter": ",", "header": true});
        let body = json!({"query": settings.query.text(), "type": "flux", "dialect": dialect});
        let url = format!("{}/api/v2/query?org={}", address.trim_end_matches('/'), escape(org));
        let request = Request::new(Method::Post, url)
            .header("Authorization", format!("Token {token}"))
            .header("Content-Type", "application/json")
            .header("Accept", "application/csv")
            .body(body.to_string())
            .within(Duration::from_secs(20));
        Ok(Self { request })
    }
}

impl Talk for Influxdb {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request.clone())))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        if !response.is_success() {
            let body = response.json().unwrap_or_default();
            let text = body["message"].as_str().map_or_else(|| response.text(), str::to_owned);
            return Err(format!("influxdb answered {}: {text}", response.status).into());
        }
        let values = values(&response.text()).ok_or_else(|| Failure::Error(NO_RESULTS.to_owned()))?;
        if values.is_empty() {
            return Err(Failure::NoData(NO_RESULTS.to_owned()));
        }
        let text = format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(" "));
        Ok(Turn::Done(Reading::new(Value::list(values), text)))
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Nil => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => float(*number),
        Value::Text(text) => text.to_string(),
        Value::Time(moment) => moment.at.to_string(),
        other => other.go_type(),
    }
}

/// The `_value` of every record; `None` when the service says in the middle that something went wrong.
fn values(text: &str) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    let mut table = Table::default();
    for row in rows(text) {
        match row.first().map(String::as_str) {
            _ if row.len() <= 1 && row.iter().all(String::is_empty) => table = Table::default(),
            Some("#datatype") => table = Table { types: row, ..Table::default() },
            Some("#default") => table.defaults = row,
            Some(first) if first.starts_with('#') => {}
            _ if table.column.is_none() => {
                if row.iter().any(|name| name == "error") && row.iter().any(|name| name == "reference") {
                    return None;
                }
                table.column = Some(row.iter().position(|name| name == "_value"));
            }
            _ => {
                let Some(column) = table.column.flatten() else { continue };
                let text = row.get(column).filter(|text| !text.is_empty()).or(table.defaults.get(column));
                let kind = table.types.get(column).map(String::as_str).unwrap_or_default();
                values.push(typed(kind, text.map(String::as_str).unwrap_or_default()));
            }
        }
    }
    Some(values)
}

/// What the annotations of a table say.
#[derive(Default)]
struct Table {
    types: Vec<String>,
    defaults: Vec<String>,
    /// Where `_value` is; the outer `None` until the header was read.
    column: Option<Option<usize>>,
}

fn typed(kind: &str, text: &str) -> Value {
    if text.is_empty() && kind != "string" {
        return Value::Nil;
    }
    let typed = match kind {
        "double" => match text {
            "+Inf" => Some(Value::Float(f64::INFINITY)),
            "-Inf" => Some(Value::Float(f64::NEG_INFINITY)),
            text => text.parse().ok().map(Value::Float),
        },
        "long" => text.parse().ok().map(Value::Int),
        "unsignedLong" => text.parse::<u64>().ok().and_then(|number| i64::try_from(number).ok()).map(Value::Int),
        "boolean" => Some(Value::Bool(text == "true")),
        kind if kind.starts_with("dateTime") => text.parse().ok().map(|at| Value::Time(Moment { at, offset: 0 })),
        _ => None,
    };
    typed.unwrap_or_else(|| Value::text(text))
}

/// Rows of CSV with quotes; a blank line is a row of one empty field.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut signs = text.chars().peekable();
    let mut quoted = false;
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => {
                signs.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            sign => field.push(sign),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}
