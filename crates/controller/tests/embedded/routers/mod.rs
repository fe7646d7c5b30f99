//! Rollouts behind routers besides Istio: each lives through the same canary.

mod aws;
mod life;
mod trouble;

use serde_json::{Value, json};
use tidegate_sim::routers::{self, Way};

use crate::world::{World, image, rollout, service};

fn strategy(way: &Way) -> Value {
    json!({"canary": {"canaryService": "canary", "stableService": "stable", "trafficRouting": way.routing,
        "steps": [{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}, {"pause": {}}]}})
}

/// Several routers as those of one Rollout.
fn together(ways: &[Way]) -> Way {
    let mut routing = serde_json::Map::new();
    for way in ways {
        routing.extend(way.routing.as_object().unwrap().clone());
    }
    let objects = ways.iter().flat_map(|way| way.objects.clone()).collect();
    Way { name: "together", routing: routing.into(), objects, place: ways[0].place.clone() }
}

/// A cluster with the kinds of all routers.
async fn cluster() -> World {
    let mut crds = tidegate_install::crds();
    crds.extend(routers::crds());
    let mut world = World::empty("2026-01-01T00:00:00Z", crds).await;
    world.start();
    world.create(service("stable")).await;
    world.create(service("canary")).await;
    world
}

/// A healthy Rollout behind a router.
async fn running(way: &Way) -> World {
    let world = cluster().await;
    for object in &way.objects {
        world.create(object.clone()).await;
    }
    world.create(rollout("shop", strategy(way))).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, ("Healthy".to_owned(), String::new()), "{}", way.name);
    world
}

/// A new version that has come to its first pause.
async fn paused(way: &Way) -> World {
    let world = running(way).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    let shown = world.shown("shop").await;
    assert_eq!(shown, ("Paused".to_owned(), "CanaryPauseStep".to_owned()), "{}", way.name);
    world
}

impl World {
    /// The canary's weight, as the router reads it.
    async fn weight(&self, way: &Way) -> Option<i64> {
        let found = self.api(way.place.kind).get_opt(&way.place.name).await.unwrap()?;
        way.place.weight(&serde_json::to_value(found).unwrap())
    }

    /// Canary and stable, as the status says it.
    async fn said(&self) -> (i64, i64) {
        let weights = self.status("shop").await["canary"]["weights"].clone();
        let of = |role: &str| weights[role]["weight"].as_i64().unwrap();
        (of("canary"), of("stable"))
    }
}
