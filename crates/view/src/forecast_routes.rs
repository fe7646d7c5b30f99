//! What an update will write into VirtualServices and DestinationRules.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::rollout::{CanaryStatus, CanaryStrategy, Rollout};
use tidegate_api::wire::{Items, Text};
use tidegate_engine::{managed_routes_at, routing};
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_traffic::istio::{
    Change, Desired, Hashes, ManagedRoute, Routing, Written, edit_destination_rule, edit_virtual_service,
};
use tidegate_validate::references::{Found, Lookup};

use crate::Forecast;

/// How a version is called whose hash is not known.
const STABLE: &str = "<stable>";
const NEW: &str = "<new>";
/// How Services that take turns are called.
const PING: &str = "ping";
const PONG: &str = "pong";

/// What the routes should be at one time of the update.
struct Moment {
    place: String,
    weight: i32,
    routes: Option<BTreeMap<String, ManagedRoute>>,
    canary_hash: String,
    stable_hash: String,
    /// Which of two Services that take turns is the stable one.
    stable_ping_pong: &'static str,
}

/// Adds the changes of routes to a forecast, step by step, as the engine's editor makes them; what cannot be edited is
/// a refusal. Objects that are not given are named in a warning.
pub fn forecast_routes(forecast: &mut Forecast, rollout: &Rollout, found: &Found, rule: Option<&Lookup<Value>>) {
    let Some(canary) = rollout.spec.canary().filter(|_| routing::istio(rollout).is_some()) else { return };
    let mut objects = Objects::of(forecast, rollout, found, rule);
    for moment in moments(forecast, rollout, canary) {
        objects.relabel(forecast, rollout, &moment);
        objects.route(forecast, rollout, canary, &moment);
    }
}

/// The start, every step, the promotion and the end.
fn moments(forecast: &Forecast, rollout: &Rollout, canary: &CanaryStrategy) -> Vec<Moment> {
    let (stable, new) = hashes(rollout);
    let turns = rollout.status.as_ref().and_then(|status| status.canary.as_ref()?.stable_ping_pong.clone());
    // The first of them begins.
    let (stable_turn, new_turn) = if turns.is_some_and(|turn| turn == PONG) { (PONG, PING) } else { (PING, PONG) };
    let idle = |place: &str, canary_hash: &str, stable_hash: &str, stable_ping_pong| Moment {
        stable_ping_pong,
        place: place.to_owned(),
        weight: 0,
        routes: None,
        canary_hash: canary_hash.to_owned(),
        stable_hash: stable_hash.to_owned(),
    };
    let mut moments = vec![idle("start", &stable, &stable, stable_turn)];
    let mut has_pods = false;
    // Without steps no weight moves: the new version takes over with all its pods.
    let stepped = if canary.steps.items().is_empty() { &[][..] } else { &forecast.steps[..] };
    for (index, row) in stepped.iter().enumerate() {
        has_pods |= row.canary > 0;
        moments.push(Moment {
            place: format!("step {}", row.step),
            weight: row.weight,
            routes: Some(managed_routes_at(canary, i32::try_from(index).ok())),
            canary_hash: if has_pods { new.clone() } else { stable.clone() },
            stable_hash: stable.clone(),
            stable_ping_pong: stable_turn,
        });
    }
    // After the promotion the new version is the stable one, and the canary has no weight.
    moments.push(idle("end", &new, &new, new_turn));
    moments
}

/// Hashes of the stable and the new version, or what stands for them.
fn hashes(rollout: &Rollout) -> (String, String) {
    let status = rollout.status.as_ref();
    let stable = status.and_then(|status| status.stable_rs.clone()).filter(|hash| !hash.is_empty());
    let collisions = status.and_then(|status| status.collision_count);
    let template = rollout.spec.template.as_ref();
    let new = template.and_then(|found| tidegate_hash::pod_template_hash(found.as_raw_value(), collisions).ok());
    let new = new.filter(|new| Some(new) != stable.as_ref());
    (stable.unwrap_or_else(|| STABLE.to_owned()), new.unwrap_or_else(|| NEW.to_owned()))
}

/// The objects as the update has left them so far.
struct Objects {
    virtual_services: BTreeMap<VirtualServiceName, Value>,
    rule: Option<Value>,
}

impl Objects {
    fn of(forecast: &mut Forecast, rollout: &Rollout, found: &Found, rule: Option<&Lookup<Value>>) -> Self {
        let mut objects = Self { virtual_services: BTreeMap::new(), rule: None };
        for (name, _) in routing::virtual_services(rollout) {
            match found.virtual_services.get(&name) {
                Some(Lookup::Found(object)) => drop(objects.virtual_services.insert(name, object.clone())),
                // What was looked for and is missing is a refusal, and told elsewhere.
                Some(Lookup::Missing(_)) => {}
                None => forecast
                    .warnings
                    .push(format!("VirtualService {}: not at hand, so its routes are not shown", name.name)),
            }
        }
        if let Some(named) = routing::destination_rule(rollout) {
            match rule {
                Some(Lookup::Found(object)) => objects.rule = Some(object.clone()),
                Some(Lookup::Missing(problem)) => refuse(forecast, problem.clone()),
                None => forecast
                    .warnings
                    .push(format!("DestinationRule {}: not at hand, so its subsets are not shown", named.name.text())),
            }
        }
        objects
    }

    /// Subsets name other pods before weight comes to them.
    fn relabel(&mut self, forecast: &mut Forecast, rollout: &Rollout, moment: &Moment) {
        let (Some(object), Some(named)) = (&self.rule, routing::destination_rule(rollout)) else { return };
        let wanted = Hashes {
            canary: Some(moment.canary_hash.clone()),
            stable: Some(moment.stable_hash.clone()),
            experiments: BTreeMap::new(),
        };
        match edit_destination_rule(object, named, rollout.metadata.name.text(), &wanted) {
            Err(error) => refuse(forecast, error.to_string()),
            Ok(edit) => {
                let what = format!("DestinationRule {}", named.name.text());
                forecast
                    .routes
                    .extend(edit.changed().into_iter().flat_map(|change| told(change, &moment.place, &what)));
                self.rule = Some(edit.object(object).clone());
            }
        }
    }

    fn route(&mut self, forecast: &mut Forecast, rollout: &Rollout, canary: &CanaryStrategy, moment: &Moment) {
        let total = canary.max_traffic_weight_or_default();
        let turn =
            CanaryStatus { stable_ping_pong: Some(moment.stable_ping_pong.to_owned()), ..CanaryStatus::default() };
        let mut wanted = Desired::idle(Routing::of(canary, Some(&turn)), total).with_weight(moment.weight);
        wanted.routes.clone_from(&moment.routes);
        for (name, reference) in routing::virtual_services(rollout) {
            let Some(object) = self.virtual_services.get(&name) else { continue };
            match edit_virtual_service(object, &reference, &wanted) {
                Err(error) => refuse(forecast, error.to_string()),
                Ok(edit) => {
                    let what = format!("VirtualService {}", name.name);
                    forecast
                        .routes
                        .extend(edit.changed().into_iter().flat_map(|change| told(change, &moment.place, &what)));
                    let changed = edit.object(object).clone();
                    self.virtual_services.insert(name, changed);
                }
            }
        }
    }
}

fn refuse(forecast: &mut Forecast, problem: String) {
    if !forecast.refusals.contains(&problem) {
        forecast.refusals.push(problem);
    }
}

/// Every difference of a change, routes that are written with all they hold.
fn told(change: &Change, place: &str, what: &str) -> Vec<String> {
    let line = |written: &Written| {
        let route = match written {
            Written::Put(_, name) => written_route(&change.object, name),
            _ => None,
        };
        let route = route.map_or_else(String::new, |route| format!(": {route}"));
        format!("{place}: {what}: {written}{route}")
    };
    change.written.iter().map(line).collect()
}

fn written_route<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let routes = object.pointer("/spec/http")?.as_array()?;
    routes.iter().find(|route| route.get("name").and_then(Value::as_str) == Some(name))
}
