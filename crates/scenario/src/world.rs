//! A cluster with the controller in it, in virtual time.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Result;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tidegate_apiserver::ApiServer;
use tidegate_clock::Clock;
use tidegate_controller::{Analysis, Options};
use tidegate_node_agent::Defaults;
use tidegate_runtime::lease::Leadership;
use tidegate_sim::Setting;
use tidegate_sim::experiment::USER;
use tokio::task::JoinHandle;

use crate::metrics::Metrics;

/// Everything stops when it is dropped.
pub(crate) struct World {
    pub client: Client,
    pub clock: Clock,
    world: tidegate_sim::World,
    controller: JoinHandle<()>,
    metrics: Metrics,
    /// Controllers there were so far.
    controllers: usize,
}

impl World {
    /// A fresh cluster.
    pub(crate) async fn new(metrics: Metrics) -> Result<Self> {
        let mut world = tidegate_sim::World::empty(Setting::new(0));
        let (client, clock) = (world.client(USER), world.clock());
        install_crds(&client).await?;
        world.add_nodes_with(recorded_pods());
        world.add_manager();
        let controller = start(&world, "rollouts-controller", &metrics);
        Ok(Self { client, clock, world, controller, metrics, controllers: 1 })
    }

    /// Runs something until the world is dropped.
    pub(crate) fn add(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.world.add(task);
    }

    /// Ends the controller, as if it had never been there.
    pub(crate) fn end_controller(&self) {
        self.controller.abort();
    }

    /// Starts another controller; gives it some time and says what it has written, apart from events and measurements.
    pub(crate) async fn start_successor(&mut self, time: Duration) -> Vec<String> {
        let name = format!("successor-{}", self.controllers);
        self.controllers += 1;
        let (written, own): (Arc<Mutex<Vec<String>>>, String) = (Arc::default(), name.clone());
        let noting = Arc::clone(&written);
        self.world.journal().listen(Box::new(move |change, _| {
            // Measurements go on whoever takes them.
            let is_work = change.key.0 == "events" || change.key.0.starts_with("analysisruns");
            if change.client == own && !is_work {
                let line = format!("{:?} {}/{} {}", change.verb, change.key.0, change.key.2, change.subresource);
                noting.lock().unwrap_or_else(PoisonError::into_inner).push(line.trim_end().to_owned());
            }
        }));
        self.controller = start(&self.world, &name, &self.metrics);
        tokio::time::sleep(time).await;
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *written)
    }
}

/// Pods are ready 0.3 s after they were bound and gone 1 s after their deletion, as they were when the traces were recorded.
pub(crate) fn recorded_pods() -> Defaults {
    Defaults {
        start_delay: Duration::from_millis(300),
        stop_delay_min: Duration::from_secs(1),
        stop_delay_max: Duration::from_secs(1),
        ..Defaults::default()
    }
}

fn start(world: &tidegate_sim::World, name: &str, metrics: &Metrics) -> JoinHandle<()> {
    let analysis = Some(Analysis::over(Arc::new(metrics.clone())));
    let options = Options { analysis, experiments: Some(10), ..Options::default() };
    let (client, clock) = (world.client(name), world.clock());
    tokio::spawn(tidegate_controller::run(client, clock, options, Leadership::alone(), std::future::pending()))
}

/// Makes our kinds and those of Istio known.
pub(crate) async fn install_crds(client: &Client) -> kube::Result<()> {
    install(client, tidegate_install::crds().into_iter().chain(tidegate_sim::istio::crds())).await
}

async fn install(client: &Client, kinds: impl IntoIterator<Item = Value>) -> kube::Result<()> {
    let resource = resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    for crd in kinds {
        let crd = serde_json::from_value(crd).map_err(kube::Error::SerdeError)?;
        crds.create(&PostParams::default(), &crd).await?;
    }
    Ok(())
}

/// A server that knows these kinds, made once: every seed begins with one like it. None if they cannot be made known; then
/// every seed fails for want of them.
pub(crate) fn prepared() -> Option<ApiServer> {
    static SERVER: OnceLock<Option<ApiServer>> = OnceLock::new();
    // On a thread of its own: whoever asks may be inside a runtime.
    let made = || std::thread::spawn(|| prepare(Vec::new())).join().ok().flatten();
    SERVER.get_or_init(made).clone()
}

/// The same with the kinds of other routers.
pub(crate) fn prepared_with_routers() -> Option<ApiServer> {
    static SERVER: OnceLock<Option<ApiServer>> = OnceLock::new();
    let made = || std::thread::spawn(|| prepare(tidegate_sim::routers::crds())).join().ok().flatten();
    SERVER.get_or_init(made).clone()
}

fn prepare(more: Vec<Value>) -> Option<ApiServer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().ok()?;
    runtime.block_on(async {
        let world = tidegate_sim::World::empty(Setting::new(0));
        install_crds(&world.client(USER)).await.ok()?;
        install(&world.client(USER), more).await.ok()?;
        Some(world.server().clone())
    })
}

/// How a kind is reached.
pub(crate) fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// The API of an object's own kind.
pub(crate) fn api_of(client: &Client, namespace: &str, object: &Value) -> Api<DynamicObject> {
    let (version, kind) =
        (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str().unwrap_or_default());
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    Api::namespaced_with(client.clone(), namespace, &resource(group, version, kind))
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
