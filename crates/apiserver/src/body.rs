//! Bodies of requests: media types, syntax, kind and version, and how strictly unknown fields are taken.

use bytes::Bytes;
use http::{header, request::Parts};
use serde_json::Value;

use crate::json::{self, Document};
use crate::registry::Resource;
use crate::status::{About, Cause, StatusError};
use crate::warnings::Warnings;

/// What is done about fields that nobody knows, or that come twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Strictness {
    Ignore,
    #[default]
    Warn,
    Strict,
}

impl Strictness {
    /// Reads `fieldValidation`; `kind` is `CreateOptions` and so on.
    pub(crate) fn read(given: &str, kind: &str) -> Result<Self, StatusError> {
        match given {
            "Ignore" => Ok(Self::Ignore),
            "" | "Warn" => Ok(Self::Warn),
            "Strict" => Ok(Self::Strict),
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                let cause = Cause::unsupported("fieldValidation", &Value::from(other), &supported);
                Err(StatusError::invalid(&About { group: "meta.k8s.io", kind, name: "" }, &[cause]))
            }
        }
    }

    /// Tells of problems such as `unknown field "spec.x"`; the error is what a strict caller is refused with.
    pub(crate) fn tell(self, problems: &[String], warnings: &mut Warnings) -> Result<(), String> {
        match self {
            Self::Strict if !problems.is_empty() => Err(format!("strict decoding error: {}", problems.join(", "))),
            Self::Warn => {
                problems.iter().for_each(|problem| warnings.add(problem.clone()));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Problems of fields that come twice.
pub(crate) fn duplicates(document: &Document) -> Vec<String> {
    document.duplicates.iter().map(|path| format!("duplicate field {path:?}")).collect()
}

pub(crate) fn content_type(parts: &Parts) -> &str {
    let value = parts.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// How kubectl sends what it makes itself.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Refuses bodies that are neither JSON nor protobuf.
fn check_media_type(parts: &Parts) -> Result<(), StatusError> {
    if matches!(content_type(parts), "" | "application/json" | PROTOBUF) {
        return Ok(());
    }
    Err(StatusError::new(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, \
         application/yaml, application/vnd.kubernetes.protobuf",
    ))
}

/// The body of a write of `kind`, which must be an object. `null` counts as an empty one.
pub(crate) fn object(parts: &Parts, body: &Bytes, kind: &str) -> Result<Document, StatusError> {
    check_media_type(parts)?;
    let refuse = |why: String| StatusError::bad_request(unrecognized(kind, &why, body));
    if content_type(parts) == PROTOBUF {
        let value = crate::typed::read_protobuf(body).map_err(refuse)?;
        return Ok(Document { value, duplicates: Vec::new() });
    }
    let mut document = read_typed(body).map_err(refuse)?;
    if document.value.is_null() {
        document.value = Value::Object(serde_json::Map::new());
    }
    Ok(document)
}

/// Reads JSON that must be an object with kind and version, or null.
fn read_typed(body: &[u8]) -> Result<Document, String> {
    let document = json::read(body).map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))?;
    let found = match &document.value {
        Value::Object(_) | Value::Null => return Ok(document),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    Err(untyped(found))
}

/// The text about JSON that cannot have a kind, by what it is instead of an object.
pub(crate) fn untyped(found: &str) -> String {
    format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ \
         APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

/// The answer to a custom object without a kind; the real server shows the body as it came.
pub(crate) fn missing_kind(resource: &Resource, body: &[u8]) -> StatusError {
    let shown = String::from_utf8_lossy(body);
    StatusError::bad_request(unrecognized(&resource.kind, &format!("Object 'Kind' is missing in '{shown}'"), body))
}

fn unrecognized(kind: &str, why: &str, body: &[u8]) -> String {
    format!("the object provided is unrecognized (must be of type {kind}): {why} ({})", summary(body))
}

/// The start of a body: as text if it looks like JSON, or else in hexadecimal.
fn summary(body: &[u8]) -> String {
    const LONGEST: usize = 30;
    let start = body.get(..LONGEST).unwrap_or(body);
    let dots = if body.len() > LONGEST { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{dots}", String::from_utf8_lossy(start)),
        Some(_) => format!("{}{dots}", start.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

/// Options of a deletion, if there is a body.
pub(crate) fn delete_options(parts: &Parts, body: &Bytes) -> Result<Option<Value>, StatusError> {
    if body.is_empty() {
        return Ok(None);
    }
    check_media_type(parts)?;
    let read = match content_type(parts) {
        PROTOBUF => crate::typed::read_protobuf(body),
        _ => read_typed(body).map(|document| document.value),
    };
    let mut options = read.map_err(StatusError::bad_request)?;
    let kind = crate::object::text(&options, &["kind"]);
    let version = crate::object::text(&options, &["apiVersion"]);
    if !matches!(kind, "" | "DeleteOptions") {
        return Err(StatusError::bad_request(unregistered(kind, version)));
    }
    crate::typed::decode_as("DeleteOptions", &mut options).map_err(StatusError::bad_request)?;
    Ok(Some(options))
}

/// The text about a kind that the server does not know.
pub(crate) fn unregistered(kind: &str, version: &str) -> String {
    format!("no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"")
}
