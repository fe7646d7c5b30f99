//! Positions of rules that header steps have added, in the form of the plugin's ConfigMap.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::kind::Kind;
use crate::router::fields::{at, put};
use crate::router::{Change, ObjectRef, RouterError, Written};

/// Positions by name of the managed route and of the object.
type Positions = BTreeMap<String, BTreeMap<String, usize>>;

/// The ConfigMap.
pub(super) struct Book<'s> {
    name: ObjectRef,
    object: Option<&'s Value>,
    before: BTreeMap<&'static str, Positions>,
    after: BTreeMap<&'static str, Positions>,
}

impl<'s> Book<'s> {
    /// Reads it; a ConfigMap that is not there is an empty one.
    pub(super) fn read(name: ObjectRef, object: Option<&'s Value>) -> Result<Self, RouterError> {
        let mut before = BTreeMap::new();
        for key in Kind::ALL.into_iter().filter_map(Kind::book_key) {
            let found = object.map_or(&Value::Null, |object| at(object, &["data", key]));
            let positions = match found {
                Value::Null => Some(Positions::new()),
                Value::String(text) if text.is_empty() => Some(Positions::new()),
                Value::String(text) => {
                    serde_json::from_str::<Option<Positions>>(text).ok().map(Option::unwrap_or_default)
                }
                _ => None,
            };
            let Some(positions) = positions else {
                let (object, field) = (name.to_string(), format!("data.{key}"));
                return Err(RouterError::Shape {
                    object,
                    field,
                    wanted: "JSON of the form {\"NAME\":{\"ROUTE\":INDEX}}",
                });
            };
            before.insert(key, positions);
        }
        let data = object.map_or(&Value::Null, |object| at(object, &["data"]));
        if !data.is_null() && !data.is_object() {
            return Err(RouterError::Shape { object: name.to_string(), field: "data".to_owned(), wanted: "an object" });
        }
        Ok(Self { name, object, after: before.clone(), before })
    }

    /// What is recorded of an object: managed route and position.
    pub(super) fn recorded(&self, kind: Kind, object: &str) -> Vec<(String, usize)> {
        let positions = kind.book_key().and_then(|key| self.before.get(key));
        let all = positions.into_iter().flatten();
        all.filter_map(|(name, of)| Some((name.clone(), *of.get(object)?))).collect()
    }

    /// Records what is true of an object.
    pub(super) fn record(&mut self, kind: Kind, object: &str, rules: &BTreeMap<String, usize>) {
        let Some(positions) = kind.book_key().and_then(|key| self.after.get_mut(key)) else { return };
        for of in positions.values_mut() {
            of.remove(object);
        }
        for (name, position) in rules {
            positions.entry(name.clone()).or_default().insert(object.to_owned(), *position);
        }
        positions.retain(|_, of| !of.is_empty());
    }

    /// The write that makes it true.
    pub(super) fn change(&self) -> Option<Change> {
        let changed = self.after.iter().filter(|(key, positions)| self.before.get(*key) != Some(*positions));
        let texts: Vec<(&str, String)> = changed.map(|(key, positions)| (*key, json!(positions).to_string())).collect();
        if texts.is_empty() {
            return None;
        }
        let Some(object) = self.object else {
            let mut body = json!({
                "apiVersion": self.name.resource.api_version(), "kind": self.name.resource.kind,
                "metadata": {"name": self.name.name, "namespace": self.name.namespace},
            });
            texts.iter().for_each(|(key, text)| put(&mut body, &["data"], key, json!(text)));
            return Some(Change::create(&self.name, body));
        };
        let mut body = object.clone();
        let mut written = Vec::new();
        for (key, text) in texts {
            let before = at(object, &["data", key]).as_str().map(str::to_owned);
            put(&mut body, &["data"], key, json!(text));
            written.push(Written::Field { field: format!("data.{key}"), before, after: Some(text) });
        }
        Change::update(&self.name, body, written)
    }
}
