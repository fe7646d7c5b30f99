//! A cluster, in this process or a real one, with our controller and a dashboard on it, in real time.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_clock::Clock;
use tidegate_controller::Controller;
use tidegate_dashboard::{Options, Server};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::{Setting, World as Cluster};
use tidegate_testbed::Testbed;
use tokio::task::JoinHandle;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Where it happens.
enum Place {
    /// A cluster in this process; it is gone when this is.
    Embedded(Cluster),
    Real(Box<Testbed>),
}

pub(crate) struct World {
    place: Place,
    /// The administrator.
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    controller: Option<JoinHandle<()>>,
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
    /// A cluster in this process with the CRDs and nothing that acts.
    pub(crate) async fn still() -> Self {
        let setting = Setting { epoch: Clock::system().now(), ..Setting::new(1) };
        let cluster = Cluster::empty(setting);
        let (client, clock) = (cluster.client("test"), cluster.clock());
        let world = Self { place: Place::Embedded(cluster), client, clock, controller: None };
        world.install().await;
        world
    }

    /// A cluster in this process that lives.
    pub(crate) async fn start() -> Self {
        let mut world = Self::still().await;
        if let Place::Embedded(cluster) = &mut world.place {
            cluster.add_nodes();
            cluster.add_manager();
        }
        world.lives().await;
        world
    }

    /// A real control plane, whose own controllers always act; ours does not.
    pub(crate) async fn real() -> Self {
        let testbed = Testbed::start(tidegate_testbed::Options::default()).await.unwrap();
        let client = testbed.client().await.unwrap();
        let world = Self { place: Place::Real(Box::new(testbed)), client, clock: Clock::system(), controller: None };
        world.install().await;
        world
    }

    async fn install(&self) {
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource("CustomResourceDefinition"));
        for crd in tidegate_install::crds() {
            all.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
        }
        // A real API server serves a kind a moment after it has heard of it.
        for kind in ["Rollout", "AnalysisRun", "AnalysisTemplate", "Experiment"] {
            let served = async {
                while self.api(kind, "default").list(&ListParams::default()).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            };
            tokio::time::timeout(PATIENCE, served).await.unwrap();
        }
    }

    /// A client as somebody else, so that it has connections of its own.
    async fn other_client(&self, user: &str) -> Client {
        match &self.place {
            Place::Embedded(cluster) => cluster.client(user),
            Place::Real(testbed) => testbed.client().await.unwrap(),
        }
    }

    /// From now on our controller acts.
    pub(crate) async fn lives(&mut self) {
        let options = tidegate_controller::Options { lacks_analysis: false, ..tidegate_controller::Options::default() };
        let client = self.other_client("rollouts-controller").await;
        let controller = Controller::new(client, self.clock, options, Leadership::alone());
        self.controller = Some(tokio::spawn(controller.run(std::future::pending())));
    }

    /// Nothing of ours acts any more, and nothing of ours is there.
    pub(crate) async fn is_cleared(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.abort();
            let _ = controller.await;
        }
        for kind in ["Rollout", "AnalysisRun", "Experiment", "ReplicaSet"] {
            let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource(kind));
            let gone = async {
                loop {
                    let left = all.list(&ListParams::default()).await.unwrap().items;
                    if left.is_empty() {
                        return;
                    }
                    for object in left {
                        let namespace = object.metadata.namespace.unwrap_or_default();
                        let name = object.metadata.name.unwrap_or_default();
                        let _ = self.api(kind, &namespace).delete(&name, &DeleteParams::default()).await;
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            };
            tokio::time::timeout(PATIENCE, gone).await.unwrap();
        }
    }

    /// The API server is gone, the dashboard is not.
    pub(crate) async fn loses_its_api(self) {
        match self.place {
            Place::Real(testbed) => testbed.stop().await,
            Place::Embedded(_) => panic!("a cluster in this process cannot be lost"),
        }
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
        Server::start(self.other_client("dashboard").await, self.clock, options).await.unwrap()
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
