//! What people do: the patches that the commands of the plugin send.

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tidegate_clock::Clock;

use crate::input::Input;
use crate::metrics;
use crate::seen::{Name, Seen};
use crate::setting::{Deed, ImageChange, Setting, Version};
use crate::stage::api_of;
use crate::traffic::is_of;
use crate::weather::Weather;

/// The tag of the new version when none is given.
const NEW_TAG: &str = "simulated";
const REVISION: &str = "/metadata/annotations/rollout.argoproj.io~1revision";
const HASH_LABEL: &str = "rollouts-pod-template-hash";

/// Somebody at the keyboard.
pub(crate) struct User<'a> {
    pub client: &'a Client,
    pub clock: Clock,
    pub input: &'a Input,
    pub setting: &'a Setting,
    pub seen: &'a Seen,
    pub weather: &'a Weather,
}

/// What was done, to whom; or why it was not.
type Done = Result<(Option<Name>, String), String>;

impl User<'_> {
    /// Does something and says what.
    pub(crate) async fn perform(&self, deed: &Deed) -> Done {
        match deed {
            Deed::SetImage(change) => {
                let rollout = self.named(change.rollout.as_deref())?;
                let told = self.set_image(&rollout, change.container.as_deref(), Some(&change.image)).await?;
                Ok((Some(rollout), told))
            }
            Deed::Promote(rollout) => self.on(rollout, "promotes", Self::promote).await,
            Deed::PromoteFully(rollout) => self.on(rollout, "promotes to the end", Self::promote_fully).await,
            Deed::Abort(rollout) => {
                self.on(rollout, "aborts", async |user, name| user.status(name, json!({"abort": true})).await).await
            }
            Deed::Retry(rollout) => {
                self.on(rollout, "retries", async |user, name| user.status(name, json!({"abort": false})).await).await
            }
            Deed::Undo(rollout) => self.on(rollout, "goes back to the revision before", Self::undo).await,
            Deed::Pause(rollout) => {
                self.on(rollout, "pauses", async |user, name| user.spec(name, json!({"paused": true})).await).await
            }
            Deed::Restart(rollout) => {
                let at = self.clock.now_seconds().to_string();
                self.on(rollout, "restarts", async |user, name| user.spec(name, json!({"restartAt": at})).await).await
            }
            Deed::Scale(rollout, size) => {
                let what = format!("scales to {size}");
                self.on(rollout, &what, async |user, name| user.spec(name, json!({"replicas": size})).await).await
            }
            Deed::Apply { file, objects } => {
                for object in objects {
                    self.apply(object).await?;
                }
                Ok((None, format!("user applies {file}")))
            }
            Deed::DeletePod(rollout, version) => {
                let rollout = self.named(rollout.as_deref())?;
                let told = self.delete_pod(&rollout, version).await?;
                Ok((Some(rollout), told))
            }
            Deed::Patch { api_version, kind, namespace, name, merge } => {
                let namespace = namespace.as_deref().unwrap_or(&self.input.namespace);
                let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": namespace}});
                patch(&api_of(self.client, &object), name, "", merge.clone()).await?;
                Ok((None, format!("somebody edits {kind} {name}")))
            }
            Deed::CrashController(pause) => {
                self.weather.crash(*pause);
                Ok((None, format!("the controller crashes and is back after {}", crate::quantities::shown(*pause))))
            }
        }
    }

    async fn on(
        &self,
        rollout: &Option<String>,
        what: &str,
        act: impl AsyncFnOnce(&Self, &Name) -> Result<(), String>,
    ) -> Done {
        let name = self.named(rollout.as_deref())?;
        act(self, &name).await?;
        Ok((Some(name), format!("user {what}")))
    }

    /// The Rollout that is meant.
    pub(crate) fn named(&self, rollout: Option<&str>) -> Result<Name, String> {
        named(self.input, rollout)
    }

    /// The first update: images as the setting says, or new tags for all.
    pub(crate) async fn update(&self, rollout: &Name) -> Result<Option<String>, String> {
        let own: Vec<&ImageChange> = self
            .setting
            .images
            .iter()
            .filter(|change| self.named(change.rollout.as_deref()).as_ref() == Ok(rollout))
            .collect();
        if own.is_empty() && !self.setting.images.is_empty() {
            return Ok(None);
        }
        if own.is_empty() {
            return self.set_image(rollout, None, None).await.map(Some);
        }
        let mut told = Vec::new();
        for change in own {
            told.push(self.set_image(rollout, change.container.as_deref(), Some(&change.image)).await?);
        }
        Ok(Some(told.join("; ")))
    }

    async fn set_image(&self, rollout: &Name, container: Option<&str>, image: Option<&str>) -> Result<String, String> {
        let (api, name, mut object) = self.workload(rollout).await?;
        let containers = object.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
        let (mut known, mut told) = (Vec::new(), Vec::new());
        let containers = containers.map(std::mem::take).unwrap_or_default();
        let mut changed = Vec::new();
        for mut found in containers {
            let called = found["name"].as_str().unwrap_or_default().to_owned();
            if container.is_none_or(|container| container == called) {
                let old = found["image"].as_str().unwrap_or_default().to_owned();
                let new = image.map_or_else(|| retagged(&old), str::to_owned);
                told.push(format!("{called}={new}"));
                found["image"] = new.into();
            }
            known.push(called);
            changed.push(found);
        }
        if told.is_empty() {
            let wanted = container.unwrap_or("*");
            return Err(format!(
                "Rollout {}: there is no container {wanted:?}; there are {}",
                rollout.1,
                known.join(", ")
            ));
        }
        patch(&api, &name, "", json!({"spec": {"template": {"spec": {"containers": changed}}}})).await?;
        Ok(format!("user sets image {}", told.join(" ")))
    }

    /// The object that holds the pod template of a Rollout.
    async fn workload(&self, rollout: &Name) -> Result<(Api<DynamicObject>, String, Value), String> {
        let api = self.rollouts(rollout);
        let object = read(&api, &rollout.1).await?;
        let reference = &object["spec"]["workloadRef"];
        let Some(name) = reference["name"].as_str() else { return Ok((api, rollout.1.clone(), object)) };
        let kind = json!({
            "apiVersion": reference["apiVersion"], "kind": reference["kind"], "metadata": {"namespace": rollout.0},
        });
        let api = api_of(self.client, &kind);
        let object = read(&api, name).await?;
        Ok((api, name.to_owned(), object))
    }

    fn rollouts(&self, rollout: &Name) -> Api<DynamicObject> {
        let kind =
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"namespace": rollout.0}});
        api_of(self.client, &kind)
    }

    async fn status(&self, rollout: &Name, status: Value) -> Result<(), String> {
        patch(&self.rollouts(rollout), &rollout.1, "status", json!({"status": status})).await
    }

    async fn spec(&self, rollout: &Name, spec: Value) -> Result<(), String> {
        patch(&self.rollouts(rollout), &rollout.1, "", json!({"spec": spec})).await
    }

    async fn promote(&self, rollout: &Name) -> Result<(), String> {
        let object = read(&self.rollouts(rollout), &rollout.1).await?;
        if object["spec"]["paused"] == true {
            self.spec(rollout, json!({"paused": false})).await?;
        }
        let status = &object["status"];
        let steps = object["spec"]["strategy"]["canary"]["steps"].as_array().map_or(0, Vec::len);
        let next = (status["currentStepIndex"].as_u64().unwrap_or(0) + 1).min(steps as u64);
        let pauses = status["pauseConditions"].as_array().cloned().unwrap_or_default();
        let is_undecided = pauses.iter().any(|pause| pause["reason"] == "InconclusiveAnalysisRun");
        let step_run = &status["canary"]["currentStepAnalysisRunStatus"]["status"];
        let change = match (pauses.is_empty(), is_undecided && step_run == "Inconclusive") {
            (false, true) => json!({"pauseConditions": null, "controllerPause": false, "currentStepIndex": next}),
            (false, false) => json!({"pauseConditions": null}),
            (true, _) if steps > 0 => json!({"pauseConditions": null, "currentStepIndex": next}),
            (true, _) => return Ok(()),
        };
        self.status(rollout, change).await
    }

    async fn promote_fully(&self, rollout: &Name) -> Result<(), String> {
        let object = read(&self.rollouts(rollout), &rollout.1).await?;
        if object["spec"]["paused"] == true {
            self.spec(rollout, json!({"paused": false})).await?;
        }
        if object["status"]["currentPodHash"] == object["status"]["stableRS"] {
            return Ok(());
        }
        self.status(rollout, json!({"promoteFull": true})).await
    }

    async fn undo(&self, rollout: &Name) -> Result<(), String> {
        let template = {
            let seen = self.seen.lock();
            let sets = seen.rollouts.get(rollout).map(|watched| &watched.sets).into_iter().flatten();
            let revision = |set: &Value| set.pointer(REVISION).and_then(Value::as_str)?.parse::<i64>().ok();
            let mut sets: Vec<(i64, &Value)> = sets.filter_map(|(_, set)| Some((revision(set)?, &**set))).collect();
            sets.sort_by_key(|(revision, _)| std::cmp::Reverse(*revision));
            sets.get(1).map(|(_, set)| set["spec"]["template"].clone())
        };
        let mut template = template.ok_or_else(|| format!("Rollout {}: there is no revision before", rollout.1))?;
        if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove(HASH_LABEL);
        }
        let (api, name, _) = self.workload(rollout).await?;
        patch(&api, &name, "", json!({"spec": {"template": template}})).await
    }

    async fn apply(&self, object: &Value) -> Result<(), String> {
        let mut object = object.clone();
        metrics::answer(&mut object, self.setting, &mut Vec::new());
        let api = api_of(self.client, &object);
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let is_there = api.get_opt(&name).await.map_err(|error| error.to_string())?.is_some();
        if is_there {
            return patch(&api, &name, "", object).await;
        }
        let parsed = serde_json::from_value(object).map_err(|error| error.to_string())?;
        api.create(&kube::api::PostParams::default(), &parsed).await.map(drop).map_err(|error| error.to_string())
    }

    async fn delete_pod(&self, rollout: &Name, version: &Version) -> Result<String, String> {
        let found = {
            let seen = self.seen.lock();
            let sets = seen.rollouts.get(rollout).map(|watched| &watched.sets);
            let is_own = |pod: &Value| {
                let owner = pod.pointer("/metadata/ownerReferences/0/name").and_then(Value::as_str);
                owner.is_some_and(|owner| sets.is_some_and(|sets| sets.contains_key(owner)))
            };
            let mut pods = seen.mesh.iter().filter(|((resource, namespace, _), pod)| {
                resource == "pods" && *namespace == rollout.0 && is_own(pod) && is_of(pod, version, &seen)
            });
            pods.next().map(|((_, _, name), _)| name.clone())
        };
        let name = found.ok_or_else(|| format!("Rollout {}: there is no such pod to delete", rollout.1))?;
        let kind = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": rollout.0}});
        let deleted = api_of(self.client, &kind).delete(&name, &DeleteParams::default()).await;
        deleted.map_err(|error| error.to_string())?;
        Ok(format!("user deletes pod {name}"))
    }
}

/// The Rollout of a name, or the only one.
pub(crate) fn named(input: &Input, rollout: Option<&str>) -> Result<Name, String> {
    let all = input.rollout_names();
    let shown = || all.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ");
    match (rollout, all.as_slice()) {
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(format!("there are several Rollouts, so one must be named: {}", shown())),
        (Some(wanted), all) => {
            let found = all.iter().find(|(at, name)| name == wanted || format!("{at}/{name}") == wanted);
            found.cloned().ok_or_else(|| format!("there is no Rollout {wanted:?} in the files; there are {}", shown()))
        }
    }
}

async fn read(api: &Api<DynamicObject>, name: &str) -> Result<Value, String> {
    let object = api.get(name).await.map_err(|error| error.to_string())?;
    serde_json::to_value(object).map_err(|error| error.to_string())
}

async fn patch(api: &Api<DynamicObject>, name: &str, subresource: &str, change: Value) -> Result<(), String> {
    let (params, change) = (PatchParams::default(), Patch::Merge(change));
    let sent = match subresource {
        "" => api.patch(name, &params, &change).await,
        _ => api.patch_status(name, &params, &change).await,
    };
    sent.map(drop).map_err(|error| error.to_string())
}

/// The same image with another tag.
fn retagged(image: &str) -> String {
    let bare = image.split('@').next().unwrap_or(image);
    // A colon before a slash is that of a port.
    let name = match bare.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => bare,
    };
    let new = format!("{name}:{NEW_TAG}");
    if new == image { format!("{new}-2") } else { new }
}

#[cfg(test)]
mod tests {
    use super::retagged;

    #[test]
    fn an_image_gets_a_new_tag_and_keeps_everything_else() {
        for (image, wanted) in [
            ("shop:1", "shop:simulated"),
            ("shop", "shop:simulated"),
            ("registry.example:5000/shop", "registry.example:5000/shop:simulated"),
            ("registry.example:5000/shop:1@sha256:ab", "registry.example:5000/shop:simulated"),
            ("shop:simulated", "shop:simulated-2"),
        ] {
            assert_eq!(retagged(image), wanted);
        }
    }
}
