//! Objects and kinds that are not there.

use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use serde_json::json;

use tidegate_sim::routers::{Place, SHOP, alb, ambassador, apisix, crds as kinds, gateway_api, nginx, traefik};

use super::{cluster, paused, strategy, together};
use crate::world::{World, image, resource, rollout, service};

#[tokio::test(start_paused = true)]
async fn a_missing_object_is_named_and_its_arrival_is_enough() {
    let table = [
        (traefik(&SHOP), "traefikservices.traefik.io \"shop\" not found"),
        (nginx(&SHOP), "ingress.networking.k8s.io \"shop-web\" not found"),
        (alb(&SHOP), "ingress.networking.k8s.io \"shop\" not found"),
        (ambassador(&SHOP), "mappings.getambassador.io \"shop\" not found"),
        (apisix(&SHOP), "apisixroutes.apisix.apache.org \"shop\" not found"),
        (gateway_api(&SHOP), "httproutes.gateway.networking.k8s.io \"shop\" not found"),
    ];
    for (way, text) in table {
        let world = cluster().await;
        world.create(rollout("shop", strategy(&way))).await;
        world.pass(30).await;
        let (phase, message) = world.shown("shop").await;
        assert_eq!(phase, "Degraded", "{}", way.name);
        assert!(message.contains(text), "{}: {message}", way.name);
        for object in &way.objects {
            world.create(object.clone()).await;
        }
        world.pass(20).await;
        assert_eq!(world.shown("shop").await.0, "Healthy", "{}", way.name);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_goes_in_mid_canary_holds_the_rollout_while_it_is_scaled() {
    for way in [traefik(&SHOP), gateway_api(&SHOP)] {
        let world = paused(&way).await;
        let Place { kind, ref name, .. } = way.place;
        world.delete(kind, name).await;
        world.pass(5).await;
        assert_eq!(world.shown("shop").await.0, "Degraded", "{}", way.name);
        world.patch("Rollout", "shop", json!({"spec": {"replicas": 6}})).await;
        world.promote("shop").await;
        world.pass(30).await;
        assert_eq!(world.status("shop").await["currentStepIndex"], 1, "{}: no step is passed", way.name);
        assert_eq!(world.sizes("shop").await.iter().max(), Some(&6), "{}", way.name);
        for object in &way.objects {
            world.create(object.clone()).await;
        }
        world.pass(30).await;
        assert_ne!(world.shown("shop").await.0, "Degraded", "{}", way.name);
        assert!(world.weight(&way).await >= Some(25), "{}", way.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_arrives_late_is_noticed_within_ten_seconds() {
    let way = traefik(&SHOP);
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    world.start();
    world.create(service("stable")).await;
    world.create(service("canary")).await;
    world.create(rollout("shop", strategy(&way))).await;
    world.pass(30).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    let wanted = "the server could not find the requested resource (TraefikService of traefik.io/v1alpha1 is not served: install";
    assert!(message.contains(wanted), "{message}");
    let crds: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource("CustomResourceDefinition"));
    for crd in kinds() {
        crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    }
    world.pass(2).await;
    for object in &way.objects {
        world.create(object.clone()).await;
    }
    world.pass(8).await;
    assert_ne!(world.shown("shop").await.0, "Degraded");
    world.pass(20).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    // And one that goes in mid-canary holds it.
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.weight(&way).await, Some(25));
    crds.delete("traefikservices.traefik.io", &DeleteParams::default()).await.unwrap();
    world.pass(12).await;
    assert_eq!(world.shown("shop").await.0, "Degraded");
}

#[tokio::test(start_paused = true)]
async fn an_abort_moves_what_can_be_moved_where_the_object_of_one_of_two_routers_is_gone() {
    let ways = [traefik(&SHOP), gateway_api(&SHOP)];
    let world = paused(&together(&ways)).await;
    assert_eq!((world.weight(&ways[0]).await, world.weight(&ways[1]).await), (Some(25), Some(25)));
    world.delete("TraefikService", "shop").await;
    world.pass(5).await;
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(5).await;
    assert_eq!(world.weight(&ways[1]).await, Some(0));
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("traefikservices.traefik.io \"shop\" not found"), "{message}");
}
