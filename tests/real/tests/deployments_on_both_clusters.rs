//! The same Deployment, rolled over three revisions by the same client code, on a real cluster and on the embedded one.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tidegate_apiserver::{ApiServer, Options};
use tidegate_clock::Clock;
use tidegate_node_agent::{Agent, Defaults};
use tidegate_real_tests::{client, start};
use tidegate_sim::Manager;

/// What one cluster made of it: sizes of ReplicaSets in the order they changed, and the objects in the end.
#[derive(Debug, PartialEq)]
struct Story {
    scales: Vec<String>,
    deployment: Value,
    sets: Vec<Value>,
}

fn image(set: &ReplicaSet) -> String {
    let pod = set.spec.template.as_ref().and_then(|template| template.spec.as_ref()).unwrap();
    pod.containers[0].image.clone().unwrap()
}

async fn tell(client: Client, namespace: &str) -> Story {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), namespace);
    let from = sets.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    // One pod at a time, never one too few: the order does not depend on how fast pods start.
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    let template = json!({"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "web:1", "resources": {}}]}});
    let wanted = json!({"metadata": {"name": "web"}, "spec": {"replicas": 3, "strategy": rolling,
        "selector": {"matchLabels": {"app": "web"}}, "template": template}});
    deployments.create(&PostParams::default(), &serde_json::from_value(wanted).unwrap()).await.unwrap();
    settled(&deployments).await;
    for image in ["web:2", "web:1"] {
        let containers = json!([{"name": "main", "image": image}]);
        let patch = Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": containers}}}}));
        deployments.patch("web", &PatchParams::default(), &patch).await.unwrap();
        settled(&deployments).await;
    }
    Story {
        scales: scales(&sets, &from).await,
        deployment: summary_of_deployment(&deployments.get("web").await.unwrap()),
        sets: summaries_of_sets(&sets.list(&ListParams::default()).await.unwrap().items),
    }
}

/// Waits until the Deployment is complete and says so.
async fn settled(api: &Api<Deployment>) {
    for _ in 0..600 {
        let deployment = api.get("web").await.unwrap();
        let status = deployment.status.clone().unwrap_or_default();
        let is_seen = status.observed_generation == deployment.metadata.generation;
        let done = [status.replicas, status.updated_replicas, status.available_replicas] == [Some(3); 3];
        if is_seen && done && status.unavailable_replicas.is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("does not settle: {:?}", api.get("web").await.unwrap().status);
}

async fn scales(api: &Api<ReplicaSet>, from: &str) -> Vec<String> {
    let mut events = std::pin::pin!(api.watch(&WatchParams::default().timeout(5), from).await.unwrap());
    let mut sizes: BTreeMap<String, i32> = BTreeMap::new();
    let mut scales = Vec::new();
    while let Ok(Some(Ok(event))) = tokio::time::timeout(Duration::from_secs(2), events.next()).await {
        let (WatchEvent::Added(set) | WatchEvent::Modified(set)) = event else { continue };
        let size = set.spec.replicas.unwrap();
        if sizes.insert(set.name_any(), size) != Some(size) {
            scales.push(format!("{} to {size}", image(&set)));
        }
    }
    scales
}

fn summary_of_deployment(deployment: &Deployment) -> Value {
    let status = deployment.status.clone().unwrap();
    let mut conditions: Vec<Value> = status
        .conditions
        .iter()
        .flatten()
        .map(|condition| json!([condition.type_, condition.status, condition.reason]))
        .collect();
    conditions.sort_by_key(Value::to_string);
    json!({
        "annotations": deployment.metadata.annotations,
        "generation": deployment.metadata.generation,
        "status": [status.observed_generation, status.ready_replicas.map(i64::from), status.unavailable_replicas.map(i64::from)],
        "conditions": conditions,
    })
}

fn summaries_of_sets(sets: &[ReplicaSet]) -> Vec<Value> {
    let mut all: Vec<Value> = sets
        .iter()
        .map(|set| {
            let owner = set.metadata.owner_references.as_ref().unwrap()[0].clone();
            json!({
                "image": image(set),
                "replicas": set.spec.replicas,
                "annotations": set.metadata.annotations,
                "labels": set.metadata.labels.as_ref().unwrap().keys().collect::<Vec<_>>(),
                "owner": [owner.kind, owner.name],
                "status": set.status.as_ref().map(|status| [Some(status.replicas), status.ready_replicas, status.available_replicas]),
            })
        })
        .collect();
    all.sort_by_key(Value::to_string);
    all
}

fn on_the_embedded_cluster() -> Story {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let client = Client::new(ApiServer::new(Options::new(clock)), "default");
        let options = tidegate_node_agent::Options {
            defaults: Defaults { processes: false, ..Defaults::default() },
            ..tidegate_node_agent::Options::default()
        };
        let agent = Agent::new(client.clone(), clock, options);
        tokio::spawn(Manager::new(client.clone(), clock).run(std::future::pending()));
        tokio::spawn(agent.run(std::future::pending()));
        tell(client, "default").await
    })
}

#[test]
fn a_deployment_rolled_over_three_revisions_ends_alike_and_scales_in_the_same_order() {
    let embedded = on_the_embedded_cluster();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let real = runtime.block_on(async {
        let testbed = start().await;
        let namespace = testbed.namespace("deployment").await.unwrap();
        let story = tell(client(&testbed).await, &namespace).await;
        testbed.stop().await;
        story
    });
    assert_eq!(embedded, real);
    assert_eq!(real.scales.len(), 13, "{:?}", real.scales);
}
