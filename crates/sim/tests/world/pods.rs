//! Pods that behave as their annotations say, in virtual time.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::{Value, json};
use tidegate_sim::{Setting, World};

use crate::support::{api, create, deployment, pass};

async fn start(annotations: Value) -> World {
    let world = World::start(Setting::new(1));
    let mut wanted = deployment("web", 1, "web:1");
    wanted["spec"]["template"]["metadata"]["annotations"] = annotations;
    create::<Deployment>(&world, wanted).await;
    world
}

async fn pod(world: &World) -> Pod {
    api::<Pod>(world).list(&ListParams::default()).await.unwrap().items.remove(0)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().unwrap().conditions.clone().unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

async fn available(world: &World) -> i32 {
    api::<Deployment>(world).get("web").await.unwrap().status.unwrap().available_replicas.unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_slow_pod_becomes_ready_when_its_annotation_says() {
    let slow = json!({"node-agent.tidegate.dev/start-delay": "20s", "node-agent.tidegate.dev/ready-after": "40s"});
    let world = start(slow).await;
    pass(&world, 58).await;
    assert!(!is_ready(&pod(&world).await));
    pass(&world, 4).await;
    assert!(is_ready(&pod(&world).await));
    assert_eq!(available(&world).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_crashes_is_unready_until_it_has_been_restarted() {
    let crashing = json!({"node-agent.tidegate.dev/crash-after": "30s", "node-agent.tidegate.dev/crash-times": "2"});
    let world = start(crashing).await;
    pass(&world, 25).await;
    assert!(is_ready(&pod(&world).await));
    pass(&world, 120).await;
    let after = pod(&world).await;
    assert!(is_ready(&after), "the third run serves on");
    assert_eq!(after.status.unwrap().container_statuses.unwrap()[0].restart_count, 2);
    assert_eq!(available(&world).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_never_becomes_ready_keeps_its_deployment_unavailable() {
    let world = start(json!({"node-agent.tidegate.dev/never-ready": "true"})).await;
    pass(&world, 3600).await;
    assert_eq!(pod(&world).await.status.unwrap().phase.as_deref(), Some("Running"));
    assert_eq!(available(&world).await, 0);
}
