//! What controllers of a real cluster do after a write: garbage collection by owner references, emptying of deleted
//! namespaces, and the life of custom resource definitions. Done at once and in order, so that runs repeat.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::crd;
use crate::object::{
    finalizers, is_terminating, list, meta_mut, name, namespace, set_finalizers, set_or_remove, text, uid,
};
use crate::state::State;
use crate::store::{Change, Key};
use crate::verbs::delete::{FOREGROUND, ORPHAN, erase, remove};
use crate::verbs::options::{DeleteOptions, Propagation};
use crate::verbs::update::is_finished;

/// Works off everything that writes have touched, including what this work touches itself.
pub(crate) fn collect(state: &mut State) {
    while let Some(change) = state.store.take_touched() {
        follow(state, &change);
    }
}

fn follow(state: &mut State, change: &Change) {
    if change.key.resource() == crd::DEFINITIONS {
        crd::follow(state, &change.key);
    } else if change.removed {
        // The last object of a definition that is being deleted.
        let definition = Key::new(crd::DEFINITIONS, "", change.key.resource());
        if state.store.get(&definition).is_some_and(|d| is_terminating(d)) {
            crd::follow(state, &definition);
        }
    }
    if change.key.resource() == "namespaces" && !change.removed {
        empty_namespace(state, change.key.name());
    }
    if !state.collects_garbage {
        if change.removed && !change.key.namespace().is_empty() {
            empty_namespace(state, change.key.namespace());
        }
    } else if change.removed {
        after_removal(state, change);
    } else {
        look_at(state, &change.key);
    }
}

fn after_removal(state: &mut State, change: &Change) {
    for dependent in state.store.dependents(uid(&change.new)) {
        look_at(state, &dependent);
    }
    for owner in list(&change.new, &["metadata", "ownerReferences"]) {
        if let Some(key) = state.store.find_uid(text(owner, &["uid"])).cloned() {
            look_at(state, &key);
        }
    }
    let place = change.key.namespace();
    if !place.is_empty() {
        empty_namespace(state, place);
    }
}

/// Does what one object needs: its own pending policy first, then its owners.
fn look_at(state: &mut State, key: &Key) {
    let Some(object) = state.store.get(key).cloned() else { return };
    if is_terminating(&object) {
        if finalizers(&object).contains(&ORPHAN) {
            orphan(state, key, &object);
            return;
        }
        if finalizers(&object).contains(&FOREGROUND) {
            foreground(state, key, &object);
        }
        return;
    }
    check_owners(state, key, &object);
}

/// Takes the owner out of its dependents, then lets it go.
fn orphan(state: &mut State, key: &Key, owner: &Value) {
    for dependent in state.store.dependents(uid(owner)) {
        drop_owners(state, &dependent, &BTreeSet::from([uid(owner).to_owned()]));
    }
    drop_finalizer(state, key, ORPHAN);
}

/// Deletes the dependents; the owner goes when none that blocks it is left.
fn foreground(state: &mut State, key: &Key, owner: &Value) {
    let dependents = state.store.dependents(uid(owner));
    for dependent in &dependents {
        let Some(object) = state.store.get(dependent).cloned() else { continue };
        if !is_terminating(&object) {
            check_owners(state, dependent, &object);
        }
    }
    let blocked = state.store.dependents(uid(owner)).iter().any(|dependent| {
        state.store.get(dependent).is_some_and(|object| {
            let owners = list(object, &["metadata", "ownerReferences"]);
            let blocks = |o: &Value| o.get("blockOwnerDeletion") == Some(&Value::Bool(true));
            owners.iter().any(|o| text(o, &["uid"]) == uid(owner) && blocks(o))
        })
    });
    if !blocked {
        drop_finalizer(state, key, FOREGROUND);
    }
}

#[derive(Default)]
struct Owners {
    solid: usize,
    gone: BTreeSet<String>,
    waiting: BTreeSet<String>,
    unknown: bool,
}

/// Deletes an object whose owners are all gone or waiting for it; forgets those among several that are.
fn check_owners(state: &mut State, key: &Key, object: &Value) {
    let references = list(object, &["metadata", "ownerReferences"]);
    if references.is_empty() {
        return;
    }
    let owners = sort_owners(state, object, references);
    if owners.unknown {
        return;
    }
    if owners.solid > 0 {
        let mut dropped = owners.gone;
        dropped.extend(owners.waiting);
        if !dropped.is_empty() {
            drop_owners(state, key, &dropped);
        }
        return;
    }
    let Some(resource) = state.registry.by_id(key.resource()) else { return };
    let has_dependents = !state.store.dependents(uid(object)).is_empty();
    let policy = if !owners.waiting.is_empty() && has_dependents {
        Propagation::Foreground
    } else if finalizers(object).contains(&ORPHAN) {
        Propagation::Orphan
    } else if finalizers(object).contains(&FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    remove(state, &resource, key, &DeleteOptions { propagation: Some(policy), ..DeleteOptions::default() });
}

fn sort_owners(state: &State, object: &Value, references: &[Value]) -> Owners {
    let mut owners = Owners::default();
    for reference in references {
        let wanted = text(reference, &["uid"]);
        let kind = state.registry.by_kind(text(reference, &["apiVersion"]), text(reference, &["kind"]));
        let Some(resource) = kind else {
            // The real collector waits for such a kind to appear.
            owners.unknown = true;
            continue;
        };
        let place = if resource.namespaced { namespace(object) } else { "" };
        let owner = state.store.get(&Key::new(&resource.id, place, text(reference, &["name"])));
        match owner.filter(|o| uid(o) == wanted) {
            None => drop(owners.gone.insert(wanted.to_owned())),
            Some(owner) if is_terminating(owner) && finalizers(owner).contains(&FOREGROUND) => {
                owners.waiting.insert(wanted.to_owned());
            }
            Some(_) => owners.solid += 1,
        }
    }
    owners
}

fn drop_owners(state: &mut State, key: &Key, uids: &BTreeSet<String>) {
    let Some(object) = state.store.get(key) else { return };
    let mut object = object.clone();
    let left: Vec<Value> = list(&object, &["metadata", "ownerReferences"])
        .iter()
        .filter(|o| !uids.contains(text(o, &["uid"])))
        .cloned()
        .collect();
    let value = (!left.is_empty()).then_some(Value::Array(left));
    set_or_remove(meta_mut(&mut object), "ownerReferences", value);
    state.store.put(key, object);
}

fn drop_finalizer(state: &mut State, key: &Key, finalizer: &str) {
    let Some(object) = state.store.get(key) else { return };
    let mut object = object.clone();
    let left: Vec<String> = finalizers(&object).into_iter().filter(|f| *f != finalizer).map(str::to_owned).collect();
    set_finalizers(&mut object, &left);
    let finished = state.registry.by_id(key.resource()).is_none_or(|resource| is_finished(&resource, &object));
    if finished {
        erase(state, key, Some(object));
    } else {
        state.store.put(key, object);
    }
}

/// Deletes what a terminating namespace holds; the namespace goes when it is empty.
fn empty_namespace(state: &mut State, place: &str) {
    let key = Key::new("namespaces", "", place);
    let Some(found) = state.store.get(&key).cloned() else { return };
    if !is_terminating(&found) {
        return;
    }
    for content in state.store.in_namespace(place) {
        let Some(object) = state.store.get(&content) else { continue };
        if is_terminating(object) {
            continue;
        }
        if let Some(resource) = state.registry.by_id(content.resource()) {
            remove(state, &resource, &content, &DeleteOptions::default());
        }
    }
    if !state.store.in_namespace(place).is_empty() {
        return;
    }
    let mut last = found.clone();
    crate::object::child_mut(&mut last, &["spec"]).remove("finalizers");
    debug_assert_eq!(name(&last), place);
    if finalizers(&last).is_empty() {
        state.store.remove(&key, Some(last));
    } else if *last != *found {
        state.store.put(&key, last);
    }
}
