//! Deletion: preconditions, grace, finalizers, and what the answer is.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::options::{DeleteOptions, Propagation};
use super::{Outcome, not_found};
use crate::list::list;
use crate::object::{
    bump_generation, child_mut, finalizers, is_terminating, meta_mut, number, set_finalizers, text, uid,
};
use crate::registry::Resource;
use crate::request::Target;
use crate::state::State;
use crate::status::StatusError;
use crate::store::Key;

/// Deletes one object.
pub(crate) fn delete(state: &mut State, target: &Target, options: &DeleteOptions) -> Result<Outcome, StatusError> {
    let resource = Arc::clone(&target.resource);
    let key = Key::new(&resource.id, &target.namespace, &target.name);
    let existing = state.store.get(&key).cloned().ok_or_else(|| not_found(&resource, &target.name))?;
    check_preconditions(&resource, &existing, &target.name, options)?;
    let (left, gone) = remove(state, &resource, &key, options);
    if !gone || resource.returns_deleted {
        return Ok(Outcome::Object(200, left));
    }
    let mut details = json!({"name": target.name, "kind": resource.plural, "uid": uid(&existing)});
    if !resource.group.is_empty() {
        details["group"] = json!(resource.group);
    }
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
    Ok(Outcome::Other(200, status))
}

/// Deletes everything a selection matches; answers with the objects as they were.
pub(crate) fn delete_collection(
    state: &mut State,
    target: &Target,
    options: &DeleteOptions,
) -> Result<crate::list::Page, StatusError> {
    let page = list(state, target, 0)?;
    for object in &page.items {
        let key = Key::new(&target.resource.id, crate::object::namespace(object), crate::object::name(object));
        if state.store.get(&key).is_some() {
            remove(state, &target.resource, &key, options);
        }
    }
    Ok(page)
}

fn check_preconditions(
    resource: &Resource,
    existing: &Value,
    name: &str,
    options: &DeleteOptions,
) -> Result<(), StatusError> {
    let conflict = |text: &str| Err(StatusError::conflict(&resource.group, &resource.kind, name, text));
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid(existing)) {
        return conflict(&format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            uid(existing)
        ));
    }
    let version = text(existing, &["metadata", "resourceVersion"]);
    if let Some(wanted) = options.version.as_deref().filter(|wanted| *wanted != version) {
        return conflict(&format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        ));
    }
    Ok(())
}

/// Removes an object, or marks it as being deleted. Tells what is left of it, and whether it is gone.
pub(crate) fn remove(state: &mut State, resource: &Resource, key: &Key, options: &DeleteOptions) -> (Arc<Value>, bool) {
    let Some(existing) = state.store.get(key).cloned() else {
        return (Arc::new(Value::Null), true);
    };
    if resource.id == "namespaces" {
        return (terminate_namespace(state, key, &existing, options.dry_run), false);
    }
    let mut object = (*existing).clone();
    let kept = deletion_finalizers(resource, &existing, options.propagation);
    set_finalizers(&mut object, &kept);
    let grace = grace_period(resource, &existing, options.grace);
    mark(state, resource, &existing, &mut object, grace);
    let gone = kept.is_empty() && number(&object, &GRACE).unwrap_or(0) == 0;
    if options.dry_run {
        return (Arc::new(object), gone);
    }
    if !gone {
        let same = object == *existing;
        return (if same { existing } else { state.store.put(key, object) }, false);
    }
    // Only pods show the time of a deletion that happens at once.
    let last = (resource.id == "pods" || is_terminating(&existing)).then_some(object);
    let left = state.store.remove(key, last).unwrap_or(existing);
    (left, true)
}

const GRACE: [&str; 2] = ["metadata", "deletionGracePeriodSeconds"];

/// Sets time and grace of the deletion; a later deletion can only shorten an earlier one.
fn mark(state: &State, resource: &Resource, existing: &Value, object: &mut Value, grace: i64) {
    let custom_definition = resource.id == crate::crd::DEFINITIONS;
    if is_terminating(existing) {
        if number(existing, &GRACE).is_none_or(|before| grace >= before) {
            return;
        }
    } else if !custom_definition {
        bump_generation(object);
    }
    let now = state.clock.now_seconds();
    let at = now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(Timestamp::MAX);
    let meta = meta_mut(object);
    meta.insert("deletionTimestamp".to_owned(), json!(at.to_string()));
    if custom_definition {
        crate::crd::mark_terminating(object, &now.to_string());
    } else {
        meta.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
    }
}

/// Only pods are given time; those that run nowhere, or have ended, are not.
fn grace_period(resource: &Resource, existing: &Value, asked: Option<i64>) -> i64 {
    if resource.id != "pods" {
        return 0;
    }
    let ended = matches!(text(existing, &["status", "phase"]), "Succeeded" | "Failed");
    if text(existing, &["spec", "nodeName"]).is_empty() || ended {
        return 0;
    }
    let own = number(existing, &["spec", "terminationGracePeriodSeconds"]).unwrap_or(30);
    // Negative periods mean one second, for compatibility with old clients.
    let grace = asked.unwrap_or(own);
    if grace < 0 { 1 } else { grace }
}

/// The finalizers after a deletion with a policy; without one, a pending policy stays.
fn deletion_finalizers(resource: &Resource, existing: &Value, policy: Option<Propagation>) -> Vec<String> {
    let mut names: Vec<String> = finalizers(existing).into_iter().map(str::to_owned).collect();
    let policy = match policy {
        Some(policy) => policy,
        None if names.iter().any(|n| n == ORPHAN || n == FOREGROUND) => return names,
        // The first version of jobs left their pods alone, and that never changed.
        None if resource.id == "jobs.batch" => Propagation::Orphan,
        None => Propagation::Background,
    };
    names.retain(|n| n != ORPHAN && n != FOREGROUND);
    match policy {
        Propagation::Background => {}
        Propagation::Foreground => names.push(FOREGROUND.to_owned()),
        Propagation::Orphan => names.push(ORPHAN.to_owned()),
    }
    if resource.id == crate::crd::DEFINITIONS && !names.iter().any(|n| n == crate::crd::CLEANUP) {
        names.push(crate::crd::CLEANUP.to_owned());
    }
    names
}

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

fn terminate_namespace(state: &mut State, key: &Key, existing: &Arc<Value>, dry_run: bool) -> Arc<Value> {
    if is_terminating(existing) {
        return Arc::clone(existing);
    }
    let mut object = (**existing).clone();
    let now = state.now();
    meta_mut(&mut object).insert("deletionTimestamp".to_owned(), json!(now));
    child_mut(&mut object, &["status"]).insert("phase".to_owned(), json!("Terminating"));
    if dry_run { Arc::new(object) } else { state.store.put(key, object) }
}
