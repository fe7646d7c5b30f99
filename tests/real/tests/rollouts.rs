//! The controller on a real control plane: the lives of Rollouts without a mesh, side by side in namespaces.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_api::view::{Deployment, Pod, ReplicaSet, Service};
use tidegate_api::wire::Text;
use tidegate_clock::Clock;
use tidegate_controller::Options;
use tidegate_real_tests::{client, crds_are_served, kubectl_ok, manifests, start};
use tidegate_runtime::lease::{LeaseOptions, Timing, lead};

const HASH: &str = "rollouts-pod-template-hash";
const PATIENCE: Duration = Duration::from_secs(60);

/// One namespace with one Rollout.
struct Stage {
    client: Client,
    namespace: String,
}

impl Stage {
    async fn new(client: &Client, namespace: &str) -> Self {
        let stage = Self { client: client.clone(), namespace: namespace.to_owned() };
        let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource("", "Namespace"));
        create(&all, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
        stage
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn raw(&self, group: &str, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource(group, kind))
    }

    async fn service(&self, name: &str) {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]}});
        create(&self.raw("", "Service"), service).await;
    }

    async fn deploy(&self, strategy: Value) {
        self.deploy_pods(strategy, template("shop:1")).await;
    }

    async fn deploy_pods(&self, strategy: Value, template: Value) {
        let rollout: Rollout = serde_json::from_value(json!({"metadata": {"name": "shop"}, "spec": {
            "replicas": 4, "selector": {"matchLabels": {"app": "shop"}}, "strategy": strategy, "template": template,
        }}))
        .unwrap();
        self.api::<Rollout>().create(&PostParams::default(), &rollout).await.unwrap();
    }

    async fn patch(&self, patch: Value) {
        self.api::<Rollout>().patch("shop", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn say(&self, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.api::<Rollout>().patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
    }

    async fn image(&self, image: &str) {
        self.patch(json!({"spec": {"template": template(image)}})).await;
    }

    /// Waits until the status is as wanted and belongs to the spec.
    async fn until(&self, what: &str, is_it: impl Fn(&RolloutStatus) -> bool) -> RolloutStatus {
        let begun = Instant::now();
        loop {
            let rollout = self.api::<Rollout>().get("shop").await.unwrap();
            let status = rollout.status.unwrap_or_default();
            let generation = rollout.metadata.generation.unwrap().to_string();
            if status.observed_generation.text() == generation && is_it(&status) {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "{} is not {what}: {status:#?}", self.namespace);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn until_phase(&self, phase: &str) -> RolloutStatus {
        self.until(phase, |status| {
            status.phase.text() == phase && status.controller_pause.is_some() == (phase == "Paused")
        })
        .await
    }

    /// Sizes by what is written at a place of the pods.
    async fn sizes_by(&self, place: &str) -> Vec<(String, i32)> {
        let sets = self.api::<ReplicaSet>().list(&ListParams::default()).await.unwrap().items;
        let name = |set: &ReplicaSet| {
            let template = set.spec.template.as_ref().unwrap().to_value();
            template.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let mut sizes: Vec<(String, i32)> =
            sets.iter().map(|set| (name(set), set.spec.replicas.unwrap())).filter(|(_, size)| *size > 0).collect();
        sizes.sort();
        sizes
    }

    /// Sizes by image.
    async fn sizes(&self) -> Vec<(String, i32)> {
        self.sizes_by("/spec/containers/0/image").await
    }

    /// Sizes by mounted ConfigMap.
    async fn configs(&self) -> Vec<(String, i32)> {
        self.sizes_by("/spec/volumes/0/configMap/name").await
    }

    async fn until_sizes(&self, wanted: &[(&str, i32)]) {
        let begun = Instant::now();
        loop {
            let sizes = self.sizes().await;
            if sizes.iter().map(|(image, size)| (image.as_str(), *size)).eq(wanted.iter().copied()) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{}: wanted {wanted:?}, there are {sizes:?}", self.namespace);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn selected(&self, service: &str) -> String {
        let service = self.api::<Service>().get(service).await.unwrap();
        service.spec.selector.get(HASH).cloned().unwrap_or_default()
    }
}

fn resource(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

async fn create(api: &Api<DynamicObject>, object: Value) {
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": image}]}})
}

async fn canary(client: Client) {
    let stage = Stage::new(&client, "canary").await;
    stage.deploy(json!({"canary": {"steps": [{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}]}})).await;
    stage.until_phase("Healthy").await;

    stage.image("shop:2").await;
    stage.until_phase("Paused").await;
    stage.until_sizes(&[("shop:1", 3), ("shop:2", 1)]).await;
    stage.patch(json!({"spec": {"replicas": 8}})).await;
    stage.until_sizes(&[("shop:1", 6), ("shop:2", 2)]).await;

    stage.say(json!({"abort": true})).await;
    stage.until_phase("Degraded").await;
    stage.until_sizes(&[("shop:1", 8)]).await;
    stage.say(json!({"abort": false})).await;
    stage.until_phase("Paused").await;
    stage.say(json!({"pauseConditions": null})).await;
    stage.until_phase("Healthy").await;
    stage.until_sizes(&[("shop:2", 8)]).await;

    let old = undo(&stage, "shop:1").await;
    stage.until_phase("Paused").await;
    stage.say(json!({"promoteFull": true})).await;
    stage
        .until("healthy in revision 3", |status| {
            status.phase.text() == "Healthy" && status.stable_rs.as_ref() == Some(&old)
        })
        .await;
    let sets = stage.api::<ReplicaSet>().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(sets.len(), 2, "an undo makes no new ReplicaSet");
    restart(&stage).await;
}

/// Back to the template of an older image, as the API server filled it in: it finds the old ReplicaSet. Says its hash.
async fn undo(stage: &Stage, image: &str) -> String {
    let sets = stage.api::<ReplicaSet>().list(&ListParams::default()).await.unwrap().items;
    let templates = sets.iter().map(|set| (set, set.spec.template.as_ref().unwrap().to_value()));
    let (old, mut template) =
        templates.into_iter().find(|(_, template)| template["spec"]["containers"][0]["image"] == image).unwrap();
    template["metadata"]["labels"].as_object_mut().unwrap().remove(HASH);
    stage.patch(json!({"spec": {"template": template}})).await;
    old.metadata.labels.as_ref().unwrap()[HASH].clone()
}

/// All pods are new afterwards.
async fn restart(stage: &Stage) {
    let before: Vec<String> = pods(stage).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let now = Clock::system().now_seconds().to_string();
    stage.patch(json!({"spec": {"restartAt": now}})).await;
    stage
        .until("restarted", |status| {
            status.restarted_at.as_ref().is_some_and(|at| at.0 == now) && status.phase.text() == "Healthy"
        })
        .await;
    let after = pods(stage).await;
    assert!(before.iter().all(|pod| !after.contains(pod)), "{before:?} {after:?}");
}

async fn pods(stage: &Stage) -> Vec<String> {
    let pods = stage.api::<Pod>().list(&ListParams::default()).await.unwrap().items;
    let live = pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    live.filter_map(|pod| pod.metadata.name).collect()
}

async fn blue_green(client: Client) {
    let stage = Stage::new(&client, "blue-green").await;
    let strategy = json!({"activeService": "active", "previewService": "preview", "autoPromotionEnabled": false,
        "scaleDownDelaySeconds": 2});
    stage.deploy(json!({"blueGreen": strategy})).await;
    stage.until("told what is missing", |status| status.message.text().contains("service \"active\" not found")).await;
    stage.service("active").await;
    stage.service("preview").await;
    let first = stage.until_phase("Healthy").await.stable_rs.unwrap();
    assert_eq!(stage.selected("active").await, first);

    stage.image("shop:2").await;
    let paused = stage.until_phase("Paused").await;
    assert_eq!(
        (stage.selected("active").await, stage.selected("preview").await),
        (first.clone(), paused.current_pod_hash.unwrap())
    );
    stage.patch(json!({"spec": {"replicas": 6}})).await;
    stage.until_sizes(&[("shop:1", 6), ("shop:2", 6)]).await;
    stage.say(json!({"abort": true})).await;
    stage.until_phase("Degraded").await;
    assert_eq!(stage.selected("active").await, first);
    stage.say(json!({"abort": false})).await;
    stage.until_phase("Paused").await;
    stage.say(json!({"pauseConditions": null})).await;
    let second = stage.until_phase("Healthy").await.stable_rs.unwrap();
    assert_eq!(stage.selected("active").await, second);
    stage.until_sizes(&[("shop:2", 6)]).await;
    undo(&stage, "shop:1").await;
    stage
        .until("paused with the old template", |status| {
            status.phase.text() == "Paused" && status.current_pod_hash.as_ref() == Some(&first)
        })
        .await;
    assert_eq!(stage.selected("active").await, second);
    stage.say(json!({"promoteFull": true})).await;
    stage.until("back", |status| status.phase.text() == "Healthy" && status.stable_rs.as_ref() == Some(&first)).await;
    assert_eq!(stage.selected("active").await, first);
    stage.until_sizes(&[("shop:1", 6)]).await;
    restart(&stage).await;
    let second = first;

    // A Service that is deleted and made again gets its selector back.
    stage.api::<Service>().delete("active", &kube::api::DeleteParams::default()).await.unwrap();
    stage.service("active").await;
    let begun = Instant::now();
    while stage.selected("active").await != second {
        assert!(begun.elapsed() < PATIENCE, "the selector is not restored");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn migration(client: Client) {
    let stage = Stage::new(&client, "migration").await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {
        "replicas": 3, "selector": {"matchLabels": {"app": "shop"}}, "template": template("shop:1")}});
    create(&stage.raw("apps", "Deployment"), deployment).await;
    let rollout: Rollout = serde_json::from_value(json!({"metadata": {"name": "shop"}, "spec": {
        "replicas": 3, "strategy": {"canary": {"steps": [{"setWeight": 50}]}},
        "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "scaleDown": "onsuccess"},
    }}))
    .unwrap();
    stage.api::<Rollout>().create(&PostParams::default(), &rollout).await.unwrap();
    stage.until_phase("Healthy").await;
    let begun = Instant::now();
    while stage.api::<Deployment>().get("shop").await.unwrap().spec.replicas != Some(0) {
        let running = pods(&stage).await.len();
        assert!(running >= 3, "pods were lost: {running}");
        assert!(begun.elapsed() < PATIENCE, "the Deployment is not scaled down");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let stored = stage.api::<Rollout>().get("shop").await.unwrap();
    assert!(stored.spec.template.is_none() && stored.spec.selector.is_none(), "the lent template is never stored");

    let patch = Patch::Strategic(json!({"spec": {"template": template("shop:2")}}));
    stage.raw("apps", "Deployment").patch("shop", &PatchParams::default(), &patch).await.unwrap();
    stage.until_sizes(&[("shop:2", 3)]).await;
    stage
        .until("healthy again", |status| {
            status.phase.text() == "Healthy" && status.workload_observed_generation.text() == "3"
        })
        .await;
}

fn configured(config: &str) -> Value {
    let mut template = template("shop:1");
    template["spec"]["volumes"] = json!([{"name": "config", "configMap": {"name": config}}]);
    template["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "config", "mountPath": "/etc/shop"}]);
    template
}

/// Another size, as an autoscaler asks for it; says what it is told in return.
async fn scale(stage: &Stage, replicas: i32) -> Value {
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let scale = stage.api::<Rollout>().patch_scale("shop", &PatchParams::default(), &patch).await.unwrap();
    serde_json::to_value(scale).unwrap()
}

/// A new revision that only mounts another ConfigMap, with an autoscaler at work before, meanwhile and after.
async fn configuration(client: Client) {
    let stage = Stage::new(&client, "configuration").await;
    for name in ["config-1", "config-2"] {
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"name": name}});
        create(&stage.raw("", "ConfigMap"), object).await;
    }
    stage.deploy_pods(json!({"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}}), configured("config-1")).await;
    stage.until_phase("Healthy").await;
    stage.until_sizes(&[("shop:1", 4)]).await;
    let told = scale(&stage, 6).await;
    assert_eq!(told["status"]["selector"], "app=shop", "an autoscaler finds the pods by this");
    stage.until("six", |status| status.phase.text() == "Healthy" && status.hpa_replicas == Some(6)).await;

    stage.patch(json!({"spec": {"template": configured("config-2")}})).await;
    stage.until_phase("Paused").await;
    assert_eq!(stage.configs().await, [("config-1".to_owned(), 3), ("config-2".to_owned(), 3)]);
    scale(&stage, 8).await;
    stage.until("eight", |status| status.phase.text() == "Paused" && status.available_replicas == Some(8)).await;
    assert_eq!(stage.configs().await, [("config-1".to_owned(), 4), ("config-2".to_owned(), 4)]);
    scale(&stage, 2).await;
    stage.until("two", |status| status.phase.text() == "Paused" && status.replicas == Some(2)).await;
    stage.say(json!({"pauseConditions": null})).await;
    stage.until_phase("Healthy").await;
    assert_eq!(stage.configs().await, [("config-2".to_owned(), 2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canary_blue_green_and_migration_live_on_a_real_cluster() {
    let testbed = start().await;
    let crds = manifests().join("crds");
    kubectl_ok(&testbed, &["create", "-k", crds.to_str().unwrap()]).await;
    crds_are_served(&testbed).await;
    let client = client(&testbed).await;
    let clock = Clock::system();
    let options = LeaseOptions {
        namespace: "default".to_owned(),
        name: "argo-rollouts-controller-lock".to_owned(),
        identity: "test".to_owned(),
        timing: Timing::default(),
        field_manager: "rollouts-controller".to_owned(),
    };
    let wall = move || clock.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let (leadership, campaign) = lead(client.clone(), options, wall, std::future::pending());
    tokio::spawn(campaign);
    tokio::spawn(tidegate_controller::run(
        client.clone(),
        clock,
        Options::default(),
        leadership,
        std::future::pending(),
    ));

    let lives = [
        tokio::spawn(canary(client.clone())),
        tokio::spawn(blue_green(client.clone())),
        tokio::spawn(migration(client.clone())),
        tokio::spawn(configuration(client.clone())),
    ];
    for life in lives {
        life.await.unwrap();
    }
}
