//! Objects as another controller leaves them, where ours leaves them differently on purpose.

use anyhow::Result;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::observer::{REVISION, owner, text};
use crate::world;

/// Gives Rollouts the conditions and ReplicaSets the history that were recorded. Everything else is equal already: that is
/// what a replay shows.
pub(crate) async fn dress(client: &Client, namespace: &str, recorded: &Value) -> Result<()> {
    for (name, recorded) in recorded["rollouts"].as_object().into_iter().flatten() {
        dress_rollout(&world::api(client, namespace, "Rollout"), name, recorded).await?;
    }
    let sets = world::api(client, namespace, "ReplicaSet");
    for set in sets.list(&ListParams::default()).await?.items {
        let set = serde_json::to_value(set)?;
        let Some(("Rollout", rollout)) = owner(&set) else { continue };
        let revision = text(&set["metadata"]["annotations"][REVISION]);
        let history = &recorded["replicaSets"][rollout][revision]["revisionHistory"];
        if history.is_string() && *history != set["metadata"]["annotations"][HISTORY] {
            let patch = json!({"metadata": {"annotations": {HISTORY: history}}});
            sets.patch(text(&set["metadata"]["name"]), &PatchParams::default(), &Patch::Merge(patch)).await?;
        }
    }
    Ok(())
}

const HISTORY: &str = "rollout.argoproj.io/revision-history";

async fn dress_rollout(rollouts: &Api<DynamicObject>, name: &str, recorded: &Value) -> Result<()> {
    let rollout = serde_json::to_value(rollouts.get(name).await?)?;
    let mut conditions = rollout["status"]["conditions"].as_array().cloned().unwrap_or_default();
    for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
        let status = &recorded["conditions"][condition.get("type").map_or("", text)]["status"];
        if status.is_string() {
            condition.insert("status".to_owned(), status.clone());
        }
    }
    let mut status = json!({"conditions": conditions});
    if let (Some(fields), true) = (status.as_object_mut(), recorded["currentStepIndex"].is_i64()) {
        fields.insert("currentStepIndex".to_owned(), recorded["currentStepIndex"].clone());
    }
    let patch = Patch::Merge(json!({"status": status}));
    rollouts.patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}
