//! The controller on a cluster with a mesh over it, under load, in virtual time.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_controller::Options;
use tidegate_mesh::{Load, Request};
use tidegate_runtime::lease::Leadership;
use tidegate_sim::{LiveMesh, MeshSetting, Setting, World};

const PER_SECOND: f64 = 200.0;

struct Shop {
    world: World,
    mesh: LiveMesh,
}

fn template(version: &str, error_rate: &str) -> Value {
    json!({"metadata": {"labels": {"app": "shop"}, "annotations": {
            "sim.tidegate.dev/version": version, "sim.tidegate.dev/error-rate": error_rate}},
        "spec": {"containers": [{"name": "main", "image": format!("shop:{version}")}]}})
}

impl Shop {
    /// Four pods of the first version behind a VirtualService, 20 proxies that are up to a second behind, and load.
    async fn open() -> Self {
        let mut world = World::empty(Setting::new(7));
        let user = world.client("user");
        let crds: Api<DynamicObject> =
            Api::all_with(user.clone(), &resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
        for crd in tidegate_install::crds().into_iter().chain(tidegate_sim::istio::crds()) {
            crds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
        }
        world.add_nodes();
        world.add_manager();
        let (client, clock) = (world.client("rollouts-controller"), world.clock());
        let stop = std::future::pending();
        world.add(tidegate_controller::run(client, clock, Options::default(), Leadership::alone(), stop));
        for name in ["shop", "shop-stable", "shop-canary"] {
            let spec = json!({"selector": {"app": "shop"}, "ports": [{"name": "http", "port": 80}]});
            create(&world, "", "v1", "Service", json!({"metadata": {"name": name}, "spec": spec})).await;
        }
        let route = json!([{"destination": {"host": "shop-stable"}, "weight": 100}, {"destination": {"host": "shop-canary"}, "weight": 0}]);
        let routes = json!({"metadata": {"name": "shop"}, "spec": {"hosts": ["shop"], "http": [{"route": route}]}});
        create(&world, "networking.istio.io", "v1alpha3", "VirtualService", routes).await;
        let steps = json!([{"setWeight": 25}, {"pause": {}}, {"setWeight": 60}, {"pause": {}}]);
        let strategy = json!({"canary": {"stableService": "shop-stable", "canaryService": "shop-canary", "steps": steps,
            "trafficRouting": {"istio": {"virtualService": {"name": "shop"}}}}});
        let spec = json!({"replicas": 4, "selector": {"matchLabels": {"app": "shop"}}, "strategy": strategy,
            "template": template("1", "0")});
        create(&world, "argoproj.io", "v1alpha1", "Rollout", json!({"metadata": {"name": "shop"}, "spec": spec})).await;
        world.pass(Duration::from_secs(20)).await;
        let setting = MeshSetting { seed: 7, proxies: 20, most_behind: Duration::from_secs(1) };
        let mesh = world.add_mesh(setting, vec![Load::of(Request::to("shop"), PER_SECOND)]);
        world.pass(Duration::from_secs(60)).await;
        Self { world, mesh }
    }

    async fn update(&self, version: &str, error_rate: &str) {
        let patch = json!({"spec": {"template": template(version, error_rate)}});
        self.rollouts().patch("shop", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        self.world.pass(Duration::from_secs(60)).await;
    }

    async fn set(&self, status: Value) {
        let patch = json!({"status": status});
        self.rollouts().patch_status("shop", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        self.world.pass(Duration::from_secs(60)).await;
    }

    fn rollouts(&self) -> Api<DynamicObject> {
        let client = self.world.client("user");
        Api::namespaced_with(client, "default", &resource("argoproj.io", "v1alpha1", "Rollout"))
    }

    /// The only value that a query gives, 0 where there is none.
    fn ask(&self, query: &str) -> f64 {
        let reply = self.mesh.query("/api/v1/query", &[("query".to_owned(), query.to_owned())]);
        assert_eq!(reply.status, 200, "{query}: {}", reply.body);
        let body = reply.body;
        let result = body["data"]["result"].as_array().unwrap();
        assert!(result.len() <= 1, "{query}: {body}");
        result.first().map_or(0.0, |one| one["value"][1].as_str().unwrap().parse().unwrap())
    }

    /// The share of a version among the requests of the last forty seconds, as clients count them.
    fn share(&self, version: &str) -> f64 {
        let all = r#"sum(increase(istio_requests_total{reporter="source"}[40s]))"#;
        let of =
            format!(r#"sum(increase(istio_requests_total{{reporter="source",destination_version="{version}"}}[40s]))"#);
        self.ask(&of) / self.ask(all)
    }

    /// Requests that failed since the beginning.
    fn failed(&self) -> f64 {
        self.ask(r#"sum(istio_requests_total{reporter="source",response_code!="200"})"#)
    }
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

async fn create(world: &World, group: &str, version: &str, kind: &str, mut object: Value) {
    let resource = resource(group, version, kind);
    let fields = object.as_object_mut().unwrap();
    fields.insert("apiVersion".to_owned(), json!(resource.api_version));
    fields.insert("kind".to_owned(), json!(kind));
    let api: Api<DynamicObject> = Api::namespaced_with(world.client("user"), "default", &resource);
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// Whether a share of this many requests is within 3.29 standard deviations: 999 of 1,000 are.
fn is_about(seen: f64, wanted: f64) -> bool {
    let requests = PER_SECOND * 40.0;
    (seen - wanted).abs() <= 3.29 * (wanted * (1.0 - wanted) / requests).sqrt()
}

fn virtually(run: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run);
}

#[test]
fn a_canary_under_load_gets_its_share_and_no_request_fails() {
    virtually(async {
        // Given a shop under load.
        let shop = Shop::open().await;
        assert!(is_about(shop.share("1"), 1.0));
        // When a new version goes out step by step.
        shop.update("2", "0").await;
        assert!(is_about(shop.share("2"), 0.25), "{}", shop.share("2"));
        shop.set(json!({"pauseConditions": null})).await;
        assert!(is_about(shop.share("2"), 0.6), "{}", shop.share("2"));
        shop.set(json!({"pauseConditions": null})).await;
        // Then it has all requests in the end, and none was lost though proxies were late.
        assert!(is_about(shop.share("2"), 1.0), "{}", shop.share("2"));
        assert_eq!(shop.failed(), 0.0);
        let sent = shop.ask(r#"sum(istio_requests_total{reporter="source"})"#);
        assert!(sent > 45_000.0, "{sent}");
    });
}

#[test]
fn a_bad_version_shows_in_the_metrics_and_is_gone_after_an_abort() {
    virtually(async {
        let shop = Shop::open().await;
        shop.update("2", "50%").await;
        let errors = r#"sum(rate(istio_requests_total{reporter="source",destination_workload="shop",response_code=~"5.."}[40s])) / sum(rate(istio_requests_total{reporter="source",destination_workload="shop"}[40s]))"#;
        let rate = shop.ask(errors);
        assert!((0.1..0.15).contains(&rate), "half of a quarter: {rate}");
        shop.set(json!({"abort": true})).await;
        let failed = shop.failed();
        shop.world.pass(Duration::from_secs(60)).await;
        assert!(is_about(shop.share("1"), 1.0), "{}", shop.share("1"));
        assert_eq!(shop.failed(), failed, "nothing fails any more");
    });
}
