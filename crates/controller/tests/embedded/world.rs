//! A cluster in virtual time whose API can refuse, and that counts what the controller asks of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_apiserver::{After, ApiServer, Before, Call, Deliver, Delivery, Faults, StatusError, Verb};
use tidegate_clock::Clock;
use tidegate_controller::{Controller, Insight, Options};
use tidegate_node_agent::{Agent, Defaults};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::Manager;
use tokio::task::JoinSet;

/// One request of the controller: method and path.
pub(crate) type Asked = (String, String);

type Rule = Box<dyn Fn(&Call<'_>) -> Before + Send>;

/// Refuses or delays what it was told to.
#[derive(Default)]
struct Hindrance(Mutex<Option<Rule>>, Mutex<Option<&'static str>>, Mutex<Option<&'static str>>);

impl Faults for Hindrance {
    fn before(&self, call: &Call<'_>) -> Before {
        let rule = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rule.as_ref().map_or(Before::Pass, |rule| rule(call))
    }

    fn after(&self, call: &Call<'_>, _: u16) -> After {
        let mute = self.2.lock().unwrap_or_else(PoisonError::into_inner);
        if *mute == Some(call.resource) && call.verb == Verb::Patch { After::Silence } else { After::Pass }
    }

    fn deliver(&self, delivery: &Delivery<'_>) -> Deliver {
        let deaf = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if *deaf == Some(delivery.resource) { Deliver::Drop } else { Deliver::Pass }
    }
}

/// Passes requests on and notes them.
#[derive(Clone)]
struct Noted {
    server: ApiServer,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl tower_service::Service<http::Request<kube::client::Body>> for Noted {
    type Response = http::Response<tidegate_apiserver::Body>;
    type Error = std::convert::Infallible;
    type Future = <ApiServer as tower_service::Service<http::Request<kube::client::Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        tower_service::Service::<http::Request<kube::client::Body>>::poll_ready(&mut self.server, context)
    }

    fn call(&mut self, request: http::Request<kube::client::Body>) -> Self::Future {
        let asked = (request.method().to_string(), request.uri().path().to_owned());
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        self.server.call(request)
    }
}

/// The cluster; everything stops when it is dropped.
pub(crate) struct World {
    pub client: Client,
    pub clock: Clock,
    for_controller: Client,
    asked: Arc<Mutex<Vec<Asked>>>,
    hindrance: Arc<Hindrance>,
    tasks: JoinSet<()>,
}

/// How a kind is reached.
pub(crate) fn resource(kind: &str) -> ApiResource {
    let (group, version) = match kind {
        "Rollout" | "AnalysisRun" | "AnalysisTemplate" | "ClusterAnalysisTemplate" | "Experiment" => {
            ("argoproj.io", "v1alpha1")
        }
        "Job" => ("batch", "v1"),
        "ReplicaSet" | "Deployment" => ("apps", "v1"),
        "PodDisruptionBudget" => ("policy", "v1"),
        "VirtualService" | "DestinationRule" => ("networking.istio.io", "v1"),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1"),
        "Ingress" => ("networking.k8s.io", "v1"),
        "TraefikService" => ("traefik.io", "v1alpha1"),
        "TrafficSplit" => ("split.smi-spec.io", "v1alpha1"),
        "HTTPRoute" | "TCPRoute" => ("gateway.networking.k8s.io", "v1"),
        "Mapping" => ("getambassador.io", "v2"),
        "ApisixRoute" => ("apisix.apache.org", "v2"),
        "VirtualRouter" | "VirtualNode" => ("appmesh.k8s.aws", "v1beta2"),
        _ => ("", "v1"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

impl World {
    /// A cluster with its workload controllers and pods, and our controller.
    pub(crate) async fn new() -> Self {
        let mut world = Self::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
        world.start();
        world
    }

    /// A cluster that takes any status and spec, as one with hand-made CRDs does.
    pub(crate) async fn without_schemas() -> Self {
        let mut crds = tidegate_install::crds();
        for crd in &mut crds {
            for version in crd["spec"]["versions"].as_array_mut().unwrap() {
                let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
                version["schema"] = json!({"openAPIV3Schema": open});
                version["subresources"] = json!({"status": {}});
            }
        }
        let mut world = Self::empty("2026-01-01T00:00:00Z", crds).await;
        world.start();
        world
    }

    /// An API where nothing moves yet.
    pub(crate) async fn empty(epoch: &str, crds: Vec<Value>) -> Self {
        let clock = Clock::simulated(epoch.parse().unwrap());
        let hindrance = Arc::new(Hindrance::default());
        let mut options = tidegate_apiserver::Options::new(clock);
        options.faults = Arc::<Hindrance>::clone(&hindrance);
        let server = ApiServer::new(options);
        let client = Client::new(server.clone(), "default");
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let for_controller = Client::new(Noted { server, asked: Arc::clone(&asked) }, "default");
        let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource("CustomResourceDefinition"));
        for crd in crds {
            all.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
        }
        Self { client, clock, for_controller, asked, hindrance, tasks: JoinSet::new() }
    }

    /// A cluster with a controller of this kind.
    pub(crate) async fn with(options: Options) -> (Self, Insight) {
        let mut world = Self::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
        let insight = world.start_as(options, Leadership::alone());
        (world, insight)
    }

    /// Starts the workload controllers, the nodes and our controller.
    pub(crate) fn start(&mut self) {
        // Tests play the part of those who run analyses.
        self.start_as(Options { lacks_analysis: false, ..Options::default() }, Leadership::alone());
    }

    /// The same, with a controller of this kind.
    pub(crate) fn start_as(&mut self, options: Options, leadership: Leadership) -> Insight {
        self.start_others();
        self.start_controller(options, leadership)
    }

    /// Starts the workload controllers and the nodes.
    pub(crate) fn start_others(&mut self) {
        let agent = tidegate_node_agent::Options {
            defaults: Defaults { processes: false, ..Defaults::default() },
            ..tidegate_node_agent::Options::default()
        };
        let agent = Agent::new(self.client.clone(), self.clock, agent);
        self.tasks.spawn(Manager::new(self.client.clone(), self.clock).run(std::future::pending()));
        self.tasks.spawn(async move { agent.run(std::future::pending()).await });
    }

    /// Starts our controller.
    pub(crate) fn start_controller(&mut self, options: Options, leadership: Leadership) -> Insight {
        let controller = Controller::new(self.for_controller.clone(), self.clock, options, leadership);
        let insight = controller.insight();
        self.tasks.spawn(controller.run(std::future::pending()));
        insight
    }

    /// From now on the API refuses what this rule says.
    pub(crate) fn refuse(&self, rule: impl Fn(&Call<'_>) -> Option<StatusError> + Send + 'static) {
        self.hinder(move |call| rule(call).map_or(Before::Pass, Before::Fail));
    }

    /// From now on nobody hears of changes of these objects.
    pub(crate) fn deafen(&self, resource: &'static str) {
        *self.hindrance.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(resource);
    }

    /// From now on nobody hears what became of patches of these objects, though they are made.
    pub(crate) fn mute(&self, resource: Option<&'static str>) {
        *self.hindrance.2.lock().unwrap_or_else(PoisonError::into_inner) = resource;
    }

    /// From now on the API does what this rule says before it serves a request.
    pub(crate) fn hinder(&self, rule: impl Fn(&Call<'_>) -> Before + Send + 'static) {
        *self.hindrance.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(rule));
    }

    /// Refuses one verb on one resource.
    pub(crate) fn refuse_all(&self, verb: Verb, resource: &'static str, subresource: &'static str, error: StatusError) {
        self.refuse(move |call| {
            let is_meant = call.verb == verb && call.resource == resource && call.subresource == subresource;
            is_meant.then(|| error.clone())
        });
    }

    /// The API refuses nothing any more.
    pub(crate) fn refuse_nothing(&self) {
        *self.hindrance.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), "default", &resource(kind))
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub(crate) async fn create(&self, object: Value) -> Value {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), "default", &resource);
        let made = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        serde_json::to_value(made).unwrap()
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn patch_status(&self, name: &str, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.api("Rollout").patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        self.api(kind).delete(name, &kube::api::DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Value {
        serde_json::to_value(self.api(kind).get(name).await.unwrap()).unwrap()
    }

    pub(crate) async fn list(&self, kind: &str) -> Vec<Value> {
        let all = self.api(kind).list(&ListParams::default()).await.unwrap().items;
        all.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    pub(crate) async fn status(&self, name: &str) -> Value {
        self.get("Rollout", name).await["status"].clone()
    }

    /// Phase and message.
    pub(crate) async fn shown(&self, name: &str) -> (String, String) {
        let status = self.status(name).await;
        let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        (text("phase"), text("message"))
    }

    /// Sizes of the ReplicaSets that a Rollout owns, by age.
    pub(crate) async fn sizes(&self, owner: &str) -> Vec<i64> {
        let mut sets = self.list("ReplicaSet").await;
        sets.retain(|set| set["metadata"]["ownerReferences"][0]["name"] == owner);
        sets.sort_by_key(|set| set["metadata"]["annotations"]["rollout.argoproj.io/revision"].to_string());
        sets.iter().map(|set| set["spec"]["replicas"].as_i64().unwrap()).collect()
    }

    /// Reasons of all events, in order.
    pub(crate) async fn told(&self) -> Vec<String> {
        let mut events = self.list("Event").await;
        events.sort_by_key(|event| event["metadata"]["name"].to_string());
        events.iter().map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
    }

    /// Ends a pause, as `promote` does.
    pub(crate) async fn promote(&self, name: &str) {
        self.patch_status(name, json!({"pauseConditions": null})).await;
    }

    /// Reasons and messages of Warning events about a Rollout.
    pub(crate) async fn warnings(&self, name: &str) -> Vec<(String, String)> {
        let events = self.list("Event").await.into_iter();
        let about = events.filter(|event| event["type"] == "Warning" && event["involvedObject"]["name"] == name);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        about.map(|event| (text(&event["reason"]), text(&event["message"]))).collect()
    }

    /// What the controller has asked for since this was last called, without watches and lists.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        let is_collection = |path: &str| {
            let last = path.rsplit('/').next().unwrap_or_default();
            matches!(
                last,
                "rollouts"
                    | "replicasets"
                    | "services"
                    | "analysisruns"
                    | "experiments"
                    | "analysistemplates"
                    | "clusteranalysistemplates"
                    | "virtualservices"
                    | "destinationrules"
                    | "secrets"
                    | "jobs"
            ) || path.starts_with("/apis/networking.istio.io") && path.split('/').count() <= 4
        };
        asked.into_iter().filter(|(method, path)| !(method == "GET" && is_collection(path))).collect()
    }

    /// What the controller has written since this or [`Self::asked`] was last called.
    pub(crate) fn written(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|(method, _)| method != "GET").collect()
    }

    /// Requests of the controller within a virtual minute from now.
    pub(crate) async fn asked_in_a_minute(&self) -> usize {
        self.asked();
        self.pass(60).await;
        self.asked().len()
    }
}

/// A Rollout of four pods.
pub(crate) fn rollout(name: &str, strategy: Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name}, "spec": {
        "replicas": 4, "selector": {"matchLabels": {"app": name}}, "strategy": strategy,
        "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "shop:1"}]}},
    }})
}

/// A canary that stops at one of four pods.
pub(crate) fn canary() -> Value {
    json!({"canary": {"steps": [{"setWeight": 25}, {"pause": {}}]}})
}

pub(crate) fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
}

pub(crate) fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]}})
}

/// A blue-green Rollout with both Services, in its first version.
pub(crate) async fn blue_green() -> World {
    let world = World::new().await;
    for name in ["active", "preview"] {
        world.create(service(name)).await;
    }
    let strategy = json!({"activeService": "active", "previewService": "preview", "autoPromotionEnabled": false});
    world.create(rollout("shop", json!({"blueGreen": strategy}))).await;
    world.pass(30).await;
    world
}

/// One that waits for somebody to promote its second version.
pub(crate) async fn blue_green_paused() -> World {
    let world = blue_green().await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "BlueGreenPause".to_owned()));
    world
}

/// A canary at its pause step, and one beside it that nobody interferes with.
pub(crate) async fn paused_beside_another(world: World) -> World {
    world.create(rollout("shop", canary())).await;
    world.create(rollout("bystander", canary())).await;
    world.pass(30).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()));
    world
}
