//! How fast one change is answered while all the others are there.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::{Stream, StreamExt};
use jiff::Timestamp;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use serde_json::json;
use tidegate_api::view::Service;
use tidegate_clock::Clock;

use crate::audit::Entry;
use crate::figures::milliseconds;
use crate::fleet::{Fleet, Seen};
use crate::objects::{self, HASH, PROBE};
use crate::stage::{ADMIN, Stage, Target};
use crate::subject::{Running, USER};

/// How long one answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two changes, so that each is alone.
const BETWEEN: Duration = Duration::from_millis(50);

/// Milliseconds, one for each change.
#[derive(Debug, Default)]
pub(crate) struct Drift {
    /// From the change being sent to its repair being seen.
    pub(crate) repaired: Vec<f64>,
    /// From the change having reached the API server to the event of it reaching a watch of ours.
    pub(crate) told: Vec<f64>,
    /// From that event to the repair having reached the API server; nothing where it was there before the event had
    /// reached us, for no watch is served before all others.
    pub(crate) answered: Vec<f64>,
    /// From the change to the repair, both as they reached the API server.
    pub(crate) whole: Vec<f64>,
}

/// One change and its repair, by the clock on the wall that the audit log has too.
struct Sample {
    sent: Timestamp,
    told: Timestamp,
    seen: Timestamp,
}

/// Changes the selector of a Service by hand, again and again.
pub(crate) async fn drift(stage: &mut Stage, running: &mut Running, samples: usize) -> Result<Drift> {
    for name in [PROBE, "probe-canary"] {
        stage.create("", "Service", objects::service(name)).await?;
    }
    stage.create("argoproj.io", "Rollout", objects::probe()).await?;
    stage.quiet(running, PATIENCE).await?;
    let api: Api<Service> = Api::namespaced(stage.client.clone(), PROBE);
    let service = api.get(PROBE).await.context("reading the Service of the probe")?;
    let Some(right) = service.spec.selector.get(HASH).cloned() else {
        bail!("the controller does not select a revision in Service {PROBE}/{PROBE}; its drift cannot be measured");
    };
    let version = service.metadata.resource_version.unwrap_or_default();
    let params = WatchParams::default().fields(&format!("metadata.name={PROBE}"));
    let mut events = api.watch(&params, &version).await.context("watching the Service of the probe")?.boxed();
    let mut taken = Vec::with_capacity(samples);
    for number in 0..samples {
        running.check()?;
        taken.push(one_drift(stage, &mut events, &right, number).await?);
        tokio::time::sleep(BETWEEN).await;
    }
    // The log may be a moment behind the answers.
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(matched(&taken, &stage.news()?))
}

async fn one_drift(
    stage: &Stage,
    events: &mut (impl Stream<Item = kube::Result<WatchEvent<Service>>> + Unpin),
    right: &str,
    number: usize,
) -> Result<Sample> {
    let clock = Clock::system();
    let wrong = format!("drifted-{number}");
    let sent = clock.now();
    let patch = json!({"spec": {"selector": {HASH: wrong}}});
    let mut told = None;
    let wait = async {
        while let Some(event) = events.next().await {
            let now = clock.now();
            let (WatchEvent::Modified(service) | WatchEvent::Added(service)) = event? else { continue };
            let selected = service.spec.selector.get(HASH).map_or("", String::as_str);
            if selected == wrong {
                told = Some(now);
            } else if selected == right
                && let Some(told) = told
            {
                return Ok(Sample { sent, told, seen: now });
            }
        }
        bail!("the watch of Service {PROBE}/{PROBE} ended")
    };
    let both = async { tokio::try_join!(stage.patch(Target::service(PROBE), &patch), wait) };
    let late = || format!("Service {PROBE}/{PROBE}: its selector was not repaired within {} s", PATIENCE.as_secs());
    let (_, sample) = tokio::time::timeout(PATIENCE, both).await.with_context(late)??;
    Ok(sample)
}

/// Finds the requests of each sample in the audit log.
fn matched(samples: &[Sample], entries: &[Entry]) -> Drift {
    let requests = |user: &'static str| {
        let of_probe = move |entry: &&Entry| {
            entry.user == user && entry.resource == "services" && entry.name == PROBE && entry.verb != "watch"
        };
        entries.iter().filter(of_probe)
    };
    let between = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64() * 1000.0;
    let mut drift = Drift::default();
    for sample in samples {
        drift.repaired.push(between(sample.sent, sample.seen));
        let is_in = |entry: &&Entry| entry.received >= sample.sent && entry.received <= sample.seen;
        if let (Some(change), Some(repair)) = (requests(ADMIN).find(is_in), requests(USER).find(is_in)) {
            drift.told.push(between(change.received, sample.told));
            drift.answered.push(between(sample.told, repair.received).max(0.0));
            drift.whole.push(between(change.received, repair.received));
        }
    }
    drift
}

/// Aborts updates one after the other; milliseconds from the request to the status that says so.
pub(crate) async fn aborts(
    stage: &Stage,
    fleet: &mut Fleet,
    running: &mut Running,
    count: usize,
    patience: Duration,
) -> Result<Vec<f64>> {
    stage.patch_rollouts(0..count, false, |number| objects::image(number, "shop:3")).await?;
    fleet.until("Paused", count, patience, running, Seen::is_paused).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut taken = Vec::with_capacity(count);
    for number in 0..count {
        let name = objects::name(number);
        let begun = Instant::now();
        let patch = objects::abort();
        let asked = stage.patch(Target::rollout(&name, true), &patch);
        let seen = fleet.until_one(&name, "aborted", PATIENCE, running, Seen::is_aborted);
        tokio::try_join!(asked, seen)?;
        taken.push(milliseconds(begun.elapsed()));
        tokio::time::sleep(BETWEEN).await;
    }
    // Back to what is stable, or the fleet is not the same for whatever is measured next.
    stage.patch_rollouts(0..count, false, |number| objects::image(number, "shop:2")).await?;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_and_its_repair_are_told_apart_by_who_asked() {
        let at = |micros: i64| Timestamp::from_microsecond(1_000_000_000 + micros).unwrap();
        let entry = |user: &str, micros: i64| Entry {
            user: user.to_owned(),
            verb: "patch".to_owned(),
            resource: "services".to_owned(),
            namespace: PROBE.to_owned(),
            name: PROBE.to_owned(),
            lists_first: false,
            received: at(micros),
            answered: at(micros),
        };
        let samples = [Sample { sent: at(0), told: at(3000), seen: at(9000) }];
        let entries = [entry(USER, -500), entry(ADMIN, 1000), entry(USER, 4500), entry(USER, 20_000)];
        let drift = matched(&samples, &entries);
        assert_eq!((drift.repaired, drift.told), (vec![9.0], vec![2.0]));
        assert_eq!((drift.answered, drift.whole), (vec![1.5], vec![3.5]));
        let early = [Sample { sent: at(0), told: at(5000), seen: at(9000) }];
        assert_eq!(matched(&early, &entries).answered, [0.0], "it was told before we were");
    }
}
