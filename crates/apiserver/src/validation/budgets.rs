//! Rules for autoscalers and disruption budgets.

use serde_json::{Value, json};

use super::names::path_segment_problems;
use super::rules::Findings;
use crate::object::{at, list, number, text};

/// Horizontal pod autoscalers.
pub(super) fn autoscaler(object: &Value, found: &mut Findings) {
    let least = number(object, &["spec", "minReplicas"]).unwrap_or(1);
    let most = number(object, &["spec", "maxReplicas"]).unwrap_or(0);
    if least < 1 {
        found.invalid("spec.minReplicas", least, "must be greater than or equal to 1");
    }
    if most < 1 {
        found.required_as("spec.maxReplicas", "must be set and greater than 0");
    }
    if most < least {
        found.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`");
    }
    for part in ["kind", "name"] {
        let field = format!("spec.scaleTargetRef.{part}");
        match text(object, &["spec", "scaleTargetRef", part]) {
            "" => found.required(field),
            name => found.problems(&field, name, path_segment_problems(name)),
        }
    }
    if text(object, &["spec", "scaleTargetRef", "apiVersion"]).is_empty() {
        found.invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group");
    }
    let metrics = list(object, &["spec", "metrics"]);
    for (index, one) in metrics.iter().enumerate() {
        metric(one, &format!("spec.metrics[{index}]"), found);
    }
    let from_outside = metrics.iter().any(|m| matches!(text(m, &["type"]), "Object" | "External"));
    if least == 0 && !from_outside {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        found.forbidden("spec.metrics", why);
    }
    for side in ["scaleUp", "scaleDown"] {
        let rules = at(object, &["spec", "behavior", side]);
        if rules.is_some_and(|rules| list(rules, &["policies"]).is_empty()) {
            found.required_as(format!("spec.behavior.{side}.policies"), "must specify at least one Policy");
        }
    }
    if let Some(status) = object.get("status") {
        found.not_negative(status, "status", &["currentReplicas", "desiredReplicas"]);
    }
}

fn metric(metric: &Value, field: &str, found: &mut Findings) {
    let kinds = [
        ("ContainerResource", "containerResource"),
        ("External", "external"),
        ("Object", "object"),
        ("Pods", "pods"),
        ("Resource", "resource"),
    ];
    let kind = text(metric, &["type"]);
    let Some((_, source)) = kinds.iter().find(|(name, _)| *name == kind) else {
        found.choice(&format!("{field}.type"), kind, &kinds.map(|(name, _)| name));
        return;
    };
    let Some(described) = metric.get(*source) else {
        found.required_as(format!("{field}.{source}"), "must populate information for the given metric source");
        return;
    };
    let target = |name: &str| at(described, &["target", name]);
    if *source == "resource" && target("averageUtilization").is_none() && target("averageValue").is_none() {
        let why = "must set either a target raw value or a target utilization";
        found.required_as(format!("{field}.resource.target.averageUtilization"), why);
    }
}

/// Pod disruption budgets.
pub(super) fn disruption_budget(object: &Value, found: &mut Findings) {
    let spec = |field: &str| at(object, &["spec", field]).filter(|v| !v.is_null());
    if spec("minAvailable").is_some() && spec("maxUnavailable").is_some() {
        // The real server prints its internal structure here, in the order of its fields.
        let part = |field: &str| spec(field).cloned().unwrap_or_default().to_string();
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            part("minAvailable"),
            part("selector"),
            part("maxUnavailable"),
            part("unhealthyPodEvictionPolicy")
        );
        found.printed("spec", &shown, "minAvailable and maxUnavailable cannot be both set");
    }
    for name in ["minAvailable", "maxUnavailable"] {
        if let Some(value) = spec(name) {
            found.count_or_percent(&format!("spec.{name}"), value);
            found.at_most_all(&format!("spec.{name}"), value);
        }
    }
    if let Some(selector) = spec("selector") {
        found.selector("spec.selector", selector);
    }
    if let Some(policy) = spec("unhealthyPodEvictionPolicy").and_then(Value::as_str) {
        found.choice("spec.unhealthyPodEvictionPolicy", policy, &["AlwaysAllow", "IfHealthyBudget"]);
    }
    let status = object.get("status").cloned().unwrap_or(json!({}));
    let counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
    found.not_negative(&status, "status", &counts);
}
