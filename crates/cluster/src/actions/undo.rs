//! `undo`: an earlier pod template becomes the current one.

use http::Method;
use serde_json::{Value, json};
use tidegate_api::names::{annotations, labels};
use tidegate_api::values::LabelSelector;

use super::ActionError;
use super::template::holder;
use crate::address::{REPLICA_SETS, ROLLOUTS, Selection, selector_text};
use crate::request::{Cluster, Form};

/// Which revision to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This one; 0 is the previous one.
    Number(i64),
    /// The stable one.
    Stable,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// The template is that of the revision now.
    Restored,
    /// It was so already; the number is the one that was asked for.
    Skipped(i64),
}

/// A revision that can be restored.
struct Revision {
    number: i64,
    set: Value,
}

/// Goes back to an earlier pod template.
pub async fn undo(cluster: &Cluster, name: &str, wanted: Wanted) -> Result<Undone, ActionError> {
    let rollout: Value = cluster.get(ROLLOUTS, name).await?;
    let revisions = revisions(cluster, &rollout, name).await?;
    let chosen = choose(wanted, name, &rollout, revisions)?;
    let template = without_hash(chosen.set.pointer("/spec/template").cloned().unwrap_or_default());
    // The number people typed, which is 0 when they typed none.
    let number = match wanted {
        Wanted::Number(number) => number,
        Wanted::Stable => chosen.number,
    };
    let current = rollout.pointer("/spec/template");
    if current.is_some_and(|current| is_contained(&without_hash(current.clone()), &template, 0)) {
        return Ok(Undone::Skipped(number));
    }
    let holder = holder(&rollout, name)
        .map_err(|problem| ActionError::said(format!("failed restoring revision {number}: {problem}")))?;
    let patch = json!([{"op": "replace", "path": holder.pointer, "value": template}]);
    let path = cluster.path(holder.resource, &holder.name)?;
    let sent = cluster.change(Method::PATCH, &path, Form::JsonPatch, &patch).await;
    sent.map_err(|source| ActionError::While { doing: format!("failed restoring revision {number}"), source })?;
    Ok(Undone::Restored)
}

/// The revisions of a Rollout, newest first.
async fn revisions(cluster: &Cluster, rollout: &Value, name: &str) -> Result<Vec<Revision>, ActionError> {
    let selector = rollout.pointer("/spec/selector").cloned();
    let selector: LabelSelector =
        selector.and_then(|selector| serde_json::from_value(selector).ok()).unwrap_or_default();
    let selection = Selection::labels(selector_text(&selector));
    let sets: Vec<Value> = cluster.objects(REPLICA_SETS, &selection).await.map_err(|source| ActionError::While {
        doing: format!("failed to retrieve replica sets from rollout {name}"),
        source,
    })?;
    let uid = rollout.pointer("/metadata/uid").cloned().unwrap_or_default();
    let mut revisions: Vec<Revision> =
        sets.into_iter().filter(|set| is_controlled(set, &uid)).filter_map(revision).collect();
    revisions.sort_by_key(|revision| std::cmp::Reverse(revision.number));
    Ok(revisions)
}

fn is_controlled(set: &Value, uid: &Value) -> bool {
    let owners = set.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let mut controllers = owners.filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    controllers.any(|owner| owner.get("uid") == Some(uid))
}

/// Without a number it is revision 0; with something that is none it cannot be restored.
fn revision(set: Value) -> Option<Revision> {
    let annotations = set.pointer("/metadata/annotations");
    let number = match annotations.and_then(|all| all.get(annotations::REVISION)).and_then(Value::as_str) {
        None => 0,
        Some(text) => text.parse().ok()?,
    };
    Some(Revision { number, set })
}

fn choose(wanted: Wanted, name: &str, rollout: &Value, revisions: Vec<Revision>) -> Result<Revision, ActionError> {
    let Wanted::Number(number) = wanted else {
        let stable = rollout.pointer("/status/stableRS").and_then(Value::as_str).unwrap_or_default().to_owned();
        let found = revisions.into_iter().find(|revision| !stable.is_empty() && hash(&revision.set) == stable);
        return found.ok_or_else(|| ActionError::said(format!("rollout {name:?} has no stable revision")));
    };
    match number {
        0 => revisions
            .into_iter()
            .nth(1)
            .ok_or_else(|| ActionError::said(format!("no revision found for rollout {name:?}"))),
        ..0 => Err(ActionError::said(format!("no revision found for rollout {name:?}"))),
        number => {
            let found = revisions.into_iter().find(|revision| revision.number == number);
            found.ok_or_else(|| ActionError::said(format!("unable to find specified revision {number} in history")))
        }
    }
}

fn hash(set: &Value) -> &str {
    let labels = set.pointer("/metadata/labels");
    labels.and_then(|all| all.get(labels::POD_TEMPLATE_HASH)).and_then(Value::as_str).unwrap_or_default()
}

/// The hash belongs to the ReplicaSet, not to what users wrote.
fn without_hash(mut template: Value) -> Value {
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(labels::POD_TEMPLATE_HASH);
    }
    template
}

/// Templates are not deeper than this.
const DEPTH: usize = 64;

/// Whether everything that is set in one value is the same in another.
fn is_contained(inner: &Value, outer: &Value, depth: usize) -> bool {
    if depth > DEPTH {
        return false;
    }
    match (inner, outer) {
        (Value::Null | Value::Bool(false), _) => true,
        (Value::String(text), _) if text.is_empty() => true,
        (Value::Number(number), _) if number.as_f64() == Some(0.0) => true,
        (Value::Array(items), _) if items.is_empty() => true,
        (Value::Array(items), Value::Array(others)) => {
            items.len() <= others.len()
                && items.iter().zip(others).all(|(inner, outer)| is_contained(inner, outer, depth + 1))
        }
        (Value::Object(fields), Value::Object(others)) => {
            let none = Value::Null;
            fields.iter().all(|(name, inner)| is_contained(inner, others.get(name).unwrap_or(&none), depth + 1))
        }
        // An object of unset fields is as good as none.
        (Value::Object(fields), _) => fields.values().all(|inner| is_contained(inner, &Value::Null, depth + 1)),
        (inner, outer) => inner == outer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_does_not_make_templates_differ() {
        let outer = json!({"spec": {"containers": [{"name": "a", "image": "x", "terminationMessagePath": "/dev/log"}], "dnsPolicy": "ClusterFirst"}});
        for inner in [
            json!({"spec": {"containers": [{"name": "a", "image": "x"}]}}),
            json!({"metadata": {"creationTimestamp": null}, "spec": {"containers": [{"name": "a", "resources": {}}], "hostNetwork": false}}),
            json!({}),
        ] {
            assert!(is_contained(&inner, &outer, 0), "{inner}");
        }
        for inner in [
            json!({"spec": {"containers": [{"name": "a", "image": "y"}]}}),
            json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}),
            json!({"metadata": {"labels": {"app": "web"}}}),
        ] {
            assert!(!is_contained(&inner, &outer, 0), "{inner}");
        }
    }
}
