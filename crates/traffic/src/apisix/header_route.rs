//! The ApisixRoute of a header step, made from the Rollout's.

use serde_json::{Value, json};
use tidegate_api::names::annotations::LAST_APPLIED;
use tidegate_api::rollout::{SetHeaderRoute, StringMatch};
use tidegate_api::wire::{Items, Text};

use super::rules::weighted;
use crate::istio::whole_number;
use crate::router::fields::{at, list, put, text};
use crate::router::{ObjectRef, RouterError, Wanted};

/// What the API server sets, and what belongs to whoever applied the base.
const NOT_COPIED: [&str; 7] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "ownerReferences"];

/// The rules of the header route: those of the base that are weighted, to the canary alone, before their originals.
pub(super) fn rules(
    name: &str,
    step: &SetHeaderRoute,
    base_name: &ObjectRef,
    base: &Value,
    positions: &[usize],
    wanted: &Wanted<'_>,
) -> Result<Vec<Value>, RouterError> {
    let conditions = conditions(name, step)?;
    let all = list(base, &["spec", "http"]).map(Vec::as_slice).unwrap_or_default();
    let mut rules = Vec::new();
    for (index, rule) in positions.iter().filter_map(|index| Some((*index, all.get(*index)?))) {
        let (backends, _) = weighted(base_name, index, rule, wanted)?;
        let canary = backends.iter().find(|backend| text(backend, &["serviceName"]) == wanted.services.canary);
        let mut canary = canary.cloned().unwrap_or_default();
        put(&mut canary, &[], "weight", json!(100));
        let mut rule = rule.clone();
        let priority = whole_number(at(&rule, &["priority"])).unwrap_or_default();
        let mut exprs = list(&rule, &["match", "exprs"]).cloned().unwrap_or_default();
        exprs.extend(conditions.iter().cloned());
        put(&mut rule, &[], "backends", json!([canary]));
        put(&mut rule, &[], "priority", json!(priority.saturating_add(1)));
        put(&mut rule, &["match"], "exprs", Value::Array(exprs));
        rules.push(rule);
    }
    Ok(rules)
}

/// A new object with these rules.
pub(super) fn body(name: &ObjectRef, base: &Value, rules: Vec<Value>, wanted: &Wanted<'_>) -> Value {
    let mut metadata = at(base, &["metadata"]).as_object().cloned().unwrap_or_default();
    metadata.retain(|field, _| !NOT_COPIED.contains(&field.as_str()));
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    metadata.insert("name".to_owned(), json!(name.name));
    metadata.insert("namespace".to_owned(), json!(name.namespace));
    metadata.insert("ownerReferences".to_owned(), json!([wanted.rollout.reference()]));
    let mut spec = at(base, &["spec"]).clone();
    put(&mut spec, &[], "http", Value::Array(rules));
    json!({
        "apiVersion": name.resource.api_version(), "kind": name.resource.kind, "metadata": metadata, "spec": spec,
    })
}

fn conditions(name: &str, step: &SetHeaderRoute) -> Result<Vec<Value>, RouterError> {
    let mut all = Vec::new();
    for (index, item) in step.matches.items().iter().enumerate() {
        let header = item.header_name.text();
        let Some((op, value)) = item.header_value.as_ref().and_then(condition).filter(|_| !header.is_empty()) else {
            let field = format!("match[{index}].headerValue");
            return Err(RouterError::NoCondition { name: name.to_owned(), field });
        };
        all.push(json!({"subject": {"scope": "Header", "name": header}, "op": op, "value": value}));
    }
    Ok(all)
}

fn condition(found: &StringMatch) -> Option<(&'static str, String)> {
    match (found.exact.text(), found.prefix.text(), found.regex.text()) {
        ("", "", "") => None,
        ("", "", regex) => Some(("RegexMatch", regex.to_owned())),
        ("", prefix, _) => Some(("RegexMatch", format!("^{prefix}.*"))),
        (exact, _, _) => Some(("Equal", exact.to_owned())),
    }
}
