//! Ingresses a Rollout names for NGINX or an AWS load balancer.

use serde_json::Value;
use tidegate_api::rollout::{CanaryStrategy, Rollout, RolloutTrafficRouting};
use tidegate_api::wire::{Items, Text};
use tidegate_hash::go_json_string;

use super::{Found, Lookup};
use crate::error::{BadValue, FieldError};

const ROUTING: &str = "spec.strategy.canary.trafficRouting";

/// One router's Ingresses and the Service their rules must name.
struct Named<'a> {
    path: String,
    names: Vec<&'a str>,
    is_list: bool,
    service: &'a str,
}

fn named<'a>(canary: &'a CanaryStrategy, routing: &'a RolloutTrafficRouting) -> Vec<Named<'a>> {
    let mut all = Vec::new();
    if let Some(alb) = &routing.alb {
        let root = alb.root_service.text();
        let service = if root.is_empty() { canary.stable_service.text() } else { root };
        all.push(one_or_many(("alb.ingress", "alb.ingresses"), alb.ingress.text(), alb.ingresses.items(), service));
    }
    if let Some(nginx) = &routing.nginx {
        let (one, many) = (nginx.stable_ingress.text(), nginx.stable_ingresses.items());
        let paths = ("nginx.stableIngress", "nginx.StableIngresses");
        all.push(one_or_many(paths, one, many, canary.stable_service.text()));
    }
    all
}

fn one_or_many<'a>(paths: (&str, &str), one: &'a str, many: &'a [String], service: &'a str) -> Named<'a> {
    if many.is_empty() {
        Named { path: format!("{ROUTING}.{}", paths.0), names: vec![one], is_list: false, service }
    } else {
        let names = many.iter().map(String::as_str).collect();
        Named { path: format!("{ROUTING}.{}", paths.1), names, is_list: true, service }
    }
}

fn routing(rollout: &Rollout) -> Option<(&CanaryStrategy, &RolloutTrafficRouting)> {
    let canary = rollout.spec.canary()?;
    Some((canary, canary.traffic_routing.as_ref()?))
}

/// Both or neither of the two ways to name Ingresses.
fn ambiguous(path: &str, what: &str, one: &str, many: &[String]) -> Option<FieldError> {
    let count = match (one.is_empty(), many.is_empty()) {
        (true, true) => "Neither are configured.",
        (false, false) => "Both are configured.",
        _ => return None,
    };
    Some(FieldError::internal(format!("{ROUTING}.{path}"), format!("{what} must be configured. {count}")))
}

pub(super) fn missing(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    let Some((canary, routing)) = routing(rollout) else { return Vec::new() };
    let mut errors = Vec::new();
    if let Some(nginx) = &routing.nginx {
        let (one, many) = (nginx.stable_ingress.text(), nginx.stable_ingresses.items());
        errors.extend(ambiguous("nginx", "Either StableIngress or StableIngresses", one, many));
    }
    if let Some(alb) = &routing.alb {
        errors.extend(ambiguous("alb", "Either Ingress or Ingresses", alb.ingress.text(), alb.ingresses.items()));
    }
    for router in named(canary, routing) {
        for name in &router.names {
            if let Some(Lookup::Missing(detail)) = found.ingresses.get(*name) {
                let value = if router.is_list {
                    let quoted: Vec<String> = router.names.iter().map(|name| go_json_string(name)).collect();
                    BadValue::Plain(format!("[{}]", quoted.join(",")))
                } else {
                    BadValue::from(*name)
                };
                errors.push(FieldError::invalid(&router.path, value, detail.as_str()));
            }
        }
    }
    errors
}

pub(super) fn unfitting(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    let Some((canary, routing)) = routing(rollout) else { return Vec::new() };
    let mut errors = Vec::new();
    for router in named(canary, routing) {
        for name in &router.names {
            let Some(ingress) = found.ingresses.get(*name).and_then(Lookup::found) else { continue };
            if !names_service(ingress, router.service) {
                let detail = format!("ingress `{name}` has no rules using service {} backend", router.service);
                // The path of the missing list has a capital letter, that of the unfitting one has not.
                errors.push(FieldError::invalid(
                    router.path.replace("StableIngresses", "stableIngresses"),
                    *name,
                    detail,
                ));
            }
        }
    }
    errors
}

/// Whether a rule of the Ingress sends to the Service, in the form of `networking.k8s.io/v1` or the older one.
pub(crate) fn names_service(ingress: &Value, service: &str) -> bool {
    let rules = ingress["spec"]["rules"].as_array().into_iter().flatten();
    let mut paths = rules.flat_map(|rule| rule["http"]["paths"].as_array().into_iter().flatten());
    paths.any(|path| {
        let backend = &path["backend"];
        backend["service"]["name"].as_str().or_else(|| backend["serviceName"].as_str()) == Some(service)
    })
}
