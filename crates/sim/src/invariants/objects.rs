//! Reading objects of a mirror.

use std::sync::Arc;

use serde_json::Value;

use crate::journal::Mirror;

pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(object: &Value, path: &[&str]) -> Option<i64> {
    at(object, path).and_then(Value::as_i64)
}

pub(super) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

pub(super) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

pub(super) fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

pub(super) fn is_leaving(object: &Value) -> bool {
    at(object, &["metadata", "deletionTimestamp"]).is_some_and(|value| !value.is_null())
}

/// The owner that controls an object.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = at(object, &["metadata", "ownerReferences"])?.as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

pub(super) fn is_ready(pod: &Value) -> bool {
    let conditions = at(pod, &["status", "conditions"]).and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Objects of a resource that an owner controls.
pub(super) fn controlled_by<'a>(mirror: &'a Mirror, resource: &'a str, owner: &'a Value) -> Vec<&'a Arc<Value>> {
    let is_controlled =
        |object: &&'a Arc<Value>| controller(object).is_some_and(|found| text(found, &["uid"]) == uid(owner));
    mirror.of(resource).filter(is_controlled).collect()
}

/// The pods of a Deployment.
pub(super) fn pods_of<'a>(mirror: &'a Mirror, deployment: &'a Value) -> Vec<&'a Arc<Value>> {
    let sets = controlled_by(mirror, "replicasets.apps", deployment);
    sets.into_iter().flat_map(|set| controlled_by(mirror, "pods", set)).collect()
}

pub(super) fn image(template: &Value) -> &str {
    template.pointer("/spec/containers/0/image").and_then(Value::as_str).unwrap_or_default()
}

/// How many pods a Deployment may miss, none if it may miss all.
pub(super) fn may_miss(deployment: &Value) -> Option<i64> {
    if text(deployment, &["spec", "strategy", "type"]) == "Recreate" {
        return None;
    }
    let rolling =
        |field: &str| at(deployment, &["spec", "strategy", "rollingUpdate", field]).cloned().unwrap_or_default();
    let share = |value: &Value, up: i64| match value.as_i64() {
        Some(number) => number,
        None => {
            let percent = value.as_str().and_then(|text| text.trim_end_matches('%').parse::<i64>().ok());
            (percent.unwrap_or(25) * replicas(deployment) + up).div_euclid(100)
        }
    };
    let (surge, missing) = (share(&rolling("maxSurge"), 99), share(&rolling("maxUnavailable"), 0));
    Some(if surge == 0 && missing == 0 { 1 } else { missing })
}

pub(super) fn replicas(object: &Value) -> i64 {
    number(object, &["spec", "replicas"]).unwrap_or(1)
}
