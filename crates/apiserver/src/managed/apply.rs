//! Server-side apply: a manager says which fields it wants to have which values. It gets them, unless others manage some
//! with other values; what it said before and says no longer goes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::compare::Changes;
use super::conflict::conflict;
use super::entry::Entry;
use super::place::Place;
use super::prune::prune;
use super::set::FieldSet;
use super::tree::{fields, merge};
use super::{compare_in, forget_kept, forget_repeated};
use crate::object::{at, child_mut, text};
use crate::registry::Resource;
use crate::status::StatusError;
use crate::stored::Object;

/// The annotation in which kubectl keeps what it applied when it merges itself.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Fields of an object that nobody tracked belong to a manager of this name.
const BEFORE: &str = "before-first-apply";

/// What is applied, and by whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config<'a> {
    pub(crate) object: &'a Value,
    pub(crate) manager: &'a str,
    pub(crate) subresource: &'a str,
    /// Whether fields of others are taken.
    pub(crate) force: bool,
    pub(crate) now: &'a str,
}

/// What comes of it.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) object: Value,
    pub(crate) managers: Vec<Arc<Entry>>,
}

/// Applies to an object, or to nothing yet.
pub(crate) fn apply(resource: &Resource, live: Option<&Object>, config: Config<'_>) -> Result<Applied, StatusError> {
    let nothing = Object::default();
    let object = live.unwrap_or(&nothing);
    let entries = tracked(resource, live);
    match attempt(resource, object, &entries, config) {
        Ok(applied) => Ok(keep_annotation(object, config, applied)),
        Err(disputes) if is_kubectls_own(resource, object, config, &disputes) => {
            let forced = Config { force: true, ..config };
            let applied = attempt(resource, object, &entries, forced).map_err(|disputes| refuse(&disputes))?;
            Ok(keep_annotation(object, config, applied))
        }
        Err(disputes) => Err(refuse(&disputes)),
    }
}

type Disputes = Vec<(Arc<Entry>, FieldSet)>;

fn refuse(disputes: &Disputes) -> StatusError {
    conflict(&disputes.iter().map(|(entry, fields)| (&**entry, fields.clone())).collect::<Vec<_>>())
}

/// The managers so far.
fn tracked(resource: &Resource, live: Option<&Object>) -> Vec<Arc<Entry>> {
    let Some(live) = live else { return Vec::new() };
    let mut entries = live.managers().to_vec();
    if entries.is_empty() {
        let mut set = compare_in(resource, &Value::Null, live).set;
        forget_kept(&mut set);
        let version = resource.api_version();
        let head = json!({"apiVersion": version, "fieldsType": "FieldsV1", "manager": BEFORE, "operation": "Update"});
        entries.extend(Entry::read(head).with(set, None));
    }
    forget_repeated(&mut entries);
    entries
}

fn attempt(
    resource: &Resource,
    live: &Object,
    entries: &[Arc<Entry>],
    config: Config<'_>,
) -> Result<Applied, Disputes> {
    let root = Place::root(resource);
    let is_mine = |entry: &&Arc<Entry>| {
        entry.text("operation") == "Apply"
            && entry.text("manager") == config.manager
            && entry.text("subresource") == config.subresource
    };
    let mine = entries.iter().find(is_mine);
    let mut wanted = fields(config.object, root);
    leave_to_others(resource, config.subresource, &mut wanted);
    let merged = merge(live.is_object().then_some(&**live), config.object, root);
    // The name is nobody's, but who applies an object means it to have one.
    let mut managed = wanted.clone();
    forget_kept(&mut wanted);
    let others = entries.iter().filter(|entry| !is_mine(entry));
    others.clone().for_each(|entry| managed.add(&entry.fields));
    let object = match mine {
        Some(mine) => prune(&merged, &mine.fields, &managed, root),
        None => merged,
    };
    let mut changes = compare_in(resource, live, &object);
    for set in [&mut changes.set, &mut changes.removed] {
        leave_to_others(resource, config.subresource, set);
    }
    let disputes: Disputes = others
        .clone()
        .map(|entry| (Arc::clone(entry), entry.fields.common(&changes.set)))
        .filter(|(_, fields)| !fields.is_empty())
        .collect();
    if !config.force && !disputes.is_empty() {
        return Err(disputes);
    }
    let mut managers: Vec<Arc<Entry>> = others.filter_map(|entry| left_to(entry, &changes)).collect();
    let own = match mine {
        Some(mine) if mine.fields == wanted && changes.is_empty() => Some(Arc::clone(mine)),
        _ => own_entry(resource, mine, config, (!changes.is_empty()).then_some(config.now)).with(wanted, None),
    };
    managers.extend(own);
    // Those that apply come first.
    managers.sort_by_key(|entry| entry.text("operation") != "Apply");
    Ok(Applied { object, managers })
}

/// What another manager has left.
fn left_to(entry: &Arc<Entry>, changes: &Changes) -> Option<Arc<Entry>> {
    if !changes.set.meets(&entry.fields) && !changes.removed.meets(&entry.fields) {
        return Some(Arc::clone(entry));
    }
    let mut fields = entry.fields.clone();
    fields.remove(&changes.set);
    fields.remove(&changes.removed);
    entry.with(fields, None)
}

/// The entry of who applies, without its fields. Its time is when it last changed anything.
fn own_entry(resource: &Resource, before: Option<&Arc<Entry>>, config: Config<'_>, changed: Option<&str>) -> Entry {
    let mut head = json!({
        "apiVersion": resource.api_version(), "fieldsType": "FieldsV1", "manager": config.manager, "operation": "Apply",
    });
    if !config.subresource.is_empty() {
        head["subresource"] = json!(config.subresource);
    }
    let before = before.map(|entry| entry.text("time")).filter(|time| !time.is_empty());
    if let Some(time) = changed.or(before) {
        head["time"] = json!(time);
    }
    Entry::read(head)
}

/// Fields that a request cannot reach, so that nobody gets to manage them by it.
fn leave_to_others(resource: &Resource, subresource: &str, fields: &mut FieldSet) {
    if subresource != "status" {
        if resource.status {
            fields.below.remove("f:status");
        }
        return;
    }
    let reached = |step: &str| step == "f:status" || resource.custom.is_none() && step == "f:metadata";
    fields.below.retain(reached);
    let kept: &[&str] = match resource.id.as_str() {
        "deployments.apps" => &["f:labels", "f:ownerReferences"],
        "pods" => &["f:ownerReferences"],
        _ => &[],
    };
    if let Some(metadata) = fields.below.get_mut("f:metadata") {
        kept.iter().for_each(|step| metadata.below.remove(step));
    }
}

/// Whether all that is in dispute is what kubectl itself applied before it left merging to the server, and what is still
/// there unchanged.
fn is_kubectls_own(resource: &Resource, live: &Object, config: Config<'_>, disputes: &Disputes) -> bool {
    let noted = text(live, &["metadata", "annotations", LAST_APPLIED]);
    if config.manager != "kubectl" || noted.is_empty() {
        return false;
    }
    let Ok(noted) = serde_json::from_str::<Value>(noted) else { return false };
    let mut own = fields(&noted, Place::root(resource));
    let changes = compare_in(resource, &noted, live);
    own.remove(&changes.set);
    own.remove(&changes.removed);
    disputes.iter().all(|(_, fields)| fields.is_within(&own))
}

/// kubectl's own note of what it applied stays up to date where there is one, so that one can go back to merging.
fn keep_annotation(live: &Object, config: Config<'_>, mut applied: Applied) -> Applied {
    let path = ["metadata", "annotations", LAST_APPLIED];
    if config.manager != "kubectl" || at(live, &path).is_none() || at(&applied.object, &path).is_none() {
        return applied;
    }
    let mut noted = config.object.clone();
    if let Some(annotations) = noted.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    child_mut(&mut applied.object, &["metadata", "annotations"])
        .insert(LAST_APPLIED.to_owned(), json!(format!("{noted}\n")));
    applied
}
