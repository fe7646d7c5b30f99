//! Rollouts behind VirtualServices and DestinationRules.

mod drift;
mod haste;
mod life;
mod order;
mod presence;
mod primary;
mod rivals;
mod trouble;

use serde_json::{Value, json};

use crate::world::{World, image, rollout, service};

/// A cluster with Istio's kinds.
async fn mesh() -> World {
    let mut crds = tidegate_install::crds();
    crds.extend(tidegate_sim::istio::crds());
    let mut world = World::empty("2026-01-01T00:00:00Z", crds).await;
    world.start();
    world
}

fn virtual_service(name: &str, routes: Value) -> Value {
    json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": name},
        "spec": {"hosts": ["shop.example"], "gateways": ["mesh"], "http": routes}})
}

/// One route by host, as users write it before the first rollout.
fn by_host() -> Value {
    json!([{"name": "web", "timeout": "4s", "route": [
        {"destination": {"host": "stable"}, "weight": 70},
        {"destination": {"host": "canary"}, "weight": 30, "headers": {"response": {"add": {"x-canary": "1"}}}},
    ]}])
}

/// One route by subset, the canary first.
fn by_subset() -> Value {
    json!([{"route": [
        {"destination": {"host": "shop", "subset": "next"}, "weight": 0},
        {"destination": {"host": "shop", "subset": "current"}, "weight": 100},
    ]}])
}

fn rule() -> Value {
    json!({"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "shop"}, "spec": {
    "host": "shop", "trafficPolicy": {"loadBalancer": {"consistentHash": {"httpHeaderName": "x-user"}}},
    "subsets": [
        {"name": "current", "labels": {"app": "shop"}},
        {"name": "next", "labels": {"app": "shop"}, "trafficPolicy": {"connectionPool": {"tcp": {"maxConnections": 9}}}},
        {"name": "batch", "labels": {"kind": "batch"}},
    ]}})
}

fn host_level(steps: Value) -> Value {
    json!({"canary": {"canaryService": "canary", "stableService": "stable", "steps": steps,
        "trafficRouting": {"istio": {"virtualService": {"name": "shop", "routes": ["web"]}}}}})
}

fn subset_level(steps: Value) -> Value {
    json!({"canary": {"steps": steps, "trafficRouting": {"istio": {
        "virtualService": {"name": "shop"},
        "destinationRule": {"name": "shop", "canarySubsetName": "next", "stableSubsetName": "current"}}}}})
}

/// Weight, pause, weight, pause.
fn two_stops() -> Value {
    json!([{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}, {"pause": {}}])
}

/// A healthy Rollout by host.
async fn running_by_host(steps: Value) -> World {
    let world = mesh().await;
    world.create(service("stable")).await;
    world.create(service("canary")).await;
    world.create(virtual_service("shop", by_host())).await;
    world.create(rollout("shop", host_level(steps))).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    world
}

/// A healthy Rollout by host behind two VirtualServices, one route told by name and one the only one.
async fn running_by_two() -> World {
    let world = mesh().await;
    world.create(service("stable")).await;
    world.create(service("canary")).await;
    for name in ["edge", "mesh"] {
        world.create(virtual_service(name, by_host())).await;
    }
    let mut strategy = host_level(two_stops());
    strategy["canary"]["trafficRouting"]["istio"] =
        json!({"virtualServices": [{"name": "edge", "routes": ["web"]}, {"name": "mesh"}]});
    world.create(rollout("shop", strategy)).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    world
}

/// A healthy Rollout by subset.
async fn running_by_subset(steps: Value) -> World {
    let world = mesh().await;
    world.create(service("shop")).await;
    world.create(virtual_service("shop", by_subset())).await;
    world.create(rule()).await;
    world.create(rollout("shop", subset_level(steps))).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    world
}

/// A new version that has come to its first pause.
async fn paused(world: World) -> World {
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()));
    world
}

impl World {
    /// Weights of all HTTP routes, route by route.
    async fn weights(&self, name: &str) -> Vec<Vec<i64>> {
        let object = self.get("VirtualService", name).await;
        let routes = object["spec"]["http"].as_array().unwrap().clone();
        let weights = |route: &Value| {
            route["route"].as_array().unwrap().iter().map(|entry| entry["weight"].as_i64().unwrap_or(0)).collect()
        };
        routes.iter().map(weights).collect()
    }

    /// The template a subset names, by revision of its ReplicaSet; 0 for none.
    async fn subset(&self, name: &str) -> u64 {
        let rule = self.get("DestinationRule", "shop").await;
        let subsets = rule["spec"]["subsets"].as_array().unwrap().clone();
        let found = subsets.into_iter().find(|subset| subset["name"] == name).unwrap();
        self.revision_of(&found["labels"]["rollouts-pod-template-hash"]).await
    }

    /// The revision a hash belongs to; 0 for none.
    async fn revision_of(&self, hash: &Value) -> u64 {
        if hash.is_null() {
            return 0;
        }
        let sets = self.list("ReplicaSet").await;
        let set =
            sets.into_iter().find(|set| set["metadata"]["labels"]["rollouts-pod-template-hash"] == *hash).unwrap();
        set["metadata"]["annotations"]["rollout.argoproj.io/revision"].as_str().unwrap().parse().unwrap()
    }

    /// The weights that the status reports: canary, stable.
    async fn reported(&self) -> (i64, i64) {
        let weights = self.status("shop").await["canary"]["weights"].clone();
        let of = |role: &str| weights[role]["weight"].as_i64().unwrap_or(-1);
        (of("canary"), of("stable"))
    }
}
