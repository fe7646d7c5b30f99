//! Routes that live in another cluster.

use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tidegate_apiserver::ApiServer;
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;

use super::{by_subset, rule, subset_level, two_stops, virtual_service};
use crate::world::{World, image, resource, rollout, service};

/// A cluster with Rollouts, and a primary one with routes.
struct Pair {
    world: World,
    primary: Client,
}

fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: \"{server}\"}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
    )
}

fn secret(name: &str, content: &str) -> Secret {
    let labels = [("istio.argoproj.io/primary-cluster".to_owned(), "true".to_owned())].into();
    Secret {
        metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() },
        data: Some([("cluster-1".to_owned(), ByteString(content.as_bytes().to_vec()))].into()),
        ..Secret::default()
    }
}

impl Pair {
    async fn new() -> Self {
        let mut crds = tidegate_install::crds();
        // The cluster of the Rollouts has Istio's kinds as well: nothing may be written there.
        crds.extend(tidegate_sim::istio::crds());
        let mut world = World::empty("2026-01-01T00:00:00Z", crds).await;
        let server = ApiServer::new(tidegate_apiserver::Options::new(world.clock));
        let primary = Client::new(server, "default");
        let kinds: Api<DynamicObject> = Api::all_with(primary.clone(), &resource("CustomResourceDefinition"));
        for crd in tidegate_sim::istio::crds() {
            kinds.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
        }
        let way = primary.clone();
        let connect: tidegate_controller::Connect = Arc::new(move |config| {
            let known = config.cluster_url.host() == Some("primary.example");
            let client = known.then(|| way.clone()).ok_or_else(|| "nobody answers there".to_owned());
            Box::pin(std::future::ready(client))
        });
        world.start_as(Options { connect, lacks_analysis: false, ..Options::default() }, Leadership::alone());
        Self { world, primary }
    }

    fn there(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.primary.clone(), "default", &resource(kind))
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.world.client.clone(), "default")
    }

    async fn lead_to(&self, name: &str, content: &str) {
        self.secrets().create(&PostParams::default(), &secret(name, content)).await.unwrap();
    }

    async fn make_routes(&self) {
        for object in [virtual_service("shop", by_subset()), rule()] {
            let api = self.there(object["kind"].as_str().unwrap());
            api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        }
    }

    async fn weights(&self) -> Vec<i64> {
        let object = serde_json::to_value(self.there("VirtualService").get("shop").await.unwrap()).unwrap();
        let entries = object["spec"]["http"][0]["route"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["weight"].as_i64().unwrap_or(0)).collect()
    }

    /// A Rollout at its first pause.
    async fn paused() -> Self {
        let pair = Self::new().await;
        pair.lead_to("istio-remote", &kubeconfig("https://primary.example")).await;
        pair.make_routes().await;
        pair.world.create(service("shop")).await;
        pair.world.create(rollout("shop", subset_level(two_stops()))).await;
        pair.world.pass(30).await;
        assert_eq!(pair.world.shown("shop").await.0, "Healthy");
        pair.world.patch("Rollout", "shop", image("shop:2")).await;
        pair.world.pass(30).await;
        assert_eq!(pair.world.shown("shop").await.0, "Paused");
        assert_eq!(pair.weights().await, [25, 75]);
        pair
    }
}

#[tokio::test(start_paused = true)]
async fn routes_in_the_primary_cluster_follow_a_canary_are_repaired_and_given_back() {
    let pair = Pair::paused().await;
    let patch = Patch::Merge(json!({"spec": {"http": by_subset()}}));
    pair.there("VirtualService").patch("shop", &PatchParams::default(), &patch).await.unwrap();
    pair.world.pass(1).await;
    assert_eq!(pair.weights().await, [25, 75], "repaired");

    pair.world.patch_status("shop", json!({"abort": true})).await;
    pair.world.pass(2).await;
    assert_eq!(pair.weights().await, [0, 100]);

    pair.world.delete("Rollout", "shop").await;
    pair.world.pass(5).await;
    let left = serde_json::to_value(pair.there("DestinationRule").get("shop").await.unwrap()).unwrap();
    assert_eq!(left["spec"], rule()["spec"]);
}

async fn says(pair: &Pair, text: &str) {
    let (phase, message) = pair.world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains(text), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_broken_doubled_or_rotated_is_followed_and_nothing_is_written_here_meanwhile() {
    let pair = Pair::paused().await;
    for object in [virtual_service("shop", by_subset()), rule()] {
        pair.world.create(object).await;
    }
    let before: Value = pair.world.get("VirtualService", "shop").await["spec"].clone();

    pair.secrets().delete("istio-remote", &DeleteParams::default()).await.unwrap();
    pair.lead_to("broken", "clusters: nonsense").await;
    pair.world.pass(5).await;
    says(&pair, "Secret default/broken does not lead to Istio's primary cluster").await;

    pair.lead_to("second", &kubeconfig("https://primary.example")).await;
    pair.world.pass(5).await;
    says(&pair, "Secrets default/broken, default/second all carry the label").await;
    pair.world.promote("shop").await;
    pair.world.pass(10).await;

    pair.secrets().delete("broken", &DeleteParams::default()).await.unwrap();
    pair.world.pass(10).await;
    assert_eq!(pair.weights().await, [50, 50], "the one that is left leads there");

    let patch = Patch::Merge(json!({"data": secret("second", &kubeconfig("https://gone.example")).data}));
    pair.secrets().patch("second", &PatchParams::default(), &patch).await.unwrap();
    pair.world.pass(5).await;
    says(&pair, "nobody answers there").await;
    let patch = Patch::Merge(json!({"data": secret("second", &kubeconfig("https://primary.example")).data}));
    pair.secrets().patch("second", &PatchParams::default(), &patch).await.unwrap();
    pair.world.pass(10).await;
    assert_eq!(pair.world.shown("shop").await.0, "Paused");

    assert_eq!(pair.world.get("VirtualService", "shop").await["spec"], before, "never touched");
}
