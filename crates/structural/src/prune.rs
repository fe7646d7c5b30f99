//! Removes what a schema does not know.

use serde_json::{Map, Value};

use crate::node::{Additional, Node};

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

/// The root keeps `apiVersion`, `kind` and `metadata` as they are: they are not the schema's.
pub(crate) fn prune_root(root: &Node, object: &mut Value) {
    if let Value::Object(members) = object {
        prune_members(root, members, true);
    }
}

fn prune(node: &Node, value: &mut Value) {
    match value {
        Value::Object(members) => {
            if node.embedded {
                prune_metadata(members);
            }
            prune_members(node, members, node.embedded);
        }
        Value::Array(items) => match &node.items {
            Some(schema) => items.iter_mut().for_each(|item| prune(schema, item)),
            None if node.preserve_unknown => {}
            None => items.iter_mut().for_each(empty),
        },
        _ => {}
    }
}

fn prune_members(node: &Node, members: &mut Map<String, Value>, is_object: bool) {
    members.retain(|name, value| {
        if is_object && OBJECT_FIELDS.contains(&name.as_str()) {
            return true;
        }
        if let Some(schema) = node.member(name) {
            prune(schema, value);
            return true;
        }
        if matches!(node.additional, Additional::Open) && !node.preserve_unknown {
            empty(value);
            return true;
        }
        node.preserve_unknown
    });
}

/// What has no schema keeps its form and loses its content.
fn empty(value: &mut Value) {
    // Lists in lists have no schema that would bound their depth, so they are not walked with the stack.
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => members.clear(),
            Value::Array(items) => open.extend(items.iter_mut()),
            _ => {}
        }
    }
}

/// The metadata of an embedded object goes through the type of metadata.
fn prune_metadata(members: &mut Map<String, Value>) {
    if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
        metadata.retain(|name, value| !value.is_null() && METADATA_FIELDS.contains(&name.as_str()));
    }
}
