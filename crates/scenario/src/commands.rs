//! The commands of the plugin, as the patches they send.

use anyhow::{Context, Result, bail};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tidegate_clock::Clock;

use crate::observer::{HASH_LABEL, REVISION, owner, text};
use crate::world;

/// Who sends them.
pub(crate) struct Commander<'a> {
    pub client: &'a Client,
    pub clock: Clock,
    pub namespace: &'a str,
}

impl Commander<'_> {
    fn rollouts(&self) -> Api<DynamicObject> {
        world::api(self.client, self.namespace, "Rollout")
    }

    async fn status(&self, name: &str, status: Value) -> Result<()> {
        let patch = json!({"status": status});
        self.rollouts().patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    async fn spec(&self, name: &str, spec: Value) -> Result<()> {
        let patch = json!({"spec": spec});
        self.rollouts().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    /// Runs a command; says whether it succeeded, as an exit status would.
    pub(crate) async fn run(&self, words: &[&str]) -> Result<bool> {
        match words {
            ["promote", name] => self.promote(name).await?,
            ["promote", name, "--full"] | ["promote", "--full", name] => self.promote_fully(name).await?,
            ["abort", name] => self.status(name, json!({"abort": true})).await?,
            ["retry", "rollout", name] => self.status(name, json!({"abort": false})).await?,
            ["pause", name] => self.spec(name, json!({"paused": true})).await?,
            ["restart", name] => self.spec(name, json!({"restartAt": self.clock.now_seconds().to_string()})).await?,
            ["set", "image", name, image] => self.set_image(name, image).await?,
            ["undo", name] => return self.undo(name, 0).await,
            ["undo", name, option] => {
                let revision = option.strip_prefix("--to-revision=").and_then(|text| text.parse().ok());
                return self.undo(name, revision.with_context(|| format!("unknown option {option}"))?).await;
            }
            _ => bail!("no such command: {}", words.join(" ")),
        }
        Ok(true)
    }

    async fn promote(&self, name: &str) -> Result<()> {
        let rollout = serde_json::to_value(self.rollouts().get(name).await?)?;
        if rollout["spec"]["paused"] == true {
            self.spec(name, json!({"paused": false})).await?;
        }
        let status = &rollout["status"];
        let pauses = status["pauseConditions"].as_array().cloned().unwrap_or_default();
        let steps = rollout["spec"]["strategy"]["canary"]["steps"].as_array().map_or(0, Vec::len);
        let index = status["currentStepIndex"].as_u64().unwrap_or(0);
        let next = (index + 1).min(steps as u64);
        if !pauses.is_empty() {
            let is_undecided = pauses.iter().any(|pause| pause["reason"] == "InconclusiveAnalysisRun");
            let step_run = &status["canary"]["currentStepAnalysisRunStatus"]["status"];
            if is_undecided && step_run == "Inconclusive" {
                let patch = json!({"pauseConditions": null, "controllerPause": false, "currentStepIndex": next});
                return self.status(name, patch).await;
            }
            return self.status(name, json!({"pauseConditions": null})).await;
        }
        if steps > 0 {
            return self.status(name, json!({"pauseConditions": null, "currentStepIndex": next})).await;
        }
        Ok(())
    }

    async fn promote_fully(&self, name: &str) -> Result<()> {
        let rollout = serde_json::to_value(self.rollouts().get(name).await?)?;
        if rollout["spec"]["paused"] == true {
            self.spec(name, json!({"paused": false})).await?;
        }
        if rollout["status"]["currentPodHash"] != rollout["status"]["stableRS"] {
            self.status(name, json!({"promoteFull": true})).await?;
        }
        Ok(())
    }

    async fn replace_template(&self, name: &str, template: &Value) -> Result<()> {
        let patch = json!([{"op": "replace", "path": "/spec/template", "value": template}]);
        patch_json(self.client, &self.rollouts(), name, &patch).await
    }

    async fn set_image(&self, name: &str, assignment: &str) -> Result<()> {
        let (container, image) = assignment.split_once('=').context("an image is set by CONTAINER=IMAGE")?;
        let rollout = serde_json::to_value(self.rollouts().get(name).await?)?;
        let mut template = rollout["spec"]["template"].clone();
        let containers = template.pointer_mut("/spec/containers").and_then(Value::as_array_mut);
        for found in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            if container == "*" || found.get("name").is_some_and(|name| name == container) {
                found.insert("image".to_owned(), image.into());
            }
        }
        self.replace_template(name, &template).await
    }

    async fn undo(&self, name: &str, revision: i64) -> Result<bool> {
        let sets = world::api(self.client, self.namespace, "ReplicaSet").list(&ListParams::default()).await?;
        let sets: Vec<Value> = sets.items.into_iter().filter_map(|set| serde_json::to_value(set).ok()).collect();
        let mut own: Vec<(i64, &Value)> = sets
            .iter()
            .filter(|set| owner(set) == Some(("Rollout", name)))
            .filter_map(|set| Some((text(&set["metadata"]["annotations"][REVISION]).parse().ok()?, set)))
            .collect();
        own.sort_by_key(|(revision, _)| std::cmp::Reverse(*revision));
        let chosen = match revision {
            0 => own.get(1),
            wanted => own.iter().find(|(found, _)| *found == wanted),
        };
        let Some((_, set)) = chosen else { return Ok(false) };
        let mut template = set["spec"]["template"].clone();
        if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove(HASH_LABEL);
        }
        let rollout = serde_json::to_value(self.rollouts().get(name).await?)?;
        match rollout["spec"]["workloadRef"]["name"].as_str() {
            Some(workload) => {
                let api = world::api(self.client, self.namespace, text(&rollout["spec"]["workloadRef"]["kind"]));
                let patch = json!([{"op": "replace", "path": "/spec/template", "value": template}]);
                patch_json(self.client, &api, workload, &patch).await?;
            }
            None => self.replace_template(name, &template).await?,
        }
        Ok(true)
    }
}

/// Sends a JSON patch.
pub(crate) async fn patch_json(client: &Client, api: &Api<DynamicObject>, name: &str, patch: &Value) -> Result<()> {
    let request = http_patch(&format!("{}/{name}", api.resource_url()), patch)?;
    client.request::<Value>(request).await?;
    Ok(())
}

fn http_patch(url: &str, patch: &Value) -> Result<http::Request<Vec<u8>>> {
    let request = http::Request::patch(url).header(http::header::CONTENT_TYPE, "application/json-patch+json");
    Ok(request.body(patch.to_string().into_bytes())?)
}
