//! Endpoints and EndpointSlices of Services.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Endpoints, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use tidegate_sim::{Setting, World};

use crate::support::{api, create, deployment, pass};

fn service() -> Value {
    json!({"metadata": {"name": "web", "labels": {"tier": "front"}},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}})
}

async fn addresses(world: &World) -> (Vec<String>, Vec<String>) {
    let mut ready = Vec::new();
    let mut unready = Vec::new();
    for subset in api::<Endpoints>(world).get("web").await.unwrap().subsets.unwrap_or_default() {
        ready.extend(subset.addresses.iter().flatten().map(|address| address.ip.clone()));
        unready.extend(subset.not_ready_addresses.iter().flatten().map(|address| address.ip.clone()));
    }
    (ready, unready)
}

async fn ready_pods(world: &World) -> Vec<String> {
    let pods = api::<Pod>(world).list(&ListParams::default().labels("app=web")).await.unwrap();
    let mut found: Vec<String> = pods.items.into_iter().filter_map(|pod| pod.status?.pod_ip).collect();
    found.sort();
    found
}

#[tokio::test(start_paused = true)]
async fn a_service_has_endpoints_of_its_ready_pods_as_the_real_controller_writes_them() {
    let world = World::start(Setting::new(1));
    create::<Service>(&world, service()).await;
    create::<Deployment>(&world, deployment("web", 3, "web:1")).await;
    pass(&world, 30).await;

    let found = api::<Endpoints>(&world).get("web").await.unwrap();
    assert_eq!(found.labels()["endpoints.kubernetes.io/managed-by"], "endpoint-controller");
    assert_eq!(found.labels()["tier"], "front");
    assert!(found.owner_references().is_empty(), "the real controller removes them itself");
    let subset = &found.subsets.unwrap()[0];
    assert_eq!(subset.ports.as_ref().unwrap()[0].port, 8080);
    assert_eq!(subset.addresses.as_ref().unwrap()[0].target_ref.as_ref().unwrap().kind.as_deref(), Some("Pod"));
    assert_eq!(addresses(&world).await, (ready_pods(&world).await, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_not_ready_is_listed_apart() {
    let world = World::start(Setting::new(1));
    create::<Service>(&world, service()).await;
    let mut unready = deployment("web", 1, "web:1");
    unready["spec"]["template"]["metadata"]["annotations"] = json!({"node-agent.tidegate.dev/never-ready": "true"});
    create::<Deployment>(&world, unready).await;
    pass(&world, 30).await;

    let (ready, unready) = addresses(&world).await;
    assert_eq!((ready.len(), unready.len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_somebody_deletes_come_back_and_go_with_their_service() {
    let world = World::start(Setting::new(1));
    create::<Service>(&world, service()).await;
    create::<Deployment>(&world, deployment("web", 2, "web:1")).await;
    pass(&world, 30).await;

    api::<Endpoints>(&world).delete("web", &DeleteParams::default()).await.unwrap();
    api::<EndpointSlice>(&world).delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    pass(&world, 5).await;
    assert_eq!(addresses(&world).await.0, ready_pods(&world).await);
    assert_eq!(api::<EndpointSlice>(&world).list(&ListParams::default()).await.unwrap().items.len(), 1);

    api::<Service>(&world).delete("web", &DeleteParams::default()).await.unwrap();
    pass(&world, 5).await;
    assert!(api::<Endpoints>(&world).get_opt("web").await.unwrap().is_none());
    assert_eq!(api::<EndpointSlice>(&world).list(&ListParams::default()).await.unwrap().items.len(), 0);
}
