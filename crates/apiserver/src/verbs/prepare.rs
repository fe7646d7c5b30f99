//! What happens to every written object: defaults, schema, validation, managed fields.

use serde_json::{Map, Value, json};

use super::{Caller, invalid};
use crate::defaults;
use crate::object::{meta_mut, name, text};
use crate::registry::Resource;
use crate::state::State;
use crate::status::{Cause, StatusError};
use crate::validation;

/// Checks kind and version of a body against the path, and fills them in for built-in kinds.
pub(crate) fn check_type(resource: &Resource, object: &mut Value) -> Result<(), StatusError> {
    let kind = text(object, &["kind"]).to_owned();
    let version = text(object, &["apiVersion"]).to_owned();
    if resource.custom.is_some() {
        if kind.is_empty() {
            return Err(missing_kind(resource, &object.to_string()));
        }
        if version != resource.api_version() {
            return Err(StatusError::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({})",
                resource.api_version()
            )));
        }
        if kind != resource.kind {
            let cause = Cause::invalid("kind", &json!(kind), &format!("must be {}", resource.kind));
            let about = crate::status::About { group: &resource.group, kind: &kind, name: name(object) };
            return Err(StatusError::invalid(&about, &[cause]));
        }
        return Ok(());
    }
    if !version.is_empty() && version != resource.api_version() {
        return Err(StatusError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            resource.api_version()
        )));
    }
    if !kind.is_empty() && kind != resource.kind {
        return Err(StatusError::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {}: converting ({}.{kind}) to ({}.{}): unknown conversion",
            resource.version,
            resource.kind,
            resource.version,
            if resource.group.is_empty() { "core" } else { resource.group.as_str() },
            resource.kind
        )));
    }
    let map = crate::object::map_mut(object);
    map.insert("kind".to_owned(), json!(resource.kind));
    map.insert("apiVersion".to_owned(), json!(resource.api_version()));
    crate::typed::decode(resource, object).map(drop).map_err(|text| {
        let (kind, version) = (&resource.kind, &resource.version);
        StatusError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {text}"))
    })
}

/// The answer to a custom object without a kind; the real server shows the body as it came.
pub(crate) fn missing_kind(resource: &Resource, body: &str) -> StatusError {
    let start: String = body.chars().take(30).collect();
    let dots = if body.chars().count() > 30 { " ..." } else { "" };
    StatusError::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{body}' ({start}{dots})",
        resource.kind
    ))
}

/// Defaults and prunes, then refuses what is wrong.
pub(crate) fn complete(
    state: &mut State,
    resource: &Resource,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<(), StatusError> {
    let mut causes = Vec::new();
    if let Some(schema) = resource.custom.as_ref().and_then(|c| c.schema.as_ref()) {
        // Schemas do not describe metadata beyond its name: it must survive pruning whole.
        let metadata = object.get("metadata").cloned().unwrap_or_default();
        schema.prune(object);
        schema.default(object);
        let map = crate::object::map_mut(object);
        map.insert("metadata".to_owned(), metadata);
        causes.extend(validation::metadata(resource, object, old));
        let found = schema.validate(object, old);
        causes.extend(found.into_iter().map(|c| Cause { reason: c.reason, message: c.message, field: c.field }));
    } else {
        defaults::drop_nulls(object);
        defaults::apply(state, &resource.id, object, old);
        crate::typed::shape(resource, object);
        causes.extend(validation::metadata(resource, object, old));
        causes.extend(validation::spec(resource, object, old));
    }
    if causes.is_empty() { Ok(()) } else { Err(invalid(resource, name(object), &causes)) }
}

/// Keeps one entry per manager, operation, version and subresource, with the fields that this write changed.
pub(crate) fn manage_fields(
    resource: &Resource,
    object: &mut Value,
    old: Option<&Value>,
    caller: &Caller,
    subresource: &str,
    now: &str,
) {
    let empty = json!({});
    let changed = changed_fields(old.unwrap_or(&empty), object, true);
    let mut entries: Vec<Value> = match old.and_then(|o| o.get("metadata")?.get("managedFields")?.as_array()) {
        Some(entries) => entries.clone(),
        None => Vec::new(),
    };
    if !changed.is_empty() {
        let mine = |entry: &Value| {
            text(entry, &["manager"]) == caller.manager
                && text(entry, &["operation"]) == "Update"
                && text(entry, &["subresource"]) == subresource
                && text(entry, &["apiVersion"]) == resource.api_version()
        };
        let position = entries.iter().position(mine);
        let before = position.map(|i| entries.remove(i));
        let mut fields = before.and_then(|e| e.get("fieldsV1")?.as_object().cloned()).unwrap_or_default();
        join(&mut fields, changed);
        entries.push(entry(resource, caller, subresource, now, fields));
    }
    let value = (!entries.is_empty()).then_some(Value::Array(entries));
    crate::object::set_or_remove(meta_mut(object), "managedFields", value);
}

fn entry(resource: &Resource, caller: &Caller, subresource: &str, now: &str, fields: Map<String, Value>) -> Value {
    let mut entry = json!({
        "operation": "Update", "apiVersion": resource.api_version(), "time": now,
        "fieldsType": "FieldsV1", "fieldsV1": fields,
    });
    if !caller.manager.is_empty() {
        entry["manager"] = json!(caller.manager);
    }
    if !subresource.is_empty() {
        entry["subresource"] = json!(subresource);
    }
    entry
}

/// Fields that differ and are there now, maps followed down, lists taken whole.
fn changed_fields(old: &Value, new: &Value, top: bool) -> Map<String, Value> {
    const IGNORED: [&str; 11] = [
        "apiVersion",
        "kind",
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ];
    let mut out = Map::new();
    for (key, value) in new.as_object().into_iter().flatten() {
        let before = old.get(key).unwrap_or(&Value::Null);
        let in_metadata = top && key == "metadata";
        if value == before || top && IGNORED.contains(&key.as_str()) {
            continue;
        }
        let mut below = if value.is_object() { changed_fields(before, value, false) } else { Map::new() };
        if in_metadata {
            below.retain(|field, _| field.strip_prefix("f:").is_none_or(|f| !IGNORED.contains(&f)));
            if below.is_empty() {
                continue;
            }
        }
        out.insert(format!("f:{key}"), Value::Object(below));
    }
    out
}

fn join(into: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(value)) => join(below, value),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}
