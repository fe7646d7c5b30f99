//! Routers besides Istio that users may have: each of them, and sometimes two at once.

use serde_json::{Map, Value, json};
use tidegate_sim::Random;
use tidegate_sim::routers::{Names, all};

/// Fields of the strategy, and the objects.
pub(super) fn drawn(name: &str, random: &mut Random) -> (Value, Vec<Value>) {
    let (stable, canary) = (format!("{name}-stable"), format!("{name}-canary"));
    let mut ways = all(&Names { own: name, stable: &stable, canary: &canary });
    let (mut routing, mut objects) = (Map::new(), Vec::new());
    for _ in 0..1 + usize::from(random.per_mille(200)) {
        let at = usize::try_from(random.below(ways.len() as u64)).unwrap_or(0);
        let way = ways.remove(at);
        for (router, settings) in way.routing.as_object().into_iter().flatten() {
            // Two kinds of the Gateway API are one router with two routes.
            merge(routing.entry(router.clone()).or_insert(Value::Null), settings);
        }
        objects.extend(way.objects.into_iter().map(all_on_stable));
    }
    (json!({"trafficRouting": routing, "stableService": stable, "canaryService": canary}), objects)
}

/// Adds settings to those that are there.
fn merge(settings: &mut Value, more: &Value) {
    match (settings, more) {
        (Value::Object(settings), Value::Object(more)) => {
            for (name, value) in more {
                merge(settings.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (settings, more) => *settings = more.clone(),
    }
}

/// Says weights where their users need not: a router gives half of all requests to a canary of which nothing is said, and
/// what users give away before there is anything is not the controller's doing.
fn all_on_stable(mut object: Value) -> Value {
    for list in ["/spec/weighted/services", "/spec/http/0/backends"] {
        let entries = object.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (entry, weight) in entries.zip([100, 0]) {
            entry["weight"] = json!(weight);
        }
    }
    object
}
