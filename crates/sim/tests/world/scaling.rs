//! Autoscalers.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use tidegate_sim::{Setting, World};

use crate::support::{api, create, deployment, pass, patch};

fn scaler(version: &str, kind: &str, annotations: Value) -> Value {
    json!({"metadata": {"name": "web", "annotations": annotations}, "spec": {"minReplicas": 2, "maxReplicas": 6,
        "scaleTargetRef": {"apiVersion": version, "kind": kind, "name": "web"}}})
}

#[tokio::test(start_paused = true)]
async fn an_autoscaler_follows_its_annotations_within_its_limits() {
    let world = World::start(Setting::new(1));
    create::<Deployment>(&world, deployment("web", 3, "web:1")).await;
    let desired = json!({"sim.tidegate.dev/desired": "5"});
    create::<HorizontalPodAutoscaler>(&world, scaler("apps/v1", "Deployment", desired)).await;
    pass(&world, 60).await;
    let status = api::<HorizontalPodAutoscaler>(&world).get("web").await.unwrap().status.unwrap();
    assert_eq!((status.current_replicas, status.desired_replicas), (Some(5), 5));
    assert!(status.last_scale_time.is_some());
    let size = async || api::<Deployment>(&world).get("web").await.unwrap().spec.replicas;
    assert_eq!(size().await, Some(5));

    let load =
        json!({"sim.tidegate.dev/desired": null, "sim.tidegate.dev/load": "1000", "sim.tidegate.dev/target": "60"});
    patch::<HorizontalPodAutoscaler>(&world, "web", json!({"metadata": {"annotations": load}})).await;
    pass(&world, 60).await;
    assert_eq!(size().await, Some(6), "17 are wanted, 6 is the most");
    let status = api::<HorizontalPodAutoscaler>(&world).get("web").await.unwrap().status.unwrap();
    let limited = status.conditions.unwrap().into_iter().find(|c| c.type_ == "ScalingLimited").unwrap();
    assert_eq!((limited.status.as_str(), limited.reason.as_deref()), ("True", Some("TooManyReplicas")));

    let idle = json!({"sim.tidegate.dev/load": "0"});
    patch::<HorizontalPodAutoscaler>(&world, "web", json!({"metadata": {"annotations": idle}})).await;
    pass(&world, 60).await;
    assert_eq!(size().await, Some(2));
}

#[tokio::test(start_paused = true)]
async fn an_autoscaler_scales_any_custom_resource_that_has_a_scale() {
    let world = World::start(Setting::new(1));
    let client = world.client("user");
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"metadata": {"name": "boats.sea.example"}, "spec": {"group": "sea.example", "scope": "Namespaced",
        "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            "subresources": {"scale": {"specReplicasPath": ".spec.crew", "statusReplicasPath": ".status.crew"}}}]}});
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &serde_json::from_value(definition).unwrap()).await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("sea.example", "v1", "Boat"));
    let boats: Api<DynamicObject> = Api::default_namespaced_with(client, &kind);
    let boat =
        json!({"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "web"}, "spec": {"crew": 1}});
    boats.create(&PostParams::default(), &serde_json::from_value(boat).unwrap()).await.unwrap();

    let desired = json!({"sim.tidegate.dev/desired": "4"});
    create::<HorizontalPodAutoscaler>(&world, scaler("sea.example/v1", "Boat", desired)).await;
    pass(&world, 60).await;

    assert_eq!(boats.get("web").await.unwrap().data["spec"]["crew"], 4);
}

#[tokio::test(start_paused = true)]
async fn an_autoscaler_leaves_a_target_alone_that_is_scaled_to_zero_or_not_there() {
    let world = World::start(Setting::new(1));
    let desired = json!({"sim.tidegate.dev/desired": "4"});
    create::<HorizontalPodAutoscaler>(&world, scaler("apps/v1", "Deployment", desired)).await;
    pass(&world, 30).await;
    let reason = async |kind: &str| {
        let status = api::<HorizontalPodAutoscaler>(&world).get("web").await.unwrap().status.unwrap();
        status.conditions.unwrap().into_iter().find(|c| c.type_ == kind).unwrap().reason.unwrap()
    };
    assert_eq!(reason("AbleToScale").await, "FailedGetScale");

    create::<Deployment>(&world, deployment("web", 0, "web:1")).await;
    pass(&world, 60).await;
    assert_eq!(reason("ScalingActive").await, "ScalingDisabled");
    assert_eq!(api::<Deployment>(&world).get("web").await.unwrap().spec.replicas, Some(0));
}
