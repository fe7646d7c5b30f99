//! Pod templates as JSON: what is added for a ReplicaSet and taken away again before two are compared.

mod affinity;
mod defaults;
mod ephemeral;
mod equality;

pub(crate) use affinity::{inject as inject_affinity, names_other_stable, strip as strip_affinity};
pub(crate) use ephemeral::{Injected, difference};
pub(crate) use equality::is_same;

use serde_json::{Map, Value};
use tidegate_api::names::labels;

/// The object at a path, made where it is missing and where something else is in its place.
pub(crate) fn object_at<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match (value, path) {
        (Value::Object(fields), [first, rest @ ..]) => {
            object_at(fields.entry((*first).to_owned()).or_insert(Value::Null), rest)
        }
        (Value::Object(fields), []) => fields,
        _ => unreachable!("the value was made an object above"),
    }
}

/// Labels the pods with the hash of their template.
pub(crate) fn set_hash(template: &mut Value, hash: &str) {
    object_at(template, &["metadata", "labels"]).insert(labels::POD_TEMPLATE_HASH.to_owned(), hash.into());
}
