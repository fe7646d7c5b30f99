//! Analysis by the metrics of a mesh under load, in virtual time: the templates of `examples/analysis-by-*.yaml`, by host and by
//! subset.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_controller::{Analysis, Options};
use tidegate_mesh::{Load, Request as Sent};
use tidegate_providers::{Request, Response, Transport, TransportError};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::{LiveMesh, MeshSetting, Setting, World};

/// The Prometheus of a mesh that may come later.
#[derive(Clone, Default)]
struct Prometheus(Arc<OnceLock<LiveMesh>>);

fn unescaped(text: &str) -> String {
    let text = text.replace('+', " ");
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' && tail.len() >= 2 {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).unwrap()
}

impl Transport for Prometheus {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        let form = String::from_utf8(request.body.clone()).unwrap();
        let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
        let pairs: Vec<(String, String)> = pairs.map(|(name, value)| (unescaped(name), unescaped(value))).collect();
        let path = request.url.strip_prefix("http://prometheus.istio-system:9090").unwrap();
        let reply = self.0.get().unwrap().query(path, &pairs);
        std::future::ready(Ok(Response::new(reply.status, reply.body.to_string()))).boxed()
    }
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

struct Shop {
    world: World,
}

fn template(version: &str, error_rate: &str) -> Value {
    json!({"metadata": {"labels": {"app": "shop", "version": version}, "annotations": {"sim.tidegate.dev/error-rate": error_rate}},
        "spec": {"containers": [{"name": "main", "image": format!("shop:{version}")}]}})
}

impl Shop {
    async fn open(file: &str, routing: Value, analysis: Value) -> Self {
        let mut world = World::empty(Setting::new(7));
        let shop = |world| Self { world };
        let crds: Api<DynamicObject> =
            Api::all_with(world.client("user"), &resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
        for crd in tidegate_install::crds().into_iter().chain(tidegate_sim::istio::crds()) {
            crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
        }
        world.add_nodes();
        world.add_manager();
        let prometheus = Prometheus::default();
        let options = Options { analysis: Some(Analysis::over(Arc::new(prometheus.clone()))), ..Options::default() };
        let (client, clock) = (world.client("rollouts-controller"), world.clock());
        world.add(tidegate_controller::run(client, clock, options, Leadership::alone(), std::future::pending()));
        let this = shop(world);
        for name in ["shop", "shop-stable", "shop-canary"] {
            let spec = json!({"selector": {"app": "shop"}, "ports": [{"name": "http", "port": 80}]});
            this.create("", "v1", "Service", json!({"metadata": {"name": name}, "spec": spec})).await;
        }
        let by_subset = routing["istio"]["destinationRule"].is_object();
        let to = |role: &str| {
            if by_subset { json!({"host": "shop", "subset": role}) } else { json!({"host": format!("shop-{role}")}) }
        };
        let route = json!([{"destination": to("stable"), "weight": 100}, {"destination": to("canary"), "weight": 0}]);
        let routes = json!({"metadata": {"name": "shop"}, "spec": {"hosts": ["shop"], "http": [{"route": route}]}});
        this.create("networking.istio.io", "v1alpha3", "VirtualService", routes).await;
        let subset = |name: &str| json!({"name": name, "labels": {"app": "shop"}});
        let rule = json!({"metadata": {"name": "shop"}, "spec": {"host": "shop", "subsets": [subset("stable"), subset("canary")]}});
        this.create("networking.istio.io", "v1alpha3", "DestinationRule", rule).await;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
        let example: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        this.create("argoproj.io", "v1alpha1", "AnalysisTemplate", example).await;
        let steps =
            json!([{"setWeight": 25}, {"pause": {"duration": "5m"}}, {"setWeight": 60}, {"pause": {"duration": "2m"}}]);
        let mut canary = json!({"steps": steps, "trafficRouting": routing, "analysis": analysis});
        if !by_subset {
            canary["stableService"] = "shop-stable".into();
            canary["canaryService"] = "shop-canary".into();
        }
        let spec = json!({"replicas": 4, "selector": {"matchLabels": {"app": "shop"}}, "strategy": {"canary": canary},
            "template": template("1", "0")});
        this.create("argoproj.io", "v1alpha1", "Rollout", json!({"metadata": {"name": "shop"}, "spec": spec})).await;
        this.world.pass(Duration::from_secs(20)).await;
        let setting = MeshSetting { seed: 7, proxies: 20, most_behind: Duration::from_secs(1) };
        let mut this = this;
        let mesh = this.world.add_mesh(setting, vec![Load::of(Sent::to("shop"), 100.0)]);
        prometheus.0.set(mesh).unwrap();
        this.world.pass(Duration::from_secs(60)).await;
        this
    }

    async fn by_host() -> Self {
        let routing = json!({"istio": {"virtualService": {"name": "shop"}}});
        let analysis = json!({"templates": [{"templateName": "success-rate-by-host"}],
            "args": [{"name": "canary-service", "value": "shop-canary"}]});
        Self::open("analysis-by-host.yaml", routing, analysis).await
    }

    async fn by_subset() -> Self {
        let rule = json!({"name": "shop", "stableSubsetName": "stable", "canarySubsetName": "canary"});
        let routing = json!({"istio": {"virtualService": {"name": "shop"}, "destinationRule": rule}});
        let version = json!({"fieldRef": {"fieldPath": "spec.template.metadata.labels.version"}});
        let analysis = json!({"templates": [{"templateName": "success-rate-by-version"}],
            "args": [{"name": "service", "value": "shop"}, {"name": "version", "valueFrom": version}]});
        Self::open("analysis-by-subset.yaml", routing, analysis).await
    }

    fn api(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.world.client("user"), "default", &resource(group, version, kind))
    }

    async fn create(&self, group: &str, version: &str, kind: &str, mut object: Value) {
        let fields = object.as_object_mut().unwrap();
        fields.insert("apiVersion".to_owned(), json!(resource(group, version, kind).api_version));
        fields.insert("kind".to_owned(), json!(kind));
        let object = serde_json::from_value(object).unwrap();
        self.api(group, version, kind).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn update(&self, version: &str, error_rate: &str) {
        let patch = json!({"spec": {"template": template(version, error_rate)}});
        let rollouts = self.api("argoproj.io", "v1alpha1", "Rollout");
        rollouts.patch("shop", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    /// Phase, message and the weight of the canary.
    async fn state(&self) -> (String, String, i64) {
        let rollout =
            serde_json::to_value(self.api("argoproj.io", "v1alpha1", "Rollout").get("shop").await.unwrap()).unwrap();
        let routes = self.api("networking.istio.io", "v1alpha3", "VirtualService").get("shop").await.unwrap();
        let weight = routes.data["spec"]["http"][0]["route"][1]["weight"].as_i64().unwrap_or(0);
        let text = |field: &str| rollout["status"][field].as_str().unwrap_or_default().to_owned();
        (text("phase"), text("message"), weight)
    }

    /// A bad version is aborted and all traffic is back on stable; a good one after it has it all.
    async fn goes_as_it_should(self) {
        self.update("2", "50%").await;
        self.world.pass(Duration::from_secs(30)).await;
        assert_eq!(self.state().await.2, 25);
        self.world.pass(Duration::from_secs(150)).await;
        let (phase, message, weight) = self.state().await;
        assert_eq!((phase.as_str(), weight), ("Degraded", 0), "{message}");
        let wanted = "Background analysis phase error/failed: Metric \"success-rate\" assessed Failed due to failed (2) > failureLimit (1) (run shop-";
        assert!(message.contains(wanted) && message.contains("value [0."), "{message}");

        self.update("3", "0").await;
        self.world.pass(Duration::from_secs(200)).await;
        assert_eq!(self.state().await.2, 25);
        self.world.pass(Duration::from_secs(400)).await;
        let (phase, message, weight) = self.state().await;
        assert_eq!((phase.as_str(), weight), ("Healthy", 0), "{message}");
    }
}

fn virtually(run: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run);
}

#[test]
fn by_host_a_bad_version_is_aborted_by_the_metrics_of_the_mesh_and_a_good_one_goes_out() {
    virtually(async { Shop::by_host().await.goes_as_it_should().await });
}

#[test]
fn by_subset_a_bad_version_is_aborted_by_the_metrics_of_the_mesh_and_a_good_one_goes_out() {
    virtually(async { Shop::by_subset().await.goes_as_it_should().await });
}
