//! Deployments, ReplicaSets and Jobs.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tidegate_sim::{Setting, World};

use crate::support::{api, create, deployment, pass};

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_available_and_rolls_to_a_new_image() {
    let world = World::start(Setting::new(1));
    create::<Deployment>(&world, deployment("web", 4, "web:1")).await;
    pass(&world, 30).await;
    let deployments: Api<Deployment> = api(&world);
    let status = deployments.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.available_replicas, status.updated_replicas), (Some(4), Some(4)), "{status:?}");

    let patch =
        Patch::Merge(json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}}));
    deployments.patch("web", &PatchParams::default(), &patch).await.unwrap();
    pass(&world, 60).await;

    let status = deployments.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.replicas, status.available_replicas, status.updated_replicas), (Some(4), Some(4), Some(4)));
    let sets: Api<ReplicaSet> = api(&world);
    let sizes: Vec<Option<i32>> =
        sets.list(&ListParams::default()).await.unwrap().items.iter().map(|set| set.spec.replicas).collect();
    assert_eq!(sizes.iter().flatten().sum::<i32>(), 4, "{sizes:?}");
    let pods: Api<Pod> = api(&world);
    assert_eq!(pods.list(&ListParams::default()).await.unwrap().items.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_and_a_service_finds_its_pods() {
    let world = World::start(Setting::new(1));
    create::<Service>(
        &world,
        json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}),
    )
    .await;
    create::<Deployment>(&world, deployment("web", 2, "web:1")).await;
    let pod = json!({"metadata": {"annotations": {"node-agent.tidegate.dev/exit-code": "0"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "job"}]}});
    create::<Job>(&world, json!({"metadata": {"name": "once"}, "spec": {"template": pod}})).await;

    pass(&world, 60).await;

    let job = api::<Job>(&world).get("once").await.unwrap();
    assert_eq!(job.status.as_ref().unwrap().succeeded, Some(1), "{:?}", job.status);
    let slices: Api<EndpointSlice> = api(&world);
    let slice = slices.list(&ListParams::default()).await.unwrap().items.remove(0);
    let ready = slice
        .endpoints
        .iter()
        .flatten()
        .filter(|endpoint| endpoint.conditions.as_ref().is_some_and(|c| c.ready == Some(true)))
        .count();
    assert_eq!(ready, 2, "{slice:?}");
    assert!(slice.name_any().starts_with("web"));
}
