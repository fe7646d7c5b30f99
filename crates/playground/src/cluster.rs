//! The cluster: the API, nodes, workload controllers, the mesh and our controller, put together in real time.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tidegate_clock::Clock;
use tidegate_controller::{Analysis, Options};
use tidegate_manifest::{DuplicateKeys, Source};
use tidegate_mesh::{Config, Outcome};
use tidegate_node_agent::Defaults;
use tidegate_providers::client::Roots;
use tidegate_providers::{Hosts, Proxies};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::{LiveMesh, MeshSetting, Setting, World};

use crate::error::PlaygroundError;
use crate::kept::Kept;
use crate::prometheus::Metrics;
use crate::scenario::{NAMESPACE, Scenario, Speed};
use crate::versions;

/// Who the controller says it is.
const CONTROLLER: &str = "rollouts-controller";
/// Who sets up the demo.
const PLAYGROUND: &str = "playground";
/// Proxies of the mesh, and how late they may be.
const PROXIES: usize = 3;
const MOST_BEHIND: Duration = Duration::from_millis(500);
/// How often the counters of the mesh are looked at: often, so that people see an analysis judge soon.
const SAMPLED_EVERY: Duration = Duration::from_secs(1);
/// How often to look whether the demo is there.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Experiments that are worked on at once.
const EXPERIMENTS: usize = 10;

/// A running cluster; everything in it ends when it is dropped.
pub(crate) struct Cluster {
    pub(crate) world: World,
    pub(crate) mesh: LiveMesh,
    /// Where everything that is drawn comes from.
    pub(crate) seed: u64,
}

impl Cluster {
    /// Starts everything but the demo.
    pub(crate) async fn start(speed: Speed, kept: Option<&Kept>) -> Result<Self, PlaygroundError> {
        let clock = Clock::system();
        let now = clock.now();
        // Names and uids are to differ from those of the last time.
        let seed = u64::try_from(now.as_microsecond()).unwrap_or(0);
        let mut world = World::empty(Setting { epoch: now, ..Setting::new(seed) });
        match kept {
            Some(kept) => kept.restore(world.server())?,
            None => {
                let client = world.client(PLAYGROUND);
                for crd in tidegate_install::crds().into_iter().chain(tidegate_sim::istio::crds()) {
                    create(&client, &crd).await?;
                }
            }
        }
        world.tell_what_is_missing();
        world.add_nodes_with(pods(speed));
        world.add_manager();
        world.add(versions::annotate(world.client(PLAYGROUND)));
        let setting = MeshSetting { seed, proxies: PROXIES, most_behind: MOST_BEHIND };
        let mesh = world.add_mesh_sampled(setting, Vec::new(), speed.of(SAMPLED_EVERY));
        let network = tidegate_providers::Client::new(Hosts::default(), Proxies::default(), Roots::System)
            .map_err(|error| PlaygroundError::Tls(error.to_string()))?;
        let analysis = Analysis::over(Arc::new(Metrics::new(mesh.clone(), network)));
        let options = Options { analysis: Some(analysis), experiments: Some(EXPERIMENTS), ..Options::default() };
        let (client, clock) = (world.client(CONTROLLER), world.clock());
        world.add(tidegate_controller::run(client, clock, options, Leadership::alone(), std::future::pending()));
        Ok(Self { world, mesh, seed })
    }

    /// Creates what a manifest holds.
    pub(crate) async fn create_all(&self, manifests: &str) -> Result<(), PlaygroundError> {
        let client = self.world.client(PLAYGROUND);
        let documents = Source::new("demo.yaml", manifests)
            .all_documents(DuplicateKeys::Refuse)
            .map_err(|errors| PlaygroundError::Manifest(errors.to_string()))?;
        // What a Rollout names is there before it, so that the first thing people read is no complaint.
        let is_rollout = |kind: &Value| kind["kind"] == "Rollout";
        let (last, first): (Vec<_>, Vec<_>) = documents.iter().partition(|document| is_rollout(document.value()));
        for document in first.into_iter().chain(last) {
            create(&client, document.value()).await?;
        }
        Ok(())
    }
}

/// Sends requests to the demo from the moment that every proxy knows pods of it: before that they could only fail, and whoever
/// counts failures wants to see those of versions.
pub(crate) async fn send_load(mesh: LiveMesh, scenario: Scenario, speed: Speed) {
    let request = scenario.request();
    loop {
        let is_there = {
            let mesh = mesh.now();
            let views = mesh.proxies().distinct_views(mesh.now());
            let is_served = |view: &Config| matches!(view.route(&request, 0).outcome, Outcome::Served { .. });
            !views.is_empty() && views.iter().all(is_served)
        };
        if is_there {
            mesh.now().loads = vec![scenario.load(speed)];
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Pods take as long to start as people can follow.
fn pods(speed: Speed) -> Defaults {
    Defaults {
        start_delay: speed.of(Duration::from_millis(1500)),
        stop_delay_min: speed.of(Duration::from_secs(1)),
        stop_delay_max: speed.of(Duration::from_secs(2)),
        ..Defaults::default()
    }
}

async fn create(client: &Client, object: &Value) -> Result<(), PlaygroundError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")));
    let api: Api<DynamicObject> = match text("kind") {
        "CustomResourceDefinition" => Api::all_with(client.clone(), &resource),
        _ => Api::namespaced_with(client.clone(), NAMESPACE, &resource),
    };
    let refused = |source: kube::Error| PlaygroundError::Refused {
        what: format!("{} {}", text("kind"), object["metadata"]["name"].as_str().unwrap_or_default()),
        source: Box::new(source),
    };
    let body = serde_json::from_value(object.clone()).map_err(|error| refused(kube::Error::SerdeError(error)))?;
    api.create(&PostParams::default(), &body).await.map_err(refused)?;
    Ok(())
}
