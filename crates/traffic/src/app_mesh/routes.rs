//! Routes of a VirtualRouter and the weights of their two targets.

use serde_json::Value;

use crate::router::fields::{at, list, text};
use crate::router::weighted::{Role, Weighted};
use crate::router::{ObjectRef, RouterError, Wanted};

/// The kinds of routes, in the order they are looked for.
const KINDS: [&str; 4] = ["httpRoute", "tcpRoute", "http2Route", "grpcRoute"];

/// A route with its targets.
pub(super) struct Route<'a> {
    /// Its position in `spec.routes`.
    pub(super) index: usize,
    /// Its kind.
    pub(super) kind: &'static str,
    pub(super) targets: &'a Vec<Value>,
    pub(super) weighted: Weighted<'a>,
}

/// The names of the two VirtualNodes.
#[derive(Clone, Copy)]
pub(super) struct Nodes<'a> {
    pub(super) canary: &'a str,
    pub(super) stable: &'a str,
}

fn shape(name: &ObjectRef, field: String, wanted: &'static str) -> RouterError {
    RouterError::Shape { object: name.to_string(), field, wanted }
}

/// The routes to write: all, or those that are named.
pub(super) fn routes<'a>(
    name: &ObjectRef,
    router: &'a Value,
    names: &[String],
    nodes: Nodes<'_>,
    wanted: &'a Wanted<'a>,
) -> Result<Vec<Route<'a>>, RouterError> {
    let all = list(router, &["spec", "routes"]).map(Vec::as_slice).unwrap_or_default();
    let is_asked_for = |route: &Value| names.is_empty() || names.iter().any(|asked| asked == text(route, &["name"]));
    for asked in names {
        if !all.iter().any(|route| text(route, &["name"]) == asked) {
            return Err(shape(name, format!("spec.routes with name '{asked}'"), "there"));
        }
    }
    let mut routes = Vec::new();
    for (index, route) in all.iter().enumerate().filter(|(_, route)| is_asked_for(route)) {
        routes.push(of(name, index, route, nodes, wanted)?);
    }
    if routes.is_empty() {
        return Err(shape(name, "spec.routes".to_owned(), "a list with a route"));
    }
    Ok(routes)
}

fn of<'a>(
    name: &ObjectRef,
    index: usize,
    route: &'a Value,
    nodes: Nodes<'_>,
    wanted: &'a Wanted<'a>,
) -> Result<Route<'a>, RouterError> {
    let Some(kind) = KINDS.into_iter().find(|kind| !at(route, &[kind]).is_null()) else {
        let form = "a route with one of httpRoute, tcpRoute, http2Route, grpcRoute";
        return Err(shape(name, format!("spec.routes[{index}]"), form));
    };
    let place = format!("spec.routes[{index}].{kind}.action.weightedTargets");
    let targets = list(route, &[kind, "action", "weightedTargets"]);
    let mut entries = Vec::new();
    for target in targets.into_iter().flatten() {
        let node = text(target, &["virtualNodeRef", "name"]);
        let namespace = text(target, &["virtualNodeRef", "namespace"]);
        let is_near = namespace.is_empty() || namespace == wanted.rollout.namespace;
        let role = match node {
            _ if is_near && node == nodes.canary => Role::Canary,
            _ if is_near && node == nodes.stable => Role::Stable,
            _ => Role::Foreign,
        };
        entries.push((node, role));
    }
    let has = |role: &Role| entries.iter().any(|(_, other)| other == role);
    let (Some(targets), 2, true, true) = (targets, entries.len(), has(&Role::Canary), has(&Role::Stable)) else {
        let form = "a list of exactly two targets, one for each VirtualNode of the Rollout";
        return Err(shape(name, place, form));
    };
    let object = name.to_string();
    let weighted = Weighted { object, place, default: 0, total: 100, takes_experiments: false, entries, wanted };
    Ok(Route { index, kind, targets, weighted })
}
