//! Several controllers and one Lease: leaders are killed in the middle of updates, and somebody else goes on.

use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tidegate_controller::Options;
use tidegate_runtime::lease::{LeaseOptions, Timing, lead};
use tidegate_sim::experiment::USER;
use tidegate_sim::journal::Mirror;
use tidegate_sim::{Random, Setting, World};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::SUBJECT;
use super::cast::template;
use super::judge::{Judge, LOCK, holder};
use super::objects::{NAMESPACE, ROLLOUTS, sets_of, size, text};
use crate::world;

/// Controllers that run at once.
const CANDIDATES: usize = 3;

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Takeovers {
    /// From the death of a leader to the next one, at most.
    pub longest: Duration,
    /// Different leaders there were.
    pub leaders: usize,
}

/// Kills the leader so many times, each time at another moment of an update.
///
/// # Errors
/// What was broken, or how the end differs from that of a quiet run.
pub fn kill_leaders(times: usize, seed: u64) -> Result<Takeovers, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.map_err(|error| error.to_string())?.block_on(live(times, seed))
}

/// A controller that wants to lead.
struct Candidate {
    name: String,
    tasks: [JoinHandle<()>; 2],
}

impl Candidate {
    fn start(world: &World, number: usize) -> Self {
        let name = format!("{SUBJECT}-{number}");
        let (client, clock) = (world.client(&name), world.clock());
        let options = LeaseOptions {
            namespace: NAMESPACE.to_owned(),
            name: LOCK.to_owned(),
            identity: name.clone(),
            timing: Timing::default(),
            field_manager: SUBJECT.to_owned(),
        };
        let wall = move || clock.now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let (leadership, campaign) = lead(client.clone(), options, wall, std::future::pending());
        let work = tidegate_controller::run(client, clock, Options::default(), leadership, std::future::pending());
        Self { name, tasks: [tokio::spawn(campaign), tokio::spawn(work)] }
    }

    /// Ends it at once, whatever it does.
    fn kill(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn live(times: usize, seed: u64) -> Result<Takeovers, String> {
    let mut world = World::empty(Setting::new(seed));
    let judge = Judge::over(&world);
    world.add_nodes();
    world.add_manager();
    let client = world.client(USER);
    world::install_crds(&client).await.map_err(|error| error.to_string())?;
    let rollouts = world::api(&client, NAMESPACE, "Rollout");
    create(&rollouts).await?;
    let mut candidates: Vec<Candidate> = (0..CANDIDATES).map(|number| Candidate::start(&world, number)).collect();
    let mut random = Random::new(seed, "leaders");
    let mut longest = Duration::ZERO;
    world.pass(Duration::from_secs(30)).await;
    for round in 1..=times {
        roll(&rollouts, &format!("shop:{}", round + 1)).await?;
        world.pass(Duration::from_millis(random.between(0, 6000))).await;
        let leader = holder(&world.journal().mirror());
        let Some(at) = candidates.iter().position(|candidate| candidate.name == leader) else {
            return Err(format!("round {round}: nobody leads, the lease says {leader:?}"));
        };
        candidates.remove(at).kill();
        let died = Instant::now();
        candidates.push(Candidate::start(&world, CANDIDATES + round));
        while holder(&world.journal().mirror()) == leader {
            world.pass(Duration::from_millis(100)).await;
            if died.elapsed() > Duration::from_secs(60) {
                return Err(format!("round {round}: nobody takes over from {leader}"));
            }
        }
        longest = longest.max(died.elapsed());
    }
    world.pass(Duration::from_secs(120)).await;
    if let Some(broken) = &judge.verdict().broken {
        return Err(broken.clone());
    }
    let leaders = judge.verdict().writers.len();
    is_complete(&world.journal().mirror(), &format!("shop:{}", times + 1))?;
    Ok(Takeovers { longest, leaders })
}

async fn create(rollouts: &Api<DynamicObject>) -> Result<(), String> {
    let steps = json!([{"setWeight": 25}, {"pause": {"duration": 1}}, {"setWeight": 50}, {"pause": {"duration": 1}}]);
    let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "one"}, "spec": {
        "replicas": 4, "revisionHistoryLimit": 3, "selector": {"matchLabels": {"app": "one"}},
        "strategy": {"canary": {"steps": steps}}, "template": template("shop:1", "one", false)}});
    let object = serde_json::from_value(object).map_err(|error| error.to_string())?;
    rollouts.create(&PostParams::default(), &object).await.map_err(|error| error.to_string())?;
    Ok(())
}

async fn roll(rollouts: &Api<DynamicObject>, image: &str) -> Result<(), String> {
    let patch = Patch::Merge(json!({"spec": {"template": template(image, "one", false)}}));
    rollouts.patch("one", &PatchParams::default(), &patch).await.map_err(|error| error.to_string())?;
    Ok(())
}

fn is_complete(mirror: &Mirror, image: &str) -> Result<(), String> {
    let Some(rollout) = mirror.get(ROLLOUTS, NAMESPACE, "one") else { return Err("the Rollout is gone".to_owned()) };
    let running: Vec<(&Value, i64)> = sets_of(mirror, rollout)
        .map(|set| (&set["spec"]["template"]["spec"]["containers"][0]["image"], size(set)))
        .filter(|(_, size)| *size > 0)
        .collect();
    let phase = text(&rollout["status"]["phase"]);
    if phase != "Healthy" || running.len() != 1 || running[0].0 != image || running[0].1 != 4 {
        return Err(format!("at the end it is {phase} and runs {running:?}"));
    }
    Ok(())
}
