//! Experiments that get traffic through Istio.

use serde_json::{Value, json};

use super::{deploy, update, world};
use crate::world::{World, service};

fn weighted(more: Value) -> Value {
    let mut step = json!({"templates": [
        {"name": "a", "specRef": "stable", "weight": 10},
        {"name": "b", "specRef": "canary", "weight": 20, "service": {"name": "probe"}},
    ]});
    step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([{"setWeight": 25}, {"experiment": step}, {"pause": {}}])
}

fn virtual_service(route: Value) -> Value {
    json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "shop"},
        "spec": {"hosts": ["shop.example"], "gateways": ["mesh"], "http": [{"name": "web", "route": route}]}})
}

async fn by_host(steps: Value) -> World {
    let (world, _) = world().await;
    for name in ["canary", "stable"] {
        world.create(service(name)).await;
    }
    let route =
        json!([{"destination": {"host": "stable"}, "weight": 100}, {"destination": {"host": "canary"}, "weight": 0}]);
    world.create(virtual_service(route)).await;
    let routing = json!({"istio": {"virtualService": {"name": "shop", "routes": ["web"]}}});
    deploy(&world, json!({"canary": {"canaryService": "canary", "stableService": "stable", "steps": steps, "trafficRouting": routing}})).await;
    world
}

async fn by_subset(steps: Value) -> World {
    let (world, _) = world().await;
    world.create(service("shop")).await;
    let to = |subset: &str| json!({"host": "shop", "subset": subset});
    world
        .create(virtual_service(
            json!([{"destination": to("current"), "weight": 100}, {"destination": to("next"), "weight": 0}]),
        ))
        .await;
    let subsets = json!([{"name": "current", "labels": {"app": "shop"}}, {"name": "next", "labels": {"app": "shop"}}]);
    world
        .create(json!({"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule", "metadata": {"name": "shop"},
        "spec": {"host": "shop", "subsets": subsets}}))
        .await;
    let routing = json!({"istio": {"virtualService": {"name": "shop", "routes": ["web"]},
        "destinationRule": {"name": "shop", "canarySubsetName": "next", "stableSubsetName": "current"}}});
    deploy(&world, json!({"canary": {"steps": steps, "trafficRouting": routing}})).await;
    world
}

/// Destinations of the route by host or subset, with their weights.
async fn shares(world: &World) -> Vec<(String, i64)> {
    let object = world.get("VirtualService", "shop").await;
    let route = object["spec"]["http"][0]["route"].as_array().unwrap().clone();
    let name = |to: &Value| to["subset"].as_str().or(to["host"].as_str()).unwrap().to_owned();
    route.iter().map(|entry| (name(&entry["destination"]), entry["weight"].as_i64().unwrap_or(100))).collect()
}

fn named(shares: &[(String, i64)]) -> Vec<(&str, i64)> {
    shares.iter().map(|(name, weight)| (name.as_str(), *weight)).collect()
}

#[tokio::test(start_paused = true)]
async fn templates_get_their_weight_by_host_while_they_run_and_lose_it_before_their_pods_go() {
    let world = by_host(weighted(json!({"duration": "30s", "scaleDownDelaySeconds": 0}))).await;
    update(&world).await;
    world.pass(20).await;
    let name = world.only_experiment().await;
    let own = format!("{name}-a");
    let found = shares(&world).await;
    assert_eq!(named(&found), [("stable", 45), ("canary", 25), ("probe", 20), (own.as_str(), 10)]);
    let additional = world.status("shop").await["canary"]["weights"]["additional"].clone();
    assert_eq!(additional.as_array().unwrap().len(), 2, "{additional}");
    let told = world.warnings("shop").await;
    assert!(told.is_empty(), "nobody has meddled: {told:?}");

    // Second by second: a Service that a route names has pods.
    let mut ended = false;
    for _ in 0..60 {
        let found = shares(&world).await;
        ended = named(&found) == [("stable", 75), ("canary", 25)];
        if !ended {
            assert_eq!(world.experiment_pods().await, 2, "{found:?}");
            assert_eq!(world.list("Service").await.len(), 4);
        }
        world.pass(1).await;
    }
    assert!(ended);
    assert_eq!((world.experiment_pods().await, world.list("Service").await.len()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn templates_get_their_weight_by_subset_and_subsets_go_with_their_pods() {
    let world = by_subset(weighted(json!({"duration": "30s"}))).await;
    update(&world).await;
    world.pass(20).await;
    let name = world.only_experiment().await;
    let own = format!("{name}-a");
    let found = shares(&world).await;
    assert_eq!(named(&found), [("current", 45), ("next", 25), ("probe", 20), (own.as_str(), 10)]);
    let subsets = |rule: &Value| -> Vec<String> {
        let all = rule["spec"]["subsets"].as_array().unwrap();
        all.iter().map(|subset| subset["name"].as_str().unwrap().to_owned()).collect()
    };
    let rule = world.get("DestinationRule", "shop").await;
    assert_eq!(subsets(&rule), ["current", "next", "probe", own.as_str()]);
    let set = world.get("ReplicaSet", &own).await;
    let hash = &set["metadata"]["labels"]["rollouts-pod-template-hash"];
    assert_eq!(&rule["spec"]["subsets"][3]["labels"]["rollouts-pod-template-hash"], hash);

    world.pass(20).await;
    let found = shares(&world).await;
    assert_eq!(named(&found), [("current", 75), ("next", 25)]);
    let rule = world.get("DestinationRule", "shop").await;
    assert_eq!(subsets(&rule).len(), 4, "proxies that are behind still find them");
    world.pass(60).await;
    let rule = world.get("DestinationRule", "shop").await;
    assert_eq!(subsets(&rule), ["current", "next"]);
    assert_eq!(world.experiment_pods().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_abort_takes_all_weight_back_and_pods_wait_until_it_has_left() {
    let world = by_host(weighted(json!({"scaleDownDelaySeconds": 0}))).await;
    update(&world).await;
    world.pass(20).await;
    assert_eq!(shares(&world).await.len(), 4);
    // The abort cannot be written to the routes for a while.
    world.refuse(|call| {
        let is_write = matches!(call.verb, tidegate_apiserver::Verb::Update | tidegate_apiserver::Verb::Patch);
        (call.resource == "virtualservices" && is_write).then(|| tidegate_apiserver::StatusError::internal("down"))
    });
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(60).await;
    assert_eq!(
        (shares(&world).await.len(), world.experiment_pods().await),
        (4, 2),
        "nobody takes pods from under a route"
    );
    world.refuse_nothing();
    world.pass(90).await;
    let found = shares(&world).await;
    assert_eq!(named(&found), [("stable", 100), ("canary", 0)]);
    assert_eq!((world.experiment_pods().await, world.list("Service").await.len()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_template_that_loses_its_pods_loses_its_weight() {
    let world = by_host(weighted(json!({}))).await;
    update(&world).await;
    world.pass(20).await;
    assert_eq!(shares(&world).await.len(), 4);
    let name = world.only_experiment().await;
    let pods = world.list("Pod").await;
    let of_a = pods.iter().find(|pod| pod["metadata"]["ownerReferences"][0]["name"] == format!("{name}-a")).unwrap();
    let pod = of_a["metadata"]["name"].as_str().unwrap();
    world
        .patch("Pod", pod, json!({"metadata": {"annotations": {"node-agent.tidegate.dev/never-ready": "true"}}}))
        .await;
    world.pass(10).await;
    let found = shares(&world).await;
    assert_eq!(named(&found), [("stable", 75), ("canary", 25)]);
    world
        .patch("Pod", pod, json!({"metadata": {"annotations": {"node-agent.tidegate.dev/never-ready": "false"}}}))
        .await;
    world.pass(10).await;
    assert_eq!(shares(&world).await.len(), 4, "and gets it back");
}
