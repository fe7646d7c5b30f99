//! The one form in which a typed kind is written.

use serde_json::{Map, Value, json};

use super::table::{self, Field, Structure, Table, Type};

/// Shapes an object as a type, but for a field that is `settled`.
pub(super) fn object(name: &str, object: &mut Value, settled: Option<&str>) {
    if let Value::Object(map) = object {
        structure(map, table::table(name), settled);
    }
}

/// A field with nothing in it (absent, null or its zero value) is shown as its zero value or left out.
fn structure(map: &mut Map<String, Value>, table: &Table, settled: Option<&str>) {
    let mut leaves_out = false;
    let mut search = table.search();
    for (key, value) in map.iter_mut().filter(|(key, _)| settled != Some(key.as_str())) {
        let Some(field) = search.find(key) else { continue };
        if !value.is_null() {
            shape(value, &field.kind);
            if !is_empty(value, &field.kind) {
                continue;
            }
        }
        if field.is_always_shown() {
            *value = zero(&field.kind);
        } else {
            *value = Value::Null;
            leaves_out = true;
        }
    }
    if leaves_out {
        let stays = |key: &String| table.find(key).is_none_or(Field::is_always_shown);
        map.retain(|key, value| !value.is_null() || stays(key));
    }
    for field in table.shown() {
        if !map.contains_key(field.name) {
            map.insert(field.name.to_owned(), zero(&field.kind));
        }
    }
}

fn shape(value: &mut Value, kind: &Type) {
    match (kind, value) {
        (Type::Pointer(inner), value) => shape(value, inner),
        (Type::Struct(inner), Value::Object(map)) => structure(map, inner.table(), None),
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
        Type::Struct(inner) => {
            let mut map = Map::new();
            structure(&mut map, inner.table(), None);
            Value::Object(map)
        }
        Type::Any | Type::Time | Type::MicroTime | Type::Pointer(_) | Type::List(..) | Type::Map(..) => Value::Null,
    }
}

/// The text of an object of a type, its fields in the order of the type.
pub(super) fn print(name: &str, object: &Value) -> String {
    print_as(object, &Type::Struct(Structure::new(table::known(name).unwrap_or_default())))
}

fn print_as(value: &Value, kind: &Type) -> String {
    match (kind, value) {
        (Type::Pointer(inner), value) => print_as(value, inner),
        (Type::List(inner, _), Value::Array(items)) => {
            let items: Vec<String> = items.iter().map(|item| print_as(item, inner)).collect();
            format!("[{}]", items.join(","))
        }
        (Type::Struct(inner), Value::Object(map)) => {
            let parts = inner.table().fields.iter().filter_map(|field| {
                let value = map.get(field.name)?;
                Some(format!("{:?}:{}", field.name, print_as(value, &field.kind)))
            });
            format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
        }
        _ => value.to_string(),
    }
}
