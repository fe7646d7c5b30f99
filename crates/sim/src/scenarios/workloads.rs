//! Deployments that are rolled, scaled and deleted, Jobs, an autoscaler, and evictions under a budget.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::{NamespaceResourceScope, serde::Serialize, serde::de::DeserializeOwned};
use kube::api::{DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::controllers::autoscaler::DESIRED;
use crate::experiment::{Experiment, Invariant, Scenario, Seat, Stage, Subject, Weather};
use crate::faults::Menu;
use crate::invariants;
use crate::manager::Manager;
use crate::random::Random;
use crate::world::MANAGER;

/// Deployments that users roll and scale.
const ROLLED: [&str; 3] = ["web", "api", "cache"];
/// A Deployment under a budget, whose pods are only evicted.
const GUARDED: &str = "store";
/// A Deployment that an autoscaler scales.
const SCALED: &str = "burst";
/// A Deployment that comes and goes.
const FLEETING: &str = "temp";

/// The scenario.
#[derive(Clone, Copy, Debug)]
pub struct Workloads {
    /// How long users act.
    pub length: Duration,
}

impl Default for Workloads {
    fn default() -> Self {
        Self { length: Duration::from_secs(75) }
    }
}

/// The workload controllers of this crate as the client under test.
#[derive(Clone, Copy, Debug, Default)]
pub struct ManagerSubject;

impl Subject for ManagerSubject {
    fn name(&self) -> &'static str {
        MANAGER
    }

    fn start(&self, seat: Seat) -> BoxFuture<'static, ()> {
        Manager::new(seat.client, seat.clock).run(seat.stop).boxed()
    }

    fn needs_manager(&self) -> bool {
        false
    }
}

/// The workload controllers, tested by this scenario under another selection of faults for each seed.
pub fn experiment() -> Experiment {
    Experiment {
        scenario: Arc::new(Workloads::default()),
        subject: Arc::new(ManagerSubject),
        weather: Weather::Drawn,
        without: BTreeSet::new(),
        acts: None,
    }
}

impl Scenario for Workloads {
    fn name(&self) -> &'static str {
        "workloads"
    }

    fn length(&self, _: u64) -> Duration {
        self.length
    }

    fn play<'a>(&'a self, stage: &'a Stage<'a>, random: Random) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let mut players = Players { stage, random, images: 1, jobs: 0, acts: 0 };
            players.begin().await.map_err(|error| error.to_string())?;
            while stage.world.journal().elapsed() < self.length {
                players.act().await.map_err(|error| error.to_string())?;
            }
            Ok(())
        }
        .boxed()
    }

    fn invariants(&self, _: u64, menu: &Menu) -> Vec<Box<dyn Invariant>> {
        invariants::of_workloads(menu)
    }
}

struct Players<'a> {
    stage: &'a Stage<'a>,
    random: Random,
    images: u32,
    jobs: u32,
    acts: usize,
}

impl Players<'_> {
    async fn begin(&mut self) -> kube::Result<()> {
        for (name, size, strategy) in [
            ("web", 4, json!({})),
            ("api", 3, json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})),
            ("cache", 2, json!({"type": "Recreate"})),
            (GUARDED, 4, json!({})),
            (SCALED, 2, json!({})),
        ] {
            self.create::<Deployment>(deployment(name, size, &strategy)).await?;
        }
        for name in ["web", GUARDED] {
            let spec = json!({"selector": {"app": name}, "ports": [{"port": 80}]});
            self.create::<Service>(json!({"metadata": {"name": name}, "spec": spec})).await?;
        }
        let budget = json!({"maxUnavailable": 1, "selector": {"matchLabels": {"app": GUARDED}}});
        self.create::<PodDisruptionBudget>(json!({"metadata": {"name": GUARDED}, "spec": budget})).await?;
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": SCALED});
        let metadata = json!({"name": SCALED, "annotations": {DESIRED: "3"}});
        let spec = json!({"minReplicas": 1, "maxReplicas": 4, "scaleTargetRef": target});
        self.create::<HorizontalPodAutoscaler>(json!({"metadata": metadata, "spec": spec})).await
    }

    /// Something, and then nothing for a while.
    async fn act(&mut self) -> kube::Result<()> {
        self.acts += 1;
        // Everything an act draws comes from a number of its own: whether it is played changes no other.
        let (choice, pause, own) = (self.random.below(10), self.random.between(500, 12_000), self.random.bits());
        if self.stage.plays(self.acts) {
            self.tell(&format!("act {}", self.acts));
            let rest = std::mem::replace(&mut self.random, Random::new(own, "act"));
            let played = self.play(choice).await;
            self.random = rest;
            played?;
        }
        self.stage.world.pass(Duration::from_millis(pause)).await;
        Ok(())
    }

    async fn play(&mut self, choice: u64) -> kube::Result<()> {
        match choice {
            0..=2 => self.roll().await,
            3 | 4 => self.scale().await,
            5 | 6 => self.evict().await,
            7 => self.demand().await,
            8 => self.come_or_go().await,
            _ => self.run_a_job().await,
        }
    }

    async fn roll(&mut self) -> kube::Result<()> {
        let Some(name) = self.random.pick(&ROLLED).copied() else { return Ok(()) };
        // Now and then back to an image that was there before.
        self.images += u32::from(!self.random.per_mille(250));
        let image = format!("image:{}", self.images);
        self.tell(&format!("rolls {name} to {image}"));
        let containers = json!([{"name": "main", "image": image}]);
        self.patch::<Deployment>(name, json!({"spec": {"template": {"spec": {"containers": containers}}}})).await
    }

    async fn scale(&mut self) -> kube::Result<()> {
        let Some(name) = self.random.pick(&ROLLED).copied() else { return Ok(()) };
        let size = self.random.between(0, 6);
        self.tell(&format!("scales {name} to {size}"));
        self.patch::<Deployment>(name, json!({"spec": {"replicas": size}})).await
    }

    async fn evict(&mut self) -> kube::Result<()> {
        let pods = self.api::<Pod>().list(&ListParams::default().labels(&format!("app={GUARDED}"))).await?;
        let Some(name) = self.random.pick(&pods.items).map(ResourceExt::name_any) else { return Ok(()) };
        match self.api::<Pod>().evict(&name, &EvictParams::default()).await {
            Ok(_) => self.tell(&format!("evicts {name}")),
            Err(kube::Error::Api(status)) => self.tell(&format!("may not evict {name}: {}", status.code)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn demand(&mut self) -> kube::Result<()> {
        let desired = self.random.between(0, 6).to_string();
        self.tell(&format!("needs {desired} of {SCALED}"));
        self.patch::<HorizontalPodAutoscaler>(SCALED, json!({"metadata": {"annotations": {DESIRED: desired}}})).await
    }

    async fn come_or_go(&mut self) -> kube::Result<()> {
        let how = if self.random.per_mille(500) { DeleteParams::foreground() } else { DeleteParams::background() };
        match self.api::<Deployment>().get_opt(FLEETING).await? {
            None => {
                self.tell(&format!("creates {FLEETING}"));
                self.create::<Deployment>(deployment(FLEETING, 2, &json!({}))).await
            }
            Some(_) => {
                self.tell(&format!("deletes {FLEETING}"));
                self.api::<Deployment>().delete(FLEETING, &how).await.map(drop)
            }
        }
    }

    async fn run_a_job(&mut self) -> kube::Result<()> {
        self.jobs += 1;
        let name = format!("job-{}", self.jobs);
        self.tell(&format!("runs {name}"));
        let crash = json!({"node-agent.tidegate.dev/run-for": "3s", "node-agent.tidegate.dev/exit-code": "0"});
        let spec = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "job"}]});
        let template = json!({"metadata": {"annotations": crash}, "spec": spec});
        let spec = json!({"completions": 2, "parallelism": 2, "template": template});
        self.create::<Job>(json!({"metadata": {"name": name}, "spec": spec})).await
    }

    fn tell(&self, line: &str) {
        self.stage.world.journal().tell(&format!("user: {line}"));
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::default_namespaced(self.stage.client.clone())
    }

    async fn create<K>(&self, object: Value) -> kube::Result<()>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Serialize
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
        self.api::<K>().create(&PostParams::default(), &object).await.map(drop)
    }

    async fn patch<K>(&self, name: &str, change: Value) -> kube::Result<()>
    where
        K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.map(drop)
    }
}

fn deployment(name: &str, size: u32, strategy: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"replicas": size, "selector": {"matchLabels": {"app": name}},
        "strategy": strategy, "template": {"metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "image:1"}]}}}})
}
