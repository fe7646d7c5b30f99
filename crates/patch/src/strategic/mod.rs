//! Strategic merge patch: objects. Lists are in `lists`, their order in `order`.

mod lists;
mod order;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::depth;
use crate::error::PatchError;
use crate::go_print::{json_type, print};
use crate::tables::{self, Rule, Type};

pub(crate) const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";

pub(crate) fn apply(kind: &str, document: &Value, patch: &Value) -> Result<Value, PatchError> {
    let changes = match patch {
        Value::Null => return Ok(document.clone()),
        Value::Object(changes) => changes,
        other => {
            return Err(PatchError::Malformed(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                json_type(other)
            )));
        }
    };
    depth::check(document, 0)?;
    depth::check(patch, 0)?;
    let empty = Map::new();
    let original = document.as_object().unwrap_or(&empty);
    Ok(Value::Object(merge_objects(tables::of_kind(kind), original, changes)?))
}

pub(crate) fn internal<T>(text: impl Into<String>) -> Result<T, PatchError> {
    Err(PatchError::Internal(text.into()))
}

/// Merges an object that is there with a patch for it. The depth of both has been checked.
pub(crate) fn merge_objects(
    of: Type,
    original: &Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>, PatchError> {
    match patch.get(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => return Ok(cleaned_members(patch)),
        Some(Value::String(directive)) if directive == "delete" => return Ok(Map::new()),
        Some(other) => return unknown_directive(other, patch),
    }
    let mut result = original.clone();
    retain_keys(&mut result, patch)?;
    for (key, change) in patch {
        if key == RETAIN_KEYS || is_list_directive(key) {
            continue;
        }
        merge_member(of, &mut result, key, change, patch)?;
    }
    for key in patch.keys() {
        if let Some(field) = directed_field(key)
            && !patch.contains_key(field)
        {
            direct_list(of, &mut result, field, patch)?;
        }
    }
    Ok(result)
}

fn merge_member(
    of: Type,
    result: &mut Map<String, Value>,
    key: &str,
    change: &Value,
    patch: &Map<String, Value>,
) -> Result<(), PatchError> {
    let field = tables::field(of, key);
    let rule = field.map_or(Rule::Object, |field| field.rule);
    let inner = field.map_or(tables::PLAIN, |field| field.inner);
    let merged = match (result.get(key), change) {
        (_, Value::Null) => {
            result.remove(key);
            return Ok(());
        }
        (Some(Value::Object(original)), Value::Object(change)) if rule != Rule::Replaced => {
            Value::Object(merge_objects(inner, original, change)?)
        }
        (Some(Value::Array(original)), Value::Array(items)) => {
            Value::Array(lists::merge(rule, inner, original, Some(items), &lists::Directives::of(patch, key))?)
        }
        (None, new) => match cleaned(new) {
            Some(value) => value,
            None => return Ok(()),
        },
        (Some(_), new) => stripped(new),
    };
    result.insert(key.to_owned(), merged);
    Ok(())
}

/// A list that the patch only reorders or removes plain values from.
fn direct_list(
    of: Type,
    result: &mut Map<String, Value>,
    field: &str,
    patch: &Map<String, Value>,
) -> Result<(), PatchError> {
    let known = tables::field(of, field);
    let directives = lists::Directives::of(patch, field);
    if directives.delete_is_null() {
        result.remove(field);
    } else if let Some(Value::Array(original)) = result.get(field) {
        let rule = known.map_or(Rule::Object, |known| known.rule);
        let inner = known.map_or(tables::PLAIN, |known| known.inner);
        let merged = lists::merge(rule, inner, original, None, &directives)?;
        result.insert(field.to_owned(), Value::Array(merged));
    } else {
        directives.check_form()?;
    }
    Ok(())
}

/// `$retainKeys` lists all members that remain, so it must name those that the patch sets.
fn retain_keys(result: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), PatchError> {
    let Some(directive) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let names = directive.as_array().ok_or_else(malformed)?;
    let names: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
    let sets_others = patch.iter().any(|(key, value)| {
        !value.is_null() && key != RETAIN_KEYS && !is_list_directive(key) && !names.contains(key.as_str())
    });
    if sets_others {
        return Err(malformed());
    }
    result.retain(|key, _| names.contains(key.as_str()));
    Ok(())
}

fn directed_field(key: &str) -> Option<&str> {
    key.strip_prefix(SET_ORDER).or_else(|| key.strip_prefix(DELETE_FROM))
}

fn is_list_directive(key: &str) -> bool {
    directed_field(key).is_some()
}

pub(crate) fn unknown_directive<T>(directive: &Value, patch: &Map<String, Value>) -> Result<T, PatchError> {
    let shown = print(&Value::Object(patch.clone()));
    let directive = match directive {
        Value::String(text) => text.clone(),
        // What Go prints when it is told to print a number as text.
        Value::Number(number) if number.is_f64() => format!("%!s(float64={number})"),
        Value::Number(number) => format!("%!s(int64={number})"),
        other => print(other),
    };
    internal(format!("unknown patch type: {directive} in map: {shown}"))
}

/// A value for a place where there was none: objects with a directive are not added at all.
pub(crate) fn cleaned(value: &Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.contains_key(PATCH) => None,
        Value::Object(members) => Some(Value::Object(cleaned_members(members))),
        Value::Array(items) => Some(Value::Array(items.iter().filter_map(cleaned).collect())),
        other => Some(other.clone()),
    }
}

fn cleaned_members(members: &Map<String, Value>) -> Map<String, Value> {
    members
        .iter()
        .filter(|(key, value)| !value.is_null() && !is_directive(key))
        .filter_map(|(key, value)| Some((key.clone(), cleaned(value)?)))
        .collect()
}

/// A value that replaces another: directives in it have no meaning and are only left out.
pub(crate) fn stripped(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(key, value)| !value.is_null() && !is_directive(key))
                .map(|(key, value)| (key.clone(), stripped(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(stripped).collect()),
        other => other.clone(),
    }
}

fn is_directive(key: &str) -> bool {
    key == PATCH || key == RETAIN_KEYS || is_list_directive(key)
}
