//! Objects and kinds that are not there.

use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use serde_json::{Value, json};
use tidegate_apiserver::{Before, Verb};
use tidegate_sim::routers::{
    self, SHOP, Way, alb, ambassador, apisix, app_mesh, crds as kinds, gateway_api, nginx, smi, traefik,
};

use super::{cluster, paused, running, strategy, together};
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
        (app_mesh(&SHOP), "Virtual-service is missing (VirtualService default/shop: create it"),
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
    for way in routers::all(&SHOP).into_iter().filter(|way| !way.objects.is_empty()) {
        let world = paused(&way).await;
        let object = way.objects.iter().find(|object| object["kind"] == way.place.kind).unwrap();
        world.delete(way.place.kind, object["metadata"]["name"].as_str().unwrap()).await;
        world.pass(5).await;
        assert_eq!(world.shown("shop").await.0, "Degraded", "{}", way.name);
        world.patch("Rollout", "shop", json!({"spec": {"replicas": 6}})).await;
        world.promote("shop").await;
        world.pass(30).await;
        assert_eq!(world.status("shop").await["currentStepIndex"], 1, "{}: no step is passed", way.name);
        assert_eq!(world.sizes("shop").await.iter().max(), Some(&6), "{}", way.name);
        world.create(object.clone()).await;
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
    let lost = [
        (traefik(&SHOP), "TraefikService", "shop", "traefikservices.traefik.io \"shop\" not found"),
        (nginx(&SHOP), "Ingress", "shop-web", "ingress.networking.k8s.io \"shop-web\" not found"),
        (ambassador(&SHOP), "Mapping", "shop", "mappings.getambassador.io \"shop\" not found"),
    ];
    for (way, kind, name, text) in lost {
        let ways = [way, gateway_api(&SHOP)];
        let world = paused(&together(&ways)).await;
        assert_eq!((world.weight(&ways[0]).await, world.weight(&ways[1]).await), (Some(25), Some(25)));
        world.delete(kind, name).await;
        world.pass(5).await;
        world.patch_status("shop", json!({"abort": true})).await;
        world.pass(5).await;
        assert_eq!(world.weight(&ways[1]).await, Some(0), "{kind}");
        let (phase, message) = world.shown("shop").await;
        assert_eq!(phase, "Degraded");
        assert!(message.contains(text), "{message}");
    }
}

/// With `dynamicStableScale` stable pods follow the stable weight: one that is not known is not zero.
#[tokio::test(start_paused = true)]
async fn an_ingress_whose_weights_somebody_took_away_costs_no_stable_pod() {
    let way = alb(&SHOP);
    let world = cluster().await;
    for object in &way.objects {
        world.create(object.clone()).await;
    }
    let mut strategy = strategy(&way);
    strategy["canary"]["dynamicStableScale"] = json!(true);
    world.create(rollout("shop", strategy)).await;
    world.pass(60).await;
    // Given a paused Rollout with a new version, and an Ingress without the annotation.
    world.patch("Rollout", "shop", json!({"spec": {"paused": true}})).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(5).await;
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 5}})).await;
    world.pass(5).await;
    let pods = world.sizes("shop").await.iter().copied().max();
    world.patch("Ingress", "shop", json!({"metadata": {"annotations": null}})).await;
    world.pass(5).await;
    assert_eq!((world.weight(&way).await, world.said().await), (Some(0), (0, 100)), "it is set back");
    // When it goes on.
    world.hinder(|call| {
        let is_pod = call.verb == Verb::Create && call.resource == "pods" && call.subresource == "binding";
        if is_pod { Before::Delay(Duration::from_secs(8)) } else { Before::Pass }
    });
    world.patch("Rollout", "shop", json!({"spec": {"paused": false}})).await;
    world.patch_status("shop", json!({"promoteFull": true})).await;
    world.pass(5).await;
    // Then the pods that serve stay until others do.
    assert!(world.sizes("shop").await.iter().copied().max() >= pods, "{:?}", world.sizes("shop").await);
    world.pass(90).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
}

/// Something wrong with the objects of a router.
struct Fault {
    way: Way,
    object: (&'static str, &'static str),
    breaks: Value,
    mends: Mending,
    /// What users are told.
    text: &'static str,
}

/// What users do about it.
enum Mending {
    Patch(Value),
    /// They delete the object, as they are told; the Rollout makes its own.
    Delete,
}

fn faults() -> Vec<Fault> {
    let refs = |canary: &str, port: i64| {
        json!({"spec": {"rules": [{"backendRefs": [
            {"name": "stable", "port": 80, "weight": 100}, {"name": canary, "port": port, "weight": 0}]}]}})
    };
    let services = |canary: &str| json!({"spec": {"weighted": {"services": [{"name": "stable"}, {"name": canary}]}}});
    let backends = |canary: &str| {
        let backend = |name: &str| json!({"serviceName": name, "servicePort": 80});
        let rule = json!({"name": "web", "match": {"paths": ["/*"]}, "backends": [backend("stable"), backend(canary)]});
        json!({"spec": {"http": [rule]}})
    };
    let ingress = |service: &str, port: Value| {
        let backend = json!({"service": {"name": service, "port": port}});
        let path = json!({"path": "/", "pathType": "Prefix", "backend": backend});
        json!({"spec": {"rules": [{"host": "shop.example", "http": {"paths": [path]}}]}})
    };
    let book =
        |text: Value| json!({"metadata": {"annotations": {"rollouts.argoproj.io/managed-alb-annotations": text}}});
    let annotated = json!({"name": "use-annotation"});
    let targets = |canary: &str| {
        let target = |node: &str, weight: i64| json!({"virtualNodeRef": {"name": node}, "weight": weight});
        let action = json!({"weightedTargets": [target("stable-node", 100), target(canary, 0)]});
        json!({"spec": {"routes": [{"name": "web", "httpRoute": {"match": {"prefix": "/"}, "action": action}}]}})
    };
    let fault = |way: Way, object, breaks, mends, text| {
        let mends = Mending::Patch(mends);
        Fault { way, object, breaks, mends, text }
    };
    vec![
        fault(
            gateway_api(&SHOP),
            ("HTTPRoute", "shop"),
            refs("other", 80),
            refs("canary", 80),
            "failed to set weight via plugin: backendRef was not found in httpRoute",
        ),
        fault(
            gateway_api(&SHOP),
            ("HTTPRoute", "shop"),
            refs("canary", 8080),
            refs("canary", 80),
            "spec.rules[0].backendRefs[1].port is 8080, but Service 'canary' has only 80",
        ),
        fault(
            traefik(&SHOP),
            ("TraefikService", "shop"),
            services("other"),
            services("canary"),
            "traefik canary service was not found",
        ),
        fault(
            apisix(&SHOP),
            ("ApisixRoute", "shop"),
            backends("other"),
            backends("canary"),
            "apisix route canary backend was not found",
        ),
        fault(
            nginx(&SHOP),
            ("Ingress", "shop-web"),
            ingress("other", json!({"number": 80})),
            ingress("stable", json!({"number": 80})),
            "ingress `shop-web` has no rules using service stable backend",
        ),
        fault(
            nginx(&SHOP),
            ("Ingress", "shop-web"),
            ingress("stable", json!({"number": 8080})),
            ingress("stable", json!({"number": 80})),
            "backend.service.port is 8080, but Service 'canary' has only 80",
        ),
        fault(
            alb(&SHOP),
            ("Ingress", "shop"),
            ingress("stable", json!({"number": 80})),
            ingress("stable", annotated),
            "no path to Service 'stable' has the port name use-annotation",
        ),
        fault(
            alb(&SHOP),
            ("Ingress", "shop"),
            book(json!("{not json")),
            book(Value::Null),
            "annotation rollouts.argoproj.io/managed-alb-annotations is not JSON of the form",
        ),
        fault(
            ambassador(&SHOP),
            ("Mapping", "shop"),
            json!({"spec": {"weight": 10}}),
            json!({"spec": {"weight": null}}),
            "Ambassador mapping \"shop\" can not define weight",
        ),
        fault(
            app_mesh(&SHOP),
            ("VirtualRouter", "shop"),
            targets("other-node"),
            targets("canary-node"),
            "spec.routes[0].httpRoute.action.weightedTargets",
        ),
        fault(
            app_mesh(&SHOP),
            ("VirtualRouter", "shop"),
            json!({"spec": {"routes": []}}),
            targets("canary-node"),
            "spec.routes",
        ),
        Fault {
            way: smi(&SHOP),
            object: ("TrafficSplit", "shop"),
            breaks: json!({"metadata": {"ownerReferences": null}}),
            mends: Mending::Delete,
            text: "Rollout does not own TrafficSplit `shop`",
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_an_object_is_told_pods_follow_and_its_correction_is_enough() {
    for Fault { way, object: (kind, name), breaks, mends, text } in faults() {
        // Given a healthy Rollout whose route is spoilt.
        let world = running(&way).await;
        world.patch(kind, name, breaks.clone()).await;
        world.pass(10).await;
        // When a new version comes and the size changes.
        world.patch("Rollout", "shop", image("shop:2")).await;
        world.patch("Rollout", "shop", json!({"spec": {"replicas": 6}})).await;
        world.pass(60).await;
        // Then no weight moves, users know why, and the pods are there all the same.
        let conditions = world.status("shop").await["conditions"].clone();
        let is_told = |condition: &Value| condition["message"].as_str().is_some_and(|message| message.contains(text));
        assert!(conditions.as_array().unwrap().iter().any(is_told), "{} {breaks}: {conditions:#}", way.name);
        assert_eq!(world.weight(&way).await.unwrap_or(0), 0, "{} {breaks}", way.name);
        assert!(world.sizes("shop").await.iter().sum::<i64>() >= 6, "{} {breaks}", way.name);
        // And once it is right the update goes on by itself.
        match mends {
            Mending::Patch(patch) => world.patch(kind, name, patch).await,
            Mending::Delete => world.delete(kind, name).await,
        };
        world.pass(60).await;
        let shown = world.shown("shop").await;
        assert_eq!(shown, ("Paused".to_owned(), "CanaryPauseStep".to_owned()), "{} {breaks}", way.name);
        assert_eq!(world.weight(&way).await, Some(25), "{} {breaks}", way.name);
    }
}
