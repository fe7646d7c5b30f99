//! Rollouts behind routers besides Istio: each lives through the same canary.

mod kinds;
mod life;
mod trouble;

use serde_json::{Value, json};

use crate::world::{World, image, rollout, service};

/// One router: how a Rollout names it, its objects as users write them, and how the canary's weight is read.
struct Way {
    name: &'static str,
    /// What stands under `trafficRouting`.
    routing: Value,
    /// What users have made.
    objects: Vec<Value>,
    /// Where the canary's weight is: kind, name, and how to read it.
    place: (&'static str, &'static str, fn(&Value) -> Option<i64>),
}

/// The weight of the canary's entry in a list.
fn entry(list: &Value, name: &str) -> Option<i64> {
    let found = list.as_array()?.iter().find(|entry| entry[name] == "canary")?;
    found["weight"].as_i64().or_else(|| found["weight"].as_str()?.parse().ok())
}

fn traefik() -> Way {
    Way {
        name: "traefik",
        routing: json!({"traefik": {"weightedTraefikServiceName": "shop"}}),
        objects: vec![
            json!({"apiVersion": "traefik.io/v1alpha1", "kind": "TraefikService", "metadata": {"name": "shop"},
            "spec": {"weighted": {"sticky": {"cookie": {"name": "x"}}, "services": [
                {"name": "stable", "port": 80}, {"name": "canary", "port": 80}]}}}),
        ],
        place: ("TraefikService", "shop", |object| entry(&object["spec"]["weighted"]["services"], "name")),
    }
}

fn smi() -> Way {
    Way {
        name: "smi",
        routing: json!({"smi": {"trafficSplitName": "shop"}}),
        objects: Vec::new(),
        place: ("TrafficSplit", "shop", |object| entry(&object["spec"]["backends"], "service")),
    }
}

fn nginx() -> Way {
    let backend = json!({"service": {"name": "stable", "port": {"number": 80}}});
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
    Way {
        name: "nginx",
        routing: json!({"nginx": {"stableIngress": "shop"}}),
        objects: vec![json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop"},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": "shop.example", "http": {"paths": paths}}]}})],
        place: ("Ingress", "shop-shop-canary", |object| {
            object["metadata"]["annotations"]["nginx.ingress.kubernetes.io/canary-weight"].as_str()?.parse().ok()
        }),
    }
}

fn gateway_api() -> Way {
    let refs = json!([{"name": "stable", "port": 80, "weight": 100}, {"name": "canary", "port": 80, "weight": 0}]);
    Way {
        name: "gateway API",
        routing: json!({"plugins": {"argoproj-labs/gatewayAPI": {"httpRoute": "shop", "namespace": "default"}}}),
        objects: vec![
            json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "shop"},
            "spec": {"parentRefs": [{"name": "gate"}], "rules": [{"backendRefs": refs}]}}),
        ],
        place: ("HTTPRoute", "shop", |object| entry(&object["spec"]["rules"][0]["backendRefs"], "name")),
    }
}

fn alb() -> Way {
    let backend = json!({"service": {"name": "stable", "port": {"name": "use-annotation"}}});
    let paths = json!([{"path": "/*", "pathType": "ImplementationSpecific", "backend": backend}]);
    Way {
        name: "alb",
        routing: json!({"alb": {"ingress": "shop", "servicePort": 80}}),
        objects: vec![json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop"},
            "spec": {"ingressClassName": "alb", "rules": [{"http": {"paths": paths}}]}})],
        place: ("Ingress", "shop", |object| {
            let action = object["metadata"]["annotations"]["alb.ingress.kubernetes.io/actions.stable"].as_str()?;
            let action: Value = serde_json::from_str(action).ok()?;
            let group = action["ForwardConfig"]["TargetGroups"].as_array()?.first()?.clone();
            (group["ServiceName"] == "canary").then(|| group["Weight"].as_i64())?
        }),
    }
}

fn ambassador() -> Way {
    Way {
        name: "ambassador",
        routing: json!({"ambassador": {"mappings": ["shop"]}}),
        objects: vec![json!({"apiVersion": "getambassador.io/v2", "kind": "Mapping", "metadata": {"name": "shop"},
            "spec": {"prefix": "/", "service": "stable:80"}})],
        place: ("Mapping", "shop-canary", |object| object["spec"]["weight"].as_i64()),
    }
}

fn apisix() -> Way {
    let backends = json!([{"serviceName": "stable", "servicePort": 80}, {"serviceName": "canary", "servicePort": 80}]);
    Way {
        name: "apisix",
        routing: json!({"apisix": {"route": {"name": "shop", "rules": ["web"]}}}),
        objects: vec![
            json!({"apiVersion": "apisix.apache.org/v2", "kind": "ApisixRoute", "metadata": {"name": "shop"},
            "spec": {"http": [{"name": "web", "match": {"paths": ["/*"]}, "backends": backends}]}}),
        ],
        place: ("ApisixRoute", "shop", |object| {
            let backends = object["spec"]["http"][0]["backends"].as_array()?;
            backends.iter().find(|backend| backend["serviceName"] == "canary")?["weight"].as_i64()
        }),
    }
}

fn app_mesh() -> Way {
    let of = |kind: &str, name: &str, spec: Value| json!({"apiVersion": "appmesh.k8s.aws/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let node = |name: &str| of("VirtualNode", name, json!({"podSelector": {"matchLabels": {"app": "shop"}}}));
    let targets = json!([{"virtualNodeRef": {"name": "stable-node"}, "weight": 100}, {"virtualNodeRef": {"name": "canary-node"}, "weight": 0}]);
    let routes =
        json!([{"name": "web", "httpRoute": {"match": {"prefix": "/"}, "action": {"weightedTargets": targets}}}]);
    Way {
        name: "appMesh",
        routing: json!({"appMesh": {"virtualService": {"name": "shop"}, "virtualNodeGroup": {
            "canaryVirtualNodeRef": {"name": "canary-node"}, "stableVirtualNodeRef": {"name": "stable-node"}}}}),
        objects: vec![
            of(
                "VirtualService",
                "shop",
                json!({"provider": {"virtualRouter": {"virtualRouterRef": {"name": "shop"}}}}),
            ),
            of("VirtualRouter", "shop", json!({"routes": routes})),
            node("stable-node"),
            node("canary-node"),
        ],
        place: ("VirtualRouter", "shop", |object| {
            let targets = object["spec"]["routes"][0]["httpRoute"]["action"]["weightedTargets"].as_array()?;
            targets.iter().find(|target| target["virtualNodeRef"]["name"] == "canary-node")?["weight"].as_i64()
        }),
    }
}

fn all() -> Vec<Way> {
    vec![traefik(), smi(), nginx(), gateway_api(), alb(), ambassador(), apisix(), app_mesh()]
}

fn strategy(way: &Way) -> Value {
    json!({"canary": {"canaryService": "canary", "stableService": "stable", "trafficRouting": way.routing,
        "steps": [{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}, {"pause": {}}]}})
}

/// A cluster with the kinds of all routers.
async fn cluster() -> World {
    let mut crds = tidegate_install::crds();
    crds.extend(kinds::crds());
    let mut world = World::empty("2026-01-01T00:00:00Z", crds).await;
    world.start();
    world.create(service("stable")).await;
    world.create(service("canary")).await;
    world
}

/// A healthy Rollout behind a router.
async fn running(way: &Way) -> World {
    let world = cluster().await;
    for object in &way.objects {
        world.create(object.clone()).await;
    }
    world.create(rollout("shop", strategy(way))).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, ("Healthy".to_owned(), String::new()), "{}", way.name);
    world
}

/// A new version that has come to its first pause.
async fn paused(way: &Way) -> World {
    let world = running(way).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    let shown = world.shown("shop").await;
    assert_eq!(shown, ("Paused".to_owned(), "CanaryPauseStep".to_owned()), "{}", way.name);
    world
}

impl World {
    /// The canary's weight, as the router reads it.
    async fn weight(&self, way: &Way) -> Option<i64> {
        let (kind, name, read) = way.place;
        let found = self.api(kind).get_opt(name).await.unwrap()?;
        read(&serde_json::to_value(found).unwrap())
    }

    /// Canary and stable, as the status says it.
    async fn said(&self) -> (i64, i64) {
        let weights = self.status("shop").await["canary"]["weights"].clone();
        let of = |role: &str| weights[role]["weight"].as_i64().unwrap();
        (of("canary"), of("stable"))
    }
}
