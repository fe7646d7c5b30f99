//! Istio is not there, comes, and goes.

use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use serde_json::json;

use super::{by_subset, paused, rule, running_by_subset, subset_level, two_stops, virtual_service};
use crate::world::{World, resource, rollout, service};

fn crds(world: &World) -> Api<DynamicObject> {
    Api::all_with(world.client.clone(), &resource("CustomResourceDefinition"))
}

async fn install(world: &World) {
    for crd in tidegate_sim::istio::crds() {
        crds(world).create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_rollout_waits_for_istio_and_goes_on_within_ten_seconds_of_its_arrival() {
    let world = World::new().await;
    world.create(service("shop")).await;
    world.create(rollout("shop", subset_level(two_stops()))).await;
    world.pass(60).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("the server could not find the requested resource"), "{message}");
    assert!(world.list("ReplicaSet").await.is_empty(), "nothing begins before all is there");

    install(&world).await;
    world.create(virtual_service("shop", by_subset())).await;
    world.create(rule()).await;
    world.pass(10).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    let world = paused(world).await;
    assert_eq!(world.weights("shop").await, [[25, 75]]);
}

#[tokio::test(start_paused = true)]
async fn istio_that_is_removed_in_the_middle_holds_the_rollout_and_its_pods_follow_its_size() {
    let world = paused(running_by_subset(two_stops()).await).await;
    for crd in tidegate_sim::istio::crds() {
        crds(&world).delete(crd["metadata"]["name"].as_str().unwrap(), &DeleteParams::default()).await.unwrap();
    }
    world.pass(10).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("the server could not find the requested resource"), "{message}");
    world.promote("shop").await;
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 6}})).await;
    world.pass(60).await;
    assert_eq!(world.sizes("shop").await, [6, 1], "sizes follow, steps do not");
    assert_eq!(world.status("shop").await["currentStepIndex"], 1);

    install(&world).await;
    world.create(virtual_service("shop", by_subset())).await;
    world.create(rule()).await;
    world.pass(30).await;
    assert_eq!(world.weights("shop").await, [[50, 50]], "the word to go on was not lost");
}

#[tokio::test(start_paused = true)]
async fn another_version_of_the_api_is_good_enough() {
    let mut crds = tidegate_install::crds();
    for mut crd in tidegate_sim::istio::crds() {
        crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == "v1");
        crds.push(crd);
    }
    let mut world = World::empty("2026-01-01T00:00:00Z", crds).await;
    world.start();
    world.create(service("shop")).await;
    world.create(virtual_service("shop", by_subset())).await;
    world.create(rule()).await;
    world.create(rollout("shop", subset_level(two_stops()))).await;
    world.pass(30).await;
    let world = paused(world).await;
    assert_eq!(world.weights("shop").await, [[25, 75]]);
}

#[tokio::test(start_paused = true)]
async fn nobody_asks_for_istio_where_no_rollout_does() {
    let world = World::new().await;
    world.create(rollout("shop", crate::world::canary())).await;
    world.pass(60).await;
    assert_eq!(world.asked_in_a_minute().await, 0);
}
