//! Objects as they are stored: the fields that clients work with in one tree, the managers of these fields beside it.
//!
//! The list of managers is often larger than the object, changes rarely, and hardly anybody reads it. So two states of an
//! object share the managers that stayed the same (docs/design/0005-managers-are-kept-beside-their-object.md).

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::managed::Entry;
use crate::object::meta_mut;

/// The field of the metadata that is kept apart.
const FIELD: &str = "managedFields";

/// One state of an object. Copies share everything until one of them is changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object {
    value: Arc<Value>,
    managers: Vec<Arc<Entry>>,
}

impl From<Value> for Object {
    /// An object that nobody manages.
    fn from(value: Value) -> Self {
        Self { value: Arc::new(value), managers: Vec::new() }
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl DerefMut for Object {
    fn deref_mut(&mut self) -> &mut Value {
        Arc::make_mut(&mut self.value)
    }
}

impl Object {
    /// The tree without the managers.
    pub(crate) fn shared(&self) -> &Arc<Value> {
        &self.value
    }

    /// The entries of `managedFields`.
    pub(crate) fn managers(&self) -> &[Arc<Entry>] {
        &self.managers
    }

    pub(crate) fn set_managers(&mut self, managers: Vec<Arc<Entry>>) {
        self.managers = managers;
    }

    /// Whether this is the very same state, not only an equal one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }

    /// Everything in one tree, as clients see it.
    pub(crate) fn whole(&self) -> Value {
        let mut value = (*self.value).clone();
        if !self.managers.is_empty() {
            let entries = self.managers.iter().map(|entry| entry.write()).collect();
            meta_mut(&mut value).insert(FIELD.to_owned(), Value::Array(entries));
        }
        value
    }
}

/// Which fields of an object are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form<'a> {
    /// All of them.
    Whole,
    /// All of them, with another version of the API.
    Version(&'a str),
    /// All but kind and version.
    Untyped,
    /// Only the metadata, as an object of its own kind.
    Metadata,
}

/// An object on its way to a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) object: &'a Object,
    pub(crate) form: Form<'a>,
    /// Whether the managers go along.
    pub(crate) managers: bool,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let managers = if self.managers { self.object.managers() } else { &[] };
        let metadata = |value| Metadata { value, managers };
        let mut out = serializer.serialize_map(None)?;
        if self.form == Form::Metadata {
            out.serialize_entry("apiVersion", "meta.k8s.io/v1")?;
            out.serialize_entry("kind", "PartialObjectMetadata")?;
            out.serialize_entry("metadata", &self.object.get("metadata").map(metadata))?;
            return out.end();
        }
        for (key, value) in self.object.as_object().into_iter().flatten() {
            match (key.as_str(), self.form) {
                ("metadata", _) => out.serialize_entry(key, &metadata(value))?,
                ("kind" | "apiVersion", Form::Untyped) => {}
                ("apiVersion", Form::Version(version)) => out.serialize_entry(key, version)?,
                _ => out.serialize_entry(key, value)?,
            }
        }
        out.end()
    }
}

/// Metadata with the managers in their place among the other fields.
struct Metadata<'a> {
    value: &'a Value,
    managers: &'a [Arc<Entry>],
}

impl Metadata<'_> {
    fn fields<M: SerializeMap>(&self, out: &mut M, fields: &Map<String, Value>) -> Result<(), M::Error> {
        let mut waiting = !self.managers.is_empty();
        for (key, value) in fields {
            if waiting && key.as_str() > FIELD {
                waiting = false;
                out.serialize_entry(FIELD, &Entries(self.managers))?;
            }
            out.serialize_entry(key, value)?;
        }
        if waiting { out.serialize_entry(FIELD, &Entries(self.managers)) } else { Ok(()) }
    }
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.value else { return self.value.serialize(serializer) };
        let mut out = serializer.serialize_map(None)?;
        self.fields(&mut out, fields)?;
        out.end()
    }
}

struct Entries<'a>(&'a [Arc<Entry>]);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|entry| &**entry))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn managed(metadata: Value) -> Object {
        let mut object = Object::from(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}));
        object.set_managers(vec![Arc::new(Entry::read(
            json!({"apiVersion": "v1", "manager": "one", "fieldsV1": {"f:spec": {}}}),
        ))]);
        object
    }

    fn text(object: &Object, form: Form<'_>, managers: bool) -> String {
        serde_json::to_string(&Shown { object, form, managers }).unwrap()
    }

    #[test]
    fn an_object_is_written_as_if_it_were_one_tree() {
        for metadata in [json!({"name": "a", "labels": {}}), json!({"name": "a"}), json!({"labels": {}}), json!({})] {
            let object = managed(metadata);
            assert_eq!(text(&object, Form::Whole, true), object.whole().to_string());
            assert_eq!(text(&object, Form::Whole, false), object.to_string());
        }
    }

    #[test]
    fn every_form_has_its_fields() {
        let object = managed(json!({"name": "a"}));
        let rest = r#""metadata":{"name":"a"},"spec":{}}"#;
        assert_eq!(text(&object, Form::Untyped, false), format!("{{{rest}"));
        assert_eq!(text(&object, Form::Version("v2"), false), format!(r#"{{"apiVersion":"v2","kind":"Pod",{rest}"#));
        assert_eq!(
            text(&object, Form::Metadata, false),
            r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"a"}}"#
        );
    }

    #[test]
    fn a_changed_copy_leaves_the_original_alone() {
        let object = managed(json!({"name": "a"}));
        let mut copy = object.clone();
        assert!(copy.is(&object));
        meta_mut(&mut copy).insert("name".to_owned(), json!("b"));
        assert!(!copy.is(&object));
        assert_eq!(crate::object::name(&object), "a");
        assert!(Arc::ptr_eq(&copy.managers()[0], &object.managers()[0]));
    }
}
