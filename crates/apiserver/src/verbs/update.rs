//! Updates: the rules that hold for a replaced object, wherever the new one comes from.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::create::{Origin, create, place_in_namespace};
use super::prepare::complete;
use super::{Caller, Outcome, not_found};
use crate::managed;
use crate::object::{
    finalizers, is_terminating, map_mut, meta_mut, name, number, same_but_for, set_or_remove, text, uid,
};
use crate::registry::Resource;
use crate::request::Target;
use crate::state::State;
use crate::status::{About, Cause, StatusError};
use crate::store::Key;
use crate::stored::Object;

pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Kinds whose objects a PUT creates when they are not there.
pub(super) const CREATED_BY_UPDATE: [&str; 6] = [
    "services",
    "endpoints",
    "events",
    "leases.coordination.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
];

/// Replaces an object or its status.
pub(crate) fn update(
    state: &mut State,
    target: &Target,
    mut object: Value,
    caller: &Caller,
) -> Result<Outcome, StatusError> {
    let resource = Arc::clone(&target.resource);
    check_name(&object, &target.name)?;
    place_in_namespace(&resource, &target.namespace, &mut object)?;
    let key = Key::new(&resource.id, &target.namespace, &target.name);
    let existing = state.store.get(&key).cloned();
    let Some(existing) = existing else {
        if CREATED_BY_UPDATE.contains(&resource.id.as_str()) {
            check_uid(&resource, &key, &object, None, caller.dry_run)?;
            read_version(&object)?;
            return create(state, target, object, caller, Origin::Update);
        }
        return Err(not_found(&resource, &target.name));
    };
    check_uid(&resource, &key, &object, Some(&existing), caller.dry_run)?;
    if read_version(&object)? == 0 && !resource.unconditional_update {
        let cause = Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
        let about = About { group: &resource.group, kind: &resource.plural, name: &target.name };
        return Err(StatusError::invalid(&about, &[cause]));
    }
    let stored = replace(state, &resource, &key, &existing, object.into(), &target.subresource, caller)?;
    Ok(Outcome::Object(200, stored))
}

/// A uid in the body must be the one of the object; of an object that is not there it is empty.
pub(crate) fn check_uid(
    resource: &Resource,
    key: &Key,
    object: &Value,
    existing: Option<&Value>,
    dry_run: bool,
) -> Result<(), StatusError> {
    let (given, found) = (uid(object), existing.map(uid).unwrap_or_default());
    if given.is_empty() || given == found {
        return Ok(());
    }
    let root = if dry_run { "" } else { "/registry" };
    let text = format!(
        "StorageError: invalid object, Code: 4, Key: {root}/{}/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {given}, UID in object meta: {found}",
        resource.storage_path(),
        key.namespace(),
        key.name(),
    );
    Err(StatusError::conflict(&resource.group, &resource.plural, key.name(), &text))
}

/// The version that a write is based on, 0 for any.
pub(crate) fn read_version(object: &Value) -> Result<u64, StatusError> {
    match text(object, &["metadata", "resourceVersion"]) {
        "" => Ok(0),
        given => given
            .parse()
            .map_err(|_| StatusError::new(500, "", format!("strconv.ParseUint: parsing {given:?}: invalid syntax"))),
    }
}

/// The name in the body must be there and be the one of the path.
pub(crate) fn check_name(object: &Value, wanted: &str) -> Result<(), StatusError> {
    match name(object) {
        "" => Err(StatusError::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        ))),
        given if given != wanted => Err(StatusError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({wanted})"
        ))),
        _ => Ok(()),
    }
}

/// Stores a new state of an object; `existing` is what it was derived from.
pub(crate) fn replace(
    state: &mut State,
    resource: &Resource,
    key: &Key,
    existing: &Object,
    mut object: Object,
    subresource: &str,
    caller: &Caller,
) -> Result<Object, StatusError> {
    let given = read_version(&object)?;
    if given != 0 && given != read_version(existing)? {
        return Err(StatusError::conflict(&resource.group, &resource.plural, key.name(), MODIFIED));
    }
    let entries = managed::Sent::of(resource, &mut object, subresource);
    carry_over(resource, existing, &mut object, subresource);
    let sent = entries.with_chosen(resource, &object);
    complete(state, resource, &mut object, Some(existing), subresource)?;
    // The status endpoint may bring changed annotations along, and they do not count there.
    if subresource != "status" && spec_changed(resource, existing, &object) {
        let generation = number(existing, &["metadata", "generation"]).unwrap_or(0);
        meta_mut(&mut object).insert("generation".to_owned(), json!(generation.saturating_add(1)));
    }
    let now = state.now();
    if let Some(applied) = &caller.applied {
        object.set_managers(applied.clone());
    } else if subresource != "scale" {
        managed::update(resource, &mut object, Some(existing), sent, caller, subresource, &now);
    }
    if caller.dry_run {
        return Ok(if managed::is_same(&object, existing) { existing.clone() } else { object });
    }
    if is_finished(resource, &object) {
        // Even a write that changes nothing ends an object that nothing holds. The last write is only seen by its writer, under the version before the removal: what is removed, and what
        // watchers see, is the object as it was stored.
        super::delete::erase(state, key, None);
        return Ok(object);
    }
    if managed::is_same(&object, existing) {
        return Ok(existing.clone());
    }
    Ok(state.store.put(key, object))
}

/// Whether the last finalizer of a deleted object is gone.
pub(crate) fn is_finished(resource: &Resource, object: &Value) -> bool {
    let spec_finalizers =
        resource.id == "namespaces" && !crate::object::list(object, &["spec", "finalizers"]).is_empty();
    is_terminating(object)
        && finalizers(object).is_empty()
        && !spec_finalizers
        && number(object, &["metadata", "deletionGracePeriodSeconds"]).unwrap_or(0) == 0
}

/// What a write may not change is taken from what is stored.
fn carry_over(resource: &Resource, existing: &Value, object: &mut Value, subresource: &str) {
    let old_meta = |field: &str| existing.get("metadata").and_then(|m| m.get(field)).cloned();
    if subresource == "status" {
        let sent = map_mut(object);
        let (status, metadata) = (sent.remove("status"), sent.remove("metadata"));
        let (metadata, replaced): (_, &[&str]) =
            if resource.custom.is_none() { (metadata, &["status", "metadata"]) } else { (None, &["status"]) };
        restore(sent, existing, replaced);
        set_or_remove(sent, "status", status);
        if resource.custom.is_none() {
            set_or_remove(map_mut(object), "metadata", metadata);
            let kept: &[&str] = match resource.id.as_str() {
                "deployments.apps" => &["labels", "ownerReferences"],
                "pods" => &["ownerReferences"],
                _ => &[],
            };
            for field in kept {
                set_or_remove(meta_mut(object), field, old_meta(field));
            }
        }
    } else if subresource == "finalize" {
        let wanted = crate::object::at(object, &["spec", "finalizers"]).cloned();
        *object = existing.clone();
        set_or_remove(crate::object::child_mut(object, &["spec"]), "finalizers", wanted);
    } else if resource.status {
        set_or_remove(map_mut(object), "status", existing.get("status").cloned());
        if resource.id == "namespaces" {
            let kept = crate::object::at(existing, &["spec", "finalizers"]).cloned();
            set_or_remove(crate::object::child_mut(object, &["spec"]), "finalizers", kept);
        }
    }
    let meta = meta_mut(object);
    if meta.get("uid").is_none_or(|uid| uid.is_null() || uid == "") {
        set_or_remove(meta, "uid", old_meta("uid"));
    }
    // A deletion cannot be taken back. Whoever tries to begin one here is refused by validation.
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let Some(before) = old_meta(field) {
            meta.insert(field.to_owned(), before);
        }
    }
    for field in ["creationTimestamp", "generation"] {
        set_or_remove(meta, field, old_meta(field));
    }
    set_or_remove(meta, "resourceVersion", old_meta("resourceVersion"));
    meta.remove("selfLink");
}

/// Makes all fields but some what they were. Most are: to see that is cheaper than to copy them.
fn restore(object: &mut Map<String, Value>, existing: &Value, left_out: &[&str]) {
    let Value::Object(existing) = existing else { return };
    let is_kept = |key: &String| !left_out.contains(&key.as_str());
    object.retain(|key, _| is_kept(key) && existing.contains_key(key));
    for (key, value) in existing.iter().filter(|(key, _)| is_kept(key)) {
        if object.get(key) != Some(value) {
            object.insert(key.clone(), value.clone());
        }
    }
}

/// Whether the part of an object that its generation counts has changed.
fn spec_changed(resource: &Resource, old: &Value, new: &Value) -> bool {
    if !resource.generation {
        return false;
    }
    let is_left_out = |key: &str| key == "metadata" || key == "status" && resource.status;
    let differs = |field: &str| {
        let path = ["metadata", field];
        crate::object::at(old, &path) != crate::object::at(new, &path)
    };
    let extra = match resource.id.as_str() {
        "deployments.apps" => differs("annotations"),
        "endpointslices.discovery.k8s.io" => differs("labels"),
        _ => false,
    };
    extra || !same_but_for(old, new, is_left_out)
}
