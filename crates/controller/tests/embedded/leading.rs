//! Who has lost the lease writes nothing more.

use std::time::Duration;

use serde_json::json;
use tidegate_apiserver::{Before, Verb};
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;
use tokio::time::Instant;

use crate::world::{World, canary, image, rollout};

/// A world whose controller leads for so many seconds.
async fn leading_for(seconds: u64) -> World {
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    let end = Instant::now() + Duration::from_secs(seconds);
    world.start_as(Options::default(), Leadership::until(end));
    world
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_once_the_lease_is_lost() {
    let world = leading_for(60).await;
    world.create(rollout("shop", canary())).await;
    world.pass(58).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    world.written();
    world.pass(5).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.create(rollout("later", canary())).await;
    world.pass(60).await;
    assert_eq!(world.written(), []);
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_not_carried_on_when_the_lease_is_lost_between_two_of_its_writes() {
    let world = leading_for(60).await;
    world.create(rollout("shop", canary())).await;
    world.pass(55).await;
    world.written();
    // The first write of the update is answered after the lease is lost.
    let is_write = |verb| matches!(verb, Verb::Create | Verb::Update | Verb::Patch);
    world.hinder(move |call| {
        let is_meant = is_write(call.verb) && call.resource == "replicasets" && call.subresource.is_empty();
        if is_meant { Before::Delay(Duration::from_secs(8)) } else { Before::Pass }
    });
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 6}})).await;
    world.pass(60).await;
    let written = world.written();
    assert_eq!(written.len(), 1, "{written:?}");
    assert!(written[0].1.contains("/replicasets/"), "{written:?}");
    assert_eq!(world.sizes("shop").await, [6], "it had been sent in time");
}
