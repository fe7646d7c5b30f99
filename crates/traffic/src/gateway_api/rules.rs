//! Rules of routes and the weights of their backendRefs.

use serde_json::{Map, Value, json};

use super::kind::Kind;
use crate::router::fields::{list, text};
use crate::router::weighted::{Role, Weighted};
use crate::router::{ObjectRef, RouterError, Wanted, Wording};

/// A backendRef without weight has this one.
const DEFAULT_WEIGHT: i64 = 1;

/// The rules of a route.
pub(super) fn rules(route: &Value) -> &[Value] {
    list(route, &["spec", "rules"]).map(Vec::as_slice).unwrap_or_default()
}

/// The backendRefs of a rule.
pub(super) fn refs(rule: &Value) -> &[Value] {
    list(rule, &["backendRefs"]).map(Vec::as_slice).unwrap_or_default()
}

/// The backendRef of a Service.
pub(super) fn find<'a>(rule: &'a Value, service: &str) -> Option<&'a Value> {
    refs(rule).iter().find(|entry| text(entry, &["name"]) == service)
}

/// Positions of the rules that are split: those with both Services. One that names a single Service is no split, and a
/// weight of 0 would leave it without any destination.
pub(super) fn split(
    kind: Kind,
    name: &ObjectRef,
    route: &Value,
    wanted: &Wanted<'_>,
) -> Result<Vec<usize>, RouterError> {
    let services = &wanted.services;
    let has_both = |rule: &Value| find(rule, services.canary).is_some() && find(rule, services.stable).is_some();
    let all: Vec<usize> =
        rules(route).iter().enumerate().filter(|(_, rule)| has_both(rule)).map(|(index, _)| index).collect();
    if all.is_empty() {
        let (canary, stable) = (services.canary, services.stable);
        let hint = format!("{name}: add backendRefs named {stable} and {canary} to one of spec.rules");
        return Err(Wording::GatewayBackend(kind.field()).hint(hint));
    }
    Ok(all)
}

/// The destinations of a rule.
pub(super) fn weighted<'a>(
    kind: Kind,
    object: &ObjectRef,
    index: usize,
    rule: &'a Value,
    wanted: &'a Wanted<'a>,
) -> Weighted<'a> {
    let takes_experiments = kind == Kind::Http;
    let role = |name: &str| match name {
        _ if name == wanted.services.canary => Role::Canary,
        _ if name == wanted.services.stable => Role::Stable,
        _ if !takes_experiments => Role::Foreign,
        _ if wanted.experiments.iter().any(|found| found.service == name) => Role::Experiment(name.to_owned()),
        _ if wanted.former.contains(name) => Role::Former,
        _ => Role::Foreign,
    };
    let names = refs(rule).iter().map(|entry| text(entry, &["name"]));
    Weighted {
        object: object.to_string(),
        place: format!("spec.rules[{index}].backendRefs"),
        default: DEFAULT_WEIGHT,
        total: wanted.whole(),
        takes_experiments,
        entries: names.map(|name| (name, role(name))).collect(),
        wanted,
    }
}

/// A backendRef without weight to a Service that is reached as the canary is.
pub(super) fn backend_ref(rule: &Value, service: &str, wanted: &Wanted<'_>) -> Option<Value> {
    let canary = find(rule, wanted.services.canary)?;
    let mut entry = Map::from_iter([("group".to_owned(), json!("")), ("kind".to_owned(), json!("Service"))]);
    for field in ["group", "kind", "namespace", "port"] {
        if let Some(value) = canary.get(field).filter(|value| !value.is_null()) {
            entry.insert(field.to_owned(), value.clone());
        }
    }
    entry.insert("name".to_owned(), json!(service));
    Some(Value::Object(entry))
}
