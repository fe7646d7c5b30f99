//! Experiments, by themselves and as steps of Rollouts.

mod alone;
mod steps;
mod traffic;
mod trouble;

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_controller::{Controller, Options};
use tidegate_runtime::lease::Leadership;
use tokio::task::JoinHandle;

use crate::analysis::{self, Answers, metric, template};
use crate::world::{World, image, rollout};

fn options(answers: &Arc<Answers>) -> Options {
    Options { experiments: Some(10), ..analysis::options(answers) }
}

/// A cluster whose controller runs Experiments and analyses, with a template `errors` that asks three times in a row.
async fn world() -> (World, Arc<Answers>) {
    let answers = Answers::new();
    let mut crds = tidegate_install::crds();
    crds.extend(tidegate_sim::istio::crds());
    let mut world = World::empty("2026-01-01T00:00:00Z", crds).await;
    world.start_as(options(&answers), Leadership::alone());
    world.create(errors()).await;
    answers.value("errors", 1);
    (world, answers)
}

/// A cluster whose controller can be killed.
async fn mortal_world() -> (World, Arc<Answers>, JoinHandle<()>) {
    let answers = Answers::new();
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    world.start_others();
    world.create(errors()).await;
    answers.value("errors", 1);
    let controller = start(&world, &answers);
    (world, answers, controller)
}

fn start(world: &World, answers: &Arc<Answers>) -> JoinHandle<()> {
    let controller = Controller::new(world.client.clone(), world.clock, options(answers), Leadership::alone());
    tokio::spawn(controller.run(std::future::pending()))
}

fn errors() -> Value {
    let more =
        json!({"count": 3, "interval": "5s", "successCondition": "result < 5", "failureCondition": "result > 50"});
    template("errors", json!({"metrics": [metric("errors", more)]}))
}

fn experiment(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Experiment", "metadata": {"name": name}, "spec": spec})
}

/// A template of an Experiment that stands alone.
fn pods(name: &str, more: Value) -> Value {
    let mut fields = json!({"name": name, "selector": {"matchLabels": {"run": name}}, "template": {
        "metadata": {"labels": {"run": name}},
        "spec": {"containers": [{"name": "main", "image": "shop:1", "ports": [{"containerPort": 80}]}]}}});
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

/// A Rollout in its first version whose containers have a port.
async fn deploy(world: &World, strategy: Value) {
    let mut shop = rollout("shop", strategy);
    shop["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80}]);
    world.create(shop).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
}

/// The second version.
async fn update(world: &World) {
    let mut patch = image("shop:2");
    patch["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80}]);
    world.patch("Rollout", "shop", patch).await;
}

fn words(phase: &str, message: &str) -> (String, String) {
    (phase.to_owned(), message.to_owned())
}

impl World {
    /// Phase and message of an Experiment.
    async fn outcome(&self, name: &str) -> (String, String) {
        let status = self.get("Experiment", name).await["status"].clone();
        let text = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        (text("phase"), text("message"))
    }

    /// Names of all Experiments.
    async fn experiments(&self) -> Vec<String> {
        let all = self.list("Experiment").await;
        all.iter().map(|found| found["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The one Experiment there is.
    async fn only_experiment(&self) -> String {
        let all = self.experiments().await;
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    /// Pods of Experiments.
    async fn experiment_pods(&self) -> usize {
        let sets = self.list("ReplicaSet").await;
        let sets = sets.iter().filter(|set| set["metadata"]["ownerReferences"][0]["kind"] == "Experiment");
        let names: Vec<&str> = sets.map(|set| set["metadata"]["name"].as_str().unwrap()).collect();
        let pods = self.list("Pod").await;
        let is_theirs = |pod: &&Value| {
            pod["metadata"]["ownerReferences"][0]["name"].as_str().is_some_and(|owner| names.contains(&owner))
        };
        pods.iter().filter(is_theirs).count()
    }
}
