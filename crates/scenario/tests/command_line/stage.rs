//! A cluster with a controller, and somebody at a terminal.

use std::ffi::OsString;
use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_cli::Streams;
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;
use tidegate_sim::{Setting, World};

/// A cluster, and a controller in it unless it was left out.
pub(crate) struct Stage {
    pub(crate) world: World,
}

/// How a kind is reached.
pub(crate) fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "Service" | "Pod" => ("", "v1"),
        "ReplicaSet" | "Deployment" => ("apps", "v1"),
        "VirtualService" | "DestinationRule" => ("networking.istio.io", "v1"),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1"),
        _ => ("argoproj.io", "v1alpha1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Runs in virtual time.
pub(crate) fn virtually(run: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run);
}

impl Stage {
    /// Nodes, workload controllers, our kinds and Istio's, and a controller.
    pub(crate) async fn open() -> Self {
        let mut stage = Self::without_controller().await;
        let (client, clock) = (stage.world.client("rollouts-controller"), stage.world.clock());
        // Tests play the part of those who run analyses.
        let options = Options { lacks_analysis: false, ..Options::default() };
        stage.world.add(tidegate_controller::run(client, clock, options, Leadership::alone(), std::future::pending()));
        stage.pass(5).await;
        stage
    }

    pub(crate) async fn without_controller() -> Self {
        let mut world = World::empty(Setting::new(3));
        let crds: Api<DynamicObject> = Api::all_with(world.client("user"), &resource("CustomResourceDefinition"));
        for crd in tidegate_install::crds().into_iter().chain(tidegate_sim::istio::crds()) {
            crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
        }
        world.add_nodes();
        world.add_manager();
        Self { world }
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.world.client("user"), "default", &resource(kind))
    }

    /// Creates an object; kind and API version are filled in.
    pub(crate) async fn create(&self, kind: &str, mut object: Value) {
        let fields = object.as_object_mut().unwrap();
        fields.insert("apiVersion".to_owned(), json!(resource(kind).api_version));
        fields.insert("kind".to_owned(), json!(kind));
        self.api(kind).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds)).await;
    }

    /// What the plugin prints on both streams.
    pub(crate) async fn says(&self, arguments: &[&str]) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams { out: &mut out, err: &mut err, out_is_terminal: false, err_is_terminal: false };
        let words = std::iter::once("kubectl-argo-rollouts").chain(arguments.iter().copied());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let client = self.world.client("user");
        tidegate_cli::run_on(client, self.world.clock(), "default", &words, &mut streams).await;
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    /// A new version of `shop`.
    pub(crate) async fn update(&self, template: Value) {
        self.patch("Rollout", "shop", json!({"spec": {"template": template}})).await;
    }

    /// Services that select all pods of `shop`.
    pub(crate) async fn services(&self, names: &[&str]) {
        for name in names {
            let spec = json!({"selector": {"app": "shop"}, "ports": [{"port": 80}]});
            self.create("Service", json!({"metadata": {"name": name}, "spec": spec})).await;
        }
    }
}

/// A pod template of `shop` with annotations that the nodes obey.
pub(crate) fn template(version: &str, annotations: Value) -> Value {
    json!({"metadata": {"labels": {"app": "shop"}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": format!("shop:{version}")}]}})
}

/// The Rollout `shop`.
pub(crate) fn rollout(replicas: i32, strategy: Value) -> Value {
    json!({"metadata": {"name": "shop"}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": "shop"}}, "template": template("1", json!({})),
        "strategy": strategy}})
}
