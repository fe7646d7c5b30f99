//! The API refuses writes: people are told once what and how to fix it, the controller keeps calm, and goes on by
//! itself once the cause is gone.

use serde_json::{Value, json};
use tidegate_apiserver::{StatusError, Verb};

use crate::world::{World, canary, image, paused_beside_another, rollout, service};

/// Requests per minute that a Rollout may cost while it cannot go on: a retry every ten seconds, a few requests each.
const CALM: usize = 40;

async fn stays_calm(world: &World) {
    world.pass(60).await;
    let asked = world.asked_in_a_minute().await;
    assert!(asked <= CALM, "{asked} requests in a minute");
}

async fn paused() -> World {
    paused_beside_another(World::new().await).await
}

fn quota() -> StatusError {
    StatusError::forbidden(
        "replicasets.apps \"shop\" is forbidden: exceeded quota: small, requested: count/replicasets.apps=1, used: \
         count/replicasets.apps=10, limited: count/replicasets.apps=10",
    )
}

#[tokio::test(start_paused = true)]
async fn a_quota_on_replica_sets_is_told_and_the_rollout_goes_on_when_there_is_room() {
    let world = World::new().await;
    world.refuse_all(Verb::Create, "replicasets", "", quota());
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;

    let warnings = world.warnings("shop").await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].0, "ReplicaSetCreateError");
    assert!(warnings[0].1.contains("exceeded quota: small"), "{warnings:?}");
    let status = world.status("shop").await;
    let progressing = status["conditions"].as_array().unwrap().iter().find(|found| found["type"] == "Progressing");
    assert_eq!(progressing.unwrap()["reason"], "ReplicaSetCreateError", "{status}");
    stays_calm(&world).await;
    assert_eq!(world.warnings("shop").await.len(), 1, "once is enough");

    world.refuse_nothing();
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(world.sizes("shop").await, [4]);
}

#[tokio::test(start_paused = true)]
async fn a_second_reason_for_a_replica_set_that_cannot_be_made_is_told_too() {
    let world = World::new().await;
    world.refuse_all(Verb::Create, "replicasets", "", quota());
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    world.refuse_all(Verb::Create, "replicasets", "", StatusError::forbidden("admission webhook \"acme\" denied it"));
    world.pass(30).await;
    let status = world.status("shop").await;
    let progressing = status["conditions"].as_array().unwrap().iter().find(|found| found["type"] == "Progressing");
    let message = progressing.unwrap()["message"].as_str().unwrap();
    assert!(message.contains("admission webhook \"acme\" denied it"), "{message}");
    assert_eq!(world.warnings("shop").await.len(), 2);
}

/// A write that is refused at the moment a canary should go on.
async fn refused_in_the_middle(verb: Verb, resource: &'static str, subresource: &'static str, error: StatusError) {
    let world = paused().await;
    let text = error.message.clone();
    world.refuse(move |call| {
        let is_meant = call.verb == verb && call.resource == resource && call.subresource == subresource;
        (is_meant && (call.name.starts_with("shop") || call.name.is_empty())).then(|| error.clone())
    });
    let promote = json!({"status": {"pauseConditions": null}});
    if (resource, subresource) == ("rollouts", "status") {
        world.patch("Rollout", "shop", image("shop:3")).await;
    } else {
        world.patch_status("shop", promote["status"].clone()).await;
    }
    world.pass(30).await;

    let warnings = world.warnings("shop").await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].0, "WriteRefused");
    assert!(warnings[0].1.contains(&text), "{warnings:?}");
    assert!(warnings[0].1.contains("; allow it") || warnings[0].1.contains("; correct"), "{warnings:?}");
    stays_calm(&world).await;
    assert_eq!(world.warnings("shop").await.len(), 1, "once is enough");
    assert_eq!(world.warnings("bystander").await, []);
    world.patch("Rollout", "bystander", json!({"spec": {"replicas": 2}})).await;
    world.pass(30).await;
    assert_eq!(world.sizes("bystander").await, [2], "the others go on");

    world.refuse_nothing();
    world.pass(60).await;
    let (phase, message) = world.shown("shop").await;
    let paused_again = (resource, subresource) == ("rollouts", "status");
    assert_eq!(phase, if paused_again { "Paused" } else { "Healthy" }, "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_that_may_not_be_resized() {
    refused_in_the_middle(Verb::Update, "replicasets", "", StatusError::forbidden("no update of replicasets")).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_that_is_held_invalid() {
    refused_in_the_middle(Verb::Update, "replicasets", "", StatusError::new(422, "Invalid", "spec.replicas: no")).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_may_not_be_written() {
    refused_in_the_middle(Verb::Patch, "rollouts", "status", StatusError::forbidden("no rollouts/status")).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_is_held_invalid() {
    let error = StatusError::new(422, "Invalid", "status.conditions: Invalid value");
    refused_in_the_middle(Verb::Patch, "rollouts", "status", error).await;
}

/// An API without the status subresource answers 404 to every write of a status though the Rollout is there.
#[tokio::test(start_paused = true)]
async fn a_missing_status_subresource_is_no_hot_loop() {
    let world = paused().await;
    let gone = StatusError::new(404, "NotFound", "the server could not find the requested resource");
    world.refuse_all(Verb::Patch, "rollouts", "status", gone);
    world.patch("Rollout", "shop", image("shop:3")).await;
    stays_calm(&world).await;
    let warnings = world.warnings("shop").await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].1.contains("install the CRDs"), "{warnings:?}");
    world.refuse_nothing();
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_may_not_be_switched_keeps_the_old_pods() {
    let world = World::new().await;
    world.create(service("active")).await;
    world.create(rollout("shop", json!({"blueGreen": {"activeService": "active"}}))).await;
    world.pass(30).await;
    let before = world.get("Service", "active").await["spec"]["selector"].clone();
    world.refuse_all(Verb::Patch, "services", "", StatusError::forbidden("no patch of services"));
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(60).await;
    let warnings = world.warnings("shop").await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    stays_calm(&world).await;
    assert_eq!(world.get("Service", "active").await["spec"]["selector"], before);
    assert_eq!(world.sizes("shop").await, [4, 4], "the pods that serve stay");
    world.refuse_nothing();
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_ne!(world.get("Service", "active").await["spec"]["selector"], before);
}

#[tokio::test(start_paused = true)]
async fn events_that_may_not_be_told_hold_nothing_back() {
    let world = World::new().await;
    world.refuse_all(Verb::Create, "events", "", StatusError::forbidden("no events"));
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(world.list("Event").await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn an_api_that_refuses_everything_is_asked_calmly_and_recovered_from() {
    let world = paused().await;
    world.refuse(|call| {
        let is_ours = matches!(call.resource, "rollouts" | "replicasets") && call.verb != Verb::Watch;
        is_ours.then(|| StatusError::new(503, "ServiceUnavailable", "etcd is away"))
    });
    world.pass(1).await;
    let asked = world.asked_in_a_minute().await;
    assert!(asked <= CALM, "{asked} requests in a minute");
    world.refuse_nothing();
    world.patch_status("shop", json!({"pauseConditions": null})).await;
    world.pass(90).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
}
