//! One Rollout under load, from its first version to its last.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tidegate_mesh::routing::Target as Reached;
use tidegate_mesh::{Config, Objects, Protocol, Request};
use tidegate_testbed::{Part, free_ports};

use crate::client::{Target, ask_over_tcp, ask_over_tls, once};
use crate::istio::at;
use crate::load::{HTTP, Kind, Load};
use crate::objects::{self, Carries, GATEWAY, Level, Place, Plan, SHOP, Way};
use crate::report::{Report, Row};
use crate::say;
use crate::stage::Stage;

/// How long proxies may take to follow, before a share is measured.
const PROPAGATION: Duration = Duration::from_secs(2);
/// Requests of one measurement, at least.
const SAMPLE: u64 = 1000;
/// How long a Rollout may take to come where it is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// The Rollout, its load and what was measured.
pub(crate) struct Shop<'a> {
    pub(crate) stage: &'a Stage,
    plan: Plan,
    place: Place,
    pub(crate) target: Target,
    load: Load,
    rows: Vec<Row>,
    _proxy: Option<Part>,
}

impl<'a> Shop<'a> {
    /// Makes everything, waits until version 1 serves, and begins the load.
    pub(crate) async fn open(stage: &'a Stage, plan: Plan) -> Result<Self> {
        let namespace = stage.testbed.namespace("shop").await?;
        let [port] = free_ports()?;
        let place = Place { namespace, port, pod_port: stage.pod_port };
        for object in objects::all(&plan, &place) {
            stage.cluster.create(object).await?;
        }
        let proxy = match plan.way {
            Way::Gateway => None,
            Way::Sidecar => Some(stage.sidecar(&place.namespace).await?),
            Way::Waypoint => Some(stage.waypoint(&place).await?),
        };
        let target = Target { address: at(port), host: place.host(&plan) };
        serves(&plan, &target).await?;
        let load = Load::start(&target, kinds(&plan));
        let shop = Self { stage, plan, place, target, load, rows: Vec::new(), _proxy: proxy };
        shop.healthy("1").await?;
        Ok(shop)
    }

    /// Ends the load and removes everything; all that was measured.
    pub(crate) async fn close(self) -> Report {
        let totals = self.load.totals();
        if let Err(problem) = self.stage.cluster.remove_namespace(&self.place.namespace).await {
            say(&format!("{problem:#}"));
        }
        Report { rows: self.rows, totals, ..Report::default() }
    }

    /// Names what is going on.
    fn step(&self, name: &str) {
        say(&format!("  {name}"));
        self.load.step(name);
    }

    async fn patch(&self, patch: Value) -> Result<()> {
        self.stage.cluster.patch_rollout(&self.place.namespace, SHOP, &patch).await
    }

    /// A new version.
    pub(crate) async fn update(&self, version: &str) -> Result<()> {
        self.step(&format!("update to {version}"));
        self.patch(json!({"spec": {"template": objects::template(&self.plan, version)}})).await
    }

    /// What `promote` sends for a pause.
    pub(crate) async fn promote(&self) -> Result<()> {
        self.step("promote");
        self.patch(json!({"status": {"pauseConditions": null}})).await
    }

    /// What `abort` sends.
    pub(crate) async fn abort(&self) -> Result<()> {
        self.step("abort");
        self.patch(json!({"status": {"abort": true}})).await
    }

    /// Waits for a state of the Rollout.
    async fn until(&self, what: &str, is_there: impl Fn(&Value) -> bool) -> Result<()> {
        let begun = Instant::now();
        loop {
            let rollout = self.stage.cluster.rollout(&self.place.namespace, SHOP).await?;
            let generation = rollout["metadata"]["generation"].as_i64().map(|number| number.to_string());
            let is_observed = rollout["status"]["observedGeneration"].as_str() == generation.as_deref();
            if is_observed && is_there(&rollout["status"]) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                bail!("not {what} after {} s: {}", PATIENCE.as_secs(), rollout["status"]);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until it is paused at this step.
    pub(crate) async fn paused_at(&self, step: u64) -> Result<()> {
        let is_there = |status: &Value| {
            let is_paused = status["pauseConditions"].as_array().is_some_and(|list| !list.is_empty());
            is_paused && status["phase"] == "Paused" && status["currentStepIndex"] == step
        };
        self.until(&format!("paused at step {step}"), is_there).await
    }

    /// Waits until this version is stable and the only one with pods.
    pub(crate) async fn healthy(&self, version: &str) -> Result<()> {
        let is_there = |status: &Value| {
            status["phase"] == "Healthy"
                && status["stableRS"] == status["currentPodHash"]
                && !status["stableRS"].is_null()
        };
        self.until(&format!("healthy with version {version}"), is_there).await?;
        self.only_pods_of(version).await
    }

    /// Waits until it says that it was aborted, and only this version has pods.
    pub(crate) async fn aborted_to(&self, version: &str) -> Result<()> {
        self.until("aborted", |status| status["phase"] == "Degraded" && status["abort"] == true).await?;
        self.only_pods_of(version).await
    }

    async fn only_pods_of(&self, version: &str) -> Result<()> {
        let begun = Instant::now();
        let image = format!("shop:{version}");
        loop {
            let pods = self.stage.cluster.list("", "Pod", &self.place.namespace).await?;
            let others = pods.iter().filter(|pod| pod["spec"]["containers"][0]["image"] != *image).count();
            if others == 0 {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                bail!("{others} pods are not of version {version} after {} s", PATIENCE.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Waits for the proxies, then measures: each version must have its share, and no other may answer. The first is the
    /// one that is reported.
    pub(crate) async fn measure(&mut self, step: &str, wanted: &[(&str, f64)]) -> Result<()> {
        self.step(step);
        tokio::time::sleep(PROPAGATION).await;
        let versions = self.load.sample(SAMPLE).await?;
        let simulated = self.simulated().await?;
        let requests = versions.values().sum();
        let hits = |version: &str| versions.get(version).copied().unwrap_or_default();
        let rows = wanted.iter().map(|(version, share)| {
            let simulated = simulated.as_ref().map(|shares| shares.get(*version).copied().unwrap_or_default());
            Row { simulated, ..Row::of(step, *share, requests, hits(version)) }
        });
        let mut rows: Vec<Row> = rows.collect();
        let all_good = rows.iter().all(Row::is_good);
        let counted: u64 = wanted.iter().map(|(version, _)| hits(version)).sum();
        if let Some(row) = rows.first_mut()
            && (!all_good || counted != requests)
        {
            row.problem = Some(format!("wanted {wanted:?}, answered {versions:?}, simulated {simulated:?}"));
        }
        self.rows.extend(rows.into_iter().take(1));
        Ok(())
    }

    /// Sends requests with these headers, one after the other; all must be answered by this version.
    pub(crate) async fn expect(
        &mut self,
        step: &str,
        count: u64,
        headers: &[(&str, &str)],
        version: &str,
    ) -> Result<()> {
        self.step(step);
        let mut hits = 0;
        for _ in 0..count {
            let answer = once(&self.target, "/", headers).await?;
            hits += u64::from(answer.version.as_deref() == Some(version));
        }
        self.note(Row::of(step, 1.0, count, hits));
        Ok(())
    }

    /// A row that was measured elsewhere.
    pub(crate) fn note(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// All but one of the pods vanish.
    pub(crate) async fn break_pods(&self) -> Result<()> {
        self.step("pods vanish");
        let pods = self.stage.cluster.list("", "Pod", &self.place.namespace).await?;
        for name in pods.iter().skip(1).filter_map(|pod| pod["metadata"]["name"].as_str()) {
            self.stage.cluster.kill_pod(&self.place.namespace, name).await?;
        }
        Ok(())
    }

    /// Gives the proxies time to follow.
    pub(crate) async fn propagate(&self) {
        tokio::time::sleep(PROPAGATION).await;
    }

    /// The share of each version as the simulated mesh sees the objects of this moment; it knows nothing of the Gateway API.
    async fn simulated(&self) -> Result<Option<BTreeMap<String, f64>>> {
        if self.plan.level == Level::Route {
            return Ok(None);
        }
        let mut objects = Vec::new();
        for kind in ["VirtualService", "DestinationRule", "Gateway"] {
            objects.extend(self.stage.cluster.list("networking.istio.io", kind, &self.place.namespace).await?);
        }
        for kind in ["Service", "Pod"] {
            objects.extend(self.stage.cluster.list("", kind, &self.place.namespace).await?);
        }
        let config = Config::read(&Objects::sorted(&objects));
        let problems: Vec<_> = config.problems().collect();
        if !problems.is_empty() {
            bail!("the simulated mesh cannot read all objects: {problems:?}");
        }
        let mut shares = BTreeMap::new();
        for (reached, share) in config.shares(&self.request()) {
            let name = match &reached {
                Reached::Pods { hash, .. } => version_of(&objects, hash).unwrap_or_else(|| hash.clone()),
                other => format!("{other:?}"),
            };
            *shares.entry(name).or_default() += share;
        }
        Ok(Some(shares))
    }

    fn request(&self) -> Request {
        let protocol = match self.plan.carries {
            Carries::Http => Protocol::Http,
            Carries::Tls => Protocol::Tls,
            Carries::Tcp => Protocol::Tcp,
        };
        let namespace = self.place.namespace.clone();
        let port = self.place.port;
        let request = Request { protocol, port, source_namespace: namespace, ..Request::to(&self.target.host) };
        match self.plan.way {
            Way::Gateway => request.through(&self.place.namespace, GATEWAY),
            Way::Sidecar | Way::Waypoint => request,
        }
    }
}

/// The version of the pods with this hash.
fn version_of(objects: &[Value], hash: &str) -> Option<String> {
    let pod = objects
        .iter()
        .find(|object| object["kind"] == "Pod" && object["metadata"]["labels"]["rollouts-pod-template-hash"] == hash)?;
    let image = pod["spec"]["containers"][0]["image"].as_str()?;
    image.rsplit(':').next().map(str::to_owned)
}

fn kinds(plan: &Plan) -> &'static [Kind] {
    match plan.carries {
        Carries::Http => &HTTP,
        Carries::Tls => &[Kind::Tls; 10],
        Carries::Tcp => &[Kind::Tcp; 10],
    }
}

/// Waits until version 1 answers ten times in a row.
async fn serves(plan: &Plan, target: &Target) -> Result<()> {
    let begun = Instant::now();
    let mut in_a_row = 0;
    while in_a_row < 10 {
        let answer = match plan.carries {
            Carries::Http => once(target, "/", &[])
                .await
                .map(|answer| answer.version.unwrap_or_else(|| format!("status {}", answer.status))),
            Carries::Tls => ask_over_tls(target.address, &target.host).await,
            Carries::Tcp => ask_over_tcp(target.address).await,
        };
        in_a_row = if answer.as_ref().is_ok_and(|version| version == "1") { in_a_row + 1 } else { 0 };
        if begun.elapsed() > PATIENCE {
            bail!("version 1 does not answer: {answer:?}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
