//! Managed fields: who wrote which field last.
//!
//! A write gives its manager the fields that it changed and takes them from the others; a manager without fields is
//! forgotten. An object whose list is empty is not tracked any more, which is how clients get rid of it.

mod apply;
mod compare;
mod conflict;
mod entry;
mod mistakes;
mod place;
mod prune;
mod set;
mod tree;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::object::{meta_mut, same_but_for, text};
use crate::registry::Resource;
use crate::stored::Object;
use crate::verbs::Caller;
use set::FieldSet;

pub(crate) use apply::{Applied, Config, apply};
pub(crate) use entry::Entry;
pub(crate) use mistakes::mistakes;
pub(crate) use place::Place;

/// Fields of metadata that the server itself keeps.
const KEPT_BY_SERVER: [&str; 8] = [
    "f:name",
    "f:namespace",
    "f:creationTimestamp",
    "f:selfLink",
    "f:uid",
    "f:generation",
    "f:managedFields",
    "f:resourceVersion",
];

/// What came from a client, before the server adds its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// The list that came along; writes to subresources cannot bring one.
    entries: Option<Vec<Value>>,
    /// Of a service, what the client chose; nobody manages what the server chooses.
    chosen: Option<Value>,
}

impl Sent {
    /// Takes the list out of what was sent: stored objects have it beside them.
    pub(crate) fn of(resource: &Resource, object: &mut Value, subresource: &str) -> Self {
        if subresource == "scale" {
            // The list was made by `update_scale` and stays.
            return Self::default();
        }
        let entries = match meta_mut(object).remove("managedFields") {
            Some(Value::Array(entries)) if subresource.is_empty() => Some(entries),
            _ => None,
        };
        Self { entries, chosen: None }.with_chosen(resource, object)
    }

    /// The same with another object that the choices are taken from.
    pub(crate) fn with_chosen(self, resource: &Resource, object: &Value) -> Self {
        Self { chosen: (resource.id == "services").then(|| object.clone()), ..self }
    }
}

/// Brings the managers of an object up to date with a write. `old` is what it replaces, none for a new object.
pub(crate) fn update(
    resource: &Resource,
    object: &mut Object,
    old: Option<&Object>,
    sent: Sent,
    caller: &Caller,
    subresource: &str,
    now: &str,
) {
    let Sent { entries: sent, chosen } = sent;
    let is_reset = sent.as_ref().is_some_and(|entries| entries.is_empty() || is_one_empty(entries)) && old.is_some();
    let entries: Vec<Arc<Entry>> = match sent.filter(|entries| !entries.is_empty() && entries.iter().all(is_entry)) {
        Some(entries) => entries.into_iter().map(|entry| Arc::new(Entry::read(entry))).collect(),
        None if is_reset => Vec::new(),
        None => old.map(|old| old.managers().to_vec()).unwrap_or_default(),
    };
    object.set_managers(Vec::new());
    if entries.is_empty() && old.is_some() {
        return;
    }
    let nothing;
    let before: &Value = match old {
        Some(old) => old,
        None => {
            nothing = crate::typed::empty(resource);
            &nothing
        }
    };
    let managed = chosen.map(|chosen| crate::defaults::without_choices(object, &chosen));
    let changes = compare_in(resource, before, managed.as_ref().unwrap_or(object));
    object.set_managers(join(resource, entries, changes, caller, subresource, now));
}

fn compare_in(resource: &Resource, old: &Value, new: &Value) -> compare::Changes {
    let schema = resource.custom.as_ref().and_then(|custom| custom.schema.as_ref());
    compare::compare(old, new, resource.custom.is_some(), schema)
}

/// Of entries that differ in nothing but their fields and times only the last counts.
fn forget_repeated(entries: &mut Vec<Arc<Entry>>) {
    let mut index = 0;
    while index < entries.len() {
        if entries[index + 1..].iter().any(|later| is_same_manager(&entries[index], later)) {
            entries.remove(index);
        } else {
            index += 1;
        }
    }
}

fn is_same_manager(one: &Entry, other: &Entry) -> bool {
    ["manager", "operation", "apiVersion", "subresource"].iter().all(|field| one.text(field) == other.text(field))
}

/// The same for a write to the scale subresource: `path` is the number in the object, and `changed` whether it is
/// another one now. Managers are first looked at as managers of the scale, which has a version of its own; what comes
/// back are therefore new entries, even if nothing has changed, and they have no times.
pub(crate) fn update_scale(
    resource: &Resource,
    object: &mut Object,
    path: &[String],
    changed: Option<i64>,
    caller: &Caller,
) {
    let number = FieldSet::at(path);
    let version = resource.api_version();
    let mut owners = Vec::new();
    let mut kept = Vec::new();
    let mut entries = object.managers().to_vec();
    forget_repeated(&mut entries);
    for entry in entries {
        if !number.meets(&entry.fields) {
            kept.extend((!entry.fields.is_empty()).then_some(entry));
            continue;
        }
        owners.push((entry.text("manager").to_owned(), entry.text("subresource").to_owned()));
        let mut fields = entry.fields.clone();
        fields.remove(&number);
        kept.extend(entry.with(fields, None));
    }
    match changed {
        None => {}
        // Nobody owns a number that is not there, and zero is not.
        Some(0) => owners.clear(),
        // Where nobody owned it, nothing is tracked.
        Some(_) if owners.is_empty() => {}
        Some(_) => owners = vec![(caller.manager.clone(), "scale".to_owned())],
    }
    let mut written: Vec<Arc<Entry>> = Vec::new();
    for (manager, subresource) in owners {
        let owner = Caller { manager, ..caller.clone() };
        written.extend(Entry::new(&version, &owner, &subresource).with(number.clone(), None));
    }
    written.extend(kept);
    object.set_managers(written);
}

fn is_entry(entry: &Value) -> bool {
    matches!(text(entry, &["operation"]), "Apply" | "Update")
}

/// A list of one empty entry means the same as an empty list.
fn is_one_empty(entries: &[Value]) -> bool {
    matches!(entries, [entry] if entry.as_object().is_some_and(Map::is_empty))
}

fn join(
    resource: &Resource,
    mut entries: Vec<Arc<Entry>>,
    changes: compare::Changes,
    caller: &Caller,
    subresource: &str,
    now: &str,
) -> Vec<Arc<Entry>> {
    let version = resource.api_version();
    let is_mine = |entry: &Arc<Entry>| {
        entry.text("manager") == caller.manager
            && entry.text("operation") == "Update"
            && entry.text("subresource") == subresource
            && entry.text("apiVersion") == version
    };
    forget_repeated(&mut entries);
    let mine = entries.iter().position(is_mine).map(|index| entries.remove(index));
    let mut joined: Vec<Arc<Entry>> =
        entries.into_iter().filter_map(|entry| take_from(entry, &[&changes.removed, &changes.set], now)).collect();
    joined.extend(give(mine.unwrap_or_else(|| Entry::new(&version, caller, subresource).into()), changes, now));
    joined
}

/// Takes fields from a manager; none if it has no fields left. Most writes concern few managers, and the others stay the
/// same entries.
fn take_from(entry: Arc<Entry>, taken: &[&FieldSet], now: &str) -> Option<Arc<Entry>> {
    if !taken.iter().any(|taken| taken.meets(&entry.fields)) {
        return (!entry.fields.is_empty()).then_some(entry);
    }
    let mut fields = entry.fields.clone();
    taken.iter().for_each(|taken| fields.remove(taken));
    entry.with(fields, Some(now))
}

/// Gives the writer what it has set; none if that leaves it without fields.
fn give(entry: Arc<Entry>, changes: compare::Changes, now: &str) -> Option<Arc<Entry>> {
    let compare::Changes { mut set, removed } = changes;
    forget_kept(&mut set);
    if entry.fields.is_empty() {
        return entry.with(set, Some(now));
    }
    if !removed.meets(&entry.fields) && set.is_within(&entry.fields) && !holds_kept(&entry.fields) {
        // Fields that were the writer's before may have another value now, and that has a time.
        return if set.is_empty() || entry.text("time") == now {
            Some(entry)
        } else {
            entry.with(entry.fields.clone(), Some(now))
        };
    }
    let mut fields = entry.fields.clone();
    fields.remove(&removed);
    fields.add(&set);
    forget_kept(&mut fields);
    entry.with(fields, Some(now))
}

/// Whether a manager has fields that belong to nobody.
fn holds_kept(fields: &FieldSet) -> bool {
    let has = |step: &str| fields.below.get(step).is_some();
    has("f:apiVersion")
        || has("f:kind")
        || fields.below.get("f:metadata").is_some_and(|metadata| {
            metadata.member || KEPT_BY_SERVER.iter().any(|step| metadata.below.get(step).is_some())
        })
}

/// What the server keeps belongs to nobody.
fn forget_kept(fields: &mut FieldSet) {
    fields.member = false;
    fields.below.remove("f:apiVersion");
    fields.below.remove("f:kind");
    if let Some(metadata) = fields.below.get_mut("f:metadata") {
        metadata.member = false;
        for step in KEPT_BY_SERVER {
            metadata.below.remove(step);
        }
    }
    fields.below.forget_empty();
}

/// Whether two states of an object are the same but for their versions and the times of their managers.
///
/// Nearly every write changes something outside the metadata, so that is looked at first and nothing is copied for it.
pub(crate) fn is_same(one: &Object, other: &Object) -> bool {
    same_but_for(one, other, |key| key == "metadata")
        && match (one.get("metadata"), other.get("metadata")) {
            (Some(one), Some(other)) => same_but_for(one, other, |key| key == "resourceVersion"),
            (one, other) => one == other,
        }
        && are_same(one.managers(), other.managers())
}

/// Whether two lists hold the same managers but for their times and their order, which depends on who wrote last.
fn are_same(one: &[Arc<Entry>], other: &[Arc<Entry>]) -> bool {
    let is_in = |entry: &Arc<Entry>, list: &[Arc<Entry>]| {
        list.iter().any(|found| Arc::ptr_eq(found, entry)) || list.iter().any(|found| found.is_like(entry))
    };
    one.len() == other.len()
        && one.iter().all(|entry| is_in(entry, other))
        && other.iter().all(|entry| is_in(entry, one))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::body::Strictness;
    use crate::registry::Registry;

    fn write(object: Value, old: Option<&Object>, manager: &str) -> Object {
        let resource = Registry::built_in().by_id("configmaps").unwrap();
        let caller =
            Caller { manager: manager.to_owned(), dry_run: false, strictness: Strictness::Warn, applied: None };
        let mut object = object;
        let sent = Sent::of(&resource, &mut object, "");
        let mut object = Object::from(object);
        update(&resource, &mut object, old, sent, &caller, "", "now");
        object
    }

    fn managers(object: &Object) -> Vec<(&str, String)> {
        let entries = object.managers().iter();
        entries.map(|e| (e.text("manager"), e.fields.write().to_string())).collect()
    }

    #[test]
    fn a_manager_owns_what_it_changed_and_is_forgotten_with_its_last_field() {
        let first = write(json!({"metadata": {"name": "a"}, "data": {"x": "1"}}), None, "one");
        assert_eq!(managers(&first), [("one", r#"{"f:data":{".":{},"f:x":{}}}"#.to_owned())]);
        let second = write(json!({"metadata": {"name": "a"}, "data": {"x": "2"}}), Some(&first), "two");
        assert_eq!(
            managers(&second),
            [("one", r#"{"f:data":{}}"#.to_owned()), ("two", r#"{"f:data":{"f:x":{}}}"#.to_owned())]
        );
        let third = write(json!({"metadata": {"name": "a"}}), Some(&second), "two");
        assert!(managers(&third).is_empty());
    }

    #[test]
    fn an_empty_list_ends_the_tracking_for_good() {
        let first = write(json!({"metadata": {"name": "a"}, "data": {"x": "1"}}), None, "one");
        let sent = json!({"metadata": {"name": "a", "managedFields": []}, "data": {"x": "2"}});
        let second = write(sent, Some(&first), "two");
        assert!(managers(&second).is_empty());
        let third = write(json!({"metadata": {"name": "a"}, "data": {"x": "3"}}), Some(&second), "two");
        assert!(managers(&third).is_empty());
    }

    #[test]
    fn a_repeated_write_is_the_same_object() {
        let first = write(json!({"metadata": {"name": "a"}, "data": {"x": "1"}}), None, "one");
        let second = write(first.whole(), Some(&first), "two");
        assert!(is_same(&first, &second));
    }
}
