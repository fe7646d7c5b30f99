//! What an update will write into the objects of traffic routers.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use tidegate_api::rollout::{CanaryStrategy, Rollout};
use tidegate_api::wire::Items;
use tidegate_engine::routing::{self, Routers};
use tidegate_engine::{Traffic, managed_routes_at};
use tidegate_traffic::router::{
    Change, ManagedRoute, Need, ObjectRef, Router, RouterError, Seen, Selection, Versions, Wanted, Written,
};
use tidegate_validate::references::Found;

use crate::Forecast;

/// How a version is called whose hash is not known.
const STABLE: &str = "<stable>";
const NEW: &str = "<new>";
/// How Services that take turns are called.
const PING: &str = "ping";
const PONG: &str = "pong";

/// Objects of routers that a forecast can look at.
#[derive(Clone, Debug, Default)]
pub struct RouterObjects {
    /// What was found, and what is not there.
    pub seen: Seen,
    /// Objects that may well be there, but not where anybody looked.
    pub unknown: Vec<ObjectRef>,
    /// Likewise, by label, with how many were found.
    pub selected: Vec<(Selection, usize)>,
}

impl RouterObjects {
    /// All that the routers of a Rollout have to see, looked for in one place only, such as a file.
    pub fn among(
        rollout: &Rollout,
        find: impl Fn(&ObjectRef) -> Option<Value>,
        select: impl Fn(&Selection) -> Vec<(String, Value)>,
    ) -> Self {
        let (versions, nothing) = (Versions::default(), Traffic::default());
        let mut objects = Self::default();
        let Some(routers) = Routers::all(rollout, &versions, &nothing, Timestamp::UNIX_EPOCH) else { return objects };
        loop {
            let needs = routers.needs(&objects.seen);
            if needs.is_empty() {
                return objects;
            }
            for need in needs {
                match need {
                    Need::Object(name) => {
                        let found = find(&name);
                        if found.is_none() {
                            objects.unknown.push(name.clone());
                        }
                        objects.seen.put(name, found);
                    }
                    Need::Selected(selection) => {
                        let found = select(&selection);
                        objects.selected.push((selection.clone(), found.len()));
                        objects.seen.put_selected(selection, found);
                    }
                }
            }
        }
    }
}

/// What the routes should be at one time of the update.
struct Moment {
    place: String,
    traffic: Traffic,
    /// Which of two Services that take turns is the stable one.
    stable_ping_pong: &'static str,
}

/// Adds the changes of routes to a forecast, step by step, as the routers' editors make them; what cannot be edited is a
/// refusal. Objects that are not at hand are named in a warning.
pub fn forecast_routes(forecast: &mut Forecast, rollout: &Rollout, objects: &RouterObjects, found: &Found) {
    let Some(canary) = rollout.spec.canary().filter(|_| routing::is_routed(rollout)) else { return };
    let (versions, ports) = (Versions::default(), routing::service_ports(found));
    for (Selection { resource, labels, .. }, found) in &objects.selected {
        let known =
            if *found == 0 { "none is at hand, so their routes are not shown" } else { "only those at hand are shown" };
        forecast.warnings.push(format!("{}s with {labels}: {known}", resource.kind));
    }
    let (mut seen, mut given_up) = (objects.seen.clone(), Vec::new());
    for moment in moments(forecast, rollout, canary) {
        let mut rollout = rollout.clone();
        let status = rollout.status.get_or_insert_default().canary.get_or_insert_default();
        status.stable_ping_pong = Some(moment.stable_ping_pong.to_owned());
        // What a router makes belongs to the Rollout, which in a file has no UID yet.
        rollout.metadata.uid.get_or_insert_with(|| "new".to_owned());
        let Some(routers) = Routers::all(&rollout, &versions, &moment.traffic, Timestamp::UNIX_EPOCH) else { return };
        for router in &routers.routers {
            if given_up.contains(&router.name()) {
                continue;
            }
            let gives = moment.traffic.canary_weight > 0;
            let reached = if gives { router.reach(&seen, &routers.wanted, &ports) } else { Ok(()) };
            match reached.and_then(|()| edit(&**router, &mut seen, &routers.wanted)) {
                Ok(changes) => forecast.routes.extend(changes.iter().flat_map(|change| told(change, &moment.place))),
                Err(error) => {
                    given_up.push(router.name());
                    fail(forecast, &**router, &error, objects);
                }
            }
        }
    }
}

/// What a router writes now; its objects are as it leaves them afterwards.
fn edit(router: &dyn Router, seen: &mut Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
    let changes = router.edit(seen, wanted)?;
    for change in &changes {
        seen.put(change.object.clone(), change.body().cloned());
    }
    Ok(changes)
}

/// An object that is not at hand is no fault of the Rollout's.
fn fail(forecast: &mut Forecast, router: &dyn Router, error: &RouterError, objects: &RouterObjects) {
    let missing = error.missing().filter(|_| !objects.unknown.is_empty());
    let Some(missing) = missing else {
        let problem = error.to_string();
        // One that is missing is told in the words of the reference check too.
        if !forecast.refusals.iter().any(|refusal| refusal.contains(&problem)) {
            forecast.refusals.push(error.explained());
        }
        return;
    };
    let missing = if missing.is_empty() { objects.unknown.iter().collect() } else { missing };
    let names: Vec<String> = missing.iter().map(|name| format!("{} {}", name.resource.kind, name.name)).collect();
    let (names, router) = (names.join(", "), router.name());
    forecast.warnings.push(format!("{names}: not at hand, so the routes of trafficRouting.{router} are not shown"));
}

/// The start, every step, the promotion and the end.
fn moments(forecast: &Forecast, rollout: &Rollout, canary: &CanaryStrategy) -> Vec<Moment> {
    let (stable, new) = hashes(rollout);
    let turns = rollout.status.as_ref().and_then(|status| status.canary.as_ref()?.stable_ping_pong.clone());
    // The first of them begins.
    let (stable_turn, new_turn) = if turns.is_some_and(|turn| turn == PONG) { (PONG, PING) } else { (PING, PONG) };
    let max_weight = canary.max_traffic_weight_or_default();
    let traffic =
        |canary_weight: i32, routes: Option<BTreeMap<String, ManagedRoute>>, canary: &str, stable: &str| Traffic {
            canary_weight,
            max_weight,
            routes,
            canary_hash: Some(canary.to_owned()),
            stable_hash: Some(stable.to_owned()),
            ..Traffic::default()
        };
    let idle = |place: &str, hash: &str, stable_ping_pong| Moment {
        place: place.to_owned(),
        traffic: traffic(0, None, hash, hash),
        stable_ping_pong,
    };
    let mut moments = vec![idle("start", &stable, stable_turn)];
    let mut has_pods = false;
    // Without steps no weight moves: the new version takes over with all its pods.
    let stepped = if canary.steps.items().is_empty() { &[][..] } else { &forecast.steps[..] };
    for (index, row) in stepped.iter().enumerate() {
        has_pods |= row.canary > 0;
        let routes = managed_routes_at(canary, i32::try_from(index).ok());
        moments.push(Moment {
            place: format!("step {}", row.step),
            traffic: traffic(row.weight, Some(routes), if has_pods { &new } else { &stable }, &stable),
            stable_ping_pong: stable_turn,
        });
    }
    // After the promotion the new version is the stable one, and the canary has no weight.
    moments.push(idle("end", &new, new_turn));
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

/// Every difference of a change, routes that are written with all they hold.
fn told(change: &Change, place: &str) -> Vec<String> {
    let what = format!("{} {}", change.object.resource.kind, change.object.name);
    let line = |written: &Written| {
        let route = match written {
            Written::Put(_, name) => change.body().and_then(|body| written_route(body, name)),
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
