//! Objects to read and write.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_traffic::router::{Action, Change, Need, ObjectRef, Seen, Selection};

/// All objects there are, by kind, namespace and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct World(pub(crate) BTreeMap<(String, String, String), Value>);

impl World {
    pub(crate) fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        let key = |object: &Value| {
            let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            (text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
        };
        Self(objects.into_iter().map(|object| (key(&object), object)).collect())
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> &Value {
        let found = self.0.iter().find(|((other, _, n), _)| other == kind && n == name);
        found.map(|(_, object)| object).unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    pub(crate) fn has(&self, kind: &str, name: &str) -> bool {
        self.0.keys().any(|(other, _, n)| other == kind && n == name)
    }

    fn key(name: &ObjectRef) -> (String, String, String) {
        (name.resource.kind.clone(), name.namespace.clone(), name.name.clone())
    }

    /// Looks for what is needed.
    pub(crate) fn meet(&self, seen: &mut Seen, need: Need) {
        match need {
            Need::Object(name) => {
                let found = self.0.get(&Self::key(&name)).cloned();
                seen.put(name, found);
            }
            Need::Selected(selection) => {
                let found = self.0.iter().filter(|((kind, namespace, _), object)| {
                    *kind == selection.resource.kind
                        && *namespace == selection.namespace
                        && is_selected(&selection, object)
                });
                let found = found.map(|((_, _, name), object)| (name.clone(), object.clone())).collect();
                seen.put_selected(selection, found);
            }
        }
    }

    /// Does what was asked for, as the API would, at a moment.
    pub(crate) fn apply(&mut self, changes: &[Change], now: i64) {
        for change in changes {
            let key = Self::key(&change.object);
            match &change.action {
                Action::Create(body) => {
                    let Value::Object(_) = body else { panic!("{body} is no object") };
                    assert_eq!(body["metadata"]["name"], change.object.name, "{body}");
                    assert_eq!(body["metadata"]["namespace"], change.object.namespace, "{body}");
                    assert_eq!(body["kind"], change.object.resource.kind, "{body}");
                    assert_eq!(body["apiVersion"], change.object.resource.api_version(), "{body}");
                    assert!(
                        body["metadata"].get("resourceVersion").is_none() && body.get("status").is_none(),
                        "{body}"
                    );
                    assert!(self.0.insert(key, body.clone()).is_none(), "{} was there already", change.object);
                }
                Action::Update(body) => {
                    let before = self.0.insert(key, body.clone()).unwrap_or_else(|| panic!("no {}", change.object));
                    assert_eq!(before.pointer("/metadata/resourceVersion"), body.pointer("/metadata/resourceVersion"));
                    assert_ne!(&before, body, "an update that changes nothing");
                }
                Action::Delete { not_before, .. } => {
                    if not_before.is_none_or(|moment| moment <= now) {
                        assert!(self.0.remove(&key).is_some(), "no {}", change.object);
                    }
                }
            }
        }
    }
}

/// Selectors of the form `a=b,c=d`.
fn is_selected(selection: &Selection, object: &Value) -> bool {
    selection.labels.split(',').all(|part| {
        let (label, value) = part.split_once('=').unwrap();
        object["metadata"]["labels"][label] == value
    })
}
