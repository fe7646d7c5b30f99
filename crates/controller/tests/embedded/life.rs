//! Rollouts from their first deploy to their end.

use serde_json::json;
use tidegate_controller::Options;
use tidegate_runtime::metrics::Registry;

use crate::world::{World, canary, image, rollout, service};

#[tokio::test(start_paused = true)]
async fn a_canary_lives_from_its_first_deploy_to_the_end_of_an_update() {
    let world = World::new().await;
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");

    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()));
    assert_eq!(world.sizes("shop").await, [3, 1]);

    world.promote("shop").await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(world.sizes("shop").await, [0, 4]);

    let told = world.told().await;
    let life: Vec<&str> = told.iter().map(String::as_str).filter(|reason| reason.starts_with("Rollout")).collect();
    assert_eq!(
        life,
        [
            "RolloutAddedToInformer",
            "RolloutUpdated",
            "RolloutNotCompleted",
            "RolloutCompleted",
            "RolloutUpdated",
            "RolloutNotCompleted",
            "RolloutStepCompleted",
            "RolloutPaused",
            "RolloutStepCompleted",
            "RolloutCompleted",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_blue_green_rollout_waits_for_its_service_and_switches_it() {
    let world = World::new().await;
    world.create(rollout("shop", json!({"blueGreen": {"activeService": "active"}}))).await;
    world.pass(5).await;
    let (_, message) = world.shown("shop").await;
    assert!(message.contains("service \"active\" not found"), "{message}");

    world.create(service("active")).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");

    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    let hash = |service: serde_json::Value| service["spec"]["selector"]["rollouts-pod-template-hash"].clone();
    assert_eq!(hash(world.get("Service", "active").await), world.status("shop").await["stableRS"]);

    world.delete("Rollout", "shop").await;
    world.pass(10).await;
    assert!(hash(world.get("Service", "active").await).is_null(), "the Service is usable again");
    assert_eq!(world.sizes("shop").await, [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn figures_follow_a_rollout_and_go_a_scrape_after_it_is_gone() {
    let (world, insight) = World::with(Options::default()).await;
    let registry = Registry::default();
    insight.register(&registry);
    assert!(insight.missing().contains(&"rollouts"), "nothing has been listed yet");
    world.create(rollout("shop", canary())).await;
    world.pass(30).await;
    assert_eq!(insight.missing(), [""; 0]);
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(90).await;
    world.promote("shop").await;
    world.pass(60).await;

    let text = registry.text();
    let object = "name=\"shop\",namespace=\"default\"";
    for line in [
        format!("rollout_info{{{object},phase=\"Completed\",strategy=\"canary\",traffic_router=\"\"}} 1\n"),
        format!("rollout_events_total{{{object},reason=\"NewReplicaSetCreated\",type=\"Normal\"}} 2\n"),
        format!("rollout_events_total{{{object},reason=\"RolloutPaused\",type=\"Normal\"}} 1\n"),
        format!("rollout_reconcile_bucket{{{object},le=\"0.15\"}} "),
        "rollout_duration_seconds_count{status=\"Promoted\"} 2\n".to_owned(),
        "rollout_manual_pause_duration_seconds_bucket{status=\"Promoted\",le=\"0\"} 1\n".to_owned(),
        "workqueue_depth{name=\"Rollouts\"} 0\n".to_owned(),
    ] {
        assert!(text.contains(&line), "no {line} in\n{text}");
    }
    assert!(!text.contains("rollout_reconcile_error"), "{text}");

    world.delete("Rollout", "shop").await;
    world.pass(60).await;
    let text = registry.text();
    assert!(!text.contains("rollout_info{") && text.contains("rollout_events_total{"), "{text}");
    world.pass(10).await;
    let text = registry.text();
    assert!(!text.contains("namespace=\"default\""), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_namespaced_controller_sees_its_own_namespace_and_nothing_of_the_cluster() {
    let theirs = Options { namespace: Some("elsewhere".to_owned()), ..Options::default() };
    let (world, insight) = World::with(theirs).await;
    world.create(rollout("shop", json!({"canary": {}}))).await;
    world.pass(30).await;
    assert_eq!(insight.missing(), [""; 0], "ready without anything that belongs to the whole cluster");
    assert_eq!(insight.diagnostics()["cached"]["rollouts"], 0);
    assert!(world.status("shop").await.is_null());

    let ours = Options { namespace: Some("default".to_owned()), ..Options::default() };
    let (world, _) = World::with(ours).await;
    world.create(rollout("shop", json!({"canary": {}}))).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
}
