//! Services of Experiments that routes still name. Whoever takes their pods away asks here first.

use std::collections::BTreeSet;

use serde_json::Value;
use tidegate_api::experiment::Experiment;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
use tidegate_engine::{Router, routing};
use tidegate_runtime::Key;
use tidegate_validate::references::Lookup;

use crate::cache::{controller_of, dotted_key};
use crate::controller::Shared;
use crate::error::LookError;
use crate::istio::IstioKind;

/// What an Experiment's Rollout does with its Services.
#[derive(Default)]
pub(super) struct Traffic {
    /// Services that get traffic, or may.
    pub routed: BTreeSet<String>,
    /// Seconds that proxies may take to see a change.
    pub least_delay: i32,
}

/// Traffic of an Experiment, by what its Rollout has recorded and by what its routes say.
pub(super) async fn of(shared: &Shared, experiment: &Experiment) -> Result<Traffic, LookError> {
    let metadata = &experiment.metadata;
    let statuses = experiment.status.as_ref().map_or(&[][..], |status| status.template_statuses.items());
    let services: BTreeSet<&str> =
        statuses.iter().map(|status| status.service_name.text()).filter(|name| !name.is_empty()).collect();
    let Some(owner) = controller_of(metadata).filter(|owner| owner.kind == "Rollout" && !services.is_empty()) else {
        return Ok(Traffic::default());
    };
    let rollout = shared.executor.cache.rollouts.get(&Key::new(metadata.namespace.text(), &*owner.name));
    let Some(rollout) = rollout.filter(|rollout| rollout.metadata.uid.text() == owner.uid) else {
        return Ok(Traffic::default());
    };
    if routing::istio(&rollout).is_none() || !shared.options.drives.contains(&Router::Istio) {
        return Ok(Traffic::default());
    }
    let objects = routes(shared, &rollout).await?;
    let recorded = recorded(&rollout);
    let is_routed = |service: &&&str| recorded.contains(**service) || objects.iter().any(|one| names(one, service));
    let routed = services.iter().filter(is_routed).map(|service| (*service).to_owned()).collect();
    Ok(Traffic { routed, least_delay: routing::drain_seconds(&rollout).unwrap_or(0) })
}

fn recorded(rollout: &Rollout) -> BTreeSet<&str> {
    let canary = rollout.status.as_ref().and_then(|status| status.canary.as_ref());
    let weights = canary.and_then(|canary| canary.weights.as_ref());
    let additional = weights.map_or(&[][..], |weights| weights.additional.items());
    additional.iter().map(|found| found.service_name.text()).collect()
}

/// The VirtualServices of a Rollout that there are.
async fn routes(shared: &Shared, rollout: &Rollout) -> Result<Vec<Value>, LookError> {
    let mut found = Vec::new();
    for (name, reference) in routing::virtual_services(rollout) {
        let keys = [Some(Key::new(name.namespace, name.name)), dotted_key(rollout, &reference)];
        for key in keys.into_iter().flatten() {
            if let Lookup::Found(object) = shared.executor.istio.look_up(IstioKind::VirtualService, &key).await? {
                found.push(object.whole.clone());
            }
        }
    }
    Ok(found)
}

/// Whether any route sends something to a Service, as a host or as a subset of its name.
fn names(virtual_service: &Value, service: &str) -> bool {
    let routes = ["http", "tls", "tcp"].into_iter().filter_map(|protocol| virtual_service.get("spec")?.get(protocol));
    let routes = routes.filter_map(Value::as_array).flatten();
    let destinations = routes.filter_map(|route| route.get("route")?.as_array()).flatten();
    let mut to_it = destinations.filter(|entry| {
        let text = |field: &str| entry.get("destination").and_then(|to| to.get(field)).and_then(Value::as_str);
        let host = text("host").map(|host| host.split('.').next().unwrap_or_default());
        host == Some(service) || text("subset") == Some(service)
    });
    to_it.any(|entry| entry.get("weight").and_then(Value::as_i64) != Some(0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_is_named_by_its_host_or_subset_unless_nothing_is_sent_to_it() {
        let route = json!([{"route": [
            {"destination": {"host": "stable"}, "weight": 70}, {"destination": {"host": "exp-a.ns.svc.cluster.local"}, "weight": 20},
            {"destination": {"host": "shop", "subset": "exp-b"}, "weight": 10}, {"destination": {"host": "exp-c"}, "weight": 0},
        ]}]);
        for protocol in ["http", "tls", "tcp"] {
            let object = json!({"spec": {protocol: route}});
            let named: Vec<&str> =
                ["exp-a", "exp-b", "exp-c", "exp-d"].into_iter().filter(|name| names(&object, name)).collect();
            assert_eq!(named, ["exp-a", "exp-b"]);
        }
        for odd in [json!({}), json!({"spec": 3}), json!({"spec": {"http": [{"route": [1]}, 2]}})] {
            assert!(!names(&odd, "exp-a"));
        }
    }
}
