//! A value held against the shape of its kind: every wrong type, unknown field and missing field, with its path.

use serde_json::{Map, Value};
use tidegate_api::wire::{Field, FieldPath, Shape};

use crate::error::Finding;
use crate::limits::MAX_ERRORS;
use crate::metadata::object_meta;
use crate::similar::did_you_mean;
use crate::words::describe;

/// What to do with fields that no type declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    Refuse,
    Keep,
}

/// Appends everything about `value` that does not fit `shape`.
pub(crate) fn check(value: &Value, shape: &Shape, unknown_fields: UnknownFields, findings: &mut Vec<Finding>) {
    Walk { unknown_fields, findings }.value(value, shape, &mut FieldPath::root());
}

struct Walk<'f> {
    unknown_fields: UnknownFields,
    findings: &'f mut Vec<Finding>,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, shape: &Shape, path: &mut FieldPath) {
        if self.findings.len() >= MAX_ERRORS {
            return;
        }
        match (shape, value) {
            (Shape::Free, _)
            | (Shape::Text | Shape::DateTime | Shape::IntOrString, Value::String(_))
            | (Shape::Bool, Value::Bool(_)) => {}
            (Shape::Object(fields), Value::Object(found)) => self.object(found, fields, path),
            (Shape::ObjectMeta, Value::Object(_)) => self.value(value, &object_meta(), path),
            (Shape::List(item), Value::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    path.at(index, |path| self.value(value, item, path));
                }
            }
            (Shape::Map(item), Value::Object(entries)) => {
                for (key, value) in entries {
                    path.at(format_args!("{key:?}"), |path| self.value(value, item, path));
                }
            }
            (Shape::Int32 | Shape::IntOrString, Value::Number(number))
                if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => {}
            (Shape::Int64, Value::Number(number)) if number.is_i64() => {}
            _ => self.unfitting(value, shape, path),
        }
    }

    fn object(&mut self, found: &Map<String, Value>, fields: &[Field], path: &mut FieldPath) {
        for (name, value) in found {
            match fields.iter().find(|field| field.name == name) {
                // An explicit null means absence.
                Some(_) if value.is_null() => {}
                Some(field) => path.within(name, |path| self.value(value, &field.shape, path)),
                None if self.unknown_fields == UnknownFields::Keep || self.findings.len() >= MAX_ERRORS => {}
                None => {
                    let hint = did_you_mean(name, fields.iter().map(|field| field.name));
                    path.within(name, |path| self.findings.push(Finding::unknown(path.to_string(), name, hint)));
                }
            }
        }
    }

    fn unfitting(&mut self, value: &Value, shape: &Shape, path: &FieldPath) {
        let finding = Finding::unfitting(path.to_string(), expected(shape), describe(value));
        self.findings.push(finding.with_hint(hint(value, shape)));
    }
}

fn expected(shape: &Shape) -> &'static str {
    match shape {
        Shape::Object(_) | Shape::Map(_) | Shape::Free | Shape::ObjectMeta => "an object",
        Shape::List(_) => "a list",
        Shape::Text | Shape::DateTime => "a string",
        Shape::Int32 => "a 32-bit number",
        Shape::Int64 => "a 64-bit number",
        Shape::Bool => "true or false",
        Shape::IntOrString => "a 32-bit number or a string",
    }
}

fn hint(value: &Value, shape: &Shape) -> Option<String> {
    let text = match (shape, value) {
        (Shape::Text | Shape::DateTime, Value::Bool(_)) => {
            "put it in quotes: unquoted yes, no, on, off, true and false are booleans"
        }
        (Shape::Int32 | Shape::IntOrString, Value::Number(number)) if !number.is_f64() => {
            "it must lie between -2147483648 and 2147483647"
        }
        (Shape::Text | Shape::DateTime | Shape::IntOrString, Value::Number(_)) => "put it in quotes if it is text",
        (Shape::Text, Value::Null) => r#"write "" or leave it out"#,
        (Shape::Int32 | Shape::Int64, Value::String(text)) if text.parse::<i64>().is_ok() => {
            return Some(format!("write {text} without quotes"));
        }
        (Shape::Int32 | Shape::Int64, Value::Number(number)) if number.is_f64() => "write it without a fraction",
        (Shape::Bool, Value::String(_) | Value::Number(_)) => "write true or false, without quotes",
        (Shape::List(_), Value::Object(_)) => r#"begin each element with "- ""#,
        (Shape::Object(_) | Shape::Map(_) | Shape::ObjectMeta, Value::Array(_)) => r#"write the fields without "- ""#,
        _ => return None,
    };
    Some(text.to_owned())
}

/// The fields that the API server would miss, as it words them: `spec.template.name: Required value`.
///
/// Strict decoding does not ask this: validation reports missing fields in the contract's own words.
pub fn missing_required(value: &Value, shape: &Shape) -> Vec<String> {
    let mut missing = Vec::new();
    collect_missing(value, shape, &mut FieldPath::root(), &mut missing);
    missing
}

fn collect_missing(value: &Value, shape: &Shape, path: &mut FieldPath, missing: &mut Vec<String>) {
    match (shape, value) {
        (Shape::Object(fields), Value::Object(found)) => {
            for field in fields {
                path.within(field.name, |path| match found.get(field.name).filter(|value| !value.is_null()) {
                    Some(value) => collect_missing(value, &field.shape, path, missing),
                    None if field.required => missing.push(format!("{path}: Required value")),
                    None => {}
                });
            }
        }
        (Shape::List(item), Value::Array(items)) => {
            for (index, value) in items.iter().enumerate() {
                path.at(index, |path| collect_missing(value, item, path, missing));
            }
        }
        (Shape::Map(item), Value::Object(entries)) => {
            for (key, value) in entries {
                path.at(format_args!("{key:?}"), |path| collect_missing(value, item, path, missing));
            }
        }
        _ => {}
    }
}
