//! VirtualServices a Rollout names.

use serde_json::Value;
use tidegate_api::rollout::{IstioTrafficRouting, IstioVirtualService, Rollout};
use tidegate_api::wire::{Items, Text};
use tidegate_traffic::istio::names::{Services, VirtualServiceName};
use tidegate_traffic::istio::route_hint;
use tidegate_traffic::istio::routes::{Protocol, RouteError, Selector};

use super::{Found, Lookup, report_missing};
use crate::error::FieldError;

const ISTIO: &str = "spec.strategy.canary.trafficRouting.istio";

fn istio(rollout: &Rollout) -> Option<&IstioTrafficRouting> {
    rollout.spec.canary()?.traffic_routing.as_ref()?.istio.as_ref()
}

/// The VirtualServices named, with the field that names them; none when both fields or neither is set.
fn named(istio: &IstioTrafficRouting) -> Option<(String, Vec<&IstioVirtualService>)> {
    match (&istio.virtual_service, istio.virtual_services.items()) {
        (Some(one), []) => Some((format!("{ISTIO}.virtualService.name"), vec![one])),
        (None, many) if !many.is_empty() => Some((format!("{ISTIO}.virtualServices.name"), many.iter().collect())),
        _ => None,
    }
}

/// The VirtualServices a Rollout names.
pub fn referenced(rollout: &Rollout) -> Vec<VirtualServiceName> {
    let (_, all) = istio(rollout).and_then(named).unwrap_or_default();
    all.iter().map(|reference| name_of(rollout, reference)).collect()
}

fn name_of(rollout: &Rollout, reference: &IstioVirtualService) -> VirtualServiceName {
    let namespace = rollout.metadata.namespace.as_deref().unwrap_or("default");
    VirtualServiceName::parse(reference.name.text(), namespace)
}

pub(super) fn missing(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    let Some(istio) = istio(rollout) else { return Vec::new() };
    let Some((path, all)) = named(istio) else {
        let detail = "either VirtualService or VirtualServices must be configured";
        return vec![FieldError::internal(ISTIO, detail)];
    };
    let mut errors = Vec::new();
    for reference in all {
        let key = name_of(rollout, reference);
        report_missing(&mut errors, &path, &key.name, &found.virtual_services, &key);
    }
    errors
}

pub(super) fn unfitting(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    let Some((istio, canary)) = istio(rollout).zip(rollout.spec.canary()) else { return Vec::new() };
    let Some((path, all)) = named(istio) else { return Vec::new() };
    let status = rollout.status.as_ref().and_then(|status| status.canary.as_ref());
    let routing = canary.traffic_routing.as_ref();
    let mut errors = Vec::new();
    for reference in all {
        let key = name_of(rollout, reference);
        let Some(object) = found.virtual_services.get(&key).and_then(Lookup::found) else { continue };
        let selector = Selector {
            virtual_service: reference,
            destination_rule: istio.destination_rule.as_ref(),
            services: Services::of(canary, status),
            managed_routes: routing
                .iter()
                .flat_map(|r| r.managed_routes.items())
                .map(|route| route.name.text())
                .collect(),
        };
        for detail in problems(&selector, &object["spec"]) {
            errors.push(FieldError::invalid(&path, key.name.as_str(), detail));
        }
    }
    errors
}

fn problems(selector: &Selector<'_>, spec: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let mut present = false;
    let mut selected = 0;
    for protocol in Protocol::ALL {
        let Some(routes) = spec[protocol.field()].as_array() else { continue };
        present = true;
        if !routes.iter().all(Value::is_object) {
            problems.push(format!("Unable to get {} routes for Istio VirtualService", protocol.name()));
            continue;
        }
        if selector.skips(protocol, spec) {
            continue;
        }
        match selector.select(protocol, routes) {
            Ok(indexes) => selected += indexes.len(),
            Err(error @ (RouteError::NoMatch(_) | RouteError::NameNotFound(_))) => {
                // The text alone leaves people to compare the two by eye.
                let hint = route_hint(&error, selector, spec);
                problems.push(format!("{} ({hint})", wrapped(protocol, &error)));
            }
            Err(error) => problems.push(wrapped(protocol, &error)),
        }
    }
    if !present {
        problems.push("Unable to get any of the HTTP, TCP or TLS routes for the Istio VirtualService".to_owned());
    } else if problems.is_empty() && selected == 0 {
        // Nothing to weight must never pass in silence.
        problems.push(wrapped(Protocol::Http, &RouteError::NotExactlyOne(Protocol::Http)));
    }
    problems
}

fn wrapped(protocol: Protocol, error: &RouteError) -> String {
    format!("Istio VirtualService has invalid {} routes. Error: {error}", protocol.name())
}
