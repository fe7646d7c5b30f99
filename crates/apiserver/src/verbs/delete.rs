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
use crate::stored::Object;

/// Deletes one object.
pub(crate) fn delete(state: &mut State, target: &Target, options: &DeleteOptions) -> Result<Outcome, StatusError> {
    let resource = Arc::clone(&target.resource);
    warn_of_orphans(state, &resource, options);
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
    warn_of_orphans(state, &target.resource, options);
    for object in &page.items {
        let key = Key::new(&target.resource.id, crate::object::namespace(object), crate::object::name(object));
        if state.store.get(&key).is_some() {
            remove(state, &target.resource, &key, options);
        }
    }
    Ok(page)
}

/// Jobs leave their pods behind unless told otherwise, which surprises people.
fn warn_of_orphans(state: &mut State, resource: &Resource, options: &DeleteOptions) {
    if resource.id == "jobs.batch" && options.propagation.is_none() {
        state.warn(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them \
             or set propagationPolicy=Orphan to suppress this warning",
        );
    }
}

pub(crate) fn check_preconditions(
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
pub(crate) fn remove(state: &mut State, resource: &Resource, key: &Key, options: &DeleteOptions) -> (Object, bool) {
    let Some(existing) = state.store.get(key).cloned() else {
        return (Object::default(), true);
    };
    if resource.id == "namespaces" {
        return (terminate_namespace(state, key, &existing, options.dry_run), false);
    }
    let mut object = existing.clone();
    // Only pods are given time, and even one without any is marked before it goes. Once it has none left, it is deleted
    // like any other object.
    let is_pod = resource.id == "pods" && number(&existing, &GRACE) != Some(0);
    if is_pod && !begin_grace(state, &existing, &mut object, options.grace) {
        return (existing, false);
    }
    let kept = deletion_finalizers(resource, &existing, options.propagation);
    if finalizers(&existing) != kept {
        set_finalizers(&mut object, &kept);
    }
    if !is_pod && !kept.is_empty() {
        mark(state, resource, &mut object);
    }
    let waits = !kept.is_empty() || is_pod && number(&object, &GRACE) > Some(0);
    if options.dry_run {
        return (if waits || is_pod { object } else { existing }, !waits);
    }
    if waits || is_pod {
        let left = if *object == *existing { existing } else { state.store.put(key, object) };
        if waits {
            return (left, false);
        }
        return (erase(state, key, None).unwrap_or(left), true);
    }
    (erase(state, key, None).unwrap_or(existing), true)
}

/// Takes an object out of the store, in its last state if that is another; the endpoints of a service go with it.
pub(crate) fn erase(state: &mut State, key: &Key, last: Option<Object>) -> Option<Object> {
    let last = state.store.remove(key, last);
    if key.resource() == "services"
        && let Some(endpoints) = state.registry.by_id("endpoints")
    {
        let key = Key::new("endpoints", key.namespace(), key.name());
        remove(state, &endpoints, &key, &DeleteOptions::default());
    }
    last
}

const GRACE: [&str; 2] = ["metadata", "deletionGracePeriodSeconds"];
const DELETED_AT: [&str; 2] = ["metadata", "deletionTimestamp"];

/// Sets time and grace of the deletion of a pod. A later deletion can only shorten an earlier one; false if it does not.
fn begin_grace(state: &State, existing: &Value, object: &mut Value, asked: Option<i64>) -> bool {
    let now = state.clock.now_seconds();
    let until =
        |begun: Timestamp, grace: i64| begun.checked_add(SignedDuration::from_secs(grace)).unwrap_or(Timestamp::MAX);
    let (at, grace) = match (text(existing, &DELETED_AT).parse::<Timestamp>(), number(existing, &GRACE)) {
        (Ok(deleted), Some(before)) => {
            let asked = asked.map(|grace| if grace < 0 { 1 } else { grace });
            let Some(grace) = asked.filter(|grace| *grace < before) else { return false };
            let begun = deleted.checked_sub(SignedDuration::from_secs(before)).unwrap_or(deleted);
            // A grace that would have run out already ends now.
            match until(begun, grace) {
                past if past < now => (now, grace.min(1)),
                at => (at, grace),
            }
        }
        _ => {
            let grace = grace_period(existing, asked);
            bump_generation(object);
            (until(now, grace), grace)
        }
    };
    let meta = meta_mut(object);
    meta.insert("deletionTimestamp".to_owned(), json!(at.to_string()));
    meta.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
    true
}

/// Pods that run nowhere, or have ended, need no time.
fn grace_period(pod: &Value, asked: Option<i64>) -> i64 {
    let ended = matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed");
    if text(pod, &["spec", "nodeName"]).is_empty() || ended {
        return 0;
    }
    let own = number(pod, &["spec", "terminationGracePeriodSeconds"]).unwrap_or(0);
    // Negative periods mean one second, for compatibility with old clients.
    let grace = asked.unwrap_or(own);
    if grace < 0 { 1 } else { grace }
}

/// Marks an object that its finalizers hold.
fn mark(state: &State, resource: &Resource, object: &mut Value) {
    let now = state.now();
    if resource.id == crate::crd::DEFINITIONS {
        if !is_terminating(object) {
            meta_mut(object).insert("deletionTimestamp".to_owned(), json!(now));
            crate::crd::mark_terminating(object, &now);
        }
        return;
    }
    if number(object, &GRACE).is_none() {
        bump_generation(object);
    }
    let meta = meta_mut(object);
    if !meta.contains_key("deletionTimestamp") {
        meta.insert("deletionTimestamp".to_owned(), json!(now));
    }
    meta.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
}

/// The finalizers after a deletion with a policy; without one, a pending policy stays.
fn deletion_finalizers(resource: &Resource, existing: &Value, policy: Option<Propagation>) -> Vec<String> {
    let mut names: Vec<String> = finalizers(existing).into_iter().map(str::to_owned).collect();
    let policy = match policy {
        // Nothing depends on events, so nobody would ever take the finalizers away again.
        _ if resource.id == "events" => Propagation::Background,
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

fn terminate_namespace(state: &mut State, key: &Key, existing: &Object, dry_run: bool) -> Object {
    if is_terminating(existing) {
        return existing.clone();
    }
    let mut object = existing.clone();
    let now = state.now();
    meta_mut(&mut object).insert("deletionTimestamp".to_owned(), json!(now));
    child_mut(&mut object, &["status"]).insert("phase".to_owned(), json!("Terminating"));
    if dry_run { object } else { state.store.put(key, object) }
}
