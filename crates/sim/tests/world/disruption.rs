//! Disruption budgets and evictions.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use kube::ResourceExt;
use kube::api::{EvictParams, ListParams};
use serde_json::json;
use tidegate_sim::{Setting, World};

use crate::support::{api, create, deployment, pass, patch};

async fn evict(world: &World, name: &str) -> u16 {
    match api::<Pod>(world).evict(name, &EvictParams::default()).await {
        Ok(_) => 201,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

async fn status(world: &World) -> PodDisruptionBudgetStatus {
    api::<PodDisruptionBudget>(world).get("web").await.unwrap().status.unwrap()
}

fn numbers(status: &PodDisruptionBudgetStatus) -> [Option<i32>; 4] {
    [status.current_healthy, status.desired_healthy, status.expected_pods, status.disruptions_allowed]
}

#[tokio::test(start_paused = true)]
async fn evictions_are_granted_as_far_as_the_budget_allows() {
    let world = World::start(Setting::new(1));
    let budget = json!({"metadata": {"name": "web"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    create::<PodDisruptionBudget>(&world, budget).await;
    create::<Deployment>(&world, deployment("web", 3, "web:1")).await;
    pass(&world, 30).await;
    let before = status(&world).await;
    assert_eq!(numbers(&before), [Some(3), Some(2), Some(3), Some(1)]);
    assert_eq!(before.observed_generation, Some(1));
    assert_eq!(before.conditions.unwrap()[0].reason, "SufficientPods");

    let pods = api::<Pod>(&world).list(&ListParams::default()).await.unwrap().items;
    assert_eq!(evict(&world, &pods[0].name_any()).await, 201);
    assert_eq!(evict(&world, &pods[1].name_any()).await, 429, "the second one within the same moment");
    pass(&world, 30).await;
    assert_eq!(numbers(&status(&world).await), [Some(3), Some(2), Some(3), Some(1)], "a new pod took its place");
    assert_eq!(evict(&world, &pods[1].name_any()).await, 201);
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_percent_follows_the_size_of_the_deployment() {
    let world = World::start(Setting::new(1));
    let budget = json!({"metadata": {"name": "web"},
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}}});
    create::<PodDisruptionBudget>(&world, budget).await;
    create::<Deployment>(&world, deployment("web", 3, "web:1")).await;
    pass(&world, 30).await;
    assert_eq!(numbers(&status(&world).await), [Some(3), Some(2), Some(3), Some(1)]);

    patch::<Deployment>(&world, "web", json!({"spec": {"replicas": 6}})).await;
    pass(&world, 30).await;
    assert_eq!(numbers(&status(&world).await), [Some(6), Some(3), Some(6), Some(3)]);
}
