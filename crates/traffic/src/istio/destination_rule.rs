//! The edit of a DestinationRule: which pods each subset names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::IstioDestinationRule;
use tidegate_api::wire::{Items, Text};

use super::desired::Experiment;
use super::edit::Edit;
use super::error::RouterError;
use super::place::object_name;
use crate::router::Written;

/// The pods the subsets should name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    /// Pod template hash of the canary: none leaves the subset as it is (its pods are not there yet), an empty one
    /// takes the label away.
    pub canary: Option<String>,
    /// The same for the stable subset.
    pub stable: Option<String>,
    /// Running experiments with a weight, by Service.
    pub experiments: BTreeMap<String, Experiment>,
}

/// The DestinationRule as it should be, marked as written for `rollout`.
pub fn edit_destination_rule(
    object: &Value,
    rule: &IstioDestinationRule,
    rollout: &str,
    wanted: &Hashes,
) -> Result<Edit, RouterError> {
    let name = object_name("DestinationRule", object);
    let (canary, stable) = (rule.canary_subset_name.text(), rule.stable_subset_name.text());
    if canary == stable {
        let fields = "canarySubsetName and stableSubsetName";
        return Err(RouterError::SameRoles { kind: "DestinationRule subset", name: canary.to_owned(), fields });
    }
    let mut edited = object.clone();
    let mut written = Vec::new();
    let subsets = subsets_of(&mut edited, &name)?;
    for (subset, field) in [(canary, "canarySubsetName"), (stable, "stableSubsetName")] {
        if !subsets.iter().any(|found| name_of(found) == subset) {
            return Err(RouterError::SubsetNotFound { object: name, subset: subset.to_owned(), field });
        }
    }
    drop_leftovers(subsets, rule, wanted, &mut written);
    for (index, subset) in subsets.iter_mut().enumerate() {
        let hash = match name_of(subset) {
            found if found == canary => wanted.canary.as_deref(),
            found if found == stable => wanted.stable.as_deref(),
            found => running(wanted).find(|(service, _)| *service == found).map(|(_, hash)| hash),
        };
        if let Some(hash) = hash {
            written.extend(relabel(subset, hash, &name, index)?);
        }
    }
    for (service, hash) in running(wanted) {
        if !subsets.iter().any(|found| name_of(found) == service) {
            subsets.push(json!({"name": service, "labels": {labels::POD_TEMPLATE_HASH: hash}}));
            let after = Some(hash.to_owned());
            written.push(subset_written(service, None, after));
        }
    }
    // As long as no pods are there, a rule of the user's stays untouched.
    let is_claimed = wanted.canary.is_some() || wanted.stable.is_some() || running(wanted).next().is_some();
    if is_claimed && managed_by(object) != Some(rollout) {
        let annotations = map_in(&mut edited, &["metadata", "annotations"], &name)?;
        annotations.insert(annotations::MANAGED_BY.to_owned(), json!(rollout));
        written.push(Written::ManagedBy(Some(rollout.to_owned())));
    }
    Ok(Edit::of(edited, written))
}

/// The DestinationRule without any trace of a Rollout: for one that is gone or names another rule now.
///
/// Nothing to do for one that no Rollout is noted on.
pub fn release_destination_rule(object: &Value) -> Result<Edit, RouterError> {
    if managed_by(object).is_none() {
        return Ok(Edit::Unchanged);
    }
    let name = object_name("DestinationRule", object);
    let mut edited = object.clone();
    let mut written = Vec::new();
    if edited.pointer("/spec/subsets").is_some_and(|subsets| !subsets.is_null()) {
        for (index, subset) in subsets_of(&mut edited, &name)?.iter_mut().enumerate() {
            written.extend(relabel(subset, "", &name, index)?);
        }
    }
    let annotations = map_in(&mut edited, &["metadata", "annotations"], &name)?;
    annotations.remove(annotations::MANAGED_BY);
    if annotations.is_empty()
        && let Some(metadata) = edited.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("annotations");
    }
    written.push(Written::ManagedBy(None));
    Ok(Edit::of(edited, written))
}

/// The Rollout a DestinationRule is written for.
pub fn managed_by(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(annotations::MANAGED_BY)?.as_str()
}

/// The pod template hash each subset names, for those that name one.
pub fn named_hashes(object: &Value) -> Vec<(&str, &str)> {
    let subsets = object.get("spec").and_then(|spec| spec.get("subsets")).and_then(Value::as_array);
    subsets.into_iter().flatten().filter_map(|subset| Some((name_of(subset), hash_of(subset)?))).collect()
}

/// Message of the event `UpdatedDestinationRule`, from the object as it was written.
pub fn subset_message(object: &Value, rule: &IstioDestinationRule) -> String {
    let all = named_hashes(object);
    let hash = |subset: &str| all.iter().find(|(name, _)| *name == subset).map_or("", |(_, hash)| *hash);
    let (canary, stable) = (rule.canary_subset_name.text(), rule.stable_subset_name.text());
    let (name, new, old) = (rule.name.text(), hash(canary), hash(stable));
    format!("DestinationRule {name} subset updated ({canary}: {new}, {stable}: {old})")
}

fn running(wanted: &Hashes) -> impl Iterator<Item = (&str, &str)> {
    let all = wanted.experiments.iter().map(|(service, experiment)| (service.as_str(), experiment.hash.as_str()));
    all.filter(|(service, hash)| !service.is_empty() && !hash.is_empty())
}

/// Takes out subsets of experiments that are over, told by the shape only the controller writes.
fn drop_leftovers(subsets: &mut Vec<Value>, rule: &IstioDestinationRule, wanted: &Hashes, written: &mut Vec<Written>) {
    let mut named: BTreeSet<&str> = rule.additional_subset_names.items().iter().map(String::as_str).collect();
    named.extend([rule.canary_subset_name.text(), rule.stable_subset_name.text()]);
    named.extend(running(wanted).map(|(service, _)| service));
    subsets.retain(|subset| {
        let is_leftover = !named.contains(name_of(subset)) && is_own_shape(subset);
        if is_leftover {
            written.push(Written::SubsetRemoved(name_of(subset).to_owned()));
        }
        !is_leftover
    });
}

fn is_own_shape(subset: &Value) -> bool {
    let Some(fields) = subset.as_object() else { return false };
    let labels = fields.get("labels").and_then(Value::as_object);
    fields.keys().all(|field| field == "name" || field == "labels")
        && labels.is_some_and(|all| all.len() == 1 && all.contains_key(labels::POD_TEMPLATE_HASH))
}

fn name_of(subset: &Value) -> &str {
    subset.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn hash_of(subset: &Value) -> Option<&str> {
    subset.get("labels")?.get(labels::POD_TEMPLATE_HASH)?.as_str()
}

/// Sets the label, or takes it away for an empty hash.
fn relabel(subset: &mut Value, hash: &str, object: &str, index: usize) -> Result<Option<Written>, RouterError> {
    let before = hash_of(subset).map(str::to_owned);
    let after = Some(hash.to_owned()).filter(|hash| !hash.is_empty());
    let is_labelled = subset.get("labels").and_then(|all| all.get(labels::POD_TEMPLATE_HASH)).is_some();
    if before == after && is_labelled == after.is_some() {
        return Ok(None);
    }
    let name = name_of(subset).to_owned();
    let all = map_in(subset, &["labels"], object).map_err(|error| match error {
        RouterError::Shape { object, field, wanted } => {
            RouterError::Shape { object, field: format!("spec.subsets[{index}].{field}"), wanted }
        }
        other => other,
    })?;
    match &after {
        Some(hash) => {
            all.insert(labels::POD_TEMPLATE_HASH.to_owned(), json!(hash));
        }
        None => {
            all.remove(labels::POD_TEMPLATE_HASH);
            if all.is_empty()
                && let Some(fields) = subset.as_object_mut()
            {
                fields.remove("labels");
            }
        }
    }
    Ok(Some(subset_written(&name, before, after)))
}

/// A subset names other pods.
fn subset_written(name: &str, before: Option<String>, after: Option<String>) -> Written {
    Written::Field { field: format!("subset {name}"), before, after }
}

fn subsets_of<'a>(object: &'a mut Value, name: &str) -> Result<&'a mut Vec<Value>, RouterError> {
    let subsets = object.get_mut("spec").and_then(|spec| spec.get_mut("subsets")).and_then(Value::as_array_mut);
    let is_usable = |subsets: &&mut Vec<Value>| subsets.iter().all(Value::is_object);
    subsets.filter(is_usable).ok_or_else(|| RouterError::Shape {
        object: name.to_owned(),
        field: "spec.subsets".to_owned(),
        wanted: "a list of subsets",
    })
}

/// The map at a path, made where it is absent or null.
fn map_in<'a>(value: &'a mut Value, path: &[&str], object: &str) -> Result<&'a mut Map<String, Value>, RouterError> {
    let shape = || RouterError::Shape { object: object.to_owned(), field: path.join("."), wanted: "a map" };
    let mut map = value.as_object_mut().ok_or_else(shape)?;
    for field in path {
        let inner = map.entry(*field).or_insert(Value::Null);
        if inner.is_null() {
            *inner = Value::Object(Map::new());
        }
        map = inner.as_object_mut().ok_or_else(shape)?;
    }
    Ok(map)
}
