//! The scale subresource: a small object seen through a large one.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_patch::go_text;

use super::decode::decode_other;
use super::patch::Form;
use super::update::{MODIFIED, check_name, check_uid, read_version, replace};
use super::{Caller, Outcome, not_found};
use crate::body::duplicates;
use crate::managed;
use crate::object::{child_mut, number};
use crate::registry::{Resource, ScalePaths};
use crate::request::Target;
use crate::selector::LabelSelector;
use crate::state::State;
use crate::status::{About, Cause, StatusError};
use crate::store::Key;
use crate::stored::Object;

/// Kind and version of scales.
pub(crate) const TYPE: (&str, &str) = ("Scale", "autoscaling/v1");

/// What a client sends to change a scale.
pub(crate) enum Change<'a> {
    Replace(Value),
    Patch(Form, &'a [u8]),
}

/// Reads a scale.
pub(crate) fn get(state: &State, target: &Target) -> Result<Outcome, StatusError> {
    let (_, object) = find(state, target)?;
    let paths = paths(target)?;
    check_set(&target.resource, paths, &object)?;
    Ok(Outcome::Other(200, scale_of(&target.resource, paths, &object)))
}

/// Writes a scale.
pub(crate) fn write(
    state: &mut State,
    target: &Target,
    change: Change<'_>,
    caller: &Caller,
) -> Result<Outcome, StatusError> {
    let resource = Arc::clone(&target.resource);
    let paths = paths(target)?;
    if let Change::Replace(scale) = &change {
        check_name(scale, &target.name)?;
    }
    let (key, existing) = find(state, target)?;
    let scale = match change {
        Change::Replace(scale) => {
            check_uid(&resource, &key, &scale, Some(&existing), caller.dry_run)?;
            scale
        }
        Change::Patch(form, body) => patched(state, &scale_of(&resource, paths, &existing), form, body, caller)?,
    };
    check_name(&scale, &target.name)?;
    let replicas = number(&scale, &["spec", "replicas"]).unwrap_or(0);
    if replicas < 0 && resource.custom.is_none() {
        return Err(negative(&resource, paths, &target.name, replicas));
    }
    let version = read_version(&scale)?;
    if version != 0 && version != read_version(&existing)? {
        return Err(StatusError::conflict(&resource.group, &resource.plural, &target.name, MODIFIED));
    }
    if replicas < 0 {
        return Err(negative(&resource, paths, &target.name, replicas));
    }
    let mut object = existing.clone();
    if let Some((last, parents)) = paths.spec.split_last() {
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        child_mut(&mut object, &parents).insert(last.clone(), json!(replicas));
    }
    let before = read(&existing, &paths.spec).and_then(Value::as_i64).unwrap_or(0);
    managed::update_scale(&resource, &mut object, &paths.spec, (replicas != before).then_some(replicas), caller);
    let stored = replace(state, &resource, &key, &existing, object, "scale", caller)?;
    Ok(Outcome::Other(200, scale_of(&resource, paths, &stored)))
}

fn patched(state: &mut State, scale: &Value, form: Form, body: &[u8], caller: &Caller) -> Result<Value, StatusError> {
    let patch = form.parse(body, caller.strictness)?;
    let mut object = form.apply("Scale", scale, &patch.value, caller.strictness)?;
    let shown = json!(object.to_string());
    let refuse = |why: String| {
        let cause = Cause::invalid("patch", &shown, &why);
        StatusError::invalid(&About { group: "", kind: "", name: "" }, &[cause])
    };
    let mut problems = duplicates(&patch);
    problems.extend(decode_other(TYPE, &mut object).map_err(refuse)?);
    caller.strictness.tell(&problems, &mut state.warnings).map_err(refuse)?;
    Ok(object)
}

fn negative(resource: &Resource, paths: &ScalePaths, name: &str, replicas: i64) -> StatusError {
    if resource.custom.is_none() {
        let cause = Cause::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
        return StatusError::invalid(&About { group: "autoscaling", kind: "Scale", name }, &[cause]);
    }
    let field = format!(".{}", paths.spec.join("."));
    super::invalid(resource, name, &[Cause::invalid(field, &json!(replicas), "should be a non-negative integer")])
}

fn paths(target: &Target) -> Result<&ScalePaths, StatusError> {
    target.resource.scale.as_ref().ok_or_else(StatusError::resource_not_found)
}

fn find(state: &State, target: &Target) -> Result<(Key, Object), StatusError> {
    let key = Key::new(&target.resource.id, &target.namespace, &target.name);
    let object = state.store.get(&key).cloned().ok_or_else(|| not_found(&target.resource, &target.name))?;
    Ok((key, object))
}

fn read<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

/// Custom objects without a number have no scale to read, but it can be written.
fn check_set(resource: &Resource, paths: &ScalePaths, object: &Value) -> Result<(), StatusError> {
    if resource.custom.is_some() && read(object, &paths.spec).is_none() {
        let text = format!("the spec replicas field \".{}\" does not exist", paths.spec.join("."));
        return Err(StatusError::internal(text));
    }
    Ok(())
}

/// What is wrong with the numbers of a custom object, where they are read from.
pub(crate) fn problems(resource: &Resource, object: &Value) -> Vec<Cause> {
    let Some(paths) = resource.scale.as_ref().filter(|_| resource.custom.is_some()) else { return Vec::new() };
    let mut causes = Vec::new();
    for path in [&paths.spec, &paths.status] {
        let field = format!(".{}", path.join("."));
        match reach(object, path) {
            Ok(Some(number)) if number < 0 => {
                causes.push(Cause::invalid(field, &json!(number), "should be a non-negative integer"));
            }
            Ok(_) => {}
            Err(why) => {
                let text = format!("{field} accessor error: {why}");
                causes.push(Cause::invalid(field, &json!(0), &text));
            }
        }
    }
    causes
}

/// The number at a path, if there is one; the error says what is there instead.
fn reach(object: &Value, path: &[String]) -> Result<Option<i64>, String> {
    let mut value = object;
    for field in path {
        let next = match value {
            Value::Object(map) => map.get(field),
            Value::Null => None,
            other => {
                let kind = go_type(other);
                return Err(format!("{} is of the type {kind}, expected map[string]interface{{}}", go_text(other)));
            }
        };
        let Some(next) = next else { return Ok(None) };
        value = next;
    }
    let wrong = || format!("{} is of the type {}, expected int64", go_text(value), go_type(value));
    value.as_i64().map(Some).ok_or_else(wrong)
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn scale_of(resource: &Resource, paths: &ScalePaths, object: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = crate::object::at(object, &["metadata", field]) {
            metadata[field] = value.clone();
        }
    }
    let mut spec = json!({});
    let wanted = read(object, &paths.spec).and_then(Value::as_i64).unwrap_or(0);
    if wanted != 0 {
        spec["replicas"] = json!(wanted);
    }
    let observed = read(object, &paths.status).and_then(Value::as_i64).unwrap_or(0);
    let mut status = json!({"replicas": observed});
    let selector = match paths.selector.as_ref().and_then(|path| read(object, path)) {
        Some(Value::String(selector)) => selector.clone(),
        Some(selector) if resource.custom.is_none() => LabelSelector::of_object(selector).to_string(),
        _ => String::new(),
    };
    if !selector.is_empty() {
        status["selector"] = json!(selector);
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
}
