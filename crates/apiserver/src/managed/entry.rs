//! One manager of an object: an entry of `managedFields`.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::set::FieldSet;
use crate::verbs::Caller;

const FIELDS: &str = "fieldsV1";

/// A manager and what it manages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Everything but the fields.
    head: Map<String, Value>,
    pub(super) fields: FieldSet,
}

impl Entry {
    /// An entry that a client sent, read as its type before it comes here.
    pub(crate) fn read(sent: Value) -> Self {
        let mut head = match sent {
            Value::Object(head) => head,
            _ => Map::new(),
        };
        let fields = head.remove(FIELDS).unwrap_or_default();
        Self { head, fields: FieldSet::read(&fields) }
    }

    /// A manager without fields.
    pub(super) fn new(version: &str, caller: &Caller, subresource: &str) -> Self {
        let mut head = Map::new();
        let mut set = |key: &str, value: &str| drop(head.insert(key.to_owned(), json!(value)));
        set("apiVersion", version);
        set("fieldsType", "FieldsV1");
        if !caller.manager.is_empty() {
            set("manager", &caller.manager);
        }
        set("operation", "Update");
        if !subresource.is_empty() {
            set("subresource", subresource);
        }
        Self { head, fields: FieldSet::default() }
    }

    /// The same manager with other fields and, unless there is none, another time; nothing if no fields are left.
    pub(super) fn with(&self, fields: FieldSet, now: Option<&str>) -> Option<Arc<Self>> {
        if fields.is_empty() {
            return None;
        }
        let mut head = self.head.clone();
        if let Some(now) = now {
            head.insert("time".to_owned(), json!(now));
        }
        Some(Arc::new(Self { head, fields }))
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.head.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether two entries are alike but for their times.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let count = |head: &Map<String, Value>| head.len() - usize::from(head.contains_key("time"));
        let mut heads = self.head.iter().filter(|(key, _)| *key != "time");
        self.fields == other.fields
            && count(&self.head) == count(&other.head)
            && heads.all(|(key, value)| other.head.get(key) == Some(value))
    }

    /// The entry as clients see it.
    pub(crate) fn write(&self) -> Value {
        let mut written = self.head.clone();
        written.insert(FIELDS.to_owned(), self.fields.write());
        Value::Object(written)
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        let (before, after): (Vec<_>, Vec<_>) = self.head.iter().partition(|(key, _)| key.as_str() < FIELDS);
        before.iter().try_for_each(|(key, value)| out.serialize_entry(key, value))?;
        out.serialize_entry(FIELDS, &self.fields)?;
        after.iter().try_for_each(|(key, value)| out.serialize_entry(key, value))?;
        out.end()
    }
}
