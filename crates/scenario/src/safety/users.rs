//! What users do to their Rollouts, at moments drawn from the seed.

use std::time::Duration;

use anyhow::Result;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tidegate_clock::Clock;
use tidegate_sim::{Random, Stage};

use super::cast::{self, Ending, Kind, LAST_IMAGE, LAST_SIZE, Member, template};
use crate::commands::Commander;
use crate::observer::text;
use crate::world;

const NAMESPACE: &str = "default";
/// How long users go on promoting what waits for them.
const ROUNDS: usize = 60;

/// The users of one run.
pub(super) struct Users<'a> {
    stage: &'a Stage<'a>,
    random: Random,
    cast: Vec<Member>,
    versions: u32,
    acts: usize,
    /// Whether they make Experiments, too.
    pub tries: bool,
}

impl<'a> Users<'a> {
    pub(super) fn new(stage: &'a Stage<'a>, random: Random, cast: Vec<Member>) -> Self {
        Self { stage, random, cast, versions: 1, acts: 0, tries: false }
    }

    fn client(&self) -> &Client {
        &self.stage.client
    }

    fn clock(&self) -> Clock {
        self.stage.world.clock()
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        world::api(self.client(), NAMESPACE, kind)
    }

    fn tell(&self, line: &str) {
        self.stage.world.journal().tell(&format!("user: {line}"));
    }

    /// Creates what there is at the start.
    pub(super) async fn begin(&self) -> Result<()> {
        for object in self.cast.iter().flat_map(Member::objects) {
            let api = world::api_of(self.client(), NAMESPACE, &object);
            api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        }
        Ok(())
    }

    /// Waits a while and does one thing.
    pub(super) async fn act(&mut self) -> Result<()> {
        tokio::time::sleep(Duration::from_millis(self.random.between(500, 6000))).await;
        let at = usize::try_from(self.random.below(self.cast.len() as u64)).unwrap_or(0);
        let member = self.cast[at].clone();
        let (choice, detail) = (self.random.below(24), self.random.bits());
        let tries = self.tries && self.random.per_mille(200);
        let syncs = !member.git().is_empty() && self.random.per_mille(200);
        self.acts += 1;
        if !self.stage.plays(self.acts) {
            return Ok(());
        }
        self.tell(&format!("act {}", self.acts));
        if syncs {
            return self.sync(&member, detail).await;
        }
        if tries {
            return self.try_something(&member).await;
        }
        match choice {
            // Not at first: a bad version that comes before the first one is complete becomes the stable one.
            0..=4 => self.roll(&member, detail % 5 == 0 && self.acts > 8).await,
            // Never none: with no pods at all even a bad version is complete, and what comes after it would wait for it.
            5..=6 => self.scale(&member, 1 + detail % 5).await,
            7..=8 => self.command(&["abort", member.name]).await,
            9..=10 => self.command(&["retry", "rollout", member.name]).await,
            11..=15 => self.command(&["promote", member.name]).await,
            16 => self.command(&["promote", member.name, "--full"]).await,
            17 => self.command(&["undo", member.name]).await,
            18 => self.command(&["pause", member.name]).await,
            19 => self.spec(&member, json!({"paused": false})).await,
            // Shorter than the time a pod needs to count: refused by validation.
            20 => self.spec(&member, json!({"minReadySeconds": 7000})).await,
            21 => self.spec(&member, member.sound()).await,
            _ => self.command(&["restart", member.name]).await,
        }
    }

    /// Somebody writes what stands in Git over what is there.
    async fn sync(&self, member: &Member, detail: u64) -> Result<()> {
        let at = usize::try_from(detail).unwrap_or(0) % member.git().len().max(1);
        let Some(object) = member.git().get(at) else { return Ok(()) };
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        self.tell(&format!("{kind} {name} as in Git"));
        let mut patch = json!({"spec": object["spec"]});
        if member.kind == Kind::Routers {
            // As a replacement does: annotations that are not in Git go.
            patch["metadata"] = json!({"annotations": null});
        }
        let api = world::api_of(self.client(), NAMESPACE, object);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Makes an Experiment by hand, or ends or tries again one that is there.
    async fn try_something(&mut self, member: &Member) -> Result<()> {
        let all = self.api("Experiment").list(&ListParams::default()).await?.items;
        let at = usize::try_from(self.random.below(all.len() as u64 + 2)).unwrap_or(0);
        let Some(name) = all.get(at).and_then(|found| found.metadata.name.clone()) else {
            self.versions += 1;
            let object = cast::alone(self.versions, member.name, &mut self.random);
            self.tell(&format!("makes {}", text(&object["metadata"]["name"])));
            self.api("Experiment").create(&PostParams::default(), &serde_json::from_value(object)?).await?;
            return Ok(());
        };
        // What a Rollout waits for is not tried again by hand: it has its own way.
        let retries = name.starts_with("alone-") && self.random.per_mille(400);
        let patch = if retries { json!({"status": null}) } else { json!({"spec": {"terminate": true}}) };
        self.tell(&format!("patches {name} with {patch}"));
        match self.api("Experiment").patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            patched => Ok(patched.map(drop)?),
        }
    }

    async fn command(&self, words: &[&str]) -> Result<()> {
        self.tell(&words.join(" "));
        let commander = Commander { client: self.client(), clock: self.clock(), namespace: NAMESPACE };
        commander.run(words).await?;
        Ok(())
    }

    async fn spec(&self, member: &Member, spec: Value) -> Result<()> {
        self.tell(&format!("{} gets {spec}", member.name));
        let patch = Patch::Merge(json!({"spec": spec}));
        self.api("Rollout").patch(member.name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    async fn scale(&self, member: &Member, size: u64) -> Result<()> {
        self.spec(member, json!({"replicas": size})).await
    }

    async fn roll(&mut self, member: &Member, is_bad: bool) -> Result<()> {
        self.versions += 1;
        let image = format!("shop:{}", self.versions);
        self.set_template(member, template(&image, member.name, is_bad)).await
    }

    async fn set_template(&self, member: &Member, template: Value) -> Result<()> {
        self.tell(&format!("{} runs {}", member.name, text(&template["spec"]["containers"][0]["image"])));
        let kind = if member.kind == Kind::Borrowed { "Deployment" } else { "Rollout" };
        let patch = json!([{"op": "replace", "path": "/spec/template", "value": template}]);
        crate::commands::patch_json(self.client(), &self.api(kind), member.name, &patch).await
    }

    /// What they want in the end.
    pub(super) async fn finish(&mut self) -> Result<()> {
        for member in self.cast.clone() {
            self.tell(&format!("{} ends: {:?}", member.name, member.ending));
            let sound = cast::with(member.sound(), json!({"paused": false, "replicas": LAST_SIZE}));
            match member.ending {
                Ending::Last => {
                    self.spec(&member, sound).await?;
                    self.set_template(&member, template(LAST_IMAGE, member.name, false)).await?;
                }
                Ending::Aborted => {
                    self.spec(&member, sound).await?;
                    self.end_abort(&member).await?;
                    self.roll(&member, false).await?;
                    tokio::time::sleep(Duration::from_millis(self.random.between(0, 8000))).await;
                    self.command(&["abort", member.name]).await?;
                }
                Ending::Deleted => {
                    self.api("Rollout").delete(member.name, &DeleteParams::background()).await?;
                }
            }
        }
        Ok(())
    }

    /// Ends an abort and waits until that is seen: whoever sees only a new version and an abort cannot know whether the
    /// abort is an old one.
    async fn end_abort(&self, member: &Member) -> Result<()> {
        for _ in 0..ROUNDS {
            let rollout = serde_json::to_value(self.api("Rollout").get(member.name).await?)?;
            if rollout["status"]["abortedAt"].is_null() && rollout["status"]["abort"] != true {
                break;
            }
            self.command(&["retry", "rollout", member.name]).await?;
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        Ok(())
    }

    /// Nobody leaves before the last version is everywhere it should be.
    pub(super) async fn promote_what_waits(&self) -> Result<()> {
        for round in 0..ROUNDS {
            tokio::time::sleep(Duration::from_secs(5)).await;
            let mut is_over = true;
            for member in self.cast.iter().filter(|member| member.ending == Ending::Last) {
                let rollout = serde_json::to_value(self.api("Rollout").get(member.name).await?)?;
                let status = &rollout["status"];
                let is_seen = status["observedGeneration"] == rollout["metadata"]["generation"].to_string().as_str();
                is_over &= is_seen && status["phase"] == "Healthy" && status["currentPodHash"] == status["stableRS"];
                if status["abort"] == true {
                    self.command(&["retry", "rollout", member.name]).await?;
                } else if status["pauseConditions"].as_array().is_some_and(|pauses| !pauses.is_empty()) {
                    self.command(&["promote", member.name]).await?;
                } else if round > ROUNDS / 2 && !is_over {
                    // Steps wait for the stable version, which may be a bad one that became stable with no pods.
                    self.command(&["promote", member.name, "--full"]).await?;
                }
            }
            if is_over {
                break;
            }
        }
        Ok(())
    }
}
