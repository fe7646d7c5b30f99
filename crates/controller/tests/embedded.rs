//! The whole controller on the in-process cluster, in virtual time.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::Text;
use tidegate_apiserver::ApiServer;
use tidegate_clock::Clock;
use tidegate_controller::{Controller, Insight, Options};
use tidegate_node_agent::{Agent, Defaults};
use tidegate_runtime::lease::Leadership;
use tidegate_runtime::metrics::Registry;
use tidegate_sim::Manager;

struct World {
    client: Client,
    insight: Insight,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

impl World {
    async fn new() -> Self {
        Self::with(Options::default()).await
    }

    async fn with(options: Options) -> Self {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let server = ApiServer::new(tidegate_apiserver::Options::new(clock));
        let client = Client::new(server, "default");
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
        let crds: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        for crd in tidegate_install::crds() {
            crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
        }
        let agent = tidegate_node_agent::Options {
            defaults: Defaults { processes: false, ..Defaults::default() },
            ..tidegate_node_agent::Options::default()
        };
        let manager = Manager::new(client.clone(), clock).run(std::future::pending());
        let agent = Agent::new(client.clone(), clock, agent);
        let controller = Controller::new(client.clone(), clock, options, Leadership::alone());
        let insight = controller.insight();
        let tasks = vec![
            tokio::spawn(manager),
            tokio::spawn(async move { agent.run(std::future::pending()).await }),
            tokio::spawn(controller.run(std::future::pending())),
        ];
        Self { client, insight, tasks }
    }

    fn rollouts(&self) -> Api<Rollout> {
        Api::default_namespaced(self.client.clone())
    }

    async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    async fn rollout(&self) -> Rollout {
        self.rollouts().get("shop").await.unwrap()
    }

    async fn told(&self) -> Vec<String> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Event"));
        let api: Api<DynamicObject> = Api::default_namespaced_with(self.client.clone(), &resource);
        let mut events = api.list(&ListParams::default()).await.unwrap().items;
        events.sort_by_key(|event| event.metadata.name.clone());
        events.iter().map(|event| event.data["reason"].as_str().unwrap().to_owned()).collect()
    }

    async fn sizes(&self) -> Vec<i32> {
        let api: Api<ReplicaSet> = Api::default_namespaced(self.client.clone());
        let mut sets = api.list(&ListParams::default()).await.unwrap().items;
        sets.sort_by_key(|set| set.metadata.annotations.as_ref().unwrap()["rollout.argoproj.io/revision"].clone());
        sets.iter().map(|set| set.spec.replicas.unwrap()).collect()
    }
}

fn rollout(strategy: Value) -> Rollout {
    serde_json::from_value(json!({"metadata": {"name": "shop"}, "spec": {
        "replicas": 4, "selector": {"matchLabels": {"app": "shop"}}, "strategy": strategy,
        "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": "shop:1"}]}},
    }}))
    .unwrap()
}

fn image(image: &str) -> Patch<Value> {
    Patch::Merge(json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}))
}

#[tokio::test(start_paused = true)]
async fn a_canary_lives_from_its_first_deploy_to_the_end_of_an_update() {
    let world = World::new().await;
    let api = world.rollouts();
    let canary = json!({"canary": {"steps": [{"setWeight": 25}, {"pause": {}}]}});
    api.create(&PostParams::default(), &rollout(canary)).await.unwrap();
    world.pass(30).await;
    let status = world.rollout().await.status.unwrap();
    assert_eq!(status.phase.text(), "Healthy", "{status:?}");

    api.patch("shop", &PatchParams::default(), &image("shop:2")).await.unwrap();
    world.pass(30).await;
    let status = world.rollout().await.status.unwrap();
    assert_eq!((status.phase.text(), status.message.text()), ("Paused", "CanaryPauseStep"), "{status:?}");
    assert_eq!(world.sizes().await, [3, 1]);

    let promote = Patch::Merge(json!({"status": {"pauseConditions": null}}));
    api.patch_status("shop", &PatchParams::default(), &promote).await.unwrap();
    world.pass(60).await;
    let status = world.rollout().await.status.unwrap();
    assert_eq!(status.phase.text(), "Healthy", "{status:?}");
    assert_eq!(world.sizes().await, [0, 4]);

    let told = world.told().await;
    let life: Vec<&str> = told.iter().map(String::as_str).filter(|reason| reason.starts_with("Rollout")).collect();
    assert_eq!(
        life,
        [
            "RolloutAddedToInformer",
            "RolloutUpdated",
            "RolloutNotCompleted",
            "RolloutCompleted",
            "RolloutUpdated",
            "RolloutNotCompleted",
            "RolloutStepCompleted",
            "RolloutPaused",
            "RolloutStepCompleted",
            "RolloutCompleted",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_blue_green_rollout_waits_for_its_service_and_switches_it() {
    let world = World::new().await;
    let api = world.rollouts();
    let strategy = json!({"blueGreen": {"activeService": "active"}});
    api.create(&PostParams::default(), &rollout(strategy)).await.unwrap();
    world.pass(5).await;
    let status = world.rollout().await.status.unwrap();
    assert!(status.message.text().contains("service \"active\" not found"), "{status:?}");

    let services: Api<Service> = Api::default_namespaced(world.client.clone());
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Service"));
    let raw: Api<DynamicObject> = Api::default_namespaced_with(world.client.clone(), &resource);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "active"},
        "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]}});
    raw.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    world.pass(30).await;
    let status = world.rollout().await.status.unwrap();
    assert_eq!(status.phase.text(), "Healthy", "{status:?}");

    api.patch("shop", &PatchParams::default(), &image("shop:2")).await.unwrap();
    world.pass(30).await;
    let status = world.rollout().await.status.unwrap();
    assert_eq!(status.phase.text(), "Healthy", "{status:?}");
    let selector = services.get("active").await.unwrap().spec.selector;
    assert_eq!(selector.get("rollouts-pod-template-hash"), status.stable_rs.as_ref());

    api.delete("shop", &kube::api::DeleteParams::default()).await.unwrap();
    world.pass(10).await;
    let selector = services.get("active").await.unwrap().spec.selector;
    assert_eq!(selector.get("rollouts-pod-template-hash"), None, "the Service is usable again");
    assert_eq!(world.sizes().await, [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn figures_follow_a_rollout_and_go_a_scrape_after_it_is_gone() {
    let world = World::new().await;
    let registry = Registry::default();
    world.insight.register(&registry);
    assert!(world.insight.missing().contains(&"rollouts"), "nothing has been listed yet");
    let api = world.rollouts();
    let canary = json!({"canary": {"steps": [{"setWeight": 25}, {"pause": {}}]}});
    api.create(&PostParams::default(), &rollout(canary)).await.unwrap();
    world.pass(30).await;
    assert_eq!(world.insight.missing(), [""; 0]);
    api.patch("shop", &PatchParams::default(), &image("shop:2")).await.unwrap();
    world.pass(90).await;
    let promote = Patch::Merge(json!({"status": {"pauseConditions": null}}));
    api.patch_status("shop", &PatchParams::default(), &promote).await.unwrap();
    world.pass(60).await;

    let text = registry.text();
    let object = "name=\"shop\",namespace=\"default\"";
    for line in [
        format!("rollout_info{{{object},phase=\"Completed\",strategy=\"canary\",traffic_router=\"\"}} 1\n"),
        format!("rollout_events_total{{{object},reason=\"NewReplicaSetCreated\",type=\"Normal\"}} 2\n"),
        format!("rollout_events_total{{{object},reason=\"RolloutPaused\",type=\"Normal\"}} 1\n"),
        format!("rollout_reconcile_bucket{{{object},le=\"0.15\"}} "),
        "rollout_duration_seconds_count{status=\"Promoted\"} 2\n".to_owned(),
        "rollout_manual_pause_duration_seconds_bucket{status=\"Promoted\",le=\"0\"} 1\n".to_owned(),
        "workqueue_depth{name=\"Rollouts\"} 0\n".to_owned(),
    ] {
        assert!(text.contains(&line), "no {line} in\n{text}");
    }
    assert!(!text.contains("rollout_reconcile_error"), "{text}");

    api.delete("shop", &kube::api::DeleteParams::default()).await.unwrap();
    world.pass(60).await;
    let text = registry.text();
    assert!(!text.contains("rollout_info{") && text.contains("rollout_events_total{"), "{text}");
    world.pass(10).await;
    let text = registry.text();
    assert!(!text.contains("namespace=\"default\""), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_namespaced_controller_sees_its_own_namespace_and_nothing_of_the_cluster() {
    let theirs = Options { namespace: Some("elsewhere".to_owned()), ..Options::default() };
    let world = World::with(theirs).await;
    world.rollouts().create(&PostParams::default(), &rollout(json!({"canary": {}}))).await.unwrap();
    world.pass(30).await;
    assert_eq!(world.insight.missing(), [""; 0], "ready without anything that belongs to the whole cluster");
    assert_eq!(world.insight.diagnostics()["cached"]["rollouts"], 0);
    assert_eq!(world.rollout().await.status, None);

    let ours = Options { namespace: Some("default".to_owned()), ..Options::default() };
    let world = World::with(ours).await;
    world.rollouts().create(&PostParams::default(), &rollout(json!({"canary": {}}))).await.unwrap();
    world.pass(30).await;
    assert_eq!(world.rollout().await.status.unwrap().phase.text(), "Healthy");
}
