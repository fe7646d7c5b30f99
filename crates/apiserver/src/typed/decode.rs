//! From JSON to what a typed kind can hold.

use serde_json::{Map, Value};

use super::table::{Table, Type, bare, table};
use super::{quantity, shape, times};
use crate::encoding::from_base64;

/// Who decodes, which decides the words: the JSON decoder reads bodies, the converter takes the result of a strategic
/// merge patch, which is no text any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Json,
    Converter,
}

/// Where the decoder is: the last step and the place before it. Paths become text only when somebody is told of them.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    reader: Reader,
    /// The structure whose field this is.
    within: &'static str,
    above: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    /// A field: as error texts have it, and its name.
    Field(&'a str, &'a str),
    Item(usize),
    Entry(&'a str),
}

impl<'a> Place<'a> {
    fn field(&'a self, within: &'static str, path: &'a str, name: &'a str) -> Self {
        Self { within, above: Some(self), step: Step::Field(path, name), ..*self }
    }

    fn item(&'a self, index: usize) -> Self {
        Self { above: Some(self), step: Step::Item(index), ..*self }
    }

    fn entry(&'a self, key: &'a str) -> Self {
        Self { above: Some(self), step: Step::Entry(key), ..*self }
    }

    /// The path as error texts have it.
    fn spoken(&self) -> String {
        let before = self.above.map(Place::spoken).unwrap_or_default();
        match self.step {
            Step::Field(path, _) if before.is_empty() => path.to_owned(),
            Step::Field(path, _) => format!("{before}.{path}"),
            Step::Root | Step::Item(_) | Step::Entry(_) => before,
        }
    }

    /// The path with list positions and keys.
    fn exact(&self) -> String {
        let before = self.above.map(Place::exact).unwrap_or_default();
        match self.step {
            Step::Root => before,
            Step::Field(_, name) if before.is_empty() => name.to_owned(),
            Step::Field(_, name) => format!("{before}.{name}"),
            Step::Item(index) => format!("{before}[{index}]"),
            Step::Entry(key) => format!("{before}.{key}"),
        }
    }

    /// What a value of the wrong type is refused with.
    fn mismatch(&self, value: &Value, kind: &Type) -> String {
        match self.reader {
            Reader::Json => {
                let shows_number = matches!(kind, Type::Int32(_) | Type::Int64(_));
                self.cannot_unmarshal(&go_kind(value, shows_number), &kind.go_name())
            }
            Reader::Converter => cannot_convert(value, kind),
        }
    }

    fn cannot_unmarshal(&self, found: &str, wanted: &str) -> String {
        match self.reader {
            Reader::Json => format!(
                "json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}",
                bare(self.within),
                self.spoken()
            ),
            Reader::Converter => format!("json: cannot unmarshal {found} into Go value of type {wanted}"),
        }
    }
}

/// Decodes an object as a type; gives the paths of the fields that the type does not have. Fields that are the same in
/// `stored` are not looked at.
pub(super) fn object(
    name: &'static str,
    object: &mut Value,
    reader: Reader,
    stored: Option<&Value>,
) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    let root = Place { reader, within: name, above: None, step: Step::Root };
    if let Value::Object(map) = object {
        structure(map, (name, table(name)), stored, &root, &mut unknown)?;
    }
    Ok(unknown)
}

fn structure(
    map: &mut Map<String, Value>,
    (name, table): (&'static str, &Table),
    stored: Option<&Value>,
    place: &Place<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let mut first = None;
    let mut drops = false;
    let mut search = table.search();
    for (key, value) in map.iter_mut() {
        if stored.is_some_and(|stored| stored.get(key) == Some(value)) {
            continue;
        }
        let Some(field) = search.find(key) else {
            unknown.push(place.field(name, key, key).exact());
            drops = true;
            continue;
        };
        drops |= value.is_null();
        if let Err(text) = decode(value, &field.kind, &place.field(name, field.path, key), unknown) {
            // Only values of the wrong type let the decoder go on; the first of them is told in the end.
            if place.reader == Reader::Converter || !text.starts_with("json: cannot unmarshal") {
                return Err(text);
            }
            first = first.or(Some(text));
        }
    }
    if drops {
        map.retain(|key, value| !value.is_null() && table.find(key).is_some());
    }
    first.map_or(Ok(()), Err)
}

fn decode(value: &mut Value, kind: &Type, place: &Place<'_>, unknown: &mut Vec<String>) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match kind {
        Type::Pointer(inner) => decode(value, inner, place, unknown),
        Type::Any => Ok(()),
        Type::Struct(inner) => match value {
            Value::Object(map) => structure(map, (inner.name, inner.table()), None, place, unknown),
            _ => Err(place.mismatch(value, kind)),
        },
        Type::List(inner, _) => match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    decode(item, inner, &place.item(index), unknown)?;
                    zero_if_null(item, inner);
                }
                Ok(())
            }
            _ => Err(place.mismatch(value, kind)),
        },
        Type::Map(inner, _) => match value {
            Value::Object(map) => {
                for (key, item) in map.iter_mut() {
                    decode(item, inner, &place.entry(key), unknown)?;
                    zero_if_null(item, inner);
                }
                Ok(())
            }
            _ => Err(place.mismatch(value, kind)),
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

fn scalar(value: &mut Value, kind: &Type, place: &Place<'_>) -> Result<(), String> {
    let fits_i32 = |v: &Value| v.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
    let fits = match kind {
        Type::Text(_) => value.is_string(),
        Type::Bool(_) => value.is_boolean(),
        Type::Int32(_) if place.reader == Reader::Converter && value.is_i64() => {
            wrap(value);
            true
        }
        Type::Int32(_) => fits_i32(value),
        Type::Int64(_) => value.is_i64(),
        Type::Float(_) => value.is_number(),
        Type::Bytes => match value.as_str() {
            Some(text) => return check_base64(text, place.reader),
            None => false,
        },
        Type::Quantity => return quantity::decode(value),
        Type::Time | Type::MicroTime | Type::Duration => match value.as_str() {
            Some(text) => {
                if let Some(usual) = times::decode(text, kind)? {
                    *value = Value::from(usual);
                }
                true
            }
            None => return Err(place.cannot_unmarshal(&go_kind(value, false), "string")),
        },
        Type::IntOrString if value.is_string() || fits_i32(value) => true,
        Type::IntOrString => return Err(place.cannot_unmarshal(&go_kind(value, true), "int32")),
        _ => true,
    };
    if fits { Ok(()) } else { Err(place.mismatch(value, kind)) }
}

/// The converter does not look whether a number fits, it cuts.
fn wrap(value: &mut Value) {
    let low = value.as_i64().unwrap_or_default().to_le_bytes();
    *value = Value::from(i32::from_le_bytes([low[0], low[1], low[2], low[3]]));
}

fn cannot_convert(value: &Value, kind: &Type) -> String {
    let found = match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    };
    let plain = match kind {
        Type::Struct(_) => return format!("cannot restore struct from: {found}"),
        Type::List(..) | Type::Bytes => return format!("cannot restore slice from {found}"),
        Type::Map(..) => return format!("cannot restore map from {found}"),
        Type::Text(_) => "string",
        Type::Bool(_) => return "unrecognized type: bool".to_owned(),
        Type::Int32(_) => "int32",
        Type::Int64(_) => "int64",
        _ => "float64",
    };
    if value.is_number() {
        format!("cannot convert {found} to {}", kind.go_name())
    } else {
        format!("unrecognized type: {plain}")
    }
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

fn check_base64(text: &str, reader: Reader) -> Result<(), String> {
    let refuse = |position: usize| {
        let before = if reader == Reader::Converter { "error decoding from json: " } else { "" };
        Err(format!("{before}illegal base64 data at input byte {position}"))
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    if let Some(position) = text.find(|c| !legal(c)) {
        return refuse(position);
    }
    if !text.len().is_multiple_of(4) || from_base64(text).is_none() {
        return refuse(text.len() / 4 * 4);
    }
    Ok(())
}
