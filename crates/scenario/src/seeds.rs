//! The controller under seeded faults: whatever goes wrong on the way, the end is the one a quiet run reaches.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;
use tidegate_sim::faults::Menu;
use tidegate_sim::journal::Mirror;
use tidegate_sim::{Experiment, Invariant, Random, Scenario, Seat, Stage, Subject, Weather};

use crate::observer::{HASH_LABEL, owner, text};
use crate::world;

/// Rollouts that users change.
const NAMES: [&str; 3] = ["canary", "steps", "colours"];
/// How long users act.
const LENGTH: Duration = Duration::from_secs(60);
/// What all Rollouts end with.
const LAST_IMAGE: &str = "shop:last";
const LAST_SIZE: i64 = 3;

/// The controller as the client under test.
#[derive(Clone, Copy, Debug, Default)]
struct Controller;

impl Subject for Controller {
    fn name(&self) -> &'static str {
        "rollouts-controller"
    }

    fn start(&self, seat: Seat) -> BoxFuture<'static, ()> {
        let options = Options::default();
        tidegate_controller::run(seat.client, seat.clock, options, Leadership::alone(), seat.stop).boxed()
    }
}

/// The controller, tested with canaries and blue-green Rollouts under another selection of faults for each seed.
pub fn experiment() -> Experiment {
    Experiment { scenario: Arc::new(Rollouts), subject: Arc::new(Controller), weather: Weather::Drawn }
}

/// What users do: new versions, sizes, aborts, retries, promotions; in the end one version and one size for all.
#[derive(Clone, Copy, Debug)]
struct Rollouts;

impl Scenario for Rollouts {
    fn name(&self) -> &'static str {
        "rollouts"
    }

    fn length(&self) -> Duration {
        LENGTH
    }

    fn play<'a>(&'a self, stage: &'a Stage<'a>, random: Random) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let mut users = Users { client: stage.client.clone(), random, versions: 1 };
            users.begin().await.map_err(|error| error.to_string())?;
            while stage.world.journal().elapsed() < LENGTH {
                users.act().await.map_err(|error| error.to_string())?;
            }
            users.finish().await.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn invariants(&self, _: &Menu) -> Vec<Box<dyn Invariant>> {
        vec![Box::new(SameEnd), Box::new(ActiveServes)]
    }

    fn prey(&self) -> &'static [&'static str] {
        &["pods"]
    }
}

struct Users {
    client: Client,
    random: Random,
    versions: u32,
}

fn template(image: &str, app: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": image}]}})
}

impl Users {
    fn rollouts(&self) -> Api<DynamicObject> {
        world::api(&self.client, "default", "Rollout")
    }

    async fn begin(&mut self) -> kube::Result<()> {
        world::install_crds(&self.client).await?;
        for service in ["active", "preview"] {
            let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": service},
                "spec": {"selector": {"app": "colours"}, "ports": [{"port": 80}]}});
            self.create("Service", object).await?;
        }
        let steps =
            json!([{"setWeight": 25}, {"pause": {"duration": 2}}, {"setWeight": 50}, {"pause": {"duration": 1}}]);
        let strategies = [
            json!({"canary": {}}),
            json!({"canary": {"steps": steps}}),
            json!({"blueGreen": {"activeService": "active", "previewService": "preview", "autoPromotionSeconds": 1,
                "scaleDownDelaySeconds": 5, "abortScaleDownDelaySeconds": 3}}),
        ];
        for (name, strategy) in NAMES.into_iter().zip(strategies) {
            let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name},
                "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "strategy": strategy,
                    "template": template("shop:1", name)}});
            self.create("Rollout", object).await?;
        }
        Ok(())
    }

    async fn create(&self, kind: &str, object: Value) -> kube::Result<()> {
        let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        world::api(&self.client, "default", kind).create(&PostParams::default(), &object).await?;
        Ok(())
    }

    async fn act(&mut self) -> kube::Result<()> {
        tokio::time::sleep(Duration::from_millis(self.random.between(500, 6000))).await;
        let index = usize::try_from(self.random.below(NAMES.len() as u64)).unwrap_or(0);
        let name = NAMES[index];
        let (part, patch) = match self.random.below(8) {
            0..=2 => {
                self.versions += 1;
                let image = format!("shop:{}", self.versions);
                ("spec", json!({"spec": {"template": template(&image, name)}}))
            }
            3 => ("spec", json!({"spec": {"replicas": self.random.between(1, 5)}})),
            4 => ("status", json!({"status": {"abort": true}})),
            5 => ("status", json!({"status": {"abort": false}})),
            6 => ("status", json!({"status": {"pauseConditions": null}})),
            _ => ("status", json!({"status": {"promoteFull": true}})),
        };
        self.patch(name, part, &patch).await
    }

    async fn finish(&mut self) -> kube::Result<()> {
        for name in NAMES {
            let spec = json!({"spec": {"replicas": LAST_SIZE, "template": template(LAST_IMAGE, name)}});
            self.patch(name, "spec", &spec).await?;
        }
        Ok(())
    }

    async fn patch(&self, name: &str, part: &str, patch: &Value) -> kube::Result<()> {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        match part {
            "status" => self.rollouts().patch_status(name, &params, &patch).await?,
            _ => self.rollouts().patch(name, &params, &patch).await?,
        };
        Ok(())
    }
}

fn image(object: &Value) -> &str {
    text(&object["spec"]["template"]["spec"]["containers"][0]["image"])
}

/// Every Rollout is healthy with the last version and size, nothing else runs, and Services lead there.
#[derive(Clone, Copy, Debug)]
struct SameEnd;

impl Invariant for SameEnd {
    fn name(&self) -> &'static str {
        "every rollout ends where a quiet run ends"
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        for rollout in mirror.of("rollouts.argoproj.io") {
            let name = text(&rollout["metadata"]["name"]);
            let status = &rollout["status"];
            if text(&status["phase"]) != "Healthy" || status["stableRS"] != status["currentPodHash"] {
                return Err(format!("{name} is {}: {}", text(&status["phase"]), text(&status["message"])));
            }
            let own = mirror.of("replicasets.apps").filter(|set| owner(set) == Some(("Rollout", name)));
            let running: Vec<(&str, i64)> = own
                .map(|set| (image(set), set["spec"]["replicas"].as_i64().unwrap_or(1)))
                .filter(|(_, size)| *size > 0)
                .collect();
            if running != [(LAST_IMAGE, LAST_SIZE)] {
                return Err(format!("{name} runs {running:?}"));
            }
            for service in ["active", "preview"].into_iter().filter(|_| name == "colours") {
                let found = mirror.get("services", "default", service);
                let selected = found.map(|found| found["spec"]["selector"][HASH_LABEL].clone()).unwrap_or_default();
                if selected != status["stableRS"] {
                    return Err(format!("Service {service} selects {selected}, stable is {}", status["stableRS"]));
                }
            }
        }
        if mirror.of("rollouts.argoproj.io").count() != NAMES.len() {
            return Err("a rollout is gone".to_owned());
        }
        Ok(())
    }
}

/// The active Service never selects a ReplicaSet that is asked to have no pods.
#[derive(Clone, Copy, Debug)]
struct ActiveServes;

impl Invariant for ActiveServes {
    fn name(&self) -> &'static str {
        "the active Service never points at nothing"
    }

    fn on_change(&mut self, change: &tidegate_sim::journal::Change, mirror: &Mirror) -> Result<(), String> {
        if !matches!(change.key.0.as_str(), "services" | "replicasets.apps") {
            return Ok(());
        }
        let Some(active) = mirror.get("services", "default", "active") else { return Ok(()) };
        let selected = text(&active["spec"]["selector"][HASH_LABEL]);
        let set = mirror.of("replicasets.apps").find(|set| {
            owner(set) == Some(("Rollout", "colours")) && text(&set["metadata"]["labels"][HASH_LABEL]) == selected
        });
        match set {
            Some(set) if set["spec"]["replicas"] == 0 => {
                Err(format!("the active Service selects {selected}, which has no pods"))
            }
            _ => Ok(()),
        }
    }
}
