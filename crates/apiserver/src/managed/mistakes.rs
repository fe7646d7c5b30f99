//! What is wrong with an object that is applied: only fields that the kind has, with values of their types, can be managed.

use serde_json::Value;
use tidegate_patch::go_text;

use super::conflict::path_text;
use super::place::{Expected, Place};

/// The mistakes, each with its path and in the words of the real server.
pub(crate) fn mistakes(value: &Value, place: Place<'_>) -> Vec<String> {
    let mut found = Vec::new();
    look(value, place, &mut Vec::new(), &mut found);
    found
}

fn look(value: &Value, place: Place<'_>, path: &mut Vec<String>, found: &mut Vec<String>) {
    if let Some(problem) = problem(value, place.expected()) {
        found.push(format!("{}: {problem}", path_text(path)));
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(format!("f:{key}"));
                if place.names(key) || place.is_open() {
                    look(value, place.field(key), path, found);
                } else {
                    found.push(format!("{}: field not declared in schema", path_text(path)));
                }
                path.pop();
            }
        }
        Value::Array(list) => {
            let told = place.items(list);
            for (index, item) in list.iter().enumerate() {
                let step = told.as_ref().and_then(|items| items.get(index)).map(|(step, ..)| step.clone());
                path.push(step.unwrap_or_else(|| format!("i:{index}")));
                look(item, place.item(), path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// What is wrong with the type of a value; nothing is ever wrong with null.
fn problem(value: &Value, expected: Expected) -> Option<String> {
    let scalar = |wanted: &str| Some(format!("expected {wanted}, got {}", go_type(value)));
    match (expected, value) {
        (Expected::Anything, _) | (_, Value::Null) => None,
        (Expected::Map, Value::Object(_)) | (Expected::List, Value::Array(_)) => None,
        (Expected::Text, Value::String(_))
        | (Expected::Number, Value::Number(_))
        | (Expected::Flag, Value::Bool(_)) => None,
        (Expected::Map, _) => Some(format!("expected map, got &{{{}}}", go_text(value))),
        (Expected::List, _) => Some(format!("expected list, got &{{{}}}", go_text(value))),
        (Expected::Text, _) => scalar("string"),
        (Expected::Number, _) => scalar("numeric (int or float)"),
        (Expected::Flag, _) => scalar("boolean"),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn mistakes_are_named_by_the_keys_around_them() {
        let pods = Registry::built_in().by_id("pods").unwrap();
        let object = json!({
            "spec": {"containers": [{"name": "a", "nope": 1}], "labels": 1, "priority": "high", "volumes": {}},
            "metadata": {"labels": {"x": "y"}},
        });
        let expected = [
            ".spec.containers[name=\"a\"].nope: field not declared in schema",
            ".spec.labels: field not declared in schema",
            ".spec.priority: expected numeric (int or float), got string",
            ".spec.volumes: expected list, got &{map[]}",
        ];
        assert_eq!(mistakes(&object, Place::root(&pods)), expected);
    }
}
