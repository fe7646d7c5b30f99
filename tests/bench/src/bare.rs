//! What the API server alone needs: the same writes as in a rollout, with nobody to decide on them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use futures::stream::FuturesUnordered;
use futures::{StreamExt, TryStreamExt};
use kube::api::{WatchEvent, WatchParams};
use serde_json::{Value, json};

use crate::figures::milliseconds;
use crate::objects::{self, NAMESPACE, NOBODYS, PROBE};
use crate::routes::{BETWEEN, KIND, Watch};
use crate::stage::{AT_ONCE, ISTIO, Stage, Target};

/// A write that nobody answers, until it is seen by a watch: what the API server alone needs.
pub(crate) async fn write(stage: &Stage, samples: usize) -> Result<Vec<f64>> {
    stage.create(ISTIO, KIND, objects::virtual_service(NAMESPACE, NOBODYS, NOBODYS)).await?;
    let mut watch = Watch::begin(stage, NAMESPACE).await?;
    let mut taken = Vec::with_capacity(samples);
    for number in 0..samples {
        let weight = i64::try_from(number % 2).unwrap_or_default() + 1;
        let patch = json!({"spec": {"http": objects::routes(NOBODYS, weight)}});
        let target = Target { group: ISTIO, kind: KIND, namespace: NAMESPACE, name: NOBODYS, is_status: false };
        let begun = Instant::now();
        let seen = watch.until("an own change", |weights| weights.get(NOBODYS) == Some(&weight));
        tokio::try_join!(stage.patch(target, &patch), seen)?;
        taken.push(milliseconds(begun.elapsed()));
        tokio::time::sleep(BETWEEN).await;
    }
    Ok(taken)
}

/// An abort that nobody answers, until it is seen by a watch.
pub(crate) async fn abort(stage: &Stage, samples: usize) -> Result<Vec<f64>> {
    stage.create("argoproj.io", "Rollout", objects::nobodys()).await?;
    let api = stage.api("argoproj.io", "Rollout", Some(PROBE));
    let params = WatchParams::default().fields(&format!("metadata.name={NOBODYS}")).timeout(290);
    let mut events = api.watch(&params, "0").await.context("watching Rollouts")?.boxed();
    let mut taken = Vec::with_capacity(samples);
    for number in 0..samples {
        let is_aborted = number % 2 == 0;
        let patch = if is_aborted { objects::abort() } else { objects::retry() };
        let begun = Instant::now();
        let seen = async {
            while let Some(event) = events.next().await {
                if let WatchEvent::Modified(object) = event?
                    && object.data.pointer("/status/abort").and_then(Value::as_bool) == Some(is_aborted)
                {
                    return Ok(());
                }
            }
            bail!("the watch of Rollouts ended")
        };
        tokio::try_join!(stage.patch(Target::of_probe("argoproj.io", "Rollout", NOBODYS, true), &patch), seen)?;
        taken.push(milliseconds(begun.elapsed()));
        tokio::time::sleep(BETWEEN).await;
    }
    Ok(taken)
}

/// As many aborts at once while no controller runs: whoever watches the Rollouts writes a route for each, without a thought.
/// Seconds until all routes are seen to be written.
pub(crate) async fn aborts(stage: &Stage, count: usize) -> Result<f64> {
    let route = |number: usize, weight: i64| async move {
        let name = objects::name(number);
        let patch = json!({"spec": {"http": objects::routes(&name, weight)}});
        stage
            .patch(Target { group: ISTIO, kind: KIND, namespace: NAMESPACE, name: &name, is_status: false }, &patch)
            .await
    };
    let raised = (0..count).map(|number| route(number, 20));
    futures::stream::iter(raised).buffer_unordered(AT_ONCE).try_for_each(|_| async { Ok(()) }).await?;
    let mut left: BTreeSet<String> = (0..count).map(objects::name).collect();
    let numbers: BTreeMap<String, usize> = (0..count).map(|number| (objects::name(number), number)).collect();
    let mut watch = Watch::begin(stage, NAMESPACE).await?;
    let api = stage.api("argoproj.io", "Rollout", Some(NAMESPACE));
    let version = api.list_metadata(&Default::default()).await?.metadata.resource_version.unwrap_or_default();
    let mut events = api.watch(&WatchParams::default().timeout(290), &version).await?.boxed();
    let begun = Instant::now();
    let written = async {
        let mut writes = FuturesUnordered::new();
        let mut answered = 0;
        while answered < count {
            tokio::select! {
                biased;
                event = events.next() => match event.context("the watch of Rollouts ended")?? {
                    WatchEvent::Modified(object) if object.data.pointer("/status/abort") == Some(&Value::Bool(true)) => {
                        let name = object.metadata.name.unwrap_or_default();
                        writes.extend(numbers.get(&name).map(|number| route(*number, 0)));
                    }
                    _ => {}
                },
                Some(result) = writes.next() => {
                    result?;
                    answered += 1;
                }
            }
        }
        anyhow::Ok(())
    };
    let seen = async {
        while !left.is_empty() {
            let name = watch.next().await?;
            if watch.weights.get(&name) == Some(&0) {
                left.remove(&name);
            }
        }
        anyhow::Ok(begun.elapsed().as_secs_f64())
    };
    let asked = stage.patch_rollouts(0..count, true, |_| objects::abort());
    let (_, _, took) = tokio::try_join!(asked, written, seen)?;
    stage.patch_rollouts(0..count, true, |_| objects::retry()).await?;
    Ok(took)
}
