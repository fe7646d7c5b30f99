//! Istio's objects on a real API server: GitOps tools that write them too, kinds that come and go, and a primary cluster.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
use tidegate_clock::Clock;
use tidegate_controller::Options;
use tidegate_real_tests::{client, crds_are_served, kubectl, kubectl_ok, manifests, start};
use tidegate_runtime::lease::Leadership;
use tidegate_testbed::Testbed;

const PATIENCE: Duration = Duration::from_secs(60);

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "VirtualService" | "DestinationRule" => ("networking.istio.io", "v1"),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1"),
        _ => ("", "v1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// What stands in Git.
fn virtual_service() -> Value {
    json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
    "metadata": {"name": "shop", "namespace": "default"},
    "spec": {"hosts": ["shop.example"], "http": [{"name": "web", "timeout": "4s", "route": [
        {"destination": {"host": "shop", "subset": "current"}, "weight": 100},
        {"destination": {"host": "shop", "subset": "next"}, "weight": 0},
    ]}]}})
}

fn rule() -> Value {
    json!({"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule",
    "metadata": {"name": "shop", "namespace": "default"},
    "spec": {"host": "shop", "subsets": [
        {"name": "current", "labels": {"app": "shop"}},
        {"name": "next", "labels": {"app": "shop"}},
    ]}})
}

/// A cluster with the controller, a Rollout, and what Git holds as files.
struct Stage {
    testbed: Testbed,
    client: Client,
    /// Where VirtualServices and DestinationRules are.
    routes: Client,
    git: PathBuf,
}

impl Stage {
    async fn new() -> Self {
        let testbed = start().await;
        let crds = manifests().join("crds");
        kubectl_ok(&testbed, &["create", "-k", crds.to_str().unwrap()]).await;
        crds_are_served(&testbed).await;
        let client = client(&testbed).await;
        let git = testbed.dir().join("git");
        std::fs::create_dir(&git).unwrap();
        let leadership = Leadership::alone();
        let run = tidegate_controller::run(
            client.clone(),
            Clock::system(),
            Options::default(),
            leadership,
            std::future::pending(),
        );
        tokio::spawn(run);
        Self { routes: client.clone(), testbed, client, git }
    }

    fn file(&self, object: &Value) -> String {
        let path = self.git.join(object["kind"].as_str().unwrap()).with_extension("json");
        std::fs::write(&path, object.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn rollouts(&self) -> Api<Rollout> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn deploy(&self) {
        let service =
            json!({"metadata": {"name": "shop"}, "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]}});
        let services: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), "default", &resource("Service"));
        services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
        let rollout: Rollout = serde_json::from_value(json!({"metadata": {"name": "shop"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": template("shop:1"),
            "strategy": {"canary": {"scaleDownDelaySeconds": 1, "steps": [{"setWeight": 30}, {"pause": {}}, {"setWeight": 60}, {"pause": {}}],
                "trafficRouting": {"istio": {"virtualService": {"name": "shop"},
                    "destinationRule": {"name": "shop", "canarySubsetName": "next", "stableSubsetName": "current"}}}}}}}))
        .unwrap();
        self.rollouts().create(&PostParams::default(), &rollout).await.unwrap();
    }

    async fn image(&self, image: &str) {
        let patch = Patch::Merge(json!({"spec": {"template": template(image)}}));
        self.rollouts().patch("shop", &PatchParams::default(), &patch).await.unwrap();
    }

    async fn say(&self, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.rollouts().patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits for a phase and words of the message or of a condition.
    async fn until(&self, phase: &str, message: &str) {
        let begun = Instant::now();
        loop {
            let rollout = self.rollouts().get("shop").await.unwrap();
            let status = rollout.status.unwrap_or_default();
            let is_current = status.observed_generation == rollout.metadata.generation.map(|number| number.to_string());
            let conditions = status.conditions.items().iter().map(|found| found.message.text());
            let is_said = conditions.chain([status.message.text()]).any(|said| said.contains(message));
            if is_current && status.phase.text() == phase && is_said {
                return;
            }
            let shown = (status.phase, status.message);
            assert!(begun.elapsed() < PATIENCE, "not {phase} ({message}) within {PATIENCE:?}: {shown:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn get(&self, kind: &str) -> Value {
        let api: Api<DynamicObject> = Api::namespaced_with(self.routes.clone(), "default", &resource(kind));
        serde_json::to_value(api.get("shop").await.unwrap()).unwrap()
    }

    async fn weights(&self) -> Vec<i64> {
        let entries = self.get("VirtualService").await["spec"]["http"][0]["route"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["weight"].as_i64().unwrap_or(0)).collect()
    }

    /// Waits until weights and labels are as the step asks for.
    async fn until_routed(&self, weights: &[i64], after: &str) {
        let begun = Instant::now();
        loop {
            let (seen, rule) = (self.weights().await, self.get("DestinationRule").await);
            let labels = rule["spec"]["subsets"].as_array().unwrap().clone();
            let is_labelled = labels.iter().all(|subset| {
                subset["labels"]["rollouts-pod-template-hash"].is_string() && subset["labels"]["app"] == "shop"
            });
            if seen == weights && is_labelled {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{after}: {seen:?} instead of {weights:?}, {labels:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": image}]}})
}

async fn install_istio(client: &Client) {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource("CustomResourceDefinition"));
    for crd in tidegate_sim::istio::crds() {
        api.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    }
}

/// Makes an object as soon as its kind is served.
async fn create(client: &Client, object: Value) {
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "default", &resource(object["kind"].as_str().unwrap()));
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let begun = Instant::now();
    while let Err(error) = api.create(&PostParams::default(), &object).await {
        assert!(begun.elapsed() < PATIENCE, "{error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Everything a GitOps tool may do with what Git holds; afterwards weights and labels are those of the step.
async fn sync_in_every_way(stage: &Stage, weights: &[i64]) {
    for object in [virtual_service(), rule()] {
        let file = stage.file(&object);
        let kind = object["kind"].as_str().unwrap();
        kubectl_ok(&stage.testbed, &["apply", "-f", &file]).await;
        stage.until_routed(weights, &format!("apply {kind}")).await;
        kubectl_ok(&stage.testbed, &["replace", "-f", &file]).await;
        stage.until_routed(weights, &format!("replace {kind}")).await;
        let apply = ["apply", "--server-side", "--field-manager=argocd-controller", "-f", file.as_str()];
        let plain = kubectl(&stage.testbed, &apply).await;
        if weights != [100, 0] {
            assert!(!plain.succeeded && plain.err.contains("rollouts-controller"), "a conflict: {}", plain.err);
        }
        stage.until_routed(weights, &format!("server-side apply {kind}")).await;
        kubectl_ok(&stage.testbed, &[&apply[..], &["--force-conflicts"]].concat()).await;
        stage.until_routed(weights, &format!("forced server-side apply {kind}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_and_the_controller_agree_after_every_step_and_at_the_end() {
    let stage = Stage::new().await;
    install_istio(&stage.client).await;
    for object in [virtual_service(), rule()] {
        create(&stage.client, object).await;
    }
    stage.deploy().await;
    stage.until("Healthy", "").await;
    stage.image("shop:2").await;
    stage.until("Paused", "CanaryPauseStep").await;
    sync_in_every_way(&stage, &[70, 30]).await;
    stage.say(json!({"pauseConditions": null})).await;
    stage.until_routed(&[40, 60], "the second step").await;
    stage.until("Paused", "CanaryPauseStep").await;
    sync_in_every_way(&stage, &[40, 60]).await;
    stage.say(json!({"abort": true})).await;
    stage.until_routed(&[100, 0], "abort").await;
    stage.image("shop:3").await;
    stage.until("Paused", "CanaryPauseStep").await;
    stage.say(json!({"promoteFull": true})).await;
    stage.until("Healthy", "").await;
    stage.until_routed(&[100, 0], "the end").await;
    assert_eq!(stage.get("VirtualService").await["spec"], virtual_service()["spec"], "as in Git, nothing left over");
    let version = stage.get("VirtualService").await["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.get("VirtualService").await["metadata"]["resourceVersion"], version, "and nobody writes any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn istio_comes_after_the_rollout_and_goes_in_the_middle() {
    let stage = Stage::new().await;
    stage.deploy().await;
    stage.until("Degraded", "the server could not find the requested resource").await;
    install_istio(&stage.client).await;
    for object in [virtual_service(), rule()] {
        create(&stage.client, object).await;
    }
    let begun = Instant::now();
    stage.until("Healthy", "").await;
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    stage.image("shop:2").await;
    stage.until("Paused", "CanaryPauseStep").await;

    let api: Api<DynamicObject> = Api::all_with(stage.client.clone(), &resource("CustomResourceDefinition"));
    for crd in tidegate_sim::istio::crds() {
        api.delete(crd["metadata"]["name"].as_str().unwrap(), &DeleteParams::default()).await.unwrap();
    }
    stage.until("Degraded", "spec.strategy.canary.trafficRouting.istio").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_live_in_the_primary_cluster_that_a_secret_leads_to() {
    let primary = start().await;
    let routes = client(&primary).await;
    install_istio(&routes).await;
    let mut stage = Stage::new().await;
    stage.routes = routes.clone();
    let kubeconfig = primary.kubeconfig();
    remote_secret(&stage, "istio-remote-secret-primary", &kubeconfig).await;
    for object in [virtual_service(), rule()] {
        create(&routes, object).await;
    }
    stage.deploy().await;
    stage.until("Healthy", "").await;
    stage.image("shop:2").await;
    stage.until("Paused", "CanaryPauseStep").await;
    stage.until_routed(&[70, 30], "the first step").await;

    let git = Patch::Merge(json!({"spec": virtual_service()["spec"]}));
    let api: Api<DynamicObject> = Api::namespaced_with(routes.clone(), "default", &resource("VirtualService"));
    api.patch("shop", &PatchParams::default(), &git).await.unwrap();
    stage.until_routed(&[70, 30], "a change by somebody else").await;
    stage.say(json!({"abort": true})).await;
    stage.until_routed(&[100, 0], "abort").await;

    remote_secret(&stage, "istio-remote-secret-second", &kubeconfig).await;
    stage.until("Degraded", "leave it on one of them").await;
    kubectl_ok(&stage.testbed, &["delete", "secret", "istio-remote-secret-second"]).await;
    stage.say(json!({"abort": false})).await;
    stage.until_routed(&[70, 30], "another try").await;
}

/// A Secret of the shape that `istioctl create-remote-secret` makes, marked for us.
async fn remote_secret(stage: &Stage, name: &str, kubeconfig: &Path) {
    let from = format!("--from-file=primary={}", kubeconfig.display());
    kubectl_ok(&stage.testbed, &["create", "secret", "generic", name, &from]).await;
    let labels = ["istio.argoproj.io/primary-cluster=true", "istio/multiCluster=true"];
    kubectl_ok(&stage.testbed, &["label", "secret", name, labels[0], labels[1]]).await;
}
