//! Reading and changing objects as plain JSON, without panics on odd shapes.

use serde_json::{Map, Value};

/// The value at a path of keys.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |v, key| v.get(key))
}

/// The text at a path, empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a path.
pub(crate) fn number(value: &Value, path: &[&str]) -> Option<i64> {
    at(value, path).and_then(Value::as_i64)
}

/// The list at a path, empty if there is none.
pub(crate) fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The object itself as a map; anything else is replaced by an empty map.
pub(crate) fn map_mut(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("the value was made a map above"),
    }
}

/// The map at a path, made if absent.
pub(crate) fn child_mut<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut current = value;
    for key in path {
        current = map_mut(current).entry(*key).or_insert_with(|| Value::Object(Map::new()));
    }
    map_mut(current)
}

/// `metadata` as a map.
pub(crate) fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    child_mut(object, &["metadata"])
}

/// Sets a key of a map unless it is there (and not null).
pub(crate) fn default_to(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.to_owned(), value.into());
    }
}

/// Removes a key, or sets it if there is a value.
pub(crate) fn set_or_remove(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(map.insert(key.to_owned(), value)),
        None => drop(map.remove(key)),
    }
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

pub(crate) fn is_terminating(object: &Value) -> bool {
    !text(object, &["metadata", "deletionTimestamp"]).is_empty()
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    list(object, &["metadata", "finalizers"]).iter().filter_map(Value::as_str).collect()
}

/// Replaces the finalizers; an empty list removes the field, as Go's `omitempty` does.
pub(crate) fn set_finalizers(object: &mut Value, names: &[String]) {
    let value = (!names.is_empty()).then(|| Value::from(names.to_vec()));
    set_or_remove(meta_mut(object), "finalizers", value);
}

/// Whether two objects are the same in all fields that are not left out.
pub(crate) fn same_but_for(one: &Value, other: &Value, left_out: impl Fn(&str) -> bool) -> bool {
    let (Value::Object(one), Value::Object(other)) = (one, other) else { return one == other };
    let counted = |fields: &Map<String, Value>| fields.keys().filter(|key| !left_out(key)).count();
    counted(one) == counted(other)
        && one.iter().filter(|(key, _)| !left_out(key)).all(|(key, value)| other.get(key) == Some(value))
}

/// Bumps `metadata.generation` if the object has one.
pub(crate) fn bump_generation(object: &mut Value) {
    if let Some(generation) = number(object, &["metadata", "generation"]).filter(|g| *g > 0) {
        meta_mut(object).insert("generation".to_owned(), Value::from(generation.saturating_add(1)));
    }
}
