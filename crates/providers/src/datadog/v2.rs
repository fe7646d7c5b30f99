//! Version 2: scalars, also by group.

use serde_json::{Value as Json, json};
use tidegate_api::analysis::DatadogProvider;
use tidegate_api::wire::Text;
use tidegate_expr::Value;

use super::{Keys, Window};
use crate::go_values::{self, float, floats};
use crate::message::{Method, Request};
use crate::talk::{Failure, Reading};

/// Groups that are shown; of more, half the lowest and half the highest.
const SHOWN_GROUPS: usize = 100;

pub(super) fn request(settings: &DatadogProvider, keys: &Keys, window: &Window) -> Request {
    let aggregator = match settings.aggregator.text() {
        "" => "last",
        aggregator => aggregator,
    };
    let one = |name: &str, query: &str| json!({"aggregator": aggregator, "data_source": "metrics", "name": name, "query": query});
    let queries: Vec<Json> = match settings.query.text() {
        "" => settings.queries.iter().flatten().map(|(name, query)| one(name, query)).collect(),
        query => vec![one("query", query)],
    };
    let formulas = match settings.formula.text() {
        "" => json!([]),
        formula => json!([{"formula": formula}]),
    };
    let body = json!({"data": {"type": "scalar_request", "attributes": {
        "from": window.from.as_millisecond(), "to": window.to.as_millisecond(),
        "queries": queries, "formulas": formulas,
    }}});
    Request::new(Method::Post, format!("{}/api/v2/query/scalar", keys.address)).body(body.to_string())
}

pub(super) fn read(body: &Json) -> Result<Reading, Failure> {
    let errors = match &body["data"]["errors"] {
        Json::Null => body["errors"].as_str().unwrap_or_default().to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    if !errors.is_empty() && errors != "[]" {
        return Err(format!("There were errors in your query: {errors}").into());
    }
    let columns: Vec<&Json> = body["data"]["attributes"]["columns"].as_array().into_iter().flatten().collect();
    let kind = |column: &Json| column["type"].as_str().unwrap_or_default().to_owned();
    let groups: Vec<&Json> = columns.iter().filter(|column| kind(column) == "group").copied().collect();
    let numbers = columns.iter().find(|column| matches!(kind(column).as_str(), "number" | ""));
    let rows = rows(numbers.copied(), &groups)?;
    if rows.is_empty() {
        return Ok(Reading::new(Value::Nil, "[]"));
    }
    if groups.is_empty() {
        let number = rows[0].1;
        return Ok(Reading::new(Value::Float(number), float(number)));
    }
    let values: Vec<f64> = rows.iter().map(|(_, number)| *number).collect();
    let mut reading = Reading::new(Value::floats(values.iter().copied()), floats(&values));
    let is_truncated = rows.len() > SHOWN_GROUPS;
    let shown = if is_truncated { extremes(rows) } else { rows };
    let shown: Vec<Json> = shown.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    reading.metadata.insert("groups".to_owned(), go_values::json(&Json::Array(shown)));
    if is_truncated {
        reading.metadata.insert("groups_truncated".to_owned(), "true".to_owned());
    }
    Ok(reading)
}

/// Labels and numbers, without the rows that have no number.
fn rows(numbers: Option<&Json>, groups: &[&Json]) -> Result<Vec<(String, f64)>, Failure> {
    let Some(column) = numbers else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for (index, value) in column["values"].as_array().into_iter().flatten().enumerate() {
        if value.is_null() {
            continue;
        }
        let Some(number) = value.as_f64() else {
            let name = column["name"].as_str().unwrap_or_default();
            return Err(format!(
                "could not parse numeric value \"{}\" in column \"{name}\": it is no number",
                value.as_str().map_or_else(|| value.to_string(), str::to_owned)
            )
            .into());
        };
        let mut labels = Vec::new();
        for group in groups {
            labels.push(
                label(&group["values"][index])
                    .ok_or_else(|| Failure::Error(format!("could not parse group label at index {index}")))?,
            );
        }
        rows.push((labels.join(","), number));
    }
    Ok(rows)
}

/// A label is a text or a list of texts.
fn label(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Array(parts) => {
            let parts: Option<Vec<&str>> = parts.iter().map(Json::as_str).collect();
            parts.map(|parts| parts.join(","))
        }
        _ => None,
    }
}

fn extremes(mut rows: Vec<(String, f64)>) -> Vec<(String, f64)> {
    rows.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let highest = rows.split_off(rows.len() - SHOWN_GROUPS / 2);
    rows.truncate(SHOWN_GROUPS / 2);
    rows.into_iter().chain(highest).collect()
}
