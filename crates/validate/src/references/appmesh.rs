//! The App Mesh virtual service and router a Rollout names.

use serde_json::Value;
use tidegate_api::rollout::{AppMeshTrafficRouting, Rollout};
use tidegate_api::wire::Text;

use super::{Found, Lookup};
use crate::error::{BadValue, FieldError};

const PATH: &str = "spec.strategy.canary.trafficRouting.appmesh.virtualService";
const ROUTE_KINDS: [&str; 4] = ["grpcRoute", "httpRoute", "http2Route", "tcpRoute"];

fn app_mesh(rollout: &Rollout) -> Option<&AppMeshTrafficRouting> {
    rollout.spec.canary()?.traffic_routing.as_ref()?.app_mesh.as_ref()
}

pub(super) fn missing(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    let Some(app_mesh) = app_mesh(rollout) else { return Vec::new() };
    let name = app_mesh.virtual_service.as_ref().map_or("", |service| service.name.text());
    if name.is_empty() {
        return vec![FieldError::invalid(PATH, BadValue::null(), "must provide virtual-service")];
    }
    let namespace = rollout.metadata.namespace.as_deref().unwrap_or("default");
    match found.virtual_routers.get(name) {
        Some(Lookup::Missing(detail)) => {
            vec![FieldError::invalid(PATH, format!("{name}.{namespace}"), detail.as_str())]
        }
        _ => Vec::new(),
    }
}

pub(super) fn unfitting(found: &Found) -> Vec<FieldError> {
    found.virtual_routers.values().filter_map(Lookup::found).flat_map(check_router).collect()
}

fn check_router(router: &Value) -> Vec<FieldError> {
    let kind = router["kind"].as_str().unwrap_or_default();
    if kind != "VirtualRouter" {
        let detail = format!("Expected object kind to be VirtualRouter but is {kind}");
        return vec![FieldError::invalid("kind", kind, detail)];
    }
    let name = router["metadata"]["name"].as_str().unwrap_or_default();
    let routes = router["spec"]["routes"].as_array().map_or(&[][..], Vec::as_slice);
    if routes.is_empty() {
        let detail = format!("No routes defined for AppMesh virtual-router {name}");
        return vec![FieldError::invalid("spec.routes", name, detail)];
    }
    routes.iter().enumerate().filter_map(|(index, route)| check_route(name, index, route)).collect()
}

fn check_route(router: &str, index: usize, route: &Value) -> Option<FieldError> {
    let path = format!("spec.routes[{index}]");
    if !route.is_object() {
        let detail = format!("Invalid route was found for AppMesh virtual-router {router} at index {index}");
        return Some(FieldError::invalid(path, router, detail));
    }
    let name = route["name"].as_str().unwrap_or_default();
    let Some(kind) = ROUTE_KINDS.into_iter().find(|kind| route[*kind].is_object()) else {
        let detail = format!(
            "Error getting route details for AppMesh virtual-router {router} and route {name}. Error: Route has unsupported route type"
        );
        return Some(FieldError::invalid(path, name, detail));
    };
    let path = format!("{path}.{kind}.action.weightedTargets");
    let Some(targets) = route[kind]["action"]["weightedTargets"].as_array() else {
        let detail = format!("Invalid route action found for AppMesh virtual-router {router} and route {name}");
        return Some(FieldError::invalid(path, name, detail));
    };
    (targets.len() != 2).then(|| {
        let count = targets.len();
        let detail = format!(
            "Invalid number of weightedTargets ({count}) for AppMesh virtual-router {router} and route {name}, expected 2"
        );
        FieldError::invalid(path, name, detail)
    })
}
