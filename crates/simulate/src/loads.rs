//! The requests that are sent to a Rollout: along the routes that it manages, or to its Service.

use serde_json::Value;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
use tidegate_mesh::{Load, Protocol, Request};
use tidegate_validate::references::referenced_virtual_services;

use crate::assumed::texts;
use crate::input::Input;

/// A name for hosts that stand for any.
const ANY: &str = "simulated.example";

/// Requests to one Rollout.
pub(crate) fn load(input: &Input, rollout: &Rollout, per_second: f64) -> Load {
    let namespace = rollout.metadata.namespace.text();
    let mut mixture = Vec::new();
    for name in referenced_virtual_services(rollout) {
        if let Some(object) = input.get("VirtualService", &name.namespace, &name.name) {
            mixture.extend(along(object, &managed(rollout, &name.name), namespace));
        }
    }
    if mixture.is_empty() {
        mixture.push(match (split(input, rollout), input.entrance(rollout)) {
            (Some(split), _) => Request { source_namespace: namespace.to_owned(), ..Request::to(&split.host) },
            (None, Some((host, port))) => {
                Request { port, source_namespace: namespace.to_owned(), ..Request::to(&host) }
            }
            (None, None) => Request { source_namespace: namespace.to_owned(), ..Request::to(ANY) },
        });
    }
    Load::mixed(mixture.into_iter().map(|request| (request, 1.0)).collect(), per_second)
}

/// Names of the HTTP routes of a VirtualService that the Rollout manages; none means the only one.
fn managed(rollout: &Rollout, name: &str) -> Vec<String> {
    let istio = rollout.spec.canary().and_then(|canary| canary.traffic_routing.as_ref()?.istio.as_ref());
    let Some(istio) = istio else { return Vec::new() };
    let all = istio.virtual_service.iter().chain(istio.virtual_services.items());
    let own = all.filter(|one| one.name.text().split('.').next() == Some(name));
    own.flat_map(|one| one.routes.items().iter().cloned()).collect()
}

/// One request for each protocol of a VirtualService.
fn along(object: &Value, managed: &[String], namespace: &str) -> Vec<Request> {
    let spec = &object["spec"];
    let own = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let host = texts(&spec["hosts"]).into_iter().next().unwrap_or_default().replace('*', "simulated");
    let host = if host == "simulated" { ANY.to_owned() } else { host };
    let base = Request { source_namespace: namespace.to_owned(), ..Request::to(&host) };
    let gateway = texts(&spec["gateways"]).into_iter().find(|gateway| gateway != "mesh");
    let is_in_mesh = gateway.is_none() || texts(&spec["gateways"]).iter().any(|gateway| gateway == "mesh");
    let base = match gateway.filter(|_| !is_in_mesh) {
        None => base,
        Some(gateway) => {
            let (at, name) = gateway.split_once('/').unwrap_or((own, &gateway));
            base.through(at, name)
        }
    };
    let list = |name: &str| spec[name].as_array().cloned().unwrap_or_default();
    let mut requests = Vec::new();
    let http = list("http");
    let is_managed = |route: &&Value| route["name"].as_str().is_some_and(|name| managed.iter().any(|one| one == name));
    if let Some(route) = http.iter().find(is_managed).or(http.first()) {
        requests.push(fitting(base.clone(), &route["match"][0]));
    }
    if let Some(route) = list("tls").first() {
        let rule = &route["match"][0];
        let name = rule["sniHosts"][0].as_str().unwrap_or(&host).replace('*', "simulated");
        requests.push(Request { protocol: Protocol::Tls, host: name, port: port(rule, 443), ..base.clone() });
    }
    if let Some(route) = list("tcp").first() {
        let rule = &route["match"][0];
        requests.push(Request { protocol: Protocol::Tcp, port: port(rule, 80), ..base });
    }
    requests
}

fn port(rule: &Value, otherwise: u16) -> u16 {
    rule["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(otherwise)
}

/// A request that a rule lets through, as far as its usual parts go.
fn fitting(mut request: Request, rule: &Value) -> Request {
    let text = |part: &Value| part["exact"].as_str().or_else(|| part["prefix"].as_str()).map(str::to_owned);
    if let Some(path) = text(&rule["uri"]) {
        request.path = path;
    }
    if let Some(method) = text(&rule["method"]) {
        request.method = method;
    }
    request.port = port(rule, request.port);
    for (name, value) in rule["headers"].as_object().into_iter().flatten() {
        if let Some(value) = text(value) {
            request = request.with_header(name, &value);
        }
    }
    request
}

/// A Rollout whose router is not simulated: requests go where the controller says they should.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Split {
    /// What is called.
    pub host: String,
    /// Which Rollout.
    pub rollout: (String, String),
    pub stable: String,
    pub canary: String,
    /// What routes it in real life.
    pub router: String,
}

/// How the traffic of a Rollout is split whose router is not Istio.
pub(crate) fn split(input: &Input, rollout: &Rollout) -> Option<Split> {
    let canary = rollout.spec.canary()?;
    let routing = serde_json::to_value(canary.traffic_routing.as_ref()?).ok()?;
    let router = routing
        .as_object()?
        .keys()
        .find(|key| !["istio", "managedRoutes", "maxTrafficWeight"].contains(&key.as_str()))?;
    if routing.get("istio").is_some() {
        return None;
    }
    let (stable, new) = (canary.stable_service.text().to_owned(), canary.canary_service.text().to_owned());
    let (namespace, name) = (rollout.metadata.namespace.text(), rollout.metadata.name.text());
    let is_whole = [&stable, &new].into_iter().all(|service| input.get("Service", namespace, service).is_some());
    is_whole.then(|| Split {
        host: format!("{name}.{namespace}.simulated.example"),
        rollout: (namespace.to_owned(), name.to_owned()),
        stable,
        canary: new,
        router: router.clone(),
    })
}
