//! Disruption budgets: how many pods may be evicted now.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::{Selector, SelectorExt};

use super::pods::{Pod, ready_since};

/// How long an eviction counts although its pod is still there without a deletion.
const EVICTION_TIMEOUT: Duration = Duration::from_secs(120);

/// What a pass over one budget wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The status to write, if it differs.
    pub status: Option<PodDisruptionBudgetStatus>,
    /// When to look again although nothing has changed.
    pub wake_at: Option<Timestamp>,
}

/// Whether a budget is about a pod. An empty selector selects everything, none selects nothing.
pub fn covers(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let empty = BTreeMap::new();
    covers_labels(budget, pod.metadata.labels.as_ref().unwrap_or(&empty))
}

/// Whether a budget is about pods with these labels.
pub(crate) fn covers_labels(budget: &PodDisruptionBudget, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = budget.spec.as_ref().and_then(|spec| spec.selector.clone()) else { return false };
    Selector::try_from(selector).is_ok_and(|selector| selector.matches(labels))
}

/// Compares a budget with the pods it covers; `asked` is how many pods the controllers of those pods ask for.
pub fn plan(budget: &PodDisruptionBudget, pods: &[&Pod], asked: i32, now: Timestamp) -> Plan {
    let before = budget.status.clone().unwrap_or_default();
    let disrupted = still_disrupted(&before, pods, now);
    let is_disrupted = |pod: &Pod| pod.metadata.name.as_ref().is_some_and(|name| disrupted.contains_key(name));
    let is_healthy =
        |pod: &&&Pod| pod.metadata.deletion_timestamp.is_none() && ready_since(pod).is_some() && !is_disrupted(pod);
    let healthy = count(pods.iter().filter(is_healthy).count());
    let (expected, desired) = goal(budget, count(pods.len()), asked);
    let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
    let wake_at = disrupted.values().map(|time| time.0.saturating_add(EVICTION_TIMEOUT).unwrap_or(time.0)).min();
    let status = PodDisruptionBudgetStatus {
        conditions: Some(vec![condition(budget, &before, allowed, now)]),
        current_healthy: Some(healthy),
        desired_healthy: Some(desired),
        disrupted_pods: (!disrupted.is_empty()).then_some(disrupted),
        disruptions_allowed: Some(allowed),
        expected_pods: Some(expected),
        observed_generation: budget.metadata.generation,
    };
    Plan { status: (budget.status.as_ref() != Some(&status)).then_some(status), wake_at }
}

/// Evictions whose effect cannot be seen on the pods yet. They count as done, so that one is not granted twice.
fn still_disrupted(before: &PodDisruptionBudgetStatus, pods: &[&Pod], now: Timestamp) -> BTreeMap<String, Time> {
    let waits = |name: &String| {
        let pod = pods.iter().find(|pod| pod.metadata.name.as_ref() == Some(name));
        pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_none())
    };
    let is_fresh = |time: &Time| time.0.saturating_add(EVICTION_TIMEOUT).unwrap_or(time.0) > now;
    let recorded = before.disrupted_pods.iter().flatten();
    let kept = recorded.filter(|(name, time)| waits(name) && is_fresh(time));
    kept.map(|(name, time)| (name.clone(), time.clone())).collect()
}

/// How many pods there should be, and how many of them must stay healthy.
fn goal(budget: &PodDisruptionBudget, matching: i32, asked: i32) -> (i32, i32) {
    let spec = budget.spec.as_ref();
    if let Some(may_be_missing) = spec.and_then(|spec| spec.max_unavailable.as_ref()) {
        return (asked, (asked - share(may_be_missing, asked)).max(0));
    }
    match spec.and_then(|spec| spec.min_available.as_ref()) {
        Some(IntOrString::Int(number)) => (matching, *number),
        Some(percent) => (asked, share(percent, asked)),
        None => (matching, 0),
    }
}

/// A number, or a percentage rounded up.
fn share(value: &IntOrString, of: i32) -> i32 {
    match value {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent = text.trim_end_matches('%').parse::<i64>().unwrap_or(0);
            i32::try_from((percent * i64::from(of) + 99).div_euclid(100)).unwrap_or(i32::MAX)
        }
    }
}

fn condition(
    budget: &PodDisruptionBudget,
    before: &PodDisruptionBudgetStatus,
    allowed: i32,
    now: Timestamp,
) -> Condition {
    let (status, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let old = before.conditions.iter().flatten().find(|old| old.type_ == "DisruptionAllowed" && old.status == status);
    Condition {
        type_: "DisruptionAllowed".to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: String::new(),
        observed_generation: budget.metadata.generation,
        last_transition_time: old.map_or(Time(now), |old| old.last_transition_time.clone()),
    }
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
