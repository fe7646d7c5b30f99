//! RFC 7396.

use serde_json::{Map, Value};

use crate::depth::{self, MAX_DEPTH};
use crate::error::PatchError;
use crate::go_print::json_type;

pub(crate) fn check(patch: &Value) -> Result<(), PatchError> {
    match patch {
        Value::Object(_) => depth::check(patch, 0).map(drop),
        Value::Null => Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
        other => Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_type(other)
        ))),
    }
}

pub(crate) fn apply(document: &Value, patch: &Value) -> Value {
    match patch {
        Value::Object(changes) => {
            let mut result = match document {
                Value::Object(members) => members.clone(),
                _ => Map::new(),
            };
            merge(&mut result, changes, 0);
            Value::Object(result)
        }
        other => without_nulls(other, 0),
    }
}

fn merge(target: &mut Map<String, Value>, changes: &Map<String, Value>, depth: usize) {
    for (key, change) in changes {
        match change {
            Value::Null => {
                target.remove(key);
            }
            // Below the bound a change is taken whole. It cannot come here from JSON text, whose depth is bounded.
            Value::Object(inner) if depth < MAX_DEPTH => {
                if let Some(Value::Object(existing)) = target.get_mut(key) {
                    merge(existing, inner, depth + 1);
                } else {
                    target.insert(key.clone(), without_nulls(change, depth + 1));
                }
            }
            other => {
                target.insert(key.clone(), without_nulls(other, depth + 1));
            }
        }
    }
}

/// What is new loses its null members, also inside lists: this is what the API server does, not the RFC.
fn without_nulls(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(members) if depth < MAX_DEPTH => Value::Object(
            members
                .iter()
                .filter(|(_, member)| !member.is_null())
                .map(|(key, member)| (key.clone(), without_nulls(member, depth + 1)))
                .collect(),
        ),
        Value::Array(items) if depth < MAX_DEPTH => {
            Value::Array(items.iter().map(|item| without_nulls(item, depth + 1)).collect())
        }
        other => other.clone(),
    }
}
