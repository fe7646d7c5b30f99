//! A Rollout by itself: every rule that needs no other object, in the contract's order.

mod blue_green;
mod canary;
mod pod_template;
mod steps;

use tidegate_api::raw::Raw;
use tidegate_api::rollout::{Rollout, RolloutSpec};
use tidegate_api::values::LabelSelector;
use tidegate_api::wire::Items;
use tidegate_hash::HashError;

use crate::error::{BadValue, FieldError};
use crate::{go_json, labels};

/// What `spec.workloadRef` leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its pod template.
    pub template: Raw,
    /// Its selector, used when the Rollout has none.
    pub selector: Option<LabelSelector>,
}

/// All broken rules of a Rollout. `workload` is what its `workloadRef` was resolved to, if it was.
pub fn check(rollout: &Rollout, workload: Option<&Workload>) -> Vec<FieldError> {
    let template = workload.map(|workload| &workload.template).or(rollout.spec.template.as_ref());
    let canonical = template.map(|template| tidegate_hash::canonical_pod_template(template.as_raw_value()));
    check_canonical(rollout, workload, canonical.as_ref())
}

/// [`check`] for callers that have the canonical text of the template, or know why it has none: to make it is the larger part of
/// a check.
pub fn check_canonical(
    rollout: &Rollout,
    workload: Option<&Workload>,
    canonical: Option<&Result<String, HashError>>,
) -> Vec<FieldError> {
    let spec = &rollout.spec;
    let mut errors = Vec::new();
    at_least_zero(&mut errors, "spec.replicas", spec.replicas_or_default());
    let selector = spec.selector.as_ref().or_else(|| workload.and_then(|workload| workload.selector.as_ref()));
    check_selector(&mut errors, spec, selector);
    check_template(&mut errors, spec, selector, workload, canonical);
    at_least_zero(&mut errors, "spec.minReadySeconds", spec.min_ready_seconds.unwrap_or_default());
    at_least_zero(&mut errors, "spec.revisionHistoryLimit", spec.revision_history_limit_or_default());
    check_deadline(&mut errors, spec);
    check_strategy(&mut errors, spec);
    errors
}

fn at_least_zero(errors: &mut Vec<FieldError>, path: &str, number: i32) {
    if number < 0 {
        errors.push(FieldError::invalid(path, number, "must be greater than or equal to 0"));
    }
}

fn check_selector(errors: &mut Vec<FieldError>, spec: &RolloutSpec, selector: Option<&LabelSelector>) {
    if spec.workload_ref.is_some() {
        return;
    }
    match selector {
        None => {
            errors.push(FieldError::required("spec.selector", "Rollout has missing field '.spec.selector'"));
        }
        Some(selector) => {
            errors.extend(labels::check_selector("spec.selector", selector));
            if is_empty(selector) {
                let detail = "empty selector is invalid for deployment";
                errors.push(FieldError::invalid("spec.selector", go_json::selector(selector), detail));
            }
        }
    }
}

fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.iter().flatten().next().is_none() && selector.match_expressions.items().is_empty()
}

fn check_template(
    errors: &mut Vec<FieldError>,
    spec: &RolloutSpec,
    selector: Option<&LabelSelector>,
    workload: Option<&Workload>,
    canonical: Option<&Result<String, HashError>>,
) {
    let unresolved = spec.workload_ref.is_some() && workload.is_none();
    if unresolved && spec.template.as_ref().is_some_and(pod_template::has_metadata) {
        let detail = "template must be empty for workload reference rollout";
        errors.push(FieldError::internal("spec.template", detail));
    }
    if let Some(selector) = selector
        && !labels::check_selector("spec.selector", selector).is_empty()
    {
        errors.push(FieldError::invalid("spec.selector", go_json::selector(selector), "invalid label selector"));
        return;
    }
    if !unresolved {
        let template = workload.map(|workload| &workload.template).or(spec.template.as_ref());
        errors.extend(pod_template::check(selector, template, canonical));
    }
}

fn check_deadline(errors: &mut Vec<FieldError>, spec: &RolloutSpec) {
    let deadline = spec.progress_deadline_seconds_or_default();
    at_least_zero(errors, "spec.progressDeadlineSeconds", deadline);
    if deadline <= spec.min_ready_seconds.unwrap_or_default() {
        let detail = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid("spec.progressDeadlineSeconds", deadline, detail));
    }
}

fn check_strategy(errors: &mut Vec<FieldError>, spec: &RolloutSpec) {
    match (spec.blue_green(), spec.canary()) {
        (None, None) => errors.push(FieldError::required(
            "spec.strategy.strategy",
            "Rollout has missing field '.spec.strategy.canary or .spec.strategy.blueGreen'",
        )),
        (Some(_), Some(_)) => errors.push(FieldError::invalid(
            "spec.strategy.strategy",
            "blueGreen: true canary: true",
            "Multiple Strategies can not be listed",
        )),
        (Some(blue_green), None) => blue_green::check(errors, spec, blue_green),
        (None, Some(canary)) => canary::check(errors, canary),
    }
}

/// Anti-affinity, the same for both strategies.
fn check_anti_affinity(errors: &mut Vec<FieldError>, anti_affinity: Option<&tidegate_api::rollout::AntiAffinity>) {
    let Some(anti_affinity) = anti_affinity else { return };
    let (preferred, required) = (anti_affinity.preferred.as_ref(), anti_affinity.required.as_ref());
    if preferred.is_some() == required.is_some() {
        let value = format!(
            "antiAffinity.PreferredDuringSchedulingIgnoredDuringExecution: {} \
             antiAffinity.RequiredDuringSchedulingIgnoredDuringExecution: {}",
            preferred.is_some(),
            required.is_some()
        );
        let detail = "AntiAffinity must have exactly one strategy listed";
        errors.push(FieldError::invalid("spec.strategy.antiAffinity", value, detail));
    }
    if let Some(preferred) = preferred {
        let weight = preferred.weight.unwrap_or_default();
        if !(1..=100).contains(&weight) {
            let detail = "AntiAffinity weight must be between 1-100";
            errors.push(FieldError::invalid("spec.strategy.antiAffinity.weight", weight, detail));
        }
    }
}

/// A number or text as error texts show it.
fn int_or_string(value: Option<&tidegate_api::values::IntOrString>) -> BadValue {
    use tidegate_api::values::IntOrString;
    match value {
        Some(IntOrString::Int(number)) => BadValue::from(*number),
        Some(IntOrString::Text(text)) => BadValue::from(text.as_str()),
        None => BadValue::from(tidegate_api::defaults::MAX_SURGE_PERCENT.to_string()),
    }
}
