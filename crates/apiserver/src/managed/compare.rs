//! Which fields a write added, changed and removed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tidegate_structural::{self as structural, Schema};

use super::set::FieldSet;

/// The difference of two objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Fields that are there now with another value, or for the first time.
    pub(crate) set: FieldSet,
    pub(crate) removed: FieldSet,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }
}

/// How the items of a list are told apart.
pub(super) enum Items {
    /// Not at all: the list is one value.
    Whole,
    /// By value.
    Values,
    /// By these fields.
    Keys(&'static [&'static str]),
}

/// Lists of built-in kinds whose items are fields of their own, by name; of custom kinds only those of metadata.
pub(super) fn items_of(parent: &str, name: &str, custom: bool) -> Items {
    let keys: &[&str] = match (parent, name) {
        ("metadata", "finalizers") => return Items::Values,
        ("metadata", "ownerReferences") => &["uid"],
        _ if custom => return Items::Whole,
        (_, "containers" | "initContainers" | "ephemeralContainers" | "volumes" | "env") => &["name"],
        (_, "imagePullSecrets" | "resourceClaims" | "schedulingGates" | "secrets") => &["name"],
        (_, "volumeDevices") => &["devicePath"],
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

/// Maps of built-in kinds that are one value: selectors and references.
pub(super) fn is_whole(name: &str) -> bool {
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

/// Compares two objects; of custom ones the schema may say how items of lists are told apart.
pub(crate) fn compare(old: &Value, new: &Value, custom: bool, schema: Option<&Schema>) -> Changes {
    let mut changes = Changes::default();
    // Hardly any schema says it, and then there is no need to walk along.
    let at = schema.filter(|schema| schema.has_list_types()).map(Schema::place);
    Walk { custom }.maps(old, new, "", at, &mut changes);
    changes
}

/// The place in a schema that has something to say.
type At<'a> = Option<structural::Place<'a>>;

#[derive(Clone, Copy)]
struct Walk {
    custom: bool,
}

/// A field or an item on both sides.
#[derive(Clone, Copy)]
struct Pair<'a> {
    parent: &'a str,
    name: &'a str,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
}

impl Walk {
    fn maps(self, old: &Value, new: &Value, name: &str, at: At<'_>, changes: &mut Changes) {
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
            let pair = Pair { parent: name, name: key, old: before, new: Some(value) };
            self.place(|| format!("f:{key}"), pair, at, changes);
        }
        for (key, value) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
            let pair = Pair { parent: name, name: key, old: Some(value), new: None };
            self.place(|| format!("f:{key}"), pair, at, changes);
        }
    }

    /// One step down: a field or an item of a list. Most are as they were, so the step is written only if need be.
    fn place(self, step: impl Fn() -> String, pair: Pair<'_>, around: At<'_>, changes: &mut Changes) {
        if pair.old == pair.new {
            return;
        }
        let at = around.and_then(|at| match (pair.parent, pair.name) {
            (_, "[]") => at.item(),
            // Metadata is the same for all kinds.
            ("", "metadata") => None,
            (_, name) => at.member(name),
        });
        let mut below = Changes::default();
        self.values(pair, at, &mut below);
        if !below.set.is_empty() {
            changes.set.below.insert(step(), below.set);
        }
        if !below.removed.is_empty() {
            changes.removed.below.insert(step(), below.removed);
        }
    }

    fn values(self, pair: Pair<'_>, at: At<'_>, changes: &mut Changes) {
        let old = pair.old.filter(|value| !value.is_null());
        match (old, pair.new) {
            (None, Some(_)) => changes.set.member = true,
            (Some(_), None) => changes.removed.member = true,
            _ => {}
        }
        let empty = Value::Null;
        let (old, new) = (old.unwrap_or(&empty), pair.new.unwrap_or(&empty));
        let is_map = |value: &Value| value.is_object() || value.is_null();
        let is_list = |value: &Value| value.is_array() || value.is_null();
        if is_map(old) && is_map(new) && !self.is_whole(pair, at) {
            self.maps(old, new, pair.name, at, changes);
            return;
        }
        let by_keys = |keys: &[&str], changes: &mut Changes| {
            let step = |item: &Value| key_step(item, keys);
            self.items(&by(old, step), &by(new, step), at, changes);
        };
        match self.items_of(pair, at) {
            Told::Keys(keys) if is_list(old) && is_list(new) => by_keys(keys, changes),
            Told::Members(keys) if is_list(old) && is_list(new) => {
                by_keys(&keys.iter().map(String::as_str).collect::<Vec<_>>(), changes);
            }
            Told::Values if is_list(old) && is_list(new) => {
                let step = |item: &Value| Some(format!("v:{item}"));
                self.items(&by(old, step), &by(new, step), at, changes);
            }
            // A null that was written is a value, too.
            _ if pair.new.is_some() => changes.set.member = true,
            _ => {}
        }
    }

    fn is_whole(self, pair: Pair<'_>, at: At<'_>) -> bool {
        if self.custom { at.is_some_and(structural::Place::is_whole_map) } else { is_whole(pair.name) }
    }

    fn items_of<'a>(self, pair: Pair<'_>, at: At<'a>) -> Told<'a> {
        match at.map(structural::Place::items) {
            Some(structural::Items::Whole) => Told::Whole,
            Some(structural::Items::Values) => Told::Values,
            Some(structural::Items::Keys(keys)) => Told::Members(keys),
            None => match items_of(pair.parent, pair.name, self.custom) {
                Items::Whole => Told::Whole,
                Items::Values => Told::Values,
                Items::Keys(keys) => Told::Keys(keys),
            },
        }
    }

    fn items(self, old: &BTreeMap<String, &Value>, new: &BTreeMap<String, &Value>, at: At<'_>, changes: &mut Changes) {
        let pair = |old, new| Pair { parent: "", name: "[]", old, new };
        for (step, item) in new {
            self.place(|| step.clone(), pair(old.get(step).copied(), Some(*item)), at, changes);
        }
        for (step, item) in old.iter().filter(|(step, _)| !new.contains_key(*step)) {
            self.place(|| step.clone(), pair(Some(*item), None), at, changes);
        }
    }
}

/// How the items of a list are told apart, by the names of fields or by a schema.
enum Told<'a> {
    Whole,
    Values,
    Keys(&'static [&'static str]),
    Members(&'a [String]),
}

fn by(list: &Value, step: impl Fn(&Value) -> Option<String>) -> BTreeMap<String, &Value> {
    list.as_array().into_iter().flatten().filter_map(|item| Some((step(item)?, item))).collect()
}

fn key_step(item: &Value, keys: &[&str]) -> Option<String> {
    let found: Map<String, Value> =
        keys.iter().filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone()))).collect();
    (!found.is_empty()).then(|| format!("k:{}", Value::Object(found)))
}
