//! What happens to every written object: defaults, schema, validation, managed fields.

use serde_json::{Map, Value, json};

use super::{Caller, invalid};
use crate::defaults;
use crate::object::{meta_mut, name, text};
use crate::registry::Resource;
use crate::state::State;
use crate::status::{Cause, StatusError};
use crate::validation;

/// Defaults and prunes, then refuses what is wrong.
pub(crate) fn complete(
    state: &mut State,
    resource: &Resource,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<(), StatusError> {
    let mut causes = Vec::new();
    if resource.custom.is_some() {
        check_type(resource, object)?;
    }
    if let Some(schema) = resource.custom.as_ref().and_then(|c| c.schema.as_ref()) {
        // Objects from bodies and patches were pruned when they were decoded, but others come here, too.
        schema.prune(object);
        schema.default(object);
        causes.extend(validation::metadata(resource, object, old));
        let found = schema.validate(object, old);
        causes.extend(found.into_iter().map(|c| Cause { reason: c.reason, message: c.message, field: c.field }));
    } else {
        defaults::drop_nulls(object);
        defaults::apply(state, &resource.id, object, old);
        causes.extend(validation::metadata(resource, object, old));
        causes.extend(validation::spec(resource, object, old));
    }
    if causes.is_empty() { Ok(()) } else { Err(invalid(resource, name(object), &causes)) }
}

/// Kind and version of a custom object are its own, so they are validated like the rest of it.
fn check_type(resource: &Resource, object: &Value) -> Result<(), StatusError> {
    let (kind, version) = (text(object, &["kind"]), text(object, &["apiVersion"]));
    let (wanted_kind, wanted_version) = (resource.kind.as_str(), resource.api_version());
    let must = |field: &str, given: &str, wanted: &str| {
        (given != wanted).then(|| Cause::invalid(field, &json!(given), &format!("must be {wanted}")))
    };
    let causes: Vec<Cause> =
        must("kind", kind, wanted_kind).into_iter().chain(must("apiVersion", version, &wanted_version)).collect();
    if causes.is_empty() {
        return Ok(());
    }
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    Err(StatusError::invalid(&crate::status::About { group, kind, name: name(object) }, &causes))
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
