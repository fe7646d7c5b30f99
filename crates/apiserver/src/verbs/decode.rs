//! From a document to an object of the resource: its kind and version, its types, and the fields that nobody knows.

use bytes::Bytes;
use http::request::Parts;
use serde_json::{Value, json};

use super::Caller;
use crate::body::{self, unregistered};
use crate::object::{map_mut, text};
use crate::registry::Resource;
use crate::request::Target;
use crate::state::State;
use crate::status::StatusError;
use crate::store::Key;
use crate::typed;

/// Reads the body of a create or an update.
pub(crate) fn read_body(
    state: &mut State,
    target: &Target,
    parts: &Parts,
    body: &Bytes,
    caller: &Caller,
) -> Result<Value, StatusError> {
    let resource = &target.resource;
    let document = body::object(parts, body, &resource.kind)?;
    let mut problems = body::duplicates(&document);
    let mut object = document.value;
    let kind = match text(&object, &["kind"]) {
        "" if resource.custom.is_some() => return Err(body::missing_kind(resource, body)),
        "" => resource.kind.clone(),
        given => given.to_owned(),
    };
    let version = match text(&object, &["apiVersion"]) {
        "" => resource.api_version(),
        given => given.to_owned(),
    };
    let refuse = |why: String| {
        let version = version.rsplit('/').next().unwrap_or_default();
        let wanted = &resource.kind;
        StatusError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {wanted}: {why}"))
    };
    let key = Key::new(&resource.id, &target.namespace, &target.name);
    let stored = state.store.get(&key).map(|stored| &**stored);
    problems.extend(decode(state, resource, &mut object, stored).map_err(refuse)?);
    caller.strictness.tell(&problems, &mut state.warnings).map_err(refuse)?;
    let given = text(&object, &["apiVersion"]);
    if given != resource.api_version() {
        return Err(StatusError::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({})",
            resource.api_version()
        )));
    }
    Ok(object)
}

/// Reads the body of a write to a subresource that has a type of its own: its kind and version.
pub(crate) fn read_other(
    state: &mut State,
    target: &Target,
    parts: &Parts,
    body: &Bytes,
    caller: &Caller,
    (wanted, version): (&'static str, &str),
) -> Result<Value, StatusError> {
    let document = body::object(parts, body, wanted)?;
    let mut problems = body::duplicates(&document);
    let mut object = document.value;
    let or = |given: &str, default: &str| if given.is_empty() { default.to_owned() } else { given.to_owned() };
    let kind = or(text(&object, &["kind"]), wanted);
    let given = or(text(&object, &["apiVersion"]), version);
    let refuse = |why: String| {
        let version = given.rsplit('/').next().unwrap_or_default();
        StatusError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {wanted}: {why}"))
    };
    problems.extend(decode_other((wanted, version), &mut object).map_err(refuse)?);
    caller.strictness.tell(&problems, &mut state.warnings).map_err(refuse)?;
    super::create::place_in_namespace(&target.resource, &target.namespace, &mut object)?;
    Ok(object)
}

/// The same for a document.
pub(crate) fn decode_other((wanted, version): (&'static str, &str), object: &mut Value) -> Result<Vec<String>, String> {
    let (kind, given) = (text(object, &["kind"]), text(object, &["apiVersion"]));
    if !kind.is_empty() && kind != wanted || !given.is_empty() && given != version {
        let kind = if kind.is_empty() { wanted } else { kind };
        return Err(unregistered(kind, if given.is_empty() { version } else { given }));
    }
    typed::decode_as(wanted, object).map(|paths| unknown(&paths))
}

/// Decodes a document. Returns what is odd about it (`unknown field "spec.x"`); the error is the decoder's text. `stored`
/// is what it was made from: what is the same there has been decoded before.
pub(crate) fn decode(
    state: &State,
    resource: &Resource,
    object: &mut Value,
    stored: Option<&Value>,
) -> Result<Vec<String>, String> {
    if resource.custom.is_some() {
        return decode_custom(resource, object);
    }
    let (kind, version) = (text(object, &["kind"]).to_owned(), text(object, &["apiVersion"]).to_owned());
    let kind = if kind.is_empty() { resource.kind.clone() } else { kind };
    let version = if version.is_empty() { resource.api_version() } else { version };
    if kind != resource.kind || version != resource.api_version() {
        let known = state.registry.all().any(|r| r.custom.is_none() && r.kind == kind && r.api_version() == version);
        if !known {
            return Err(unregistered(&kind, &version));
        }
        let (version, own) = (version.rsplit('/').next().unwrap_or_default(), &resource.kind);
        let group = if resource.group.is_empty() { "core" } else { resource.group.as_str() };
        return Err(format!("converting ({version}.{kind}) to ({group}.{own}): unknown conversion"));
    }
    let map = map_mut(object);
    map.insert("kind".to_owned(), json!(kind));
    map.insert("apiVersion".to_owned(), json!(version));
    typed::decode(resource, object, stored).map(|paths| unknown(&paths))
}

fn unknown(paths: &[String]) -> Vec<String> {
    paths.iter().map(|path| format!("unknown field {path:?}")).collect()
}

/// Custom objects have typed metadata; the rest is pruned by the schema.
fn decode_custom(resource: &Resource, object: &mut Value) -> Result<Vec<String>, String> {
    // What is not of this kind and version is not looked at further.
    if text(object, &["kind"]) != resource.kind || text(object, &["apiVersion"]) != resource.api_version() {
        return Ok(Vec::new());
    }
    let mut paths = match object.get_mut("metadata") {
        Some(metadata) => decode_metadata(metadata)?,
        None => Vec::new(),
    };
    if let Some(schema) = resource.custom.as_ref().and_then(|c| c.schema.as_ref()) {
        paths.extend(schema.prune(object));
    }
    Ok(unknown(&paths))
}

fn decode_metadata(metadata: &mut Value) -> Result<Vec<String>, String> {
    let found = match metadata {
        Value::Null => return Ok(Vec::new()),
        Value::Object(_) => {
            let paths = typed::decode_as("ObjectMeta", metadata)?;
            typed::shape_as("ObjectMeta", metadata);
            return Ok(paths.iter().map(|path| format!("metadata.{path}")).collect());
        }
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    Err(format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"))
}
