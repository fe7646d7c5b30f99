//! Fills in defaults.

use serde_json::{Map, Value};

use crate::node::Node;
use crate::prune::OBJECT_FIELDS;

pub(crate) fn default_root(root: &Node, object: &mut Value) {
    if let Value::Object(members) = object {
        fill_members(root, members, true);
    }
}

fn fill(node: &Node, value: &mut Value) {
    match value {
        Value::Object(members) => fill_members(node, members, node.embedded),
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                items.iter_mut().for_each(|item| fill(schema, item));
            }
        }
        _ => {}
    }
}

/// First nulls go where they are not allowed, then absent members get their defaults, then the members are done.
fn fill_members(node: &Node, members: &mut Map<String, Value>, is_object: bool) {
    let reserved = |name: &str| is_object && OBJECT_FIELDS.contains(&name);
    members.retain(|name, value| {
        !value.is_null() || reserved(name) || node.member(name).is_none_or(|schema| schema.nullable)
    });
    for (name, schema) in &node.properties {
        if let Some(default) = &schema.default
            && !reserved(name)
            && !members.contains_key(name)
        {
            members.insert(name.clone(), default.clone());
        }
    }
    for (name, value) in members.iter_mut() {
        if let Some(schema) = node.member(name)
            && !reserved(name)
        {
            fill(schema, value);
        }
    }
}
