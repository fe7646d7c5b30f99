//! Header routes: two annotations, and a path at the beginning of every rule.

use serde_json::{Value, json};
use tidegate_api::rollout::SetHeaderRoute;
use tidegate_api::wire::{Items, Text};

use super::action::quoted;
use crate::ingress::{paths, service};
use crate::router::fields::{fields_mut, text};
use crate::router::{RouterError, Wording};

/// The port name that stands for an annotation.
pub(super) const USE_ANNOTATION: &str = "use-annotation";

/// The annotation with the conditions of a step; values of one header are alternatives.
pub(super) fn conditions(name: &str, step: &SetHeaderRoute) -> Result<String, RouterError> {
    let mut headers: Vec<(&str, Vec<&str>)> = Vec::new();
    for (index, item) in step.matches.items().iter().enumerate() {
        let (header, value) = (item.header_name.text(), item.header_value.as_ref());
        let exact = value.map(|value| value.exact.text()).unwrap_or_default();
        if exact.is_empty() || header.is_empty() {
            let hint = format!("step for route '{name}': set match[{index}].headerName and headerValue.exact");
            return Err(Wording::AlbMatch.hint(hint));
        }
        match headers.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(header)) {
            Some((_, values)) => values.push(exact),
            None => headers.push((header, vec![exact])),
        }
    }
    let condition = |(header, values): &(&str, Vec<&str>)| {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        let (header, values) = (quoted(header), values.join(","));
        format!(
            "{{\"field\":\"http-header\",\"httpHeaderConfig\":{{\"httpHeaderName\":{header},\"values\":[{values}]}}}}"
        )
    };
    let all: Vec<String> = headers.iter().map(condition).collect();
    Ok(format!("[{}]", all.join(",")))
}

fn path(name: &str) -> Value {
    json!({
        "path": "/*", "pathType": "ImplementationSpecific",
        "backend": {"service": {"name": name, "port": {"name": USE_ANNOTATION}}},
    })
}

/// Puts the paths of `wanted` routes first, in this order, and takes those of other `owned` ones out. Whether any rule
/// has changed.
///
/// Paths of other Rollouts may stand before ours: moving them aside would make two controllers take turns. What counts
/// is the order among ours, and that requests come past them before they reach the path of the `action`.
pub(super) fn arrange(ingress: &mut Value, wanted: &[&str], owned: &[&str], action: &str) -> bool {
    let mut is_changed = false;
    let rules = ingress.pointer_mut("/spec/rules").and_then(Value::as_array_mut);
    for rule in rules.into_iter().flatten() {
        if rule.pointer("/http/paths").is_none_or(|paths| !paths.is_array()) {
            continue;
        }
        let is_ours = |path: &Value| {
            let port = text(path, &["backend", "service", "port", "name"]);
            port == USE_ANNOTATION && owned.contains(&service(path))
        };
        let live = paths(rule);
        let built: Vec<Value> = wanted.iter().map(|name| path(name)).collect();
        let ours: Vec<&Value> = live.iter().filter(|path| is_ours(path)).collect();
        let last = live.iter().rposition(is_ours);
        let first = live.iter().position(|path| service(path) == action);
        let is_before = last.zip(first).is_none_or(|(last, first)| last < first);
        if is_before && ours.len() == built.len() && ours.iter().zip(&built).all(|(one, other)| *one == other) {
            continue;
        }
        let rest: Vec<Value> = live.iter().filter(|path| !is_ours(path)).cloned().collect();
        if let Some(http) = fields_mut(rule, &["http"]) {
            http.insert("paths".to_owned(), Value::Array(built.into_iter().chain(rest).collect()));
            is_changed = true;
        }
    }
    is_changed
}
