//! Conditions on requests: those of a step, joined with those of the base route.

use serde_json::{Map, Value, json};
use tidegate_api::rollout::{RouteMatch, SetHeaderRoute, StringMatch};
use tidegate_api::wire::{Items, Text};

use super::error::RouterError;

/// How many conditions one managed route may end up with; Envoy tries them one after the other.
const MOST: usize = 1024;

/// Why conditions cannot be joined.
pub(super) enum Unjoinable {
    /// All combinations exclude each other: the route would never be taken.
    Never,
    /// Nobody can say whether both can hold.
    Unclear(String),
    /// More combinations than a route should have.
    TooMany,
    /// `match` of the base route is not a list of objects.
    Shape,
}

/// The conditions of a header step, any of which may hold.
pub(super) fn of_header(step: &SetHeaderRoute) -> Result<Vec<Map<String, Value>>, RouterError> {
    let mut all = Vec::new();
    for (index, item) in step.matches.items().iter().enumerate() {
        let condition = item.header_value.as_ref().and_then(condition);
        let header = item.header_name.text();
        let Some(condition) = condition.filter(|_| !header.is_empty()) else {
            let field = format!("match[{index}].headerValue");
            return Err(RouterError::NoCondition { name: step.name.text().to_owned(), field });
        };
        let headers = Map::from_iter([(header.to_owned(), condition)]);
        all.push(Map::from_iter([("headers".to_owned(), Value::Object(headers))]));
    }
    Ok(all)
}

/// The conditions of a mirror step, any of which may hold.
pub(super) fn of_mirror(name: &str, matches: &[RouteMatch]) -> Result<Vec<Map<String, Value>>, RouterError> {
    let mut all = Vec::new();
    for (index, item) in matches.iter().enumerate() {
        let read = |field: &str, found: &StringMatch| {
            let field = format!("match[{index}].{field}");
            condition(found).ok_or_else(|| RouterError::NoCondition { name: name.to_owned(), field })
        };
        let mut fields = Map::new();
        let mut headers = Map::new();
        for (header, found) in item.headers.iter().flatten() {
            headers.insert(header.clone(), read(&format!("headers.{header}"), found)?);
        }
        if !headers.is_empty() {
            fields.insert("headers".to_owned(), Value::Object(headers));
        }
        if let Some(method) = &item.method {
            fields.insert("method".to_owned(), read("method", method)?);
        }
        if let Some(path) = &item.path {
            fields.insert("uri".to_owned(), read("path", path)?);
        }
        all.push(fields);
    }
    Ok(all)
}

fn condition(found: &StringMatch) -> Option<Value> {
    let kinds = [("exact", found.exact.text()), ("prefix", found.prefix.text()), ("regex", found.regex.text())];
    let (kind, text) = kinds.into_iter().find(|(_, text)| !text.is_empty())?;
    Some(json!({kind: text}))
}

/// Every condition of the step together with every one of the base route. Never empty: an empty list takes all requests.
pub(super) fn join(base: Option<&Value>, step: Vec<Map<String, Value>>) -> Result<Vec<Value>, Unjoinable> {
    let none = Vec::new();
    let base = match base {
        None | Some(Value::Null) => &none,
        Some(Value::Array(items)) => items,
        Some(_) => return Err(Unjoinable::Shape),
    };
    if base.is_empty() {
        let all: Vec<Value> = step.into_iter().map(Value::Object).collect();
        return if all.is_empty() { Err(Unjoinable::Never) } else { Ok(all) };
    }
    if step.len().saturating_mul(base.len()) > MOST {
        return Err(Unjoinable::TooMany);
    }
    let mut all = Vec::new();
    for condition in &step {
        for item in base {
            let item = item.as_object().ok_or(Unjoinable::Shape)?;
            all.extend(both(item, condition)?.map(Value::Object));
        }
    }
    if all.is_empty() { Err(Unjoinable::Never) } else { Ok(all) }
}

/// One condition that holds when both do; none when they exclude each other.
fn both(base: &Map<String, Value>, step: &Map<String, Value>) -> Result<Option<Map<String, Value>>, Unjoinable> {
    let mut joined = base.clone();
    for field in ["method", "uri"] {
        let Some(wanted) = step.get(field) else { continue };
        let Some(found) = base.get(field).filter(|found| !found.is_null()) else {
            joined.insert(field.to_owned(), wanted.clone());
            continue;
        };
        let ignores_case = field == "uri" && base.get("ignoreUriCase").is_some_and(|flag| flag != &json!(false));
        match narrower(found, wanted).filter(|_| found == wanted || !ignores_case) {
            Some(Some(narrower)) => joined.insert(field.to_owned(), narrower),
            Some(None) => return Ok(None),
            None => return Err(Unjoinable::Unclear(format!("{field} {found} and {wanted}"))),
        };
    }
    let Some(wanted) = step.get("headers").and_then(Value::as_object) else { return Ok(Some(joined)) };
    let mut headers = match base.get("headers") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(headers)) => headers.clone(),
        Some(_) => return Err(Unjoinable::Shape),
    };
    for (name, wanted) in wanted {
        // Header names are the same in any case.
        let same = headers.keys().find(|other| other.eq_ignore_ascii_case(name)).cloned();
        let key = same.unwrap_or_else(|| name.clone());
        let narrower = match headers.get(&key) {
            None => Some(Some(wanted.clone())),
            Some(found) => narrower(found, wanted),
        };
        match narrower {
            Some(Some(narrower)) => headers.insert(key, narrower),
            Some(None) => return Ok(None),
            None => return Err(Unjoinable::Unclear(format!("header {name}"))),
        };
    }
    joined.insert("headers".to_owned(), Value::Object(headers));
    Ok(Some(joined))
}

/// The condition on a text that holds when both do: `Some(None)` when none can, `None` when it cannot be told.
fn narrower(left: &Value, right: &Value) -> Option<Option<Value>> {
    if left == right {
        return Some(Some(left.clone()));
    }
    // An empty condition asks only for presence.
    if left.as_object().is_some_and(Map::is_empty) {
        return Some(Some(right.clone()));
    }
    let text = |value: &Value, kind: &str| value.get(kind).and_then(Value::as_str).map(str::to_owned);
    let is_any = |value: &Value| text(value, "regex").is_some_and(|regex| regex == ".*");
    if is_any(left) || is_any(right) {
        return Some(Some(if is_any(left) { right.clone() } else { left.clone() }));
    }
    let longer = |long: &Value, begin: &str, text: &str| Some(text.starts_with(begin).then(|| long.clone()));
    match (text(left, "exact"), text(left, "prefix"), text(right, "exact"), text(right, "prefix")) {
        (Some(_), None, Some(_), None) => Some(None),
        (Some(exact), None, None, Some(prefix)) => longer(left, &prefix, &exact),
        (None, Some(prefix), Some(exact), None) => longer(right, &prefix, &exact),
        (None, Some(one), None, Some(other)) if one.len() >= other.len() => longer(left, &other, &one),
        (None, Some(one), None, Some(other)) => longer(right, &one, &other),
        _ => None,
    }
}
