//! Objects that are missing, broken or may not be written.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_apiserver::{Before, StatusError, Verb};

use super::{
    by_host, by_subset, host_level, mesh, paused, rule, running_by_host, running_by_subset, running_by_two, two_stops,
    virtual_service,
};
use crate::world::{image, rollout, service};

#[tokio::test(start_paused = true)]
async fn a_missing_virtual_service_is_named_and_its_arrival_noticed_within_two_seconds() {
    let world = mesh().await;
    world.create(service("stable")).await;
    world.create(service("canary")).await;
    world.create(rollout("shop", host_level(two_stops()))).await;
    world.pass(60).await;
    let (_, message) = world.shown("shop").await;
    assert_eq!(
        message,
        "InvalidSpec: The Rollout \"shop\" is invalid: spec.strategy.canary.trafficRouting.istio.virtualService.name: Invalid \
         value: \"shop\": virtualservices.networking.istio.io \"shop\" not found"
    );
    world.create(virtual_service("shop", by_host())).await;
    world.pass(2).await;
    assert_eq!(world.list("ReplicaSet").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_missing_rule_holds_the_steps_and_its_return_lets_them_go_on() {
    let world = paused(running_by_subset(two_stops()).await).await;
    world.delete("DestinationRule", "shop").await;
    world.pass(5).await;
    let (_, message) = world.shown("shop").await;
    assert!(message.contains("destinationrules.networking.istio.io \"shop\" not found"), "{message}");
    world.promote("shop").await;
    world.pass(30).await;
    assert_eq!(world.weights("shop").await, [[25, 75]], "traffic stays where it is");

    // An abort does not need the rule.
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(5).await;
    assert_eq!(world.weights("shop").await, [[0, 100]]);
    world.create(rule()).await;
    world.pass(5).await;
    assert_eq!((world.subset("current").await, world.subset("next").await), (1, 2));
    assert_eq!(world.shown("shop").await.0, "Degraded");
}

#[tokio::test(start_paused = true)]
async fn an_abort_without_the_rule_moves_no_more_than_the_stable_pods_can_carry() {
    let world = running_by_subset(json!([{"setWeight": 75}, {"pause": {}}])).await;
    world.patch("Rollout", "shop", json!({"spec": {"strategy": {"canary": {"dynamicStableScale": true}}}})).await;
    let world = paused(world).await;
    world.pass(20).await;
    assert_eq!((world.weights("shop").await, world.sizes("shop").await), (vec![vec![75, 25]], vec![1, 3]));

    world.delete("DestinationRule", "shop").await;
    world.patch_status("shop", json!({"abort": true})).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(world.weights("shop").await, [[75, 25]], "one of four stable pods is there");
    world.pass(10).await;
    assert_eq!(world.weights("shop").await, [[0, 100]], "now all are");
    assert_eq!(world.sizes("shop").await[0], 4);
}

#[tokio::test(start_paused = true)]
async fn a_subset_that_the_rule_lacks_is_named_with_the_field() {
    let world = paused(running_by_subset(two_stops()).await).await;
    let mut subsets = rule()["spec"]["subsets"].clone();
    subsets.as_array_mut().unwrap().remove(1);
    world.patch("DestinationRule", "shop", json!({"spec": {"subsets": subsets}})).await;
    world.pass(5).await;
    let (_, message) = world.shown("shop").await;
    assert!(message.contains("no subset 'next'") && message.contains("canarySubsetName"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_refuses_routes_holds_the_steps_and_nothing_else() {
    let world = running_by_host(two_stops()).await;
    let refused = StatusError::forbidden("denied by policy routes-are-frozen");
    world.refuse_all(Verb::Update, "virtualservices", "", refused);
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.sizes("shop").await, [4, 1], "pods came");
    assert_eq!(world.weights("shop").await, [[100, 0]]);
    assert_eq!(world.reported().await, (0, 100), "what is there, not what is wished");
    let status = world.status("shop").await;
    assert_eq!(status["currentStepIndex"], 0, "no step is passed without its weight");
    let conditions = status["conditions"].as_array().unwrap().clone();
    let told = conditions.iter().find(|found| found["type"] == "TrafficRouting").unwrap();
    assert!(told["message"].as_str().unwrap().contains("routes-are-frozen"), "{told}");
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 8}})).await;
    world.pass(20).await;
    assert_eq!(world.sizes("shop").await, [8, 2], "sizes follow");
    let warnings = world.warnings("shop").await;
    let about: Vec<_> = warnings.iter().filter(|(reason, _)| reason == "TrafficRoutingError").collect();
    assert_eq!(about.len(), 1, "told once: {warnings:?}");

    world.refuse_nothing();
    world.pass(15).await;
    assert_eq!(world.weights("shop").await, [[75, 25]]);
    let status = world.status("shop").await;
    assert!(status["conditions"].as_array().unwrap().iter().all(|found| found["type"] != "TrafficRouting"));
}

#[tokio::test(start_paused = true)]
async fn a_route_that_cannot_be_raised_keeps_the_others_at_its_weight_and_an_abort_passes_it() {
    let world = paused(running_by_two().await).await;
    world.refuse(|call| {
        let is_meant = call.verb == Verb::Update && call.resource == "virtualservices" && call.name == "mesh";
        is_meant.then(|| StatusError::forbidden("frozen"))
    });
    world.promote("shop").await;
    world.pass(30).await;
    assert_eq!(world.weights("mesh").await, [[75, 25]]);
    assert_eq!(world.weights("edge").await, [[75, 25]], "brought back to the lower one");
    assert_eq!(world.status("shop").await["currentStepIndex"], 2);

    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(30).await;
    assert_eq!(world.weights("edge").await, [[100, 0]], "the others go on");
    assert_eq!(world.weights("mesh").await, [[75, 25]]);
    assert_eq!(world.reported().await.0, 25, "the highest there is");
    assert_eq!(world.sizes("shop").await[1], 2, "and so the canary stays");
    world.refuse_nothing();
    world.pass(15).await;
    assert_eq!(world.weights("mesh").await, [[100, 0]]);
}

/// A repair is on its way while the Rollout is deleted and its rule given back. The repair is refused, for the rule has changed, and
/// is not made again for nobody; nor does anything else move.
#[tokio::test(start_paused = true)]
async fn nothing_more_is_written_for_a_rollout_that_is_known_to_be_gone() {
    let world = paused(running_by_subset(two_stops()).await).await;
    let is_first = AtomicBool::new(true);
    world.hinder(move |call| {
        let is_slow = call.verb == Verb::Update && call.resource == "destinationrules" && is_first.swap(false, Relaxed);
        if is_slow { Before::Delay(Duration::from_secs(3)) } else { Before::Pass }
    });
    let subsets = json!([{"name": "current", "labels": {"app": "shop"}}, {"name": "next", "labels": {"app": "shop"}}]);
    world.patch("DestinationRule", "shop", json!({"spec": {"subsets": subsets}})).await;
    world.patch("VirtualService", "shop", json!({"spec": {"http": by_subset()}})).await;
    world.pass(1).await;
    world.delete("Rollout", "shop").await;
    world.pass(1).await;
    let released = world.get("DestinationRule", "shop").await;
    assert_eq!(released["metadata"]["annotations"], Value::Null, "it is given back: {released}");
    world.pass(30).await;
    assert_eq!(
        world.get("DestinationRule", "shop").await["metadata"]["generation"],
        released["metadata"]["generation"]
    );
    assert_eq!(world.weights("shop").await, [[0, 100]], "no weight moves after the end");
}

#[tokio::test(start_paused = true)]
async fn weights_that_a_deleted_rollout_leaves_behind_are_told_at_the_virtual_service() {
    let world = paused(running_by_host(two_stops()).await).await;
    world.delete("Rollout", "shop").await;
    world.pass(5).await;
    assert_eq!(world.weights("shop").await, [[75, 25]]);
    let events = world.list("Event").await;
    let told: Vec<_> = events.iter().filter(|event| event["reason"] == "WeightsLeft").collect();
    assert_eq!(told.len(), 1, "{events:?}");
    assert_eq!(told[0]["involvedObject"]["kind"], "VirtualService");
    let message = told[0]["message"].as_str().unwrap();
    assert!(message.contains("Rollout default/shop") && message.contains("weight 25"), "{message}");
}
