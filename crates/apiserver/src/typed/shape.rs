//! The one form in which a typed kind is written.

use serde_json::{Map, Value, json};

use super::table::{self, Field, Shown, Type, fields};

/// Shapes an object as a type.
pub(super) fn object(name: &str, object: &mut Value) {
    if let Value::Object(map) = object {
        structure(map, name);
    }
}

fn structure(map: &mut Map<String, Value>, name: &str) {
    for field in fields(name) {
        match map.get_mut(field.name).filter(|value| !value.is_null()) {
            Some(value) => {
                shape(value, &field.kind);
                if is_empty(value, &field.kind) {
                    leave(map, field);
                }
            }
            None => leave(map, field),
        }
    }
}

/// A field with nothing in it: absent, null or its zero value.
fn leave(map: &mut Map<String, Value>, field: &Field) {
    let always = match field.kind {
        // The encoder cannot leave structures out unless told to.
        Type::Struct(_) | Type::Time | Type::MicroTime | Type::Quantity | Type::IntOrString => {
            field.shown != Shown::NotZero
        }
        _ => field.shown == Shown::Always,
    };
    if always {
        map.insert(field.name.to_owned(), zero(&field.kind));
    } else {
        map.remove(field.name);
    }
}

fn shape(value: &mut Value, kind: &Type) {
    match (kind, value) {
        (Type::Pointer(inner), value) => shape(value, inner),
        (Type::Struct(name), value) => object(name, value),
        (Type::List(inner, _), Value::Array(items)) => items.iter_mut().for_each(|item| shape(item, inner)),
        (Type::Map(inner, _), Value::Object(map)) => map.values_mut().for_each(|item| shape(item, inner)),
        _ => {}
    }
}

/// Whether a value counts as nothing where it is not behind a pointer.
fn is_empty(value: &Value, kind: &Type) -> bool {
    match (kind, value) {
        (Type::Pointer(_) | Type::Any | Type::Struct(_), _) => false,
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Bool(flag)) => !flag,
        (Type::IntOrString, Value::Number(_)) => false,
        (_, Value::Number(number)) => number.as_f64() == Some(0.0),
        (_, Value::Array(items)) => items.is_empty(),
        (_, Value::Object(map)) => map.is_empty(),
        (_, Value::Null) => true,
    }
}

/// The zero value of a type, as it is written.
pub(super) fn zero(kind: &Type) -> Value {
    match kind {
        Type::Text(_) | Type::Bytes => json!(""),
        Type::Bool(_) => json!(false),
        Type::Int32(_) | Type::Int64(_) | Type::Float(_) | Type::IntOrString => json!(0),
        Type::Quantity => json!("0"),
        Type::Duration => json!("0s"),
        Type::Struct(name) => {
            let mut map = Map::new();
            structure(&mut map, name);
            Value::Object(map)
        }
        Type::Any | Type::Time | Type::MicroTime | Type::Pointer(_) | Type::List(..) | Type::Map(..) => Value::Null,
    }
}

/// The text of an object of a type, its fields in the order of the type.
pub(super) fn print(name: &str, object: &Value) -> String {
    print_as(object, &Type::Struct(table::known(name).unwrap_or_default()))
}

fn print_as(value: &Value, kind: &Type) -> String {
    match (kind, value) {
        (Type::Pointer(inner), value) => print_as(value, inner),
        (Type::List(inner, _), Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| print_as(item, inner)).collect();
            format!("[{}]", items.join(","))
        }
        (Type::Struct(name), Value::Object(map)) => {
            let parts = fields(name).iter().filter_map(|field| {
                let value = map.get(field.name)?;
                Some(format!("{:?}:{}", field.name, print_as(value, &field.kind)))
            });
            format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
        }
        _ => value.to_string(),
    }
}
