//! The schemas of kinds: of built-in ones from the tables, of custom ones from their definitions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::kind_of;
use crate::crd::DEFINITIONS;
use crate::object::{at, child_mut, list, map_mut, text};
use crate::registry::Resource;
use crate::state::State;
use crate::store::Key;
use crate::typed;

/// Adds the schema of a resource and of all that it names; gives its name.
pub(super) fn add(state: &State, resource: &Resource, found: &mut BTreeMap<String, Value>) -> String {
    let name = match typed::schemas(resource, found) {
        Some(name) => name,
        None => {
            let name = name_of(resource);
            let schema = custom(state, resource, found);
            found.insert(name.clone(), schema);
            name
        }
    };
    if let Some(schema) = found.get_mut(&name) {
        map_mut(schema).insert("x-kubernetes-group-version-kind".to_owned(), json!([kind_of(resource)]));
    }
    name
}

/// `io.argoproj.v1alpha1.Rollout`.
fn name_of(resource: &Resource) -> String {
    let mut parts: Vec<&str> = resource.group.split('.').rev().collect();
    parts.extend([resource.version.as_str(), resource.kind.as_str()]);
    parts.join(".")
}

/// What the definition says, and what all objects have.
fn custom(state: &State, resource: &Resource, found: &mut BTreeMap<String, Value>) -> Value {
    let definition = resource.custom.as_ref().map(|custom| Key::new(DEFINITIONS, "", &custom.definition));
    let definition = definition.and_then(|key| state.store.get(&key));
    let versions = definition.map(|definition| list(definition, &["spec", "versions"])).unwrap_or_default();
    let version = versions.iter().find(|version| text(version, &["name"]) == resource.version);
    let schema = version.and_then(|version| at(version, &["schema", "openAPIV3Schema"])).cloned();
    let open = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut schema = schema.unwrap_or_else(open);
    let metadata = typed::metadata_schema(found);
    let properties = child_mut(&mut schema, &["properties"]);
    for (name, text) in [
        ("apiVersion", "The group and version of the kind, such as apps/v1."),
        ("kind", "The kind of the object, in the singular, such as Deployment."),
    ] {
        properties.insert(name.to_owned(), json!({"type": "string", "description": text}));
    }
    properties.insert(
        "metadata".to_owned(),
        json!({
            "description": "Name, namespace, labels and what else all objects have.",
            "allOf": [{"$ref": format!("#/components/schemas/{metadata}")}],
        }),
    );
    schema
}
