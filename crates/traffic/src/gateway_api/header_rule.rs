//! The rule that a header step asks for.

use serde_json::{Map, Value, json};
use tidegate_api::rollout::{SetHeaderRoute, StringMatch};
use tidegate_api::wire::{Items, Text};

use super::rules::{backend_ref, refs};
use crate::router::fields::{list, text};
use crate::router::{RouterError, Wanted};

/// The rule for a step, made from the one that is split.
pub(super) fn build(
    name: &str,
    step: &SetHeaderRoute,
    base: &Value,
    wanted: &Wanted<'_>,
) -> Result<Value, RouterError> {
    let headers = conditions(name, step)?;
    let none = vec![json!({})];
    let matches = list(base, &["matches"]).filter(|matches| !matches.is_empty()).unwrap_or(&none);
    let matches: Vec<Value> = matches.iter().map(|found| joined(found, &headers)).collect();
    let backend = backend_ref(base, wanted.services.canary, wanted);
    let mut rule = Map::from_iter([
        ("matches".to_owned(), Value::Array(matches)),
        ("backendRefs".to_owned(), Value::Array(backend.into_iter().collect())),
    ]);
    if let Some(filters) = base.get("filters").filter(|filters| !filters.is_null()) {
        rule.insert("filters".to_owned(), filters.clone());
    }
    Ok(Value::Object(rule))
}

fn conditions(name: &str, step: &SetHeaderRoute) -> Result<Vec<Value>, RouterError> {
    let mut all = Vec::new();
    for (index, item) in step.matches.items().iter().enumerate() {
        let header = item.header_name.text();
        let Some((kind, value)) = item.header_value.as_ref().and_then(condition).filter(|_| !header.is_empty()) else {
            let field = format!("match[{index}].headerValue");
            return Err(RouterError::NoCondition { name: name.to_owned(), field });
        };
        all.push(json!({"type": kind, "name": header, "value": value}));
    }
    Ok(all)
}

fn condition(found: &StringMatch) -> Option<(&'static str, String)> {
    match (found.exact.text(), found.prefix.text(), found.regex.text()) {
        ("", "", "") => None,
        ("", "", regex) => Some(("RegularExpression", regex.to_owned())),
        ("", prefix, _) => Some(("RegularExpression", format!("{prefix}.*"))),
        (exact, _, _) => Some(("Exact", exact.to_owned())),
    }
}

/// A condition of the split rule that also asks for the headers of the step.
fn joined(found: &Value, headers: &[Value]) -> Value {
    let mut joined = found.as_object().cloned().unwrap_or_default();
    let name = |header: &Value| text(header, &["name"]).to_ascii_lowercase();
    let is_named = |header: &&Value| !headers.iter().any(|other| name(other) == name(header));
    let mut all: Vec<Value> = list(found, &["headers"]).into_iter().flatten().filter(is_named).cloned().collect();
    all.extend(headers.iter().cloned());
    joined.insert("headers".to_owned(), Value::Array(all));
    Value::Object(joined)
}

/// Whether a rule may be one that a header step has added: the canary alone, and only with certain headers.
pub(super) fn is_header_rule(rule: &Value, wanted: &Wanted<'_>) -> bool {
    let to_canary = matches!(refs(rule), [only] if text(only, &["name"]) == wanted.services.canary);
    let matches = list(rule, &["matches"]).map(Vec::as_slice).unwrap_or_default();
    let has_headers = |found: &Value| list(found, &["headers"]).is_some_and(|headers| !headers.is_empty());
    to_canary && !matches.is_empty() && matches.iter().all(has_headers)
}

/// Whether two rules do the same; what the API server adds by itself does not count.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    plainly(one) == plainly(other)
}

fn plainly(rule: &Value) -> Value {
    let mut rule = rule.clone();
    for entry in rule.get_mut("backendRefs").and_then(Value::as_array_mut).into_iter().flatten() {
        without(entry, &[("group", json!("")), ("kind", json!("Service")), ("weight", json!(1))]);
    }
    for found in rule.get_mut("matches").and_then(Value::as_array_mut).into_iter().flatten() {
        without(found, &[("path", json!({"type": "PathPrefix", "value": "/"}))]);
        for header in found.get_mut("headers").and_then(Value::as_array_mut).into_iter().flatten() {
            without(header, &[("type", json!("Exact"))]);
        }
    }
    without(&mut rule, &[("filters", json!([]))]);
    rule
}

/// Takes out fields that say what would hold without them.
fn without(value: &mut Value, defaults: &[(&str, Value)]) {
    if let Value::Object(fields) = value {
        fields.retain(|name, value| !value.is_null() && !defaults.contains(&(name.as_str(), value.clone())));
    }
}
