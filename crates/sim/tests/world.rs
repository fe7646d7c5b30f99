//! Controllers and pods on the in-process API, an hour in a moment.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tidegate_apiserver::{ApiServer, Options};
use tidegate_clock::Clock;
use tidegate_node_agent::{Agent, Defaults};
use tidegate_sim::Manager;

/// A cluster in virtual time; everything stops when it is dropped.
struct World {
    client: Client,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl World {
    fn new() -> Self {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let server = ApiServer::new(Options::new(clock));
        let client = Client::new(server, "default");
        let agent = tidegate_node_agent::Options {
            defaults: Defaults { processes: false, ..Defaults::default() },
            ..tidegate_node_agent::Options::default()
        };
        let manager = Manager::new(client.clone(), clock).run(std::future::pending());
        let agent = Agent::new(client.clone(), clock, agent);
        let tasks = vec![tokio::spawn(manager), tokio::spawn(async move { agent.run(std::future::pending()).await })];
        Self { client, tasks }
    }

    async fn create<K>(&self, object: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + serde::de::DeserializeOwned
            + serde::Serialize
            + Clone
            + std::fmt::Debug,
    {
        let api: Api<K> = Api::default_namespaced(self.client.clone());
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

fn deployment(replicas: i32, image: &str) -> Value {
    json!({"metadata": {"name": "web"}, "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}}}})
}

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_available_and_rolls_to_a_new_image() {
    let world = World::new();
    world.create::<Deployment>(deployment(4, "web:1")).await;
    world.pass(30).await;
    let api: Api<Deployment> = Api::default_namespaced(world.client.clone());
    let status = api.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.available_replicas, status.updated_replicas), (Some(4), Some(4)), "{status:?}");

    let patch =
        Patch::Merge(json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}}));
    api.patch("web", &PatchParams::default(), &patch).await.unwrap();
    world.pass(60).await;

    let status = api.get("web").await.unwrap().status.unwrap();
    assert_eq!((status.replicas, status.available_replicas, status.updated_replicas), (Some(4), Some(4), Some(4)));
    let sets: Api<ReplicaSet> = Api::default_namespaced(world.client.clone());
    let sizes: Vec<Option<i32>> =
        sets.list(&ListParams::default()).await.unwrap().items.iter().map(|set| set.spec.replicas).collect();
    assert_eq!(sizes.iter().flatten().sum::<i32>(), 4, "{sizes:?}");
    let pods: Api<Pod> = Api::default_namespaced(world.client.clone());
    assert_eq!(pods.list(&ListParams::default()).await.unwrap().items.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_and_a_service_finds_its_pods() {
    let world = World::new();
    world
        .create::<Service>(
            json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}),
        )
        .await;
    world.create::<Deployment>(deployment(2, "web:1")).await;
    let pod = json!({"metadata": {"annotations": {"node-agent.tidegate.dev/exit-code": "0"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "job"}]}});
    world.create::<Job>(json!({"metadata": {"name": "once"}, "spec": {"template": pod}})).await;

    world.pass(60).await;

    let job = Api::<Job>::default_namespaced(world.client.clone()).get("once").await.unwrap();
    assert_eq!(job.status.as_ref().unwrap().succeeded, Some(1), "{:?}", job.status);
    let slices: Api<EndpointSlice> = Api::default_namespaced(world.client.clone());
    let slice = slices.list(&ListParams::default()).await.unwrap().items.remove(0);
    let ready = slice
        .endpoints
        .iter()
        .flatten()
        .filter(|endpoint| endpoint.conditions.as_ref().is_some_and(|c| c.ready == Some(true)))
        .count();
    assert_eq!(ready, 2, "{slice:?}");
    assert!(slice.name_any().starts_with("web"));
}
