//! Subresources that act: binding a pod to a node, and evicting a pod.

use serde_json::{Value, json};

use super::delete::{check_preconditions, remove};
use super::options::DeleteOptions;
use super::{Caller, Outcome, not_found};
use crate::body::Strictness;
use crate::object::{child_mut, is_terminating, list, name, number, text, uid};
use crate::request::{Query, Target};
use crate::selector::LabelSelector;
use crate::state::State;
use crate::status::StatusError;
use crate::store::Key;
use crate::stored::Object;

fn success() -> Outcome {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Outcome::Other(201, status)
}

fn find(state: &State, target: &Target) -> Result<(Key, Object), StatusError> {
    let key = Key::new("pods", &target.namespace, &target.name);
    let pod = state.store.get(&key).cloned().ok_or_else(|| not_found(&target.resource, &target.name))?;
    Ok((key, pod))
}

fn check_name(object: &Value, wanted: &str, kind: &str) -> Result<(), StatusError> {
    if name(object) == wanted {
        return Ok(());
    }
    Err(StatusError::bad_request(format!("name in URL does not match name in {kind} object")))
}

/// Assigns a pod to a node.
pub(crate) fn bind(
    state: &mut State,
    target: &Target,
    binding: &Value,
    caller: &Caller,
) -> Result<Outcome, StatusError> {
    check_name(binding, &target.name, "Binding")?;
    let refuse = |text: &str| Err(StatusError::conflict("", "pods/binding", &target.name, text));
    let node = text(binding, &["target", "name"]);
    if node.is_empty() {
        return Err(StatusError::new(500, "", "target.name: Required value"));
    }
    let kind = text(binding, &["target", "kind"]);
    if !matches!(kind, "" | "Node") {
        let text = format!("target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\"");
        return Err(StatusError::new(500, "", text));
    }
    let (key, existing) = find(state, target)?;
    let expected = text(binding, &["metadata", "uid"]);
    if !expected.is_empty() && expected != uid(&existing) {
        let text = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {expected}, UID in object meta: {}",
            key.as_str(),
            uid(&existing)
        );
        return Err(StatusError::conflict("", "pods", &target.name, &text));
    }
    if is_terminating(&existing) {
        return refuse(&format!("pod {} is being deleted, cannot be assigned to a host", target.name));
    }
    let assigned = text(&existing, &["spec", "nodeName"]);
    if !assigned.is_empty() {
        return refuse(&format!("pod {} is already assigned to node {assigned:?}", target.name));
    }
    if caller.dry_run {
        return Ok(success());
    }
    let now = state.now();
    let mut pod = existing.clone();
    child_mut(&mut pod, &["spec"]).insert("nodeName".to_owned(), json!(node));
    if let Some(annotations) = binding.get("metadata").and_then(|m| m.get("annotations")?.as_object()) {
        child_mut(&mut pod, &["metadata", "annotations"]).extend(annotations.clone());
    }
    let mut conditions: Vec<Value> = list(&pod, &["status", "conditions"])
        .iter()
        .filter(|c| text(c, &["type"]) != "PodScheduled")
        .cloned()
        .collect();
    conditions
        .push(json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now}));
    child_mut(&mut pod, &["status"]).insert("conditions".to_owned(), Value::Array(conditions));
    state.store.put(&key, pod);
    Ok(success())
}

/// Deletes a pod, if the disruption budgets allow.
pub(crate) fn evict(state: &mut State, target: &Target, eviction: &Value) -> Result<Outcome, StatusError> {
    check_name(eviction, &target.name, "Eviction")?;
    let (key, pod) = find(state, target)?;
    let options = eviction.get("deleteOptions").filter(|o| o.is_object());
    let options = DeleteOptions::read(options, &Query::default())?;
    let meant = check_preconditions(&target.resource, &pod, &target.name, &options);
    if !ignores_budgets(&pod) {
        spend_budget(state, target, &pod, meant.is_ok(), options.dry_run)?;
    }
    meant?;
    if !options.dry_run {
        announce(state, &key, &pod);
    }
    remove(state, &target.resource, &key, &options);
    Ok(success())
}

/// Says in the pod why it goes.
fn announce(state: &mut State, key: &Key, pod: &Object) {
    let now = state.now();
    let mut changed = pod.clone();
    let mut conditions = list(pod, &["status", "conditions"]).to_vec();
    if conditions.iter().any(|c| text(c, &["type"]) == "DisruptionTarget" && text(c, &["status"]) == "True") {
        // Said already, with the time since when it is true.
        return;
    }
    conditions.retain(|c| text(c, &["type"]) != "DisruptionTarget");
    conditions.push(json!({
        "type": "DisruptionTarget", "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
    }));
    child_mut(&mut changed, &["status"]).insert("conditions".to_owned(), Value::Array(conditions));
    state.store.put(key, changed);
}

/// Pods that have ended, never started or are going away already disturb nobody.
fn ignores_budgets(pod: &Value) -> bool {
    matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed" | "Pending") || is_terminating(pod)
}

fn is_ready(pod: &Value) -> bool {
    let conditions = list(pod, &["status", "conditions"]);
    conditions.iter().any(|c| text(c, &["type"]) == "Ready" && text(c, &["status"]) == "True")
}

fn spend_budget(
    state: &mut State,
    target: &Target,
    pod: &Value,
    meant: bool,
    dry_run: bool,
) -> Result<(), StatusError> {
    let budgets: Vec<(Key, Object)> = state
        .store
        .list("poddisruptionbudgets.policy", Some(&target.namespace))
        .filter(|(_, budget)| {
            budget
                .get("spec")
                .and_then(|s| s.get("selector"))
                .is_some_and(|selector| LabelSelector::of_object(selector).matches(pod))
        })
        .map(|(key, budget)| (key.clone(), budget.clone()))
        .collect();
    let (key, budget) = match budgets.as_slice() {
        [] => return Ok(()),
        [(key, budget)] => (key, budget),
        _ => {
            let text =
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(StatusError::new(500, "", text));
        }
    };
    let status = |field: &str| number(budget, &["status", field]).unwrap_or(0);
    let always = text(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow";
    let enough = status("currentHealthy") >= status("desiredHealthy") && status("desiredHealthy") > 0;
    if !is_ready(pod) && (always || enough) {
        // A pod that does not count is let go without the budget. If it is not the one that is meant, the real server
        // tries for ten seconds and then gives up in these words.
        return if meant { Ok(()) } else { Err(still_processed(name(budget))) };
    }
    check_budget(budget, status("disruptionsAllowed"), status("desiredHealthy"), status("currentHealthy"))?;
    if dry_run {
        return Ok(());
    }
    let mut changed = budget.clone();
    let now = state.now();
    let fields = child_mut(&mut changed, &["status"]);
    fields.insert("disruptionsAllowed".to_owned(), json!(status("disruptionsAllowed") - 1));
    child_mut(&mut changed, &["status", "disruptedPods"]).insert(target.name.clone(), json!(now));
    if status("disruptionsAllowed") == 1 {
        say_exhausted(&mut changed, &now);
    }
    let server =
        Caller { manager: "kube-apiserver".to_owned(), dry_run, strictness: Strictness::default(), applied: None };
    if let Some(resource) = state.registry.by_id("poddisruptionbudgets.policy") {
        crate::managed::update(
            &resource,
            &mut changed,
            Some(budget),
            crate::managed::Sent::default(),
            &server,
            "status",
            &now,
        );
    }
    state.store.put(key, changed);
    Ok(())
}

/// Says in a budget that it allows nothing more.
fn say_exhausted(budget: &mut Value, now: &str) {
    let generation = number(budget, &["status", "observedGeneration"]).unwrap_or(0);
    let mut condition = json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
        "lastTransitionTime": now,
    });
    if generation != 0 {
        child_mut(&mut condition, &[]).insert("observedGeneration".to_owned(), json!(generation));
    }
    let others = list(budget, &["status", "conditions"]).iter().filter(|c| text(c, &["type"]) != "DisruptionAllowed");
    let conditions = others.cloned().chain([condition]).collect();
    child_mut(budget, &["status"]).insert("conditions".to_owned(), Value::Array(conditions));
}

fn violates(text: &str) -> StatusError {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let details = json!({"causes": [{"reason": "DisruptionBudget", "message": text}]});
    StatusError { details: Some(details), ..StatusError::new(429, "TooManyRequests", message) }
}

fn still_processed(budget: &str) -> StatusError {
    let mut error = violates(&format!("The disruption budget {budget} is still being processed by the server."));
    error.retry_after = Some(10);
    if let Some(Value::Object(details)) = &mut error.details {
        details.insert("retryAfterSeconds".to_owned(), json!(10));
    }
    error
}

fn check_budget(budget: &Value, allowed: i64, desired: i64, healthy: i64) -> Result<(), StatusError> {
    let name = name(budget);
    if number(budget, &["status", "observedGeneration"]) < number(budget, &["metadata", "generation"]) {
        return Err(still_processed(name));
    }
    if allowed < 0 {
        return Err(StatusError::forbidden(format!("pdb disruptions allowed is negative ({allowed}) for {name}")));
    }
    if allowed == 0 {
        return Err(violates(&if healthy > desired {
            format!("The disruption budget {name} does not allow evicting pods currently")
        } else {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }));
    }
    Ok(())
}
