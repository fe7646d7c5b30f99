//! Creation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::prepare::complete;
use super::{Caller, Outcome, invalid};
use crate::managed;
use crate::object::{child_mut, is_terminating, map_mut, meta_mut, name, namespace, text};
use crate::registry::Resource;
use crate::request::Target;
use crate::state::State;
use crate::status::{Cause, StatusError};
use crate::store::Key;
use crate::stored::Object;
use crate::validation::names::path_segment_problems;

/// How an object comes to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Create,
    /// An update of an object that is not there, for the kinds that allow it.
    Update,
}

/// Makes an object.
pub(crate) fn create(
    state: &mut State,
    target: &Target,
    mut object: Value,
    caller: &Caller,
    origin: Origin,
) -> Result<Outcome, StatusError> {
    let resource = Arc::clone(&target.resource);
    place_in_namespace(&resource, &target.namespace, &mut object)?;
    let sent = managed::Sent::of(&resource, &mut object, &target.subresource);
    let version = text(&object, &["metadata", "resourceVersion"]).parse().unwrap_or(0_u64);
    name_it(state, &mut object);
    if resource.namespaced {
        check_namespace(state, &resource, &target.namespace, name(&object))?;
    }
    begin(state, &resource, &mut object, origin);
    check_addressable(&resource, &object, caller)?;
    complete(state, &resource, &mut object, None, &target.subresource)?;
    if origin == Origin::Create && version != 0 && !caller.dry_run {
        return Err(StatusError::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let key = Key::new(&resource.id, &target.namespace, name(&object));
    if let Some(existing) = state.store.get(&key) {
        let mut taken = StatusError::already_exists(&resource.group, &resource.plural, key.name());
        if !text(&object, &["metadata", "generateName"]).is_empty() {
            // Whether the name was generated or given is not looked at.
            taken.message.push_str(", the server was not able to generate a unique name for the object");
            taken.retry_after = Some(1);
            child_mut(taken.details.get_or_insert_default(), &[]).insert("retryAfterSeconds".to_owned(), json!(1));
        }
        if is_terminating(existing) {
            taken.message = format!("object is being deleted: {}", taken.message);
        }
        return Err(taken);
    }
    let now = state.now();
    let mut object = Object::from(object);
    match &caller.applied {
        Some(applied) => object.set_managers(applied.clone()),
        None => managed::update(&resource, &mut object, None, sent, caller, &target.subresource, &now),
    }
    if caller.dry_run {
        return Ok(Outcome::Object(201, object));
    }
    let stored = state.store.put(&key, object);
    Ok(Outcome::Object(201, stored))
}

/// The namespace of the path is the one that counts; another one in the body is an error.
pub(crate) fn place_in_namespace(resource: &Resource, wanted: &str, object: &mut Value) -> Result<(), StatusError> {
    let given = namespace(object);
    if resource.namespaced {
        if !given.is_empty() && given != wanted {
            let text = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(StatusError::bad_request(text));
        }
        meta_mut(object).insert("namespace".to_owned(), json!(wanted));
    } else {
        meta_mut(object).remove("namespace");
    }
    Ok(())
}

/// Gives an object without a name one that begins as asked for.
fn name_it(state: &mut State, object: &mut Value) {
    let prefix = text(object, &["metadata", "generateName"]);
    if !name(object).is_empty() || prefix.is_empty() {
        return;
    }
    // Kubernetes keeps 58 characters of the prefix, so that the name stays within a DNS label.
    let prefix: String = prefix.chars().take(58).collect();
    let generated = format!("{prefix}{}", state.ids.suffix());
    meta_mut(object).insert("name".to_owned(), json!(generated));
}

fn check_namespace(state: &State, resource: &Resource, namespace: &str, name: &str) -> Result<(), StatusError> {
    let Some(found) = state.store.get(&Key::new("namespaces", "", namespace)) else {
        return Err(StatusError::not_found("", "namespaces", namespace));
    };
    if !is_terminating(found) {
        return Ok(());
    }
    let qualified = &resource.id;
    let mut error = StatusError::forbidden(format!(
        "{qualified} {name:?} is forbidden: unable to create new content in namespace {namespace} because it is being \
         terminated"
    ));
    let mut details = json!({"name": name, "kind": resource.plural, "causes": [{
        "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    }]});
    if !resource.group.is_empty() {
        details["group"] = json!(resource.group);
    }
    error.details = Some(details);
    Err(error)
}

/// The address of a service belongs to an object that names the service, and some names it cannot hold. It is made
/// before anything else is looked at.
fn check_addressable(resource: &Resource, object: &Value, caller: &Caller) -> Result<(), StatusError> {
    let own = name(object);
    let chosen = text(object, &["spec", "clusterIP"]).is_empty() && text(object, &["spec", "type"]) != "ExternalName";
    if resource.id != "services" || caller.dry_run || !chosen {
        return Ok(());
    }
    let problem = match path_segment_problems(own).into_iter().next() {
        _ if own.is_empty() => "Required value".to_owned(),
        Some(problem) => format!("Invalid value: {own:?}: {problem}"),
        None => return Ok(()),
    };
    let why = format!(
        "failed to allocate IP: IPAddress.networking.k8s.io \"10.96.0.1\" is invalid: spec.parentRef.name: \
         {problem}"
    );
    Err(invalid(resource, own, &[Cause::invalid("spec.clusterIPs", &json!([""]), &why)]))
}

/// What the server alone decides about a new object.
fn begin(state: &mut State, resource: &Resource, object: &mut Value, origin: Origin) {
    let (uid, now) = (state.ids.uid(), state.now());
    if resource.status && resource.id != "customresourcedefinitions.apiextensions.k8s.io" {
        map_mut(object).remove("status");
    }
    let meta = meta_mut(object);
    meta.remove("selfLink");
    if origin == Origin::Create {
        meta.remove("deletionTimestamp");
        meta.remove("deletionGracePeriodSeconds");
    }
    // Where the server does not count generations, the one that was sent stays.
    if meta.get("generation").and_then(Value::as_i64).unwrap_or(0) == 0 {
        meta.remove("generation");
    }
    meta.insert("uid".to_owned(), json!(uid));
    meta.insert("creationTimestamp".to_owned(), json!(now));
    if resource.generation {
        meta.insert("generation".to_owned(), json!(1));
    }
}
