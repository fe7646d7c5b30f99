//! What an update will write into VirtualServices.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::rollout::Rollout;
use tidegate_engine::routing;
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_traffic::istio::{Desired, Routing, edit_virtual_service};

use crate::Forecast;

/// The VirtualServices a Rollout names.
pub fn named_virtual_services(rollout: &Rollout) -> Vec<VirtualServiceName> {
    routing::virtual_services(rollout).into_iter().map(|(name, _)| name).collect()
}

/// Adds the changes of routes to a forecast, step by step, as the engine's editor makes them; what cannot be edited is
/// a refusal. VirtualServices that are not given are named in a warning.
pub fn forecast_routes(forecast: &mut Forecast, rollout: &Rollout, found: &BTreeMap<VirtualServiceName, Value>) {
    let Some(canary) = rollout.spec.canary().filter(|_| routing::istio(rollout).is_some()) else { return };
    let total = canary.max_traffic_weight_or_default();
    let named = routing::virtual_services(rollout);
    let mut objects: BTreeMap<VirtualServiceName, Value> = BTreeMap::new();
    for (name, _) in &named {
        match found.get(name) {
            Some(object) => drop(objects.insert(name.clone(), object.clone())),
            None => forecast
                .warnings
                .push(format!("VirtualService {}: not at hand, so its routes are not shown", name.name)),
        }
    }
    let mut weight = 0;
    let mut changes = vec![(0, 0)];
    for row in &forecast.steps {
        if row.weight != weight {
            weight = row.weight;
            changes.push((row.step, weight));
        }
    }
    // After the promotion the new version is the stable one, and the canary has no weight.
    changes.push((forecast.steps.len(), 0));
    for (step, weight) in changes {
        let wanted = Desired::idle(Routing::of(canary, None), total).with_weight(weight);
        for (name, reference) in &named {
            let Some(object) = objects.get(name) else { continue };
            match edit_virtual_service(object, reference, &wanted) {
                Err(error) => {
                    let problem = error.to_string();
                    if !forecast.refusals.contains(&problem) {
                        forecast.refusals.push(problem);
                    }
                }
                Ok(edit) => {
                    let written = edit.changed().into_iter().flat_map(|change| &change.written);
                    let place = if step == 0 { "start".to_owned() } else { format!("step {step}") };
                    forecast
                        .routes
                        .extend(written.map(|change| format!("{place}: VirtualService {}: {change}", name.name)));
                    let changed = edit.object(object).clone();
                    objects.insert(name.clone(), changed);
                }
            }
        }
    }
}
