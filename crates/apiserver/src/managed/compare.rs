//! Which fields a write added, changed and removed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::set::FieldSet;

/// The difference of two objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Fields that are there now with another value, or for the first time.
    pub(crate) set: FieldSet,
    pub(crate) removed: FieldSet,
}

/// How the items of a list are told apart.
enum Items {
    /// Not at all: the list is one value.
    Whole,
    /// By value.
    Values,
    /// By these fields.
    Keys(&'static [&'static str]),
}

/// Lists of built-in kinds whose items are fields of their own, by name; of custom kinds only those of metadata.
fn items_of(parent: &str, name: &str, custom: bool) -> Items {
    let keys: &[&str] = match (parent, name) {
        ("metadata", "finalizers") => return Items::Values,
        ("metadata", "ownerReferences") => &["uid"],
        _ if custom => return Items::Whole,
        (_, "containers" | "initContainers" | "ephemeralContainers" | "volumes" | "env") => &["name"],
        (_, "imagePullSecrets" | "secrets") => &["name"],
        (_, "volumeMounts") => &["mountPath"],
        (_, "hostAliases" | "podIPs") => &["ip"],
        (_, "topologySpreadConstraints") => &["topologyKey", "whenUnsatisfiable"],
        ("status", "conditions") => &["type"],
        ("spec", "ports") => &["port", "protocol"],
        ("[]", "ports") => &["containerPort", "protocol"],
        _ => return Items::Whole,
    };
    Items::Keys(keys)
}

/// Maps that are one value: selectors and references.
fn is_whole(name: &str) -> bool {
    matches!(
        name,
        "selector"
            | "nodeSelector"
            | "roleRef"
            | "involvedObject"
            | "secretKeyRef"
            | "configMapKeyRef"
            | "fieldRef"
            | "resourceFieldRef"
            | "loadBalancer"
    )
}

/// Compares two objects.
pub(crate) fn compare(old: &Value, new: &Value, custom: bool) -> Changes {
    let mut changes = Changes::default();
    Walk { custom }.maps(old, new, "", &mut changes);
    changes
}

#[derive(Clone, Copy)]
struct Walk {
    custom: bool,
}

impl Walk {
    fn maps(self, old: &Value, new: &Value, name: &str, changes: &mut Changes) {
        let empty = Map::new();
        let (old, new) = (old.as_object().unwrap_or(&empty), new.as_object().unwrap_or(&empty));
        // Two states of an object have nearly the same fields, so the next one is usually the one that is looked for.
        let mut olds = old.iter();
        for (key, value) in new {
            let before = match olds.clone().next() {
                Some((next, before)) if next == key => {
                    olds.next();
                    Some(before)
                }
                _ => old.get(key),
            };
            self.place(|| format!("f:{key}"), name, key, before, Some(value), changes);
        }
        for (key, value) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
            self.place(|| format!("f:{key}"), name, key, Some(value), None, changes);
        }
    }

    /// One step down: a field or an item of a list. Most are as they were, so the step is written only if need be.
    fn place(
        self,
        step: impl Fn() -> String,
        parent: &str,
        name: &str,
        old: Option<&Value>,
        new: Option<&Value>,
        changes: &mut Changes,
    ) {
        if old == new {
            return;
        }
        let mut below = Changes::default();
        self.values(parent, name, old, new, &mut below);
        if !below.set.is_empty() {
            changes.set.below.insert(step(), below.set);
        }
        if !below.removed.is_empty() {
            changes.removed.below.insert(step(), below.removed);
        }
    }

    fn values(self, parent: &str, name: &str, old: Option<&Value>, new: Option<&Value>, changes: &mut Changes) {
        let old = old.filter(|value| !value.is_null());
        match (old, new) {
            (None, Some(_)) => changes.set.member = true,
            (Some(_), None) => changes.removed.member = true,
            _ => {}
        }
        let empty = Value::Null;
        let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
        let is_map = |value: &Value| value.is_object() || value.is_null();
        let is_list = |value: &Value| value.is_array() || value.is_null();
        if is_map(old) && is_map(new) && !is_whole(name) {
            self.maps(old, new, name, changes);
            return;
        }
        match items_of(parent, name, self.custom) {
            Items::Keys(keys) if is_list(old) && is_list(new) => {
                self.items(&by(old, |item| key_step(item, keys)), &by(new, |item| key_step(item, keys)), changes);
            }
            Items::Values if is_list(old) && is_list(new) => {
                let step = |item: &Value| Some(format!("v:{item}"));
                self.items(&by(old, step), &by(new, step), changes);
            }
            _ if !new.is_null() => changes.set.member = true,
            _ => {}
        }
    }

    fn items(self, old: &BTreeMap<String, &Value>, new: &BTreeMap<String, &Value>, changes: &mut Changes) {
        for (step, item) in new {
            self.place(|| step.clone(), "", "[]", old.get(step).copied(), Some(item), changes);
        }
        for (step, item) in old.iter().filter(|(step, _)| !new.contains_key(*step)) {
            self.place(|| step.clone(), "", "[]", Some(item), None, changes);
        }
    }
}

fn by(list: &Value, step: impl Fn(&Value) -> Option<String>) -> BTreeMap<String, &Value> {
    list.as_array().into_iter().flatten().filter_map(|item| Some((step(item)?, item))).collect()
}

fn key_step(item: &Value, keys: &[&str]) -> Option<String> {
    let found: Map<String, Value> =
        keys.iter().filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone()))).collect();
    (!found.is_empty()).then(|| format!("k:{}", Value::Object(found)))
}
