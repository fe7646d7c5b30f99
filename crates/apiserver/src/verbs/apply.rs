//! Server-side apply, of objects and of their status.

use std::sync::Arc;

use serde_json::{Value, json};

use super::create::{Origin, create, place_in_namespace};
use super::decode::decode;
use super::patch::{Wish, as_asked_for};
use super::update::{CREATED_BY_UPDATE, check_name, check_uid, replace};
use super::{Caller, Outcome, not_found};
use crate::json::Document;
use crate::managed::{self, Applied, Config, Place};
use crate::object::{meta_mut, namespace, text};
use crate::registry::Resource;
use crate::request::{Query, Target};
use crate::state::State;
use crate::status::{About, Cause, StatusError};
use crate::store::Key;
use crate::stored::Object;

/// Options that only an apply has, and one that it must have.
pub(crate) fn check_options(query: &Query, wish: Wish) -> Result<(), StatusError> {
    let cause = match wish {
        Wish::Apply if query.get("fieldManager").is_empty() => {
            Cause::required("fieldManager", "is required for apply patch")
        }
        Wish::Change(_) if !query.get("force").is_empty() => {
            Cause::forbidden("force", "may not be specified for non-apply patch")
        }
        _ => return Ok(()),
    };
    Err(StatusError::invalid(&About { group: "meta.k8s.io", kind: "PatchOptions", name: "" }, &[cause]))
}

/// Applies a body to an object, which is made if it is not there.
pub(crate) fn apply(state: &mut State, target: &Target, body: &[u8], caller: &Caller) -> Result<Outcome, StatusError> {
    if target.subresource == "scale" {
        let text = "apply is not supported on the scale: send a merge patch";
        return Err(StatusError::new(415, "UnsupportedMediaType", text));
    }
    let resource = Arc::clone(&target.resource);
    let sent = read(body)?;
    check_sent(&resource, &sent.value)?;
    let mistakes = managed::mistakes(&sent.value, Place::root(&resource));
    let typed = check_typed(&resource, &sent.value, &mistakes);
    let key = Key::new(&resource.id, &target.namespace, &target.name);
    let existing = state.store.get(&key).cloned();
    if existing.is_none() && !target.subresource.is_empty() && !CREATED_BY_UPDATE.contains(&resource.id.as_str()) {
        return Err(not_found(&resource, &target.name));
    }
    typed?;
    caller.strictness.tell(&crate::body::duplicates(&sent), &mut state.warnings).map_err(StatusError::bad_request)?;
    let now = state.now();
    let live = existing.as_ref().map(|existing| in_version(&resource, existing));
    let config = Config {
        object: &sent.value,
        manager: &caller.manager,
        subresource: &target.subresource,
        force: target.query.flag("force"),
        now: &now,
    };
    let Applied { object: mut applied, managers } = managed::apply(&resource, live.as_ref(), config)?;
    let caller = Caller { applied: Some(managers), ..caller.clone() };
    decode(state, &resource, &mut applied, existing.as_deref()).map_err(|why| undecodable(&applied, &why))?;
    let Some(existing) = existing else {
        check_name(&applied, &target.name)?;
        check_uid(&resource, &key, &applied, None, caller.dry_run)?;
        return create(state, target, applied, &caller, Origin::Create);
    };
    check_name(&applied, &target.name)?;
    place_in_namespace(&resource, &target.namespace, &mut applied)?;
    let stored = replace(state, &resource, &key, &existing, applied.into(), &target.subresource, &caller)?;
    Ok(Outcome::Object(200, stored))
}

/// The object in the version of the path, with its managers.
fn in_version(resource: &Resource, existing: &Object) -> Object {
    let mut object = Object::from(as_asked_for(resource, existing, false).into_owned());
    object.set_managers(existing.managers().to_vec());
    // Who applies without a version means whatever is there.
    meta_mut(&mut object).remove("resourceVersion");
    object
}

/// Reads JSON or YAML, which must be an object.
fn read(body: &[u8]) -> Result<Document, StatusError> {
    let refuse = |why: String| StatusError::bad_request(format!("error decoding YAML: {why}"));
    let is_json = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let document = match is_json {
        true => crate::json::read(body).map_err(refuse)?,
        false => {
            let text = std::str::from_utf8(body).map_err(|error| refuse(error.to_string()))?;
            let value = crate::yaml::read(text).map_err(refuse)?;
            Document { value, duplicates: Vec::new() }
        }
    };
    match document.value {
        Value::Object(_) => Ok(document),
        _ => Err(refuse("the body must be an object".to_owned())),
    }
}

/// What must be the same as in the path, and what nobody may send.
fn check_sent(resource: &Resource, sent: &Value) -> Result<(), StatusError> {
    let (version, kind) = (text(sent, &["apiVersion"]), text(sent, &["kind"]));
    if kind.is_empty() || version.is_empty() {
        let missing = if kind.is_empty() { "Kind" } else { "apiVersion" };
        return Err(StatusError::bad_request(format!("Object '{missing}' is missing in '{sent}'")));
    }
    if version != resource.api_version() || kind != resource.kind {
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        return Err(StatusError::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")));
    }
    if sent.pointer("/metadata/managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(StatusError::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// What the kind does not have, or has with another type, cannot be managed.
fn check_typed(resource: &Resource, sent: &Value, mistakes: &[String]) -> Result<(), StatusError> {
    let told = match mistakes {
        [] => return Ok(()),
        [one] => one.clone(),
        many => format!("errors:\n{}", many.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")),
    };
    let (namespace, name) = (namespace(sent), text(sent, &["metadata", "name"]));
    let (group, version, kind) = (&resource.group, &resource.version, &resource.kind);
    let message =
        format!("failed to create typed patch object ({namespace}/{name}; {group}/{version}, Kind={kind}): {told}");
    Err(StatusError::new(500, "", message))
}

/// What was merged is not of the kind.
fn undecodable(applied: &Value, why: &str) -> StatusError {
    let cause = Cause::invalid("patch", &json!(applied.to_string()), why);
    StatusError::invalid(&About { group: "", kind: "", name: "" }, &[cause])
}
