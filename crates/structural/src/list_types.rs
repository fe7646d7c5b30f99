//! Lists whose elements must be distinct, and objects embedded in others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::Cause;
use crate::node::{ListType, Node};
use crate::text::show;
use crate::validate::Path;

/// Adds the causes of duplicates and of embedded objects that are none.
pub(crate) fn check(root: &Node, object: &Value, causes: &mut Vec<Cause>) {
    walk(root, object, &mut Path::root(), causes, true);
}

fn walk(node: &Node, value: &Value, path: &mut Path, causes: &mut Vec<Cause>, is_root: bool) {
    match value {
        Value::Object(members) => {
            if node.embedded && !is_root {
                check_embedded(members, path, causes);
            }
            for (name, member) in members {
                if let Some(schema) = node.member(name) {
                    path.within(name, |path| walk(schema, member, path, causes, false));
                }
            }
        }
        Value::Array(items) => {
            check_list(&node.list_type, items, path, causes);
            if let Some(schema) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    path.at(index, |path| walk(schema, item, path, causes, false));
                }
            }
        }
        _ => {}
    }
}

fn check_embedded(members: &Map<String, Value>, path: &mut Path, causes: &mut Vec<Cause>) {
    for name in ["apiVersion", "kind"] {
        path.within(name, |path| match members.get(name) {
            None => causes.push(path.cause("FieldValueRequired", "Required value")),
            Some(Value::String(text)) if text.is_empty() => {
                causes.push(path.cause("FieldValueInvalid", "Invalid value: \"\": must not be empty"));
            }
            Some(_) => {}
        });
    }
}

fn check_list(list_type: &ListType, items: &[Value], path: &mut Path, causes: &mut Vec<Cause>) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut reported: BTreeSet<String> = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let identity = match list_type {
            ListType::Atomic => return,
            ListType::Set => item.clone(),
            ListType::Map(keys) => match item {
                Value::Object(members) => keys_of(keys, members),
                Value::Null => continue,
                other => {
                    let shown = show(other);
                    let message = format!("Invalid value: {shown}: must be an object for an array of list-type map");
                    path.at(index, |path| causes.push(path.cause("FieldValueInvalid", &message)));
                    continue;
                }
            },
        };
        let text = identity.to_string();
        if !seen.insert(text.clone()) && reported.insert(text) {
            let message = format!("Duplicate value: {}", show(&identity));
            path.at(index, |path| causes.push(path.cause("FieldValueDuplicate", &message)));
        }
    }
}

/// The elements of an old list by what makes them distinct. Only lists with keys have elements that can be found again.
pub(crate) struct OldItems<'a> {
    keys: &'a [String],
    items: BTreeMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    pub(crate) fn read(list_type: &'a ListType, old: Option<&'a Value>) -> Self {
        let (ListType::Map(keys), Some(Value::Array(old))) = (list_type, old) else {
            return Self { keys: &[], items: BTreeMap::new() };
        };
        let mut items = BTreeMap::new();
        for item in old {
            if let Value::Object(members) = item {
                items.entry(keys_of(keys, members).to_string()).or_insert(item);
            }
        }
        Self { keys, items }
    }

    /// The old element that is the same as a new one.
    pub(crate) fn find(&self, item: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&keys_of(self.keys, item.as_object()?).to_string()).copied()
    }
}

/// The members of an element that make it distinct.
pub(crate) fn keys_of(keys: &[String], members: &Map<String, Value>) -> Value {
    Value::Object(
        keys.iter().filter_map(|key| Some((key.clone(), members.get(key)?.clone()))).collect::<Map<String, Value>>(),
    )
}
