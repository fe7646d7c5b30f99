//! Removes what a schema does not know.

use serde_json::{Map, Value};

use crate::node::{Additional, Node};
use crate::read::MAX_DEPTH;

/// Members that every object of the API has.
pub(crate) const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Members of `metadata`.
const METADATA_FIELDS: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The root keeps `apiVersion`, `kind` and `metadata` as they are: they are not the schema's. Returns the paths of what
/// was removed, in order.
pub(crate) fn prune_root(root: &Node, object: &mut Value) -> Vec<String> {
    let mut removed = Removed::default();
    if let Value::Object(members) = object {
        prune_members(root, members, true, &mut removed);
    }
    let bare = |path: String| path.strip_prefix('.').map(str::to_owned).unwrap_or(path);
    let mut paths: Vec<String> = removed.paths.into_iter().map(bare).collect();
    paths.sort();
    paths
}

/// How deep the walk is, and what it has removed.
#[derive(Default)]
struct Removed {
    depth: usize,
    /// Paths from where the walk is. Each step that is left is put in front, so that objects from which nothing is
    /// removed, nearly all, cost no text.
    paths: Vec<String>,
}

impl Removed {
    /// Goes into a member for as long as `walk` runs.
    fn member<T>(&mut self, name: &str, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.step(|| format!(".{name}"), walk)
    }

    fn item<T>(&mut self, index: usize, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.step(|| format!("[{index}]"), walk)
    }

    fn step<T>(&mut self, step: impl Fn() -> String, walk: impl FnOnce(&mut Self) -> T) -> T {
        let known = self.paths.len();
        self.depth += 1;
        let result = walk(self);
        self.depth -= 1;
        for path in self.paths.iter_mut().skip(known) {
            path.insert_str(0, &step());
        }
        result
    }

    fn note(&mut self) {
        self.paths.push(String::new());
    }
}

fn prune(node: &Node, value: &mut Value, removed: &mut Removed) {
    match value {
        Value::Object(members) => {
            if node.embedded {
                prune_metadata(members, removed);
            }
            prune_members(node, members, node.embedded, removed);
        }
        Value::Array(items) => match &node.items {
            Some(schema) => {
                for (index, item) in items.iter_mut().enumerate() {
                    removed.item(index, |removed| prune(schema, item, removed));
                }
            }
            None if node.preserve_unknown => {}
            None => empty_items(items, removed),
        },
        _ => {}
    }
}

fn prune_members(node: &Node, members: &mut Map<String, Value>, is_object: bool, removed: &mut Removed) {
    members.retain(|name, value| {
        if is_object && OBJECT_FIELDS.contains(&name.as_str()) {
            return true;
        }
        removed.member(name, |removed| {
            if let Some(schema) = node.member(name) {
                prune(schema, value, removed);
                return true;
            }
            if matches!(node.additional, Additional::Open) && !node.preserve_unknown {
                empty(value, removed);
                return true;
            }
            if !node.preserve_unknown {
                removed.note();
            }
            node.preserve_unknown
        })
    });
}

/// What has no schema keeps its form and loses its content.
fn empty(value: &mut Value, removed: &mut Removed) {
    match value {
        Value::Object(members) => {
            for name in members.keys() {
                removed.member(name, Removed::note);
            }
            members.clear();
        }
        Value::Array(items) => empty_items(items, removed),
        _ => {}
    }
}

fn empty_items(items: &mut [Value], removed: &mut Removed) {
    if removed.depth > MAX_DEPTH {
        // Lists in lists have no schema that would bound their depth.
        items.fill(Value::Null);
        return;
    }
    for (index, item) in items.iter_mut().enumerate() {
        removed.item(index, |removed| empty(item, removed));
    }
}

/// The metadata of an embedded object goes through the type of metadata.
fn prune_metadata(members: &mut Map<String, Value>, removed: &mut Removed) {
    if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
        removed.member("metadata", |removed| {
            metadata.retain(|name, value| {
                let known = METADATA_FIELDS.contains(&name.as_str());
                if !known {
                    removed.member(name, Removed::note);
                }
                known && !value.is_null()
            });
        });
    }
}
