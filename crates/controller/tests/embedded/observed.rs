//! Faults that were seen in the controller we stand in for, by the number they are listed under: ours has none of them.

use serde_json::{Value, json};

use crate::world::{World, blue_green_paused, canary, image, rollout, service};

const HASH: &str = "rollouts-pod-template-hash";

async fn selected(world: &World, name: &str) -> Value {
    world.get("Service", name).await["spec"]["selector"][HASH].clone()
}

async fn condition(world: &World, kind: &str) -> Value {
    let status = world.status("shop").await;
    let conditions = status["conditions"].as_array().unwrap();
    conditions.iter().find(|found| found["type"] == kind).map_or(Value::Null, |found| found["status"].clone())
}

#[tokio::test(start_paused = true)]
async fn o2_an_abort_switches_the_canary_service_once() {
    let world = World::new().await;
    world.create(service("canary")).await;
    world.create(service("stable")).await;
    let steps = json!([{"setWeight": 25}, {"pause": {}}]);
    let strategy = json!({"canary": {"canaryService": "canary", "stableService": "stable", "steps": steps}});
    world.create(rollout("shop", strategy)).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    let before = world.status("shop").await;
    assert_eq!(selected(&world, "canary").await, before["currentPodHash"]);

    world.asked();
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(60).await;

    let is_switch = |asked: &&(String, String)| asked.0 == "PATCH" && asked.1.ends_with("/services/canary");
    assert_eq!(world.written().iter().filter(is_switch).count(), 1);
    assert_eq!(selected(&world, "canary").await, before["stableRS"]);
}

#[tokio::test(start_paused = true)]
async fn o4_a_service_that_is_waited_for_is_noticed_within_two_seconds() {
    let world = World::new().await;
    world.create(rollout("shop", json!({"blueGreen": {"activeService": "active"}}))).await;
    world.pass(600).await;
    assert_eq!(world.shown("shop").await.0, "Degraded");
    world.create(service("active")).await;
    world.pass(2).await;
    let (phase, message) = world.shown("shop").await;
    assert_ne!(phase, "Degraded", "{message}");
    assert_eq!(world.list("ReplicaSet").await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn o5_a_service_made_anew_gets_its_selector_back_at_once() {
    let world = blue_green_paused().await;
    let status = world.status("shop").await;

    for (name, hash) in [("active", &status["stableRS"]), ("preview", &status["currentPodHash"])] {
        world.delete("Service", name).await;
        world.create(service(name)).await;
        world.pass(2).await;
        assert_eq!(&selected(&world, name).await, hash, "{name}");
        world.patch("Service", name, json!({"spec": {"selector": {HASH: null}}})).await;
        world.pass(2).await;
        assert_eq!(&selected(&world, name).await, hash, "{name}");
    }
    let after = world.status("shop").await;
    assert_eq!(
        (&after["stableRS"], &after["message"]),
        (&status["stableRS"], &status["message"]),
        "nothing was promoted"
    );
}

#[tokio::test(start_paused = true)]
async fn o6_the_step_index_never_passes_the_number_of_steps() {
    let world = World::new().await;
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    let invalid = json!({"spec": {"strategy": {"canary": {"steps": [{"setWeight": 120}]}}}});
    world.patch("Rollout", "shop", invalid).await;
    world.pass(5).await;
    assert_eq!(world.status("shop").await["currentStepIndex"], 1, "two steps were done, one is left to count");
    let status = world.status("shop").await;
    assert!(status["message"].as_str().unwrap().contains("setWeight"), "{status}");
    // What another controller has left there is not worth a write of its own, and gone with the next one.
    world.patch_status("shop", json!({"currentStepIndex": 2})).await;
    world.patch("Rollout", "shop", json!({"spec": {"strategy": {"canary": {"steps": [{"setWeight": 20}]}}}})).await;
    world.pass(5).await;
    let status = world.status("shop").await;
    assert_eq!((&status["currentStepIndex"], &status["phase"]), (&json!(1), &json!("Healthy")), "{status}");
}

#[tokio::test(start_paused = true)]
async fn o7_conditions_agree_with_the_phase_after_an_abort_and_after_a_correction() {
    let world = World::new().await;
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(condition(&world, "Paused").await, "True");
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Degraded");
    assert_eq!(condition(&world, "Paused").await, "False");

    world.patch("Rollout", "shop", image("shop:1")).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(condition(&world, "Healthy").await, "True");
    world.patch("Rollout", "shop", json!({"spec": {"strategy": {"canary": {"steps": [{"setWeight": 120}]}}}})).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Degraded");
    world.patch("Rollout", "shop", json!({"spec": {"strategy": {"canary": {"steps": [{"setWeight": 20}]}}}})).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, ("Healthy".to_owned(), String::new()));
    assert_eq!(condition(&world, "Healthy").await, "True");
    assert_eq!(condition(&world, "InvalidSpec").await, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn o9_each_revision_stands_once_in_the_history() {
    let world = World::new().await;
    world.create(rollout("shop", json!({"canary": {}}))).await;
    world.pass(30).await;
    let first = world.list("ReplicaSet").await.remove(0)["metadata"]["name"].as_str().unwrap().to_owned();
    let left_by_another = json!({"metadata": {"annotations": {"rollout.argoproj.io/revision-history": "1,1,1,1"}}});
    world.patch("ReplicaSet", &first, left_by_another).await;
    for turn in 0..6 {
        world.patch("Rollout", "shop", image(if turn % 2 == 0 { "shop:2" } else { "shop:1" })).await;
        world.pass(60).await;
        assert_eq!(world.shown("shop").await.0, "Healthy");
    }
    let mut histories: Vec<String> = Vec::new();
    for set in world.list("ReplicaSet").await {
        let history = set["metadata"]["annotations"]["rollout.argoproj.io/revision-history"].as_str().unwrap();
        histories.push(history.to_owned());
    }
    histories.sort();
    assert_eq!(histories, ["1,3,5", "2,4"]);
}
