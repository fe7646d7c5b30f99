//! Services that carry our selector, and whose they are.

use serde_json::{Value, json};
use tidegate_controller::Options;

use crate::world::{World, canary, rollout, service};

fn hash(service: &Value) -> &Value {
    &service["spec"]["selector"]["rollouts-pod-template-hash"]
}

fn labelled(mut object: Value, instance: &str) -> Value {
    object["metadata"]["labels"] = json!({"argo-rollouts.argoproj.io/controller-instance-id": instance});
    object
}

#[tokio::test(start_paused = true)]
async fn a_service_of_another_instances_rollout_keeps_its_selector_though_nothing_marks_it() {
    let (world, _) = World::with(Options { instance_id: Some("blue".to_owned()), ..Options::default() }).await;
    let theirs = json!({"canary": {"stableService": "stable", "canaryService": "canary", "steps": [{"pause": {}}]}});
    world.create(labelled(rollout("theirs", theirs), "green")).await;
    let mut found = service("stable");
    found["spec"]["selector"]["rollouts-pod-template-hash"] = "abc".into();
    world.create(found).await;
    let mut nobodys = service("nobodys");
    nobodys["spec"]["selector"]["rollouts-pod-template-hash"] = "abc".into();
    world.create(nobodys).await;
    world.create(labelled(rollout("shop", canary()), "blue")).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(hash(&world.get("Service", "stable").await), "abc");
    assert!(hash(&world.get("Service", "nobodys").await).is_null(), "nobody names this one");
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_is_found_gone_frees_its_services_though_no_watch_tells_of_it() {
    let world = World::new().await;
    world.create(service("active")).await;
    world.create(rollout("shop", json!({"blueGreen": {"activeService": "active"}}))).await;
    world.pass(30).await;
    assert!(hash(&world.get("Service", "active").await).is_string());
    world.deafen("rollouts");
    world.delete("Rollout", "shop").await;
    world.pass(60).await;
    assert!(hash(&world.get("Service", "active").await).is_null());
}
