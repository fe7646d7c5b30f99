//! A cluster with the controller in it, in virtual time.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use tidegate_apiserver::ApiServer;
use tidegate_clock::Clock;
use tidegate_node_agent::{Agent, Defaults};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::Manager;
use tokio::task::JoinSet;

/// Everything stops when it is dropped.
pub(crate) struct World {
    pub client: Client,
    pub clock: Clock,
    _tasks: JoinSet<()>,
}

impl World {
    /// A fresh cluster. Pods are ready 0.3 s after they were bound and gone 1 s after their deletion, as they were when
    /// the traces were recorded.
    pub(crate) async fn new() -> Result<Self> {
        let epoch = "2026-01-01T00:00:00Z".parse().context("the epoch is a time")?;
        let clock = Clock::simulated(epoch);
        let server = ApiServer::new(tidegate_apiserver::Options::new(clock));
        let client = Client::new(server, "default");
        let resource = resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let crds: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        for crd in tidegate_install::crds() {
            crds.create(&PostParams::default(), &serde_json::from_value(crd)?).await?;
        }
        let agent = tidegate_node_agent::Options {
            defaults: Defaults {
                start_delay: Duration::from_millis(300),
                stop_delay_min: Duration::from_secs(1),
                stop_delay_max: Duration::from_secs(1),
                processes: false,
                ..Defaults::default()
            },
            ..tidegate_node_agent::Options::default()
        };
        let agent = Agent::new(client.clone(), clock, agent);
        let options = tidegate_controller::Options::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(Manager::new(client.clone(), clock).run(std::future::pending()));
        tasks.spawn(async move { agent.run(std::future::pending()).await });
        tasks.spawn(tidegate_controller::run(
            client.clone(),
            clock,
            options,
            Leadership::alone(),
            std::future::pending(),
        ));
        Ok(Self { client, clock, _tasks: tasks })
    }
}

/// How a kind is reached.
pub(crate) fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// The API of a kind that scenarios may name.
pub(crate) fn api(client: &Client, namespace: &str, kind: &str) -> Api<DynamicObject> {
    let resource = match kind {
        "Rollout" | "AnalysisRun" | "AnalysisTemplate" | "Experiment" => resource("argoproj.io", "v1alpha1", kind),
        "VirtualService" | "DestinationRule" => resource("networking.istio.io", "v1alpha3", kind),
        "ReplicaSet" | "Deployment" => resource("apps", "v1", kind),
        "Job" => resource("batch", "v1", kind),
        _ => resource("", "v1", kind),
    };
    Api::namespaced_with(client.clone(), namespace, &resource)
}
