//! The tables as JSON schemas, as far as they say: names and types of fields, without descriptions.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::table::{self, Field, Shown, Type};

/// What the schema of a type is called.
pub(super) fn name_of(kind: &str) -> String {
    match kind {
        "ObjectMeta" => "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta".to_owned(),
        other => format!("io.k8s.api.{}", other.replace('/', ".")),
    }
}

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

/// The schemas of a type and of everything that its fields name, added to those that are there.
pub(super) fn collect(kind: &'static str, schemas: &mut BTreeMap<String, Value>) {
    let mut waiting = vec![kind];
    while let Some(kind) = waiting.pop() {
        let name = name_of(kind);
        if schemas.contains_key(&name) {
            continue;
        }
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &table::table(kind).fields {
            properties.insert(field.name.to_owned(), schema(&field.kind, &mut waiting));
            if is_required(field) {
                required.push(json!(field.name));
            }
        }
        let mut written = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            written["required"] = Value::Array(required);
        }
        schemas.insert(name, written);
    }
    for (name, format) in [(QUANTITY, ""), (INT_OR_STRING, "int-or-string")] {
        let mut either = json!({"oneOf": [{"type": "string"}, {"type": "number"}]});
        if !format.is_empty() {
            either["format"] = json!(format);
        }
        schemas.entry(name.to_owned()).or_insert(either);
    }
}

/// Fields that are written even when they are empty are those that must be given.
fn is_required(field: &Field) -> bool {
    let is_structure = matches!(field.kind, Type::Struct(_) | Type::Time | Type::MicroTime);
    field.shown == Shown::Always && !is_structure
}

fn reference(name: &str) -> Value {
    json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}]})
}

fn schema(kind: &'static Type, waiting: &mut Vec<&'static str>) -> Value {
    match kind {
        Type::Text(_) | Type::Duration => json!({"type": "string"}),
        Type::Bool(_) => json!({"type": "boolean"}),
        Type::Int32(_) => json!({"type": "integer", "format": "int32"}),
        Type::Int64(_) => json!({"type": "integer", "format": "int64"}),
        Type::Float(_) => json!({"type": "number", "format": "double"}),
        Type::Bytes => json!({"type": "string", "format": "byte"}),
        Type::Any => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        Type::Time | Type::MicroTime => json!({"type": "string", "format": "date-time"}),
        Type::Quantity => reference(QUANTITY),
        Type::IntOrString => reference(INT_OR_STRING),
        Type::Pointer(inner) => schema(inner, waiting),
        Type::List(inner, _) => json!({"type": "array", "items": schema(inner, waiting)}),
        Type::Map(inner, _) => json!({"type": "object", "additionalProperties": schema(inner, waiting)}),
        Type::Struct(structure) => {
            waiting.push(structure.name);
            reference(&name_of(structure.name))
        }
    }
}
