//! A cluster in this process with our controller, in real time, and a dashboard on it.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_clock::Clock;
use tidegate_controller::Controller;
use tidegate_dashboard::{Options, Server};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::{Setting, World as Cluster};

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
}

fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "Rollout" | "AnalysisRun" | "AnalysisTemplate" | "Experiment" => ("argoproj.io", "v1alpha1"),
        "ReplicaSet" | "Deployment" => ("apps", "v1"),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1"),
        _ => ("", "v1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl World {
    /// A cluster with the CRDs and nothing that acts.
    pub(crate) async fn still() -> Self {
        let setting = Setting { epoch: Clock::system().now(), ..Setting::new(1) };
        let cluster = Cluster::empty(setting);
        let client = cluster.client("test");
        let world = Self { cluster, client };
        for crd in tidegate_install::crds() {
            let all: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource("CustomResourceDefinition"));
            all.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
        }
        world
    }

    /// A cluster that lives.
    pub(crate) async fn start() -> Self {
        let mut world = Self::still().await;
        world.cluster.add_nodes();
        world.cluster.add_manager();
        let options = tidegate_controller::Options { lacks_analysis: false, ..tidegate_controller::Options::default() };
        let controller = Controller::new(
            world.cluster.client("rollouts-controller"),
            world.cluster.clock(),
            options,
            Leadership::alone(),
        );
        world.cluster.add(controller.run(std::future::pending()));
        world
    }

    pub(crate) fn api(&self, kind: &str, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource(kind))
    }

    /// Makes a namespace that may be there already.
    async fn make_sure_of(&self, namespace: &str) {
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource("Namespace"));
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let _ = all.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await;
    }

    pub(crate) async fn create(&self, namespace: &str, object: Value) -> Value {
        self.make_sure_of(namespace).await;
        let kind = object["kind"].as_str().unwrap().to_owned();
        let status = object.get("status").cloned();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let api = self.api(&kind, namespace);
        let made = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        if let Some(status) = status {
            let patch = Patch::Merge(json!({"status": status}));
            let params = PatchParams::default();
            if api.patch_status(&name, &params, &patch).await.is_err() {
                api.patch(&name, &params, &patch).await.unwrap();
            }
        }
        serde_json::to_value(made).unwrap()
    }

    pub(crate) async fn get(&self, kind: &str, namespace: &str, name: &str) -> Value {
        serde_json::to_value(self.api(kind, namespace).get(name).await.unwrap()).unwrap()
    }

    pub(crate) async fn patch(&self, kind: &str, namespace: &str, name: &str, patch: Value) {
        let api = self.api(kind, namespace);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn patch_status(&self, kind: &str, namespace: &str, name: &str, patch: Value) {
        let api = self.api(kind, namespace);
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn delete(&self, kind: &str, namespace: &str, name: &str) {
        self.api(kind, namespace).delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until a Rollout is as it should be.
    pub(crate) async fn until(&self, namespace: &str, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        for _ in 0..300 {
            last = self.get("Rollout", namespace, name).await;
            if is(&last) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{name} is not {what}: {last:#}");
    }

    pub(crate) async fn until_phase(&self, namespace: &str, name: &str, phase: &str) -> Value {
        self.until(namespace, name, phase, |rollout| rollout["status"]["phase"] == phase).await
    }

    /// A dashboard on this cluster.
    pub(crate) async fn dashboard(&self, options: Options) -> Server {
        Server::start(self.cluster.client("dashboard"), self.cluster.clock(), options).await.unwrap()
    }

    /// A Rollout that has become healthy once and then got another image, so that it stands at its first pause.
    pub(crate) async fn paused_canary(&self, namespace: &str, name: &str) {
        self.create(namespace, canary(name)).await;
        self.until_phase(namespace, name, "Healthy").await;
        let template = json!({"spec": {"template": pod("shop/web:2.0")}});
        self.patch("Rollout", namespace, name, template).await;
        self.until_phase(namespace, name, "Paused").await;
    }
}

pub(crate) fn options() -> Options {
    Options { port: 0, ..Options::new("default", "v1.2.3+test") }
}

pub(crate) fn pod(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}})
}

pub(crate) fn canary(name: &str) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": name, "labels": {"team": "shop", "app": name}},
        "spec": {
            "replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": pod("shop/web:1.0"),
            "strategy": {"canary": {"steps": [{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}, {"pause": {}}]}},
        },
    })
}
