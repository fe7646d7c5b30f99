//! Restarts of pods.

use serde_json::json;

use crate::world::{World, rollout, service};

#[tokio::test(start_paused = true)]
async fn pods_that_a_disruption_budget_keeps_do_not_keep_the_status_from_being_told() {
    let world = World::new().await;
    world.create(service("active")).await;
    world.create(rollout("shop", json!({"blueGreen": {"activeService": "active"}}))).await;
    world
        .create(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "shop"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "shop"}}}}))
        .await;
    world.pass(30).await;
    world.patch("Rollout", "shop", json!({"spec": {"restartAt": "2026-01-01T00:00:31Z"}})).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 6}})).await;
    world.pass(30).await;

    let status = world.status("shop").await;
    let generation = world.get("Rollout", "shop").await["metadata"]["generation"].to_string();
    assert_eq!(status["observedGeneration"], generation.as_str(), "{status}");
    assert_eq!(status["availableReplicas"], 6, "{status}");
    assert!(status["restartedAt"].is_null(), "nothing was restarted: {status}");
    let asked = world.asked_in_a_minute().await;
    assert!(asked <= 60, "{asked} requests in a minute");

    world.delete("PodDisruptionBudget", "shop").await;
    world.pass(120).await;
    assert_eq!(world.status("shop").await["restartedAt"], "2026-01-01T00:00:31Z");
}
