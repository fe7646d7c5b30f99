//! Routers and steps that this controller does not drive: never run as a plain canary.

use serde_json::{Value, json};

use crate::world::{World, canary, image, rollout, service};

/// A canary with Services that stops at its pause step.
fn with(routing: &Value) -> Value {
    json!({"canary": {"canaryService": "canary", "stableService": "stable", "trafficRouting": routing,
        "steps": [{"setWeight": 25}, {"pause": {}}]}})
}

async fn world() -> World {
    let world = World::new().await;
    world.create(service("canary")).await;
    world.create(service("stable")).await;
    world
}

/// The Rollout says that `field` is not driven, once, and the controller is quiet.
async fn says_unsupported(world: &World, field: &str) {
    let wanted = format!("Unsupported: {field} is not driven by this controller");
    assert_eq!(world.shown("shop").await, ("Degraded".to_owned(), wanted));
    let warnings = world.warnings("shop").await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0], ("Unsupported".to_owned(), format!("{field} is not driven by this controller")));
    world.asked();
    world.pass(1800).await;
    assert_eq!(world.written(), [], "nothing is written once it has been said");
    for name in ["canary", "stable"] {
        assert_eq!(world.get("Service", name).await["spec"]["selector"], json!({"app": "shop"}));
    }
}

/// A new Rollout that names the field gets no ReplicaSet.
async fn new_one_is_not_run(strategy: Value, field: &str) {
    let world = world().await;
    world.create(rollout("shop", strategy)).await;
    world.pass(30).await;
    assert_eq!(world.list("ReplicaSet").await, Vec::<Value>::new());
    says_unsupported(&world, field).await;
    assert_eq!(world.status("shop").await["stableRS"], Value::Null);
}

/// A Rollout that names the field since it is in the middle of a canary stays there, and follows `spec.replicas`.
async fn one_in_the_middle_stands_still(strategy: Value, field: &str) {
    let world = world().await;
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.sizes("shop").await, [3, 1]);
    let before = world.status("shop").await;
    assert_eq!(before["currentStepIndex"], 1, "{before}");

    let mut with_image = image("shop:3");
    with_image["spec"]["strategy"] = strategy;
    world.patch("Rollout", "shop", with_image).await;
    world.patch_status("shop", json!({"pauseConditions": null})).await;
    world.pass(60).await;

    says_unsupported(&world, field).await;
    let after = world.status("shop").await;
    for name in ["currentStepIndex", "stableRS", "currentPodHash"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    assert_eq!(world.sizes("shop").await, [4, 1], "stable pods are complete, none of a new template");

    world.patch("Rollout", "shop", json!({"spec": {"replicas": 0}})).await;
    world.pass(30).await;
    assert_eq!(world.sizes("shop").await, [0, 0]);
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 6}})).await;
    world.pass(30).await;
    assert_eq!(world.sizes("shop").await, [6, 0]);
    says_unsupported(&world, field).await;
}

const PLUGIN: &str = "spec.strategy.canary.trafficRouting.plugins[\"acme/router\"]";

#[tokio::test(start_paused = true)]
async fn a_router_plugin_is_not_run() {
    new_one_is_not_run(with(&json!({"plugins": {"acme/router": {"route": "shop"}}})), PLUGIN).await;
}

#[tokio::test(start_paused = true)]
async fn a_router_plugin_in_the_middle() {
    one_in_the_middle_stands_still(with(&json!({"plugins": {"acme/router": {"route": "shop"}}})), PLUGIN).await;
}

#[tokio::test(start_paused = true)]
async fn a_plugin_step_is_not_run() {
    let strategy = json!({"canary": {"steps": [{"setWeight": 25}, {"plugin": {"name": "acme/check"}}]}});
    new_one_is_not_run(strategy, "spec.strategy.canary.steps[1].plugin").await;
}

#[tokio::test(start_paused = true)]
async fn a_plugin_step_in_the_middle() {
    let strategy = json!({"canary": {"steps": [{"setWeight": 25}, {"plugin": {"name": "acme/check"}}]}});
    one_in_the_middle_stands_still(strategy, "spec.strategy.canary.steps[1].plugin").await;
}

/// The API drops fields that its schema does not know; one that was installed with a newer schema does not.
#[tokio::test(start_paused = true)]
async fn a_router_of_the_future_is_not_run() {
    let world = World::without_schemas().await;
    world.create(service("canary")).await;
    world.create(service("stable")).await;
    world.create(rollout("shop", with(&json!({"warpDrive": {"lane": 9}})))).await;
    world.pass(30).await;
    assert_eq!(world.list("ReplicaSet").await, Vec::<Value>::new());
    says_unsupported(&world, "spec.strategy.canary.trafficRouting.warpDrive").await;
}

#[tokio::test(start_paused = true)]
async fn a_router_of_the_future_in_the_middle() {
    let world = World::without_schemas().await;
    world.create(service("canary")).await;
    world.create(service("stable")).await;
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.sizes("shop").await, [3, 1]);
    let routing = with(&json!({"warpDrive": {"lane": 9}}));
    world.patch("Rollout", "shop", json!({"spec": {"strategy": routing}})).await;
    world.pass(30).await;
    assert_eq!(world.sizes("shop").await, [4, 1]);
    says_unsupported(&world, "spec.strategy.canary.trafficRouting.warpDrive").await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_whose_router_is_taken_out_again_goes_on() {
    let world = world().await;
    world.create(rollout("shop", with(&json!({"plugins": {"acme/router": {}}})))).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Degraded");
    world.patch("Rollout", "shop", json!({"spec": {"strategy": {"canary": {"trafficRouting": null}}}})).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, ("Healthy".to_owned(), String::new()));
    assert_eq!(world.sizes("shop").await, [4]);
}
