//! Plays a scenario: acts, waits until the world has settled, takes a checkpoint.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::commands::{Commander, patch_json};
use crate::metrics::Metrics;
use crate::observer::{HASH_LABEL, Observer, text};
use crate::probes;
use crate::projection::Projector;
use crate::scenario::Scenario;
use crate::sequences::Sequences;
use crate::takeover;
use crate::world::{self, World};

/// How often the world is looked at while it settles.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Who plays a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    /// One controller from the beginning to the end.
    One,
    /// At every checkpoint another controller finds what was recorded there and goes on.
    OneEach,
}

/// How long a controller that takes over is looked at before the next thing happens.
const TAKEOVER: Duration = Duration::from_secs(2);

/// Plays a scenario and returns its trace.
pub(crate) async fn play(scenario: &Scenario, cast: Cast) -> Result<Value> {
    let metrics = Metrics::default();
    metrics.set(&scenario.http);
    let mut world = World::new(metrics.clone()).await?;
    let namespace = format!("t-{}", scenario.name);
    world.add(probes::run(world.client.clone(), namespace.clone()));
    let namespaces: Api<DynamicObject> = Api::all_with(world.client.clone(), &world::resource("", "v1", "Namespace"));
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    namespaces.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    let mut player = Player {
        observer: Observer::new(&world.client, &namespace),
        sequences: Sequences::default(),
        checkpoints: Vec::new(),
        scenario,
        namespace,
        metrics,
        world,
        cast,
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut has_waited = false;
    for object in &scenario.objects {
        if object["kind"] == "Rollout" && !has_waited {
            tokio::time::sleep(Duration::from_millis(700)).await;
            has_waited = true;
        }
        player.apply(object).await?;
    }
    player.checkpoint("initial", &scenario.initial).await;
    player.hand_over().await?;
    for (index, action) in scenario.actions.iter().enumerate() {
        let label = format!("action {}", index + 1);
        player.act(action).await.with_context(|| format!("{label} of {}", scenario.name))?;
        player.checkpoint(&label, action).await;
        player.hand_over().await?;
    }
    Ok(json!({"checkpoints": player.checkpoints}))
}

struct Player<'a> {
    world: World,
    observer: Observer,
    sequences: Sequences,
    checkpoints: Vec<Value>,
    scenario: &'a Scenario,
    namespace: String,
    metrics: Metrics,
    cast: Cast,
}

impl Player<'_> {
    fn api(&self, kind: &str) -> Api<DynamicObject> {
        world::api(&self.world.client, &self.namespace, kind)
    }

    /// Another controller takes over what was recorded here.
    async fn hand_over(&mut self) -> Result<()> {
        if self.cast == Cast::One {
            return Ok(());
        }
        self.world.end_controller();
        let at = self.checkpoints.len() - 1;
        takeover::dress(&self.world.client, &self.namespace, &self.scenario.trace["checkpoints"][at]["state"]).await?;
        let written = self.world.start_successor(TAKEOVER).await;
        if let Some(fields) = self.checkpoints[at].as_object_mut() {
            fields.insert("takeover".to_owned(), written.into());
        }
        Ok(())
    }

    async fn apply(&self, object: &Value) -> Result<()> {
        let api = self.api(text(&object["kind"]));
        match api.create(&PostParams::default(), &serde_json::from_value(object.clone())?).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let name = text(&object["metadata"]["name"]);
                api.patch(name, &PatchParams::default(), &Patch::Merge(object)).await?;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn act(&self, action: &Map<String, Value>) -> Result<()> {
        if let Some(objects) = action.get("apply") {
            let one = std::slice::from_ref(objects);
            for object in objects.as_array().map_or(one, Vec::as_slice) {
                self.apply(object).await?;
            }
        }
        if let Some(patch) = action.get("patch") {
            self.patch(patch).await?;
        }
        if let Some(delete) = action.get("delete") {
            let api = self.api(text(&delete["kind"]));
            api.delete(text(&delete["name"]), &DeleteParams::background()).await?;
        }
        if let Some(answers) = action.get("http").and_then(Value::as_object) {
            self.metrics.set(answers);
        }
        if let Some(delete) = action.get("deletePods") {
            self.delete_pods(delete).await?;
        }
        if let Some(seconds) = action.get("sleep").and_then(Value::as_f64) {
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        }
        if let Some(words) = action.get("cli").and_then(Value::as_array) {
            let words: Vec<&str> = words.iter().map(text).collect();
            let commander =
                Commander { client: &self.world.client, clock: self.world.clock, namespace: &self.namespace };
            commander.run(&words).await?;
        }
        Ok(())
    }

    async fn patch(&self, patch: &Value) -> Result<()> {
        let api = self.api(patch["kind"].as_str().unwrap_or("Rollout"));
        let name = patch["name"].as_str().unwrap_or(&self.scenario.rollout);
        let body = &patch["body"];
        if patch["type"] == "json" {
            return patch_json(&self.world.client, &api, name, body).await;
        }
        match patch["subresource"].as_str() {
            Some(sub) => {
                api.patch_subresource(sub, name, &PatchParams::default(), &Patch::Merge(body)).await?;
            }
            None => {
                api.patch(name, &PatchParams::default(), &Patch::Merge(body)).await?;
            }
        }
        Ok(())
    }

    async fn delete_pods(&self, wanted: &Value) -> Result<()> {
        let revision = wanted["revision"].as_str().map_or_else(|| wanted["revision"].to_string(), str::to_owned);
        let names: Vec<String> = {
            let known = self.observer.known();
            let projector = Projector { known: &known, namespace: &self.namespace };
            let is_it = |pod: &Value| {
                projector.revision(&pod["metadata"]["labels"][HASH_LABEL]) == revision.as_str()
                    && pod["metadata"]["deletionTimestamp"].is_null()
            };
            known.all("Pod").filter(|(_, pod)| is_it(pod)).map(|(name, _)| name.clone()).collect()
        };
        let count = usize::try_from(wanted["count"].as_u64().unwrap_or(1))?;
        for name in names.iter().take(count) {
            self.api("Pod").delete(name, &DeleteParams::default()).await?;
        }
        Ok(())
    }

    fn project(&self, ignored: &[Value]) -> Value {
        let known = self.observer.known();
        let mut state = Projector { known: &known, namespace: &self.namespace }.project();
        for pattern in ignored {
            let keys: Vec<&str> = text(pattern).trim_matches('/').split('/').collect();
            prune(&mut state, &keys);
        }
        state
    }

    fn holds(&self, state: &Value, until: &Map<String, Value>) -> bool {
        until.iter().all(|(path, wanted)| {
            let found = if path.starts_with('/') {
                state.pointer(path)
            } else {
                state.pointer(&format!("/rollouts/{}/{path}", self.scenario.rollout))
            };
            let found = found.cloned().unwrap_or_default();
            match wanted.as_str().and_then(|text| text.strip_prefix('~')) {
                Some(pattern) => {
                    let shown = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
                    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&shown))
                }
                None => found == *wanted,
            }
        })
    }

    async fn checkpoint(&mut self, label: &str, action: &Map<String, Value>) {
        let seconds = |name: &str, default: f64| action.get(name).and_then(Value::as_f64).unwrap_or(default);
        let (quiet, timeout) = (seconds("settle", 3.0), seconds("timeout", 90.0));
        let until = action.get("until").and_then(Value::as_object).cloned().unwrap_or_default();
        let ignored = action.get("ignore").and_then(Value::as_array).cloned().unwrap_or_default();
        let (mut waited, mut still) = (0.0, 0.0);
        let mut last = (Value::Null, 0);
        let is_late = loop {
            let state = self.project(&ignored);
            let rows = self.observer.known().rows.len();
            let now = (state, rows);
            if now != last {
                still = 0.0;
            }
            let rollouts = now.0["rollouts"].as_object().into_iter().flatten();
            let is_seen = rollouts.into_iter().all(|(_, found)| found["observedGenerationMatches"] == true);
            if self.holds(&now.0, &until) && (is_seen || still > 8.0) && still >= quiet {
                break false;
            }
            if waited > timeout {
                break true;
            }
            last = now;
            tokio::time::sleep(LOOK_EVERY).await;
            waited += LOOK_EVERY.as_secs_f64();
            still += LOOK_EVERY.as_secs_f64();
        };
        let state = self.project(&ignored);
        let mut known = self.observer.known();
        let rows = std::mem::take(&mut known.rows);
        let projector = Projector { known: &known, namespace: &self.namespace };
        let sequences = self.sequences.take(&rows, &projector);
        self.checkpoints.push(json!({"after": label, "timedOut": is_late, "state": state, "sequences": sequences}));
    }
}

/// Removes what matches a path of shell patterns; `*` stands for any name.
fn prune(value: &mut Value, keys: &[&str]) {
    let (Some(fields), [first, rest @ ..]) = (value.as_object_mut(), keys) else { return };
    if rest.is_empty() {
        fields.retain(|key, _| !fits(first, key));
        return;
    }
    fields.iter_mut().filter(|(key, _)| fits(first, key)).for_each(|(_, value)| prune(value, rest));
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
    }
}
