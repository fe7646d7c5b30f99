//! The configuration of the plugin.

use serde_json::Value;
use tidegate_api::values::LabelSelector;
use tidegate_api::wire::{Items, Text};

use super::kind::Kind;
use super::router::PLUGIN;
use crate::router::{RouterError, Wording};

/// What the Rollout says about its routes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) routes: Vec<Named>,
    /// Kinds with selectors in the form of the API.
    pub(super) selectors: Vec<(Kind, String)>,
    /// Of the routes; none means the Rollout's.
    pub(super) namespace: Option<String>,
    pub(super) config_map: String,
    /// The label of routes while the canary gets traffic.
    pub(super) label: Option<(String, String)>,
}

/// A route by name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) takes_headers: bool,
}

fn wrong(field: impl Into<String>, wanted: &'static str) -> RouterError {
    RouterError::Config { plugin: PLUGIN, field: field.into(), wanted }
}

fn text(config: &Value, field: &str) -> Result<Option<String>, RouterError> {
    match config.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(wrong(field, "text")),
    }
}

fn flag(config: &Value, field: &str, path: &str) -> Result<bool, RouterError> {
    match config.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(wrong(format!("{path}{field}"), "true or false")),
    }
}

impl Config {
    /// Reads it; every mistake is an error that names the field.
    pub(super) fn read(config: &Value) -> Result<Self, RouterError> {
        let (mut routes, mut selectors) = (Vec::new(), Vec::new());
        for kind in Kind::ALL {
            let name = text(config, kind.field())?;
            routes.extend(name.map(|name| Named { kind, name, takes_headers: kind.book_key().is_some() }));
            routes.extend(several(config, kind)?);
            let field = format!("{}Selector", kind.field());
            if let Some(selector) = config.get(&field).filter(|selector| !selector.is_null()) {
                selectors.push((kind, labels(selector, &field)?));
            }
        }
        if routes.is_empty() && selectors.is_empty() {
            let hint = format!("spec.strategy.canary.trafficRouting.plugins[\"{PLUGIN}\"]: name a route");
            return Err(Wording::GatewayRoutes.hint(hint));
        }
        let label =
            |field: &str, default: &str| text(config, field).map(|found| found.unwrap_or_else(|| default.to_owned()));
        let key = label("inProgressLabelKey", "rollouts.argoproj.io/gatewayapi-canary")?;
        let value = label("inProgressLabelValue", "in-progress")?;
        Ok(Self {
            routes,
            selectors,
            namespace: text(config, "namespace")?,
            config_map: text(config, "configMap")?.unwrap_or_else(|| "argo-gatewayapi-configmap".to_owned()),
            label: (!flag(config, "disableInProgressLabel", "")?).then_some((key, value)),
        })
    }
}

fn several(config: &Value, kind: Kind) -> Result<Vec<Named>, RouterError> {
    let field = format!("{}s", kind.field());
    let list = match config.get(&field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(wrong(field, "a list")),
    };
    let mut all = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let path = format!("{field}[{index}].");
        let name = entry.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong(format!("{path}name"), "the name of a route"))?.to_owned();
        let takes_headers = flag(entry, "useHeaderRoutes", &path)? && kind.book_key().is_some();
        all.push(Named { kind, name, takes_headers });
    }
    Ok(all)
}

/// A selector as the API takes it. An empty one would take the routes of all others.
fn labels(selector: &Value, field: &str) -> Result<String, RouterError> {
    let form = "a label selector that names at least one label";
    let selector: LabelSelector = serde_json::from_value(selector.clone()).map_err(|_| wrong(field, form))?;
    let mut parts: Vec<String> =
        selector.match_labels.iter().flatten().map(|(label, value)| format!("{label}={value}")).collect();
    for (index, item) in selector.match_expressions.items().iter().enumerate() {
        let (label, values) = (item.key.text(), item.values.items().join(","));
        parts.push(match item.operator.text() {
            "In" => format!("{label} in ({values})"),
            "NotIn" => format!("{label} notin ({values})"),
            "Exists" => label.to_owned(),
            "DoesNotExist" => format!("!{label}"),
            _ => {
                let field = format!("{field}.matchExpressions[{index}].operator");
                return Err(wrong(field, "one of In, NotIn, Exists, DoesNotExist"));
            }
        });
    }
    if parts.is_empty() { Err(wrong(field, form)) } else { Ok(parts.join(",")) }
}
