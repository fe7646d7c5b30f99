//! Traffic routers besides Istio on a real API server: each lives through a canary to its end, outside changes, an abort and an object
//! that comes late; header routes and experiments where it has them; several at once.
//!
//! Ingresses are the API server's own, the kinds of the Gateway API are the real ones, those of the others as small as they
//! can be.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_clock::Clock;
use tidegate_controller::Options;
use tidegate_real_tests::{client, crds_are_served, kubectl_ok, manifests, start};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::routers::{self, Place, Way};
use tidegate_testbed::prepare_gateway_api_kinds;

const PATIENCE: Duration = Duration::from_secs(60);

fn api(client: &Client, object: &Value, namespace: &str) -> Api<DynamicObject> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")));
    if namespace.is_empty() {
        return Api::all_with(client.clone(), &resource);
    }
    Api::namespaced_with(client.clone(), namespace, &resource)
}

/// Makes an object as soon as its kind is served.
async fn create(client: &Client, object: &Value, namespace: &str) {
    let begun = Instant::now();
    let made: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    while let Err(error) = api(client, object, namespace).create(&PostParams::default(), &made).await {
        assert!(begun.elapsed() < PATIENCE, "{error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn template(image: &str) -> Value {
    // Experiments make their Services from the ports.
    let container = json!({"name": "main", "image": image, "ports": [{"containerPort": 80}]});
    json!({"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [container]}})
}

/// One router in a namespace of its own.
struct Stage<'a> {
    client: &'a Client,
    way: &'a Way,
    namespace: String,
}

impl Stage<'_> {
    fn rollouts(&self) -> Api<DynamicObject> {
        api(self.client, &json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}), &self.namespace)
    }

    /// Everything but the objects of the router and the Rollout.
    async fn prepare(&self) {
        create(
            self.client,
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}),
            "",
        )
        .await;
        for role in ["stable", "canary"] {
            let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": role},
                "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]}});
            create(self.client, &service, &self.namespace).await;
        }
    }

    async fn add_objects(&self) {
        for object in &self.way.objects {
            create(self.client, object, &self.namespace).await;
        }
    }

    async fn deploy(&self, steps: Value) {
        let mut routing = self.way.routing.clone();
        if steps.to_string().contains("beta") {
            routing["managedRoutes"] = json!([{"name": "beta"}]);
        }
        if let Some(config) = routing.pointer_mut("/plugins/argoproj-labs~1gatewayAPI") {
            config["namespace"] = json!(self.namespace);
        }
        let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": template("shop:1"),
            "strategy": {"canary": {"stableService": "stable", "canaryService": "canary", "scaleDownDelaySeconds": 1,
                "trafficRouting": routing, "steps": steps}}}});
        create(self.client, &rollout, &self.namespace).await;
    }

    async fn image(&self, image: &str) {
        let patch = Patch::Merge(json!({"spec": {"template": template(image)}}));
        self.rollouts().patch("shop", &PatchParams::default(), &patch).await.unwrap();
    }

    async fn say(&self, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.rollouts().patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
    }

    /// The object that says where requests go, or another of its kind.
    async fn route(&self, name: &str) -> Option<Value> {
        let kind = self.way.place.kind;
        let of = self.way.objects.iter().find(|object| object["kind"] == kind).cloned();
        let of = of.unwrap_or_else(|| json!({"apiVersion": "split.smi-spec.io/v1alpha1", "kind": kind}));
        let found = api(self.client, &of, &self.namespace).get_opt(name).await.unwrap()?;
        Some(serde_json::to_value(found).unwrap())
    }

    async fn weight(&self) -> Option<i64> {
        self.way.place.weight(&self.route(&self.way.place.name).await?)
    }

    /// Waits for something about the Rollout and its route.
    async fn until_so(&self, what: &str, is_so: impl Fn(&Value, &Value) -> bool) {
        let begun = Instant::now();
        loop {
            let rollout = serde_json::to_value(self.rollouts().get("shop").await.unwrap()).unwrap();
            let route = self.route(&self.way.place.name).await.unwrap_or_default();
            if is_so(&rollout, &route) {
                return;
            }
            let name = self.way.name;
            assert!(
                begun.elapsed() < PATIENCE,
                "{name}: {what} not within {PATIENCE:?}: {:#} {route:#}",
                rollout["status"]
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Whether requests with the header go to the canary.
    async fn has_header_route(&self) -> bool {
        let Some(route) = self.route(&self.way.place.name).await else { return false };
        match self.way.name {
            "alb" => {
                let annotations = &route["metadata"]["annotations"];
                let condition = annotations["alb.ingress.kubernetes.io/conditions.beta"].as_str().unwrap_or_default();
                let action = annotations["alb.ingress.kubernetes.io/actions.beta"].as_str().unwrap_or_default();
                let path = &route["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"];
                condition.contains("x-beta") && action.contains("\"ServiceName\":\"canary\"") && path == "beta"
            }
            "apisix" => self.route("beta").await.is_some_and(|route| route.to_string().contains("x-beta")),
            _ => route["spec"]["rules"].to_string().contains("x-beta"),
        }
    }

    /// Waits for a phase, the weight in the router's object, and the same weight in the status.
    async fn until(&self, phase: &str, weight: i64) {
        let begun = Instant::now();
        loop {
            let rollout = serde_json::to_value(self.rollouts().get("shop").await.unwrap()).unwrap();
            let status = &rollout["status"];
            let generation = rollout["metadata"]["generation"].to_string();
            let is_current = status["observedGeneration"].as_str() == Some(generation.as_str());
            let said = status["canary"]["weights"]["canary"]["weight"].as_i64().unwrap_or(0);
            let found = self.weight().await.unwrap_or(0);
            if is_current && status["phase"] == phase && said == weight && found == weight {
                return;
            }
            let name = self.way.name;
            assert!(
                begun.elapsed() < PATIENCE,
                "{name}: not {phase} with {weight} within {PATIENCE:?}: {} {}, said {said}, found {found}",
                status["phase"],
                status["message"]
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Somebody writes what stands in Git, again and again.
    async fn sync(&self, weight: i64) {
        let Place { kind, name, .. } = &self.way.place;
        let Some(object) =
            self.way.objects.iter().find(|found| found["kind"] == *kind && found["metadata"]["name"] == *name)
        else {
            return;
        };
        for _ in 0..5 {
            let patch = Patch::Merge(
                json!({"spec": object["spec"], "metadata": {"annotations": object["metadata"]["annotations"]}}),
            );
            let params = PatchParams { field_manager: Some("argocd".to_owned()), ..PatchParams::default() };
            api(self.client, object, &self.namespace).patch(name, &params, &patch).await.unwrap();
            self.until("Paused", weight).await;
        }
    }
}

fn steps() -> Value {
    json!([{"setWeight": 30}, {"pause": {}}, {"setWeight": 60}, {"pause": {}}])
}

fn stage<'a>(client: &'a Client, way: &'a Way, purpose: &str) -> Stage<'a> {
    let namespace = format!("{purpose}-{}", way.name.to_lowercase().replace(' ', "-"));
    Stage { client, way, namespace }
}

async fn lives_through_a_canary(client: &Client, way: &Way) {
    let stage = stage(client, way, "life");
    stage.prepare().await;
    stage.deploy(steps()).await;
    // Its objects are missing first: that is said, and their arrival is enough.
    if let Some(object) = way.objects.first() {
        let name = object["metadata"]["name"].as_str().unwrap();
        let is_told = |rollout: &Value, _: &Value| {
            let status = &rollout["status"];
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let invalid = conditions.iter().find(|condition| condition["type"] == "InvalidSpec");
            status["phase"] == "Degraded" && invalid.is_some_and(|found| found["message"].to_string().contains(name))
        };
        stage.until_so("a condition that names the missing object", is_told).await;
    }
    stage.add_objects().await;
    stage.until("Healthy", 0).await;
    // A whole update.
    stage.image("shop:2").await;
    stage.until("Paused", 30).await;
    stage.sync(30).await;
    stage.say(json!({"pauseConditions": null})).await;
    stage.until("Paused", 60).await;
    stage.say(json!({"pauseConditions": null})).await;
    stage.until("Healthy", 0).await;
    // And one that is aborted.
    stage.image("shop:3").await;
    stage.until("Paused", 30).await;
    stage.say(json!({"abort": true})).await;
    stage.until("Degraded", 0).await;
}

/// A header route comes with its step and goes with an abort.
async fn routes_by_header(client: &Client, way: &Way) {
    let stage = stage(client, way, "header");
    stage.prepare().await;
    stage.add_objects().await;
    let matches = json!([{"headerName": "x-beta", "headerValue": {"exact": "yes"}}]);
    let header = json!({"setHeaderRoute": {"name": "beta", "match": matches}});
    stage.deploy(json!([{"setCanaryScale": {"replicas": 1}}, header, {"pause": {}}])).await;
    stage.until("Healthy", 0).await;
    assert!(!stage.has_header_route().await, "{}", way.name);
    stage.image("shop:2").await;
    // Its weight cannot be waited for: to whoever has the header everything goes to the canary.
    stage.until_so("the pause after the header route", |rollout, _| rollout["status"]["phase"] == "Paused").await;
    assert!(stage.has_header_route().await, "{}: {:#}", way.name, stage.route(&way.place.name).await.unwrap());
    stage.say(json!({"abort": true})).await;
    let begun = Instant::now();
    while stage.has_header_route().await {
        assert!(begun.elapsed() < PATIENCE, "{}: the header route is still there", way.name);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stage.until("Degraded", 0).await;
}

/// A template of an experiment gets its weight while it runs, and none after.
async fn routes_to_experiments(client: &Client, way: &Way) {
    let stage = stage(client, way, "experiment");
    stage.prepare().await;
    stage.add_objects().await;
    let template = json!({"name": "extra", "specRef": "canary", "replicas": 1, "weight": 10});
    stage.deploy(json!([{"experiment": {"duration": "6s", "templates": [template]}}, {"pause": {}}])).await;
    stage.until("Healthy", 0).await;
    let has_extra = |route: &Value| {
        let all = routers::splits(route).into_iter().flatten();
        all.into_iter().any(|(service, weight)| weight == 10 && service != "stable" && service != "canary")
    };
    stage.image("shop:2").await;
    stage.until_so("weight on the experiment", |_, route| has_extra(route)).await;
    stage
        .until_so("the end of the experiment", |rollout, route| {
            rollout["status"]["phase"] == "Paused" && !has_extra(route)
        })
        .await;
}

/// Several routers of one Rollout have the same weight at every step, and an abort takes it from all.
async fn have_the_same_weight(client: &Client, ways: &[Way]) {
    let mut routing = serde_json::Map::new();
    ways.iter().for_each(|way| routing.extend(way.routing.as_object().unwrap().clone()));
    let objects = ways.iter().flat_map(|way| way.objects.clone()).collect();
    let together = Way { name: "together", routing: routing.into(), objects, place: ways[0].place.clone() };
    let all = stage(client, &together, "several");
    all.prepare().await;
    all.add_objects().await;
    all.deploy(steps()).await;
    let everywhere = async |phase: &str, weight: i64| {
        for way in ways {
            Stage { client, way, namespace: all.namespace.clone() }.until(phase, weight).await;
        }
    };
    everywhere("Healthy", 0).await;
    all.image("shop:2").await;
    everywhere("Paused", 30).await;
    all.say(json!({"pauseConditions": null})).await;
    everywhere("Paused", 60).await;
    all.say(json!({"abort": true})).await;
    everywhere("Degraded", 0).await;
}

/// A port that the canary does not have gets no weight; its correction is enough, and pods are there meanwhile.
async fn waits_for_a_port(client: &Client, way: &Way) {
    let stage = stage(client, way, "port");
    stage.prepare().await;
    let spoilt = |object: &Value, port: u16| -> Value {
        serde_json::from_str(&object.to_string().replace("\"port\":80", &format!("\"port\":{port}"))).unwrap()
    };
    let object = &way.objects[0];
    create(client, &spoilt(object, 8080), &stage.namespace).await;
    stage.deploy(steps()).await;
    stage.until("Healthy", 0).await;
    stage.image("shop:2").await;
    let is_told = |rollout: &Value, _: &Value| {
        let conditions = rollout["status"]["conditions"].to_string();
        rollout["status"]["updatedReplicas"] == 1 && conditions.contains("is 8080, but Service 'canary' has only 80")
    };
    stage.until_so("a condition that names the port", is_told).await;
    assert_eq!(stage.weight().await.unwrap_or(0), 0);
    let mend = Patch::Merge(json!({"spec": spoilt(object, 80)["spec"]}));
    let name = object["metadata"]["name"].as_str().unwrap();
    api(client, object, &stage.namespace).patch(name, &PatchParams::default(), &mend).await.unwrap();
    stage.until("Paused", 30).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_router_lives_through_a_canary_outside_changes_and_an_abort_on_a_real_api_server() {
    let testbed = start().await;
    let crds = manifests().join("crds");
    kubectl_ok(&testbed, &["create", "-k", crds.to_str().unwrap()]).await;
    crds_are_served(&testbed).await;
    let gateway = prepare_gateway_api_kinds().unwrap();
    kubectl_ok(&testbed, &["create", "-f", gateway.to_str().unwrap()]).await;
    let client = client(&testbed).await;
    for crd in routers::crds() {
        if crd["spec"]["group"] != "gateway.networking.k8s.io" {
            create(&client, &crd, "").await;
        }
    }
    let options = Options { experiments: Some(4), ..Options::default() };
    tokio::spawn(tidegate_controller::run(
        client.clone(),
        Clock::system(),
        options,
        Leadership::alone(),
        std::future::pending(),
    ));
    let names = routers::SHOP;
    let mut ways = routers::all(&names);
    ways.extend(routers::more_gateway_api(&names));
    futures::future::join_all(ways.iter().map(|way| lives_through_a_canary(&client, way))).await;
    let mut by_header = vec![routers::alb(&names), routers::apisix(&names), routers::gateway_api(&names)];
    by_header.extend(routers::more_gateway_api(&names).into_iter().filter(|way| way.place.kind == "GRPCRoute"));
    assert_eq!(by_header.len(), 4);
    futures::future::join_all(by_header.iter().map(|way| routes_by_header(&client, way))).await;
    let with_experiments = [routers::smi(&names), routers::alb(&names), routers::gateway_api(&names)];
    futures::future::join_all(with_experiments.iter().map(|way| routes_to_experiments(&client, way))).await;
    let several = [routers::nginx(&names), routers::gateway_api(&names), routers::traefik(&names)];
    have_the_same_weight(&client, &several).await;
    waits_for_a_port(&client, &routers::gateway_api(&names)).await;
}
