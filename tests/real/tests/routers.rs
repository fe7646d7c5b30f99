//! Traffic routers besides Istio on a real API server: each lives through a canary to its end, outside changes and an abort.
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
    json!({"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": image}]}})
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

    async fn deploy(&self) {
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
        for object in &self.way.objects {
            create(self.client, object, &self.namespace).await;
        }
        let mut routing = self.way.routing.clone();
        if let Some(config) = routing.pointer_mut("/plugins/argoproj-labs~1gatewayAPI") {
            config["namespace"] = json!(self.namespace);
        }
        let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": template("shop:1"),
            "strategy": {"canary": {"stableService": "stable", "canaryService": "canary", "scaleDownDelaySeconds": 1,
                "trafficRouting": routing, "steps": [{"setWeight": 30}, {"pause": {}}, {"setWeight": 60}, {"pause": {}}]}}}});
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

    async fn weight(&self) -> Option<i64> {
        let Place { kind, name, .. } = &self.way.place;
        let of = self.way.objects.iter().find(|object| object["kind"] == *kind).cloned();
        let of = of.unwrap_or_else(|| json!({"apiVersion": "split.smi-spec.io/v1alpha1", "kind": kind}));
        let found = api(self.client, &of, &self.namespace).get_opt(name).await.unwrap()?;
        self.way.place.weight(&serde_json::to_value(found).unwrap())
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

async fn lives_through_a_canary(client: &Client, way: &Way) {
    let namespace = way.name.to_lowercase().replace(' ', "-");
    let stage = Stage { client, way, namespace };
    stage.deploy().await;
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
    let options = Options::default();
    tokio::spawn(tidegate_controller::run(
        client.clone(),
        Clock::system(),
        options,
        Leadership::alone(),
        std::future::pending(),
    ));
    let ways = routers::all(&routers::SHOP);
    futures::future::join_all(ways.iter().map(|way| lives_through_a_canary(&client, way))).await;
}
