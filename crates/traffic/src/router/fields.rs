//! Fields of objects that may have any shape.

use serde_json::{Map, Value};

/// The value at a path, null where there is none.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().try_fold(object, |value, name| value.get(name)).unwrap_or(&Value::Null)
}

/// The text at a path, empty where there is none.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// The list at a path.
pub(crate) fn list<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Vec<Value>> {
    at(object, path).as_array()
}

/// The fields at a path, with what is missing on the way made; none when something else is in the way.
pub(crate) fn fields_mut<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut value = object;
    for name in path {
        value = value.as_object_mut()?.entry(*name).or_insert(Value::Null);
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
    }
    value.as_object_mut()
}

/// Puts a value into the fields at a path; without effect where there can be none.
pub(crate) fn put(object: &mut Value, path: &[&str], name: &str, value: Value) {
    if let Some(fields) = fields_mut(object, path) {
        fields.insert(name.to_owned(), value);
    }
}
