//! Rollouts that take their template from a Deployment.

use serde_json::{Value, json};

use crate::world::World;

fn template(image: &str, is_ready: bool) -> Value {
    let never = if is_ready { "false" } else { "true" };
    json!({"metadata": {"labels": {"app": "shop"}, "annotations": {"node-agent.tidegate.dev/never-ready": never}},
        "spec": {"containers": [{"name": "main", "image": image}]}})
}

/// A Deployment that runs, and a Rollout that is to take its place.
async fn migrating(mode: &str, template: Value) -> World {
    let world = World::new().await;
    world
        .create(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "shop"}}, "template": template}}))
        .await;
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "scaleDown": mode});
    world
        .create(json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop"},
            "spec": {"replicas": 3, "strategy": {"canary": {}}, "workloadRef": reference}}))
        .await;
    world.pass(60).await;
    world
}

async fn size(world: &World) -> i64 {
    world.get("Deployment", "shop").await["spec"]["replicas"].as_i64().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_scaled_down_at_the_first_promotion_though_the_first_revision_never_got_well() {
    for mode in ["onsuccess", "progressively"] {
        let world = migrating(mode, template("shop:broken", false)).await;
        assert_eq!(world.shown("shop").await.0, "Progressing");
        assert_eq!(size(&world).await, 3, "{mode}: nothing has taken its place");

        world.patch("Deployment", "shop", json!({"spec": {"template": template("shop:2", true)}})).await;
        world.pass(60).await;
        assert_eq!(world.shown("shop").await.0, "Healthy");
        assert_eq!(world.get("Rollout", "shop").await["metadata"]["annotations"]["rollout.argoproj.io/revision"], "2");
        assert_eq!(size(&world).await, 0, "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_people_scale_up_again_in_a_later_revision_is_left_alone() {
    let world = migrating("onsuccess", template("shop:1", true)).await;
    assert_eq!(size(&world).await, 0);
    world.patch("Deployment", "shop", json!({"spec": {"template": template("shop:2", true)}})).await;
    world.pass(60).await;
    world.patch("Deployment", "shop", json!({"spec": {"replicas": 3}})).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(size(&world).await, 3);
}
