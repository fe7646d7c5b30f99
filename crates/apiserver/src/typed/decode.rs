//! From JSON to what a typed kind can hold.

use serde_json::{Map, Value};

use super::table::{Type, bare, fields};
use super::{quantity, shape, times};
use crate::encoding::from_base64;

/// Where the decoder is.
#[derive(Clone, Debug)]
struct Place {
    /// The structure whose field this is.
    within: &'static str,
    /// The path as error texts have it.
    spoken: String,
    /// The path with list positions and keys.
    exact: String,
}

impl Place {
    fn field(&self, within: &'static str, path: &str, name: &str) -> Self {
        let join = |before: &str, next: &str| {
            if before.is_empty() { next.to_owned() } else { format!("{before}.{next}") }
        };
        Self { within, spoken: join(&self.spoken, path), exact: join(&self.exact, name) }
    }

    fn item(&self, index: usize) -> Self {
        Self { exact: format!("{}[{index}]", self.exact), ..self.clone() }
    }

    fn entry(&self, key: &str) -> Self {
        Self { exact: format!("{}.{key}", self.exact), ..self.clone() }
    }

    fn mismatch(&self, found: &str, wanted: &str) -> String {
        format!(
            "json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}",
            bare(self.within),
            self.spoken
        )
    }
}

/// Decodes an object as a type; gives the paths of the fields that the type does not have.
pub(super) fn object(name: &'static str, object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    let root = Place { within: name, spoken: String::new(), exact: String::new() };
    if let Value::Object(map) = object {
        structure(map, name, &root, &mut unknown)?;
    }
    Ok(unknown)
}

fn structure(
    map: &mut Map<String, Value>,
    name: &'static str,
    place: &Place,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let known = fields(name);
    let mut first = None;
    for (key, value) in map.iter_mut() {
        let Some(field) = known.iter().find(|field| field.name == key) else {
            unknown.push(place.field(name, key, key).exact);
            continue;
        };
        if let Err(text) = decode(value, &field.kind, &place.field(name, field.path, key), unknown) {
            // Only values of the wrong type let the decoder go on; the first of them is told in the end.
            if !text.starts_with("json: cannot unmarshal") {
                return Err(text);
            }
            first = first.or(Some(text));
        }
    }
    map.retain(|key, value| !value.is_null() && known.iter().any(|field| field.name == key));
    first.map_or(Ok(()), Err)
}

fn decode(value: &mut Value, kind: &Type, place: &Place, unknown: &mut Vec<String>) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match kind {
        Type::Pointer(inner) => decode(value, inner, place, unknown),
        Type::Any => Ok(()),
        Type::Struct(name) => match value {
            Value::Object(map) => structure(map, name, place, unknown),
            _ => Err(place.mismatch(&go_kind(value, false), &kind.go_name())),
        },
        Type::List(inner, _) => match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    decode(item, inner, &place.item(index), unknown)?;
                    zero_if_null(item, inner);
                }
                Ok(())
            }
            _ => Err(place.mismatch(&go_kind(value, false), &kind.go_name())),
        },
        Type::Map(inner, _) => match value {
            Value::Object(map) => {
                for (key, item) in map.iter_mut() {
                    decode(item, inner, &place.entry(key), unknown)?;
                    zero_if_null(item, inner);
                }
                Ok(())
            }
            _ => Err(place.mismatch(&go_kind(value, false), &kind.go_name())),
        },
        _ => scalar(value, kind, place),
    }
}

/// Lists and maps hold zero values where a client sent null.
fn zero_if_null(item: &mut Value, kind: &Type) {
    if item.is_null() {
        *item = shape::zero(kind);
    }
}

fn scalar(value: &mut Value, kind: &Type, place: &Place) -> Result<(), String> {
    let fits_i32 = |v: &Value| v.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
    let fits = match kind {
        Type::Text(_) => value.is_string(),
        Type::Bool(_) => value.is_boolean(),
        Type::Int32(_) => fits_i32(value),
        Type::Int64(_) => value.is_i64(),
        Type::Float(_) => value.is_number(),
        Type::Bytes => {
            let Some(text) = value.as_str() else {
                return Err(place.mismatch(&go_kind(value, false), &kind.go_name()));
            };
            return check_base64(text);
        }
        Type::Quantity => return quantity::decode(value),
        Type::Time | Type::MicroTime | Type::Duration => match value.as_str() {
            Some(text) => {
                *value = Value::from(times::decode(text, kind)?);
                true
            }
            None => false,
        },
        Type::IntOrString if value.is_string() => true,
        Type::IntOrString if fits_i32(value) => true,
        Type::IntOrString => return Err(place.mismatch(&go_kind(value, true), "int32")),
        _ => true,
    };
    let shows_number = matches!(kind, Type::Int32(_) | Type::Int64(_));
    if fits { Ok(()) } else { Err(place.mismatch(&go_kind(value, shows_number), &kind.go_name())) }
}

fn go_kind(value: &Value, show_number: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if show_number => format!("number {number}"),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}

fn check_base64(text: &str) -> Result<(), String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    if let Some(position) = text.find(|c| !legal(c)) {
        return Err(format!("illegal base64 data at input byte {position}"));
    }
    if text.len() % 4 != 0 || from_base64(text).is_none() {
        return Err(format!("illegal base64 data at input byte {}", text.len() / 4 * 4));
    }
    Ok(())
}
