//! Statuses and specs that nobody should write, and somebody does.

use serde_json::{Value, json};

use crate::world::{World, canary, image, paused_beside_another, rollout};

async fn others_go_on(world: &World) {
    world.patch("Rollout", "bystander", image("shop:9")).await;
    world.pass(30).await;
    assert_eq!(world.shown("bystander").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()));
}

/// Each field of a status with a type it must not have.
const WRONG_TYPES: &str = r#"[
    {"HPAReplicas": "many"}, {"abort": "yes"}, {"abortedAt": 7}, {"alb": "x"}, {"albs": {}}, {"availableReplicas": []},
    {"blueGreen": 1}, {"canary": "bird"}, {"canary": {"weights": []}}, {"collisionCount": "x"}, {"conditions": "all good"},
    {"conditions": [7]}, {"controllerPause": "perhaps"}, {"currentPodHash": 1}, {"currentStepHash": {}},
    {"currentStepIndex": "first"}, {"currentStepIndex": 4294967296}, {"duration": "long"}, {"message": 1},
    {"observedGeneration": 5}, {"pauseConditions": {}}, {"phase": ["Healthy"]}, {"promoteFull": 1}, {"readyReplicas": 1.5},
    {"replicas": null, "restartedAt": {}}, {"selector": 1}, {"stableRS": 3}, {"updatedReplicas": "x"},
    {"workloadObservedGeneration": 1}
]"#;

#[tokio::test(start_paused = true)]
async fn a_status_of_wrong_types_stops_only_its_own_rollout_and_is_recovered_from() {
    let cases: Vec<Value> = serde_json::from_str(WRONG_TYPES).unwrap();
    let world = paused_beside_another(World::without_schemas().await).await;
    let good = world.status("shop").await;
    for garbage in cases {
        world.patch_status("shop", garbage.clone()).await;
        world.pass(20).await;
        let (phase, message) = world.shown("shop").await;
        // What we write to say so puts these right by itself.
        let heals =
            ["phase", "message", "conditions", "observedGeneration"].iter().any(|field| garbage.get(field).is_some());
        if !heals {
            assert_eq!(phase, "Degraded", "{garbage}: {message}");
            assert!(
                message.starts_with("InvalidSpec: The Rollout \"shop\" is invalid: status"),
                "{garbage}: {message}"
            );
        }
        assert_eq!(world.asked_in_a_minute().await, 0, "{garbage}");
        assert_eq!(world.sizes("shop").await, [3, 1], "{garbage}");

        let mut whole = world.api("Rollout").get("shop").await.unwrap();
        whole.data["status"] = good.clone();
        world.api("Rollout").replace_status("shop", &kube::api::PostParams::default(), &whole).await.unwrap();
        world.pass(20).await;
        assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()), "{garbage}");
        assert_eq!(world.sizes("shop").await, [3, 1], "{garbage}");
    }
    others_go_on(&world).await;
}

/// The CRDs that we ship let no such status in.
#[tokio::test(start_paused = true)]
async fn our_schemas_refuse_a_status_of_wrong_types() {
    let cases: Vec<Value> = serde_json::from_str(WRONG_TYPES).unwrap();
    let world = paused_beside_another(World::new().await).await;
    for garbage in cases {
        let patch = kube::api::Patch::Merge(json!({"status": garbage}));
        let answer = world.api("Rollout").patch_status("shop", &kube::api::PatchParams::default(), &patch).await;
        assert!(matches!(&answer, Err(kube::Error::Api(status)) if status.code == 422), "{garbage}: {answer:?}");
    }
}

/// Values of the right type that make no sense.
const NONSENSE: &str = r#"[
    {"currentStepIndex": -5}, {"currentStepIndex": 2147483647}, {"currentStepHash": "\u0001"}, {"phase": "Dancing"},
    {"message": "nothing to see"}, {"currentPodHash": "nonsense"}, {"stableRS": "nonsense"},
    {"replicas": -9, "readyReplicas": 2147483647, "availableReplicas": -2147483648, "updatedReplicas": 2147483647},
    {"observedGeneration": "yesterday"}, {"observedGeneration": "99999"}, {"selector": ""}, {"HPAReplicas": 2147483647},
    {"conditions": []}, {"conditions": null, "pauseConditions": null, "controllerPause": null},
    {"conditions": [{"type": "Progressing", "status": "?", "reason": "", "message": "",
        "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2099-01-01T00:00:00Z"}]},
    {"pauseConditions": [{"reason": "Whim", "startTime": "2099-01-01T00:00:00Z"}]},
    {"canary": {"weights": {"canary": {"weight": -1}, "stable": {"weight": 2147483647}}, "stablePingPong": "pung"}},
    {"blueGreen": {"activeSelector": "x", "scaleUpPreviewCheckPoint": true}},
    {"duration": {"rolloutStartedAt": "2099-01-01T00:00:00Z", "totalManualPauseDurationSeconds": -9223372036854775808}}
]"#;

#[tokio::test(start_paused = true)]
async fn a_status_of_nonsense_is_put_right_without_a_pod_lost_or_a_loop() {
    let cases: Vec<Value> = serde_json::from_str(NONSENSE).unwrap();
    for garbage in cases {
        let world = paused_beside_another(World::new().await).await;
        world.patch_status("shop", garbage.clone()).await;
        world.pass(120).await;
        let asked = world.asked_in_a_minute().await;
        assert!(asked <= 6, "{garbage}: {asked} requests in a minute");
        let (status, sizes) = (world.status("shop").await, world.sizes("shop").await);
        let phase = status["phase"].as_str().unwrap();
        assert!(matches!(phase, "Paused" | "Healthy" | "Progressing" | "Degraded"), "{garbage}: {status}");
        let index = status["currentStepIndex"].as_i64().unwrap();
        assert!((0..=2).contains(&index), "{garbage}: {status}");
        assert!(sizes.iter().sum::<i64>() >= 4, "{garbage}: {sizes:?}");

        // Whatever it made of it: a new template goes its way.
        world.patch("Rollout", "shop", image("shop:3")).await;
        world.pass(60).await;
        world.patch_status("shop", json!({"pauseConditions": null})).await;
        world.pass(60).await;
        assert_eq!(world.shown("shop").await.0, "Healthy", "{garbage}: {}", world.status("shop").await);
    }
}

#[tokio::test(start_paused = true)]
async fn times_that_are_no_times_are_no_loop() {
    let world = paused_beside_another(World::without_schemas().await).await;
    let condition = json!({"type": "Progressing", "lastUpdateTime": "soon", "lastTransitionTime": ""});
    let garbage = json!({"conditions": [condition, {}], "abortedAt": "never", "restartedAt": "later",
        "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "noon"}, {}],
        "duration": {"rolloutStartedAt": "then", "manualPauseStartedAt": "there"}});
    world.patch_status("shop", garbage).await;
    world.pass(60).await;
    assert!(world.asked_in_a_minute().await <= 6);
    assert_eq!(world.sizes("shop").await, [3, 1]);
    world.patch_status("shop", json!({"pauseConditions": null})).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_spec_says_so_and_disturbs_nobody() {
    let world = paused_beside_another(World::without_schemas().await).await;
    world.patch("Rollout", "shop", json!({"spec": {"replicas": "four"}})).await;
    world.pass(20).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("is invalid: spec.replicas: invalid type: string \"four\", expected i32"), "{message}");
    assert_eq!(world.asked_in_a_minute().await, 0);
    others_go_on(&world).await;
    assert_eq!(world.sizes("shop").await, [3, 1]);

    world.patch("Rollout", "shop", json!({"spec": {"replicas": 8}})).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()));
    assert_eq!(world.sizes("shop").await, [6, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_rollout_of_a_mebibyte_is_run_like_any_other() {
    let world = World::new().await;
    world.create(rollout("bystander", canary())).await;
    let mut big = rollout("shop", canary());
    big["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["x".repeat(1024 * 1024)]);
    world.create(big).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(world.sizes("shop").await, [4]);
    assert_eq!(world.asked_in_a_minute().await, 0);
    others_go_on(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_too_large_for_its_replica_set_says_so_calmly() {
    let world = World::new().await;
    world.create(rollout("bystander", canary())).await;
    let too_large = tidegate_apiserver::StatusError::new(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    );
    world.refuse_all(tidegate_apiserver::Verb::Create, "replicasets", "", too_large);
    world.create(rollout("shop", canary())).await;
    world.pass(60).await;
    let warnings = world.warnings("shop").await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].1.contains("too large"), "{warnings:?}");
    assert!(world.asked_in_a_minute().await <= 30);
}
