//! Cluster, controller and mesh put together, in virtual time.

use std::sync::{Arc, OnceLock};

use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_apiserver::ApiServer;
use tidegate_clock::Clock;
use tidegate_controller::{Analysis, Connect, Options};
use tidegate_node_agent::Defaults;
use tidegate_sim::World;
use tidegate_sim::experiment::USER;
use tokio::time::Instant;

use crate::answers::Answers;
use crate::input::Input;
use crate::loads;
use crate::metrics::{self, Answered};
use crate::play::PlayError;
use crate::seen::Seen;
use crate::setting::Setting;
use crate::traffic::{self, Traffic};
use crate::weather::{self, Weather};

/// The name under which the controller acts.
pub(crate) const CONTROLLER: &str = "rollouts-controller";

/// Everything a run needs; all of it stops when it is dropped.
pub(crate) struct Stage {
    pub world: World,
    pub client: Client,
    pub clock: Clock,
    pub seen: Arc<Seen>,
    pub traffic: Arc<Traffic>,
    pub weather: Arc<Weather>,
    /// When the update began.
    pub begun: Arc<OnceLock<Instant>>,
    /// What was assumed about metrics.
    pub told: Vec<String>,
    pub objects: Vec<Value>,
}

impl Stage {
    /// A cluster with the controller in it and nothing else.
    pub(crate) fn open(input: &Input, setting: &Setting) -> Result<Self, PlayError> {
        let weather = Arc::new(Weather::default());
        let faults = Arc::clone(&weather) as Arc<dyn tidegate_apiserver::Faults>;
        let like = Some(prepared().ok_or_else(|| PlayError::Refused("the kinds could not be made known".to_owned()))?);
        let mut world =
            World::empty(tidegate_sim::Setting { faults, like, ..tidegate_sim::Setting::new(setting.seed) });
        let (client, clock) = (world.client(USER), world.clock());
        let seen = Arc::new(Seen::default());
        let listening = Arc::clone(&seen);
        world.journal().listen(Box::new(move |change, _| listening.take_in(change)));
        world.add_nodes_with(Defaults {
            start_delay: setting.pod_start.from,
            start_spread: setting.pod_start.to.saturating_sub(setting.pod_start.from),
            ..Defaults::default()
        });
        world.add_manager();
        let splits: Vec<_> = input.rollouts.iter().filter_map(|rollout| loads::split(input, rollout)).collect();
        seen.lock().follows_rollouts = !splits.is_empty();
        let traffic = Traffic::new(setting.seed, clock, Arc::clone(&seen), setting.versions.clone(), splits);
        let traffic = Arc::new(traffic);
        world.add(traffic::follow(Arc::clone(&traffic)));
        let begun = Arc::new(OnceLock::new());
        let answers =
            Answers { traffic: Arc::clone(&traffic), given: setting.metrics.clone(), begun: Arc::clone(&begun) };
        let (answers, way) = (Arc::new(answers), world.client(CONTROLLER));
        let options = move || Options {
            analysis: Some(Analysis::over(Arc::clone(&answers) as Arc<dyn tidegate_providers::Transport>)),
            experiments: Some(10),
            connect: connect(&way),
            ..Options::default()
        };
        world.add(weather::supervise(world.client(CONTROLLER), clock, Arc::clone(&weather), options));
        let Answered { objects, told } = metrics::answered(input, setting);
        Ok(Self { world, client, clock, seen, traffic, weather, begun, told, objects })
    }

    /// Makes everything the files hold.
    pub(crate) async fn create_all(&self, input: &Input) -> Result<(), PlayError> {
        for namespace in input.namespaces() {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            let api = api_of(&self.client, &object);
            if api.get_opt(namespace).await?.is_none() {
                create(&api, &object).await?;
            }
        }
        for object in &self.objects {
            let api = api_of(&self.client, object);
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if object["kind"] == "Namespace" && api.get_opt(name).await?.is_some() {
                continue;
            }
            create(&api, object).await?;
        }
        Ok(())
    }
}

async fn create(api: &Api<DynamicObject>, object: &Value) -> Result<(), PlayError> {
    let what = || format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"));
    let parsed: DynamicObject =
        serde_json::from_value(object.clone()).map_err(|error| PlayError::Refused(format!("{}: {error}", what())))?;
    match api.create(&PostParams::default(), &parsed).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(PlayError::Refused(format!("{}: {}", what(), status.message))),
        Err(error) => Err(error.into()),
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Istio's primary cluster, should there be one, is played by this cluster as well.
fn connect(way: &Client) -> Connect {
    let way = way.clone();
    Arc::new(move |_| Box::pin(std::future::ready(Ok(way.clone()))))
}

/// The API of an object's own kind, in its own namespace.
pub(crate) fn api_of(client: &Client, object: &Value) -> Api<DynamicObject> {
    let (group, version) = text(object, "/apiVersion").split_once('/').unwrap_or(("", text(object, "/apiVersion")));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text(object, "/kind")));
    match text(object, "/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    }
}

/// A server that knows our kinds and those of routers, made once: every run begins with one like it.
fn prepared() -> Option<ApiServer> {
    static SERVER: OnceLock<Option<ApiServer>> = OnceLock::new();
    // On a thread of its own: whoever asks is inside a runtime.
    SERVER.get_or_init(|| std::thread::spawn(prepare).join().ok().flatten()).clone()
}

fn prepare() -> Option<ApiServer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().ok()?;
    runtime.block_on(async {
        let world = World::empty(tidegate_sim::Setting::new(0));
        let client = world.client(USER);
        let kinds = tidegate_install::crds().into_iter().chain(tidegate_sim::istio::crds());
        for crd in kinds.chain(tidegate_sim::routers::crds()) {
            create(&api_of(&client, &crd), &crd).await.ok()?;
        }
        Some(world.server().clone())
    })
}
