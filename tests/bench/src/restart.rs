//! How soon a controller that starts anew repairs what was changed while it was away.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::json;
use tidegate_api::names::annotations::SCALE_DOWN_DEADLINE;
use tidegate_api::view::ReplicaSet;

use crate::objects::NAMESPACE;
use crate::stage::{Stage, Target};
use crate::subject::{Running, Subject};

/// ReplicaSets that are resized while the controller is away.
const DRIFTS: usize = 5;
/// How long a repair is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Seconds from the start of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repaired {
    pub(crate) first: f64,
    pub(crate) last: f64,
}

/// Resizes ReplicaSets by hand, starts the controller and waits for the repairs.
pub(crate) async fn restart(stage: &Stage, subject: &Subject) -> Result<(Running, Repaired)> {
    let api: Api<ReplicaSet> = Api::namespaced(stage.client.clone(), NAMESPACE);
    let sets = drifted(stage, &api).await?;
    // Everybody else is done with the change before the controller starts.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut watches = Vec::new();
    for (name, right) in &sets {
        let now = api.get(name).await.with_context(|| format!("reading ReplicaSet {name}"))?;
        let version = now.metadata.resource_version.unwrap_or_default();
        let params = WatchParams::default().fields(&format!("metadata.name={name}"));
        let events = api.watch(&params, &version).await.with_context(|| format!("watching ReplicaSet {name}"))?;
        watches.push((events.boxed(), *right));
    }
    let mut running = subject.start(&stage.testbed)?;
    let started = running.started;
    let repairs = watches.into_iter().map(|(mut events, right)| async move {
        while let Some(event) = events.next().await {
            if let WatchEvent::Modified(set) = event?
                && set.spec.replicas == Some(right)
            {
                return Ok(started.elapsed().as_secs_f64());
            }
        }
        bail!("the watch of a ReplicaSet ended")
    });
    let all = tokio::time::timeout(PATIENCE, futures::future::try_join_all(repairs)).await;
    running.check()?;
    let times = all.with_context(|| format!("not all ReplicaSets were repaired within {} s", PATIENCE.as_secs()))??;
    let first = times.iter().copied().fold(f64::INFINITY, f64::min);
    let last = times.iter().copied().fold(0.0, f64::max);
    Ok((running, Repaired { first, last }))
}

/// Changes the size of some ReplicaSets; names and the sizes they should have.
async fn drifted(stage: &Stage, api: &Api<ReplicaSet>) -> Result<Vec<(String, i32)>> {
    let sets = api.list(&ListParams::default()).await.context("listing ReplicaSets")?.items;
    let alive = sets.into_iter().filter_map(|set| {
        let replicas = set.spec.replicas.filter(|replicas| *replicas > 0)?;
        Some((set.metadata.name?, replicas))
    });
    let chosen: Vec<(String, i32)> = alive.take(DRIFTS).collect();
    if chosen.is_empty() {
        bail!("there is no ReplicaSet with pods to resize");
    }
    for (name, replicas) in &chosen {
        stage.patch(Target::replica_set(name), &json!({"spec": {"replicas": replicas + 1}})).await?;
    }
    Ok(chosen)
}

/// Waits until no ReplicaSet is to be scaled down any more: one that is would not be set back to the size it had.
pub(crate) async fn settle(stage: &Stage) -> Result<()> {
    let api: Api<ReplicaSet> = Api::namespaced(stage.client.clone(), NAMESPACE);
    let waits = |set: &ReplicaSet| {
        let has_pods = set.spec.replicas.is_some_and(|replicas| replicas > 0);
        has_pods && set.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(SCALE_DOWN_DEADLINE))
    };
    for _ in 0..PATIENCE.as_secs() {
        let sets = api.list(&ListParams::default()).await.context("listing ReplicaSets")?.items;
        if !sets.iter().any(waits) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    bail!("ReplicaSets still wait to be scaled down after {} s", PATIENCE.as_secs())
}
