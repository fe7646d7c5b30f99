//! A crash before and after every single write of an update.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::api::PostParams;
use serde_json::{Value, json};
use tidegate_apiserver::{After, Before, Call, Faults, Verb};
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;
use tidegate_sim::experiment::USER;
use tidegate_sim::journal::Mirror;
use tidegate_sim::{Setting, World};
use tokio::sync::Notify;

use super::SUBJECT;
use super::cast::template;
use super::judge::Judge;
use super::objects::{NAMESPACE, ROLLOUTS, SERVICES, hash, selected, sets_of, size};
use crate::commands::Commander;
use crate::world;

/// Pause between two acts: long enough to come to rest, with a crash in between.
const PAUSE: Duration = Duration::from_secs(40);
/// How long a dead controller stays dead.
const DEAD: Duration = Duration::from_secs(2);
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// An update that is played again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    /// A canary with steps: paused, aborted, retried, promoted, undone.
    Canary,
    /// Blue-green with a preview: paused, aborted, retried, promoted.
    BlueGreen,
    /// A Rollout that takes the place of a Deployment, and an update of it.
    Migration,
}

impl Story {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Canary, Self::BlueGreen, Self::Migration];

    fn strategy(self) -> Value {
        let steps = json!([{"setWeight": 25}, {"pause": {"duration": 1}}, {"setWeight": 50}, {"pause": {}}]);
        match self {
            Self::Canary => json!({"canary": {"stableService": "stable", "canaryService": "canary", "steps": steps}}),
            Self::BlueGreen => json!({"blueGreen": {"activeService": "stable", "previewService": "canary",
                "autoPromotionEnabled": false, "scaleDownDelaySeconds": 3, "abortScaleDownDelaySeconds": 2}}),
            Self::Migration => json!({"canary": {}}),
        }
    }

    fn objects(self) -> Vec<Value> {
        let service = |name: &str| {
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]}})
        };
        let selector = json!({"matchLabels": {"app": "shop"}});
        let first = template("shop:1", "shop", false);
        let mut spec = json!({"replicas": 3, "strategy": self.strategy()});
        let mut objects = vec![service("stable"), service("canary")];
        if self == Self::Migration {
            objects.push(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"},
                "spec": {"replicas": 2, "selector": selector, "template": first}}));
            spec["workloadRef"] =
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "scaleDown": "progressively"});
        } else {
            spec["selector"] = selector;
            spec["template"] = first;
        }
        objects.push(json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop"},
            "spec": spec}));
        objects
    }

    fn acts(self) -> &'static [&'static str] {
        match self {
            Self::Canary => &[
                "set image shop main=shop:2",
                "abort shop",
                "retry rollout shop",
                "promote shop",
                "undo shop",
                "promote shop --full",
            ],
            Self::BlueGreen => &["set image shop main=shop:2", "abort shop", "retry rollout shop", "promote shop"],
            Self::Migration => &["roll shop:2", "restart shop"],
        }
    }
}

/// Lets the controller die at one of its writes.
struct CrashAt {
    /// Which write, counted from 1; and whether before or after its effect.
    at: Option<(u64, bool)>,
    writes: Mutex<u64>,
    died: Notify,
}

fn is_write(call: &Call<'_>) -> bool {
    call.client == SUBJECT && !matches!(call.verb, Verb::Get | Verb::List | Verb::Watch) && call.resource != "events"
}

impl Faults for CrashAt {
    fn before(&self, call: &Call<'_>) -> Before {
        if !is_write(call) {
            return Before::Pass;
        }
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        *writes += 1;
        if self.at == Some((*writes, true)) {
            self.died.notify_one();
            return Before::Delay(NEVER);
        }
        Before::Pass
    }

    fn after(&self, call: &Call<'_>, _: u16) -> After {
        let writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        if is_write(call) && self.at == Some((*writes, false)) {
            self.died.notify_one();
            return After::Silence;
        }
        After::Pass
    }
}

/// Plays a story quietly and then with a crash before and after each of its writes; says how many runs that took.
///
/// # Errors
/// What was broken first, or which end differs from the quiet one.
pub fn crash_everywhere(story: Story) -> Result<u64> {
    let (quiet, writes) = run(story, None)?;
    for write in 1..=writes {
        for is_before in [true, false] {
            let (end, _) = run(story, Some((write, is_before)))?;
            if end != quiet {
                let when = if is_before { "before" } else { "after" };
                bail!("{story:?} with a crash {when} write {write} ends as\n{end}\ninstead of\n{quiet}");
            }
        }
    }
    Ok(1 + 2 * writes)
}

fn run(story: Story, at: Option<(u64, bool)>) -> Result<(String, u64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(live(story, at)).with_context(|| format!("{story:?}, crash at {at:?}"))
}

async fn live(story: Story, at: Option<(u64, bool)>) -> Result<(String, u64)> {
    let faults = Arc::new(CrashAt { at, writes: Mutex::new(0), died: Notify::new() });
    let mut world = World::empty(Setting { faults: Arc::<CrashAt>::clone(&faults), ..Setting::new(0) });
    let judge = Judge::over(&world);
    world.add_nodes();
    world.add_manager();
    let client = world.client(USER);
    world::install_crds(&client).await?;
    let (subject, clock) = (world.client(SUBJECT), world.clock());
    let dying = Arc::clone(&faults);
    world.add(async move {
        loop {
            let work = tidegate_controller::run(
                subject.clone(),
                clock,
                Options::default(),
                Leadership::alone(),
                std::future::pending(),
            );
            tokio::select! {
                biased;
                () = dying.died.notified() => {}
                () = work => return,
            }
            tokio::time::sleep(DEAD).await;
        }
    });
    for object in story.objects() {
        let api = world::api(&client, NAMESPACE, object["kind"].as_str().unwrap_or_default());
        api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    }
    world.pass(PAUSE).await;
    let commander = Commander { client: &client, clock, namespace: NAMESPACE };
    for act in story.acts() {
        match act.split(' ').collect::<Vec<_>>()[..] {
            ["roll", image] => {
                let patch =
                    json!([{"op": "replace", "path": "/spec/template", "value": template(image, "shop", false)}]);
                let deployments = world::api(&client, NAMESPACE, "Deployment");
                crate::commands::patch_json(&client, &deployments, "shop", &patch).await?;
            }
            ref words => drop(commander.run(words).await?),
        }
        world.pass(PAUSE).await;
    }
    if let Some(broken) = &judge.verdict().broken {
        bail!("{broken}");
    }
    let writes = *faults.writes.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((picture(&world.journal().mirror()), writes))
}

/// What users see in the end.
fn picture(mirror: &Mirror) -> String {
    let Some(rollout) = mirror.get(ROLLOUTS, NAMESPACE, "shop") else { return "gone".to_owned() };
    let status = &rollout["status"];
    let fields = ["phase", "message", "stableRS", "currentPodHash", "currentStepIndex", "abort", "availableReplicas"];
    let mut lines: Vec<String> = fields.iter().map(|field| format!("{field} {}", status[field])).collect();
    lines.extend(sets_of(mirror, rollout).map(|set| format!("{} {}", hash(set), size(set))));
    lines.extend(mirror.of(SERVICES).map(|service| format!("{} {}", service["metadata"]["name"], selected(service))));
    lines.extend(mirror.of("deployments.apps").map(|found| format!("deployment {}", size(found))));
    lines.join("\n")
}
