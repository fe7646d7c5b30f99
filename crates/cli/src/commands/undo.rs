//! `undo`: an earlier pod template becomes the current one.

use http::Method;
use serde_json::{Value, json};
use tidegate_api::names::{annotations, labels};
use tidegate_api::values::LabelSelector;

use super::Session;
use super::template::holder;
use crate::Outcome;
use crate::arguments::Undo;
use crate::cluster::{Form, REPLICA_SETS, ROLLOUTS, Selection, selector_text};
use crate::failure::Failure;

/// A revision that can be restored.
struct Revision {
    number: i64,
    set: Value,
}

pub(crate) async fn run(session: &mut Session<'_, '_>, undo: &Undo) -> Result<Outcome, Failure> {
    let name = &undo.target.name;
    let rollout: Value = session.cluster.get(ROLLOUTS, name).await?;
    let revisions = revisions(session, &rollout, name).await?;
    let chosen = choose(undo, &rollout, revisions)?;
    let template = without_hash(chosen.set.pointer("/spec/template").cloned().unwrap_or_default());
    // The number people typed, which is 0 when they typed none.
    let number = if undo.to_stable { chosen.number } else { undo.to_revision };
    if rollout
        .pointer("/spec/template")
        .is_some_and(|current| is_contained(&without_hash(current.clone()), &template, 0))
    {
        writeln!(session.streams.out, "skipped rollback (current template already matches revision {number})")?;
        return Ok(Outcome::Success);
    }
    let holder = holder(&rollout, name)
        .map_err(|problem| Failure::said(format!("failed restoring revision {number}: {problem}")))?;
    let patch = json!([{"op": "replace", "path": holder.pointer, "value": template}]);
    let path = session.cluster.path(holder.resource, &holder.name)?;
    let sent = session.cluster.change(Method::PATCH, &path, Form::JsonPatch, &patch).await;
    sent.map_err(|source| Failure::While { doing: format!("failed restoring revision {number}"), source })?;
    writeln!(session.streams.out, "rollout '{name}' undo")?;
    Ok(Outcome::Success)
}

/// The revisions of a Rollout, newest first.
async fn revisions(session: &Session<'_, '_>, rollout: &Value, name: &str) -> Result<Vec<Revision>, Failure> {
    let selector = rollout.pointer("/spec/selector").cloned();
    let selector: LabelSelector =
        selector.and_then(|selector| serde_json::from_value(selector).ok()).unwrap_or_default();
    let selection = Selection::labels(selector_text(&selector));
    let sets: Vec<Value> = session.cluster.objects(REPLICA_SETS, &selection).await.map_err(|source| {
        Failure::While { doing: format!("failed to retrieve replica sets from rollout {name}"), source }
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

fn choose(undo: &Undo, rollout: &Value, revisions: Vec<Revision>) -> Result<Revision, Failure> {
    let name = &undo.target.name;
    if undo.to_stable {
        let stable = rollout.pointer("/status/stableRS").and_then(Value::as_str).unwrap_or_default().to_owned();
        let found = revisions.into_iter().find(|revision| !stable.is_empty() && hash(&revision.set) == stable);
        return found.ok_or_else(|| Failure::said(format!("rollout {name:?} has no stable revision")));
    }
    match undo.to_revision {
        0 => {
            revisions.into_iter().nth(1).ok_or_else(|| Failure::said(format!("no revision found for rollout {name:?}")))
        }
        ..0 => Err(Failure::said(format!("no revision found for rollout {name:?}"))),
        number => {
            let found = revisions.into_iter().find(|revision| revision.number == number);
            found.ok_or_else(|| Failure::said(format!("unable to find specified revision {number} in history")))
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
