//! People change, take and delete what belongs to a Rollout.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_apiserver::{Before, Verb};

use crate::world::{World, blue_green, blue_green_paused, canary, image, rollout, service};

const HASH: &str = "rollouts-pod-template-hash";

async fn pods(world: &World) -> Vec<String> {
    let mut pods: Vec<String> =
        world.list("Pod").await.iter().map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned()).collect();
    pods.sort();
    pods
}

async fn healthy() -> World {
    healthy_in(World::new().await).await
}

async fn healthy_in(world: World) -> World {
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    world
}

async fn paused() -> World {
    paused_in(World::new().await).await
}

async fn paused_in(world: World) -> World {
    let world = healthy_in(world).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()));
    world
}

/// Name of the set of a revision.
async fn set(world: &World, revision: &str) -> String {
    let sets = world.list("ReplicaSet").await;
    let found = sets.iter().find(|set| set["metadata"]["annotations"]["rollout.argoproj.io/revision"] == revision);
    found.unwrap()["metadata"]["name"].as_str().unwrap().to_owned()
}

async fn is_quiet(world: &World) {
    world.asked();
    world.pass(600).await;
    assert_eq!(world.written(), []);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_replica_set_of_our_name_is_left_alone_and_another_name_is_taken() {
    let world = healthy().await;
    let name = set(&world, "1").await;
    world.delete("Rollout", "shop").await;
    world.pass(10).await;
    assert_eq!(world.list("ReplicaSet").await, Vec::<Value>::new());
    let foreign = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": {"replicas": 1,
        "selector": {"matchLabels": {"app": "foreign"}}, "template": {"metadata": {"labels": {"app": "foreign"}},
        "spec": {"containers": [{"name": "main", "image": "foreign:1"}]}}}});
    world.create(foreign).await;
    world.pass(10).await;
    let before = world.get("ReplicaSet", &name).await;

    world.create(rollout("shop", canary())).await;
    world.pass(30).await;

    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(world.status("shop").await["collisionCount"], 1);
    assert_eq!(world.sizes("shop").await, [4]);
    assert_ne!(set(&world, "1").await, name);
    assert_eq!(world.get("ReplicaSet", &name).await, before, "the foreign one is untouched");
    is_quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_that_loses_the_label_it_is_found_by_gets_it_back() {
    for revision in ["1", "2"] {
        let world = paused().await;
        let (name, before, hash) = (set(&world, revision).await, pods(&world).await, world.status("shop").await);
        let label = world.get("ReplicaSet", &name).await["metadata"]["labels"][HASH].clone();

        world.patch("ReplicaSet", &name, json!({"metadata": {"labels": {HASH: null}}})).await;
        world.pass(30).await;
        assert_eq!(world.get("ReplicaSet", &name).await["metadata"]["labels"][HASH], label);
        world.patch("ReplicaSet", &name, json!({"metadata": {"labels": {HASH: "nonsense"}}})).await;
        world.pass(30).await;

        assert_eq!(world.get("ReplicaSet", &name).await["metadata"]["labels"][HASH], label);
        assert_eq!(pods(&world).await, before, "no pod was made or lost");
        assert_eq!(world.sizes("shop").await, [3, 1]);
        let after = world.status("shop").await;
        for field in ["stableRS", "currentPodHash", "currentStepIndex", "phase"] {
            assert_eq!(after[field], hash[field], "{field}");
        }
        is_quiet(&world).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_that_no_longer_fits_is_released_and_adopted_when_it_fits_again() {
    let world = paused().await;
    let name = set(&world, "1").await;
    world.patch("ReplicaSet", &name, json!({"metadata": {"labels": {"app": "mine"}}})).await;
    world.pass(30).await;
    let released = world.get("ReplicaSet", &name).await;
    assert_eq!(released["metadata"]["ownerReferences"], Value::Null);
    assert_eq!(released["spec"]["replicas"], 3, "what is not ours is not sized");
    is_quiet(&world).await;

    world.patch("ReplicaSet", &name, json!({"metadata": {"labels": {"app": "shop"}}})).await;
    world.pass(30).await;
    let adopted = world.get("ReplicaSet", &name).await;
    assert_eq!(adopted["metadata"]["ownerReferences"][0]["name"], "shop");
    is_quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_whose_owner_is_taken_off_is_ours_again() {
    let world = paused().await;
    let (name, before) = (set(&world, "1").await, pods(&world).await);
    world.patch("ReplicaSet", &name, json!({"metadata": {"ownerReferences": null}})).await;
    world.pass(30).await;
    assert_eq!(world.get("ReplicaSet", &name).await["metadata"]["ownerReferences"][0]["name"], "shop");
    assert_eq!(pods(&world).await, before);
    assert_eq!(world.sizes("shop").await, [3, 1]);
    is_quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_sized_by_hand_or_deleted_comes_back() {
    let world = healthy().await;
    let name = set(&world, "1").await;
    world.patch("ReplicaSet", &name, json!({"spec": {"replicas": 1}})).await;
    world.pass(30).await;
    assert_eq!(world.sizes("shop").await, [4]);
    world.delete("ReplicaSet", &name).await;
    world.pass(30).await;
    assert_eq!(world.sizes("shop").await, [4]);
    assert_eq!(world.shown("shop").await.0, "Healthy");
    is_quiet(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_whose_selector_is_changed_keeps_its_pods() {
    let world = paused_in(World::without_schemas().await).await;
    let before = pods(&world).await;
    // Our CRD refuses it; one that was made by hand does not.
    world.patch("Rollout", "shop", json!({"spec": {"selector": {"matchLabels": {"tier": "web"}}}})).await;
    world.pass(60).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded", "{message}");
    assert!(message.contains("selector"), "{message}");
    assert_eq!(pods(&world).await, before);
    assert_eq!(world.asked_in_a_minute().await, 0);
    world.patch("Rollout", "shop", json!({"spec": {"selector": {"matchLabels": {"tier": null}}}})).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()));
    assert_eq!(pods(&world).await, before);
}

#[tokio::test(start_paused = true)]
async fn services_deleted_in_the_middle_hold_the_rollout_and_let_it_go_on_when_they_are_back() {
    let world = blue_green_paused().await;
    let before = pods(&world).await;

    world.delete("Service", "active").await;
    world.delete("Service", "preview").await;
    world.pass(30).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("service \"active\" not found"), "{message}");
    assert!(world.asked_in_a_minute().await <= 10);
    assert_eq!(pods(&world).await, before);

    for name in ["active", "preview"] {
        world.create(service(name)).await;
    }
    world.pass(10).await;
    let status = world.status("shop").await;
    assert_eq!(status["phase"], "Paused", "{status}");
    let selected = |service: Value| service["spec"]["selector"][HASH].clone();
    assert_eq!(selected(world.get("Service", "active").await), status["stableRS"]);
    assert_eq!(selected(world.get("Service", "preview").await), status["currentPodHash"]);
    assert_eq!(pods(&world).await, before);
}

#[tokio::test(start_paused = true)]
async fn a_set_that_somebody_changes_while_a_plan_is_carried_out_is_looked_at_again_first() {
    let world = World::new().await;
    // Both sets get another size in one plan.
    world.create(service("active")).await;
    let strategy = json!({"activeService": "active", "autoPromotionEnabled": false});
    world.create(rollout("shop", json!({"blueGreen": strategy}))).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    let sets = [set(&world, "1").await, set(&world, "2").await];
    world.hinder(|call| {
        let is_meant = call.verb == Verb::Update && call.resource == "replicasets" && call.subresource.is_empty();
        if is_meant { Before::Delay(Duration::from_secs(2)) } else { Before::Pass }
    });
    world.written();
    // The second is changed while the first is being written.
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 8}})).await;
    world.pass(1).await;
    let first = world.written().pop().unwrap().1;
    let second = sets.iter().find(|name| !first.ends_with(name.as_str())).unwrap();
    world.patch("ReplicaSet", second, json!({"metadata": {"annotations": {"note": "by hand"}}})).await;
    world.pass(60).await;
    let written = world.written();
    let updates = written.iter().filter(|(method, path)| method == "PUT" && path.ends_with(second.as_str())).count();
    assert_eq!(updates, 2, "the first attempt is refused: {written:?}");
    assert_eq!(world.sizes("shop").await, [8, 8]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_switched_while_its_rollout_is_deleted_is_given_back() {
    // Given an update whose switch of the preview is on its way for long.
    let world = blue_green().await;
    let is_first = AtomicBool::new(true);
    world.hinder(move |call| {
        let is_switch = call.verb == Verb::Patch && call.resource == "services" && call.name == "preview";
        let is_slow = is_switch && is_first.swap(false, Ordering::Relaxed);
        if is_slow { Before::Delay(Duration::from_secs(5)) } else { Before::Pass }
    });
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(2).await;
    // When the Rollout is deleted meanwhile, and gives its Services back before the switch arrives.
    world.delete("Rollout", "shop").await;
    world.pass(1).await;
    assert_eq!(world.get("Service", "preview").await["spec"]["selector"][HASH], Value::Null);
    world.pass(60).await;
    // Then they are given back once more.
    for name in ["active", "preview"] {
        let service = world.get("Service", name).await;
        assert_eq!(service["spec"]["selector"][HASH], Value::Null, "{service}");
    }
    let switches =
        world.written().iter().filter(|(method, path)| method == "PATCH" && path.ends_with("/preview")).count();
    assert!(switches >= 4, "the first switch, the slow one, and giving back twice: {switches}");
}
