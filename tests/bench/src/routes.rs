//! How fast routes follow: outside changes that are repaired, aborts, and several VirtualServices that change together.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use futures::stream::BoxStream;
use jiff::Timestamp;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use tidegate_clock::Clock;

use crate::Cli;
use crate::analyses::requests;
use crate::audit::{Entry, Tally};
use crate::bare;
use crate::figures::{Figures, Unit, milliseconds, percentile};
use crate::fleet::{Fleet, Seen};
use crate::objects::{self, NAMESPACE, ONCE, PROBE, Routed, TWICE};
use crate::processes::shares;
use crate::restart::settle;
use crate::stage::{ISTIO, Stage, Target};
use crate::subject::{Running, USER};
use crate::targets;

pub(crate) const KIND: &str = "VirtualService";
/// How long one answer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two changes, so that each is alone.
pub(crate) const BETWEEN: Duration = Duration::from_millis(50);
/// The weight of the first step.
const WEIGHT: i64 = 20;
/// Of so many of the slowest repairs it is told what went on.
const SLOWEST: usize = 3;
/// Aborts of one Rollout, one after the other.
const ABORTS: usize = 30;
/// Rollouts that are aborted at once, at most; and for how many the target was set.
pub(crate) const AT_ONCE: usize = 450;

/// Makes what the Rollouts of the fleet are routed by.
pub(crate) async fn furnish(stage: &Stage, count: usize) -> Result<()> {
    let services = (0..count).flat_map(|number| objects::services(NAMESPACE, &objects::name(number)));
    stage.create_all("", "Service", services).await?;
    let named = (0..count).map(objects::name);
    let routes = named.map(|name| objects::virtual_service(NAMESPACE, &name, &name));
    stage.create_all(ISTIO, KIND, routes).await
}

/// Takes all figures of routes.
pub(crate) async fn measure(
    stage: &mut Stage,
    fleet: &mut Fleet,
    running: &mut Running,
    cli: &Cli,
    count: usize,
    figures: &mut Figures,
) -> Result<Vec<String>> {
    crate::say("  changing a VirtualService by hand, again and again");
    // Pods that go by and by are writes of the controller too, of what was measured before.
    settle(stage).await?;
    let mut watch = prepare(stage, running).await?;
    let bare = bare::write(stage, cli.samples).await?;
    let bare_abort = bare::abort(stage, ABORTS).await?;
    stage.news()?;
    let repairs = drift(stage, &mut watch, running, cli.samples).await?;
    let repaired: Vec<f64> = repairs.iter().map(Repair::milliseconds).collect();
    crate::say("  aborting one update, again and again");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let slow = slowest(&repairs, &stage.news()?);
    let twice = aborts(stage, &mut watch, running, &TWICE).await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let spread = spread(&stage.news()?);
    let once = aborts(stage, &mut watch, running, &ONCE).await?;
    let trip = percentile(&bare, 0.5);
    let ms = Unit::Milliseconds;
    figures.add("a write and its event at a watch, p50", trip, ms);
    figures.add("a write and its event at a watch, p99", percentile(&bare, 0.99), ms);
    let most = Some(targets::ROUND_TRIPS * trip);
    figures.held("route repaired, p50", percentile(&repaired, 0.5), ms, most);
    figures.held("route repaired, p99", percentile(&repaired, 0.99), ms, Some(targets::ROUTE_REPAIRED));
    // What no controller can be faster than: the abort is written and seen, then the route is written and seen.
    figures.add("an abort and its event at a watch, p50", percentile(&bare_abort, 0.5), ms);
    for (aborts, which) in [(&once, "the route"), (&twice, "two routes")] {
        let name = |share: &str| format!("abort to {which} on stable, {share}");
        figures.held(&name("p50"), percentile(aborts, 0.5), ms, most);
        figures.held(&name("p99"), percentile(aborts, 0.99), ms, Some(targets::ROUTE_ABORTED));
    }
    figures.add("two VirtualServices, first to last write, p50", percentile(&spread, 0.5), ms);
    figures.add("two VirtualServices, first to last write, p99", percentile(&spread, 0.99), ms);
    let aborted = all_at_once(stage, fleet, running, cli, count, figures).await?;
    Ok(slow.into_iter().chain(aborted).collect())
}

/// VirtualServices of one namespace, as they change.
pub(crate) struct Watch {
    pub(crate) weights: BTreeMap<String, i64>,
    events: BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>,
}

impl Watch {
    pub(crate) async fn begin(stage: &Stage, namespace: &str) -> Result<Self> {
        let api = stage.api(ISTIO, KIND, Some(namespace));
        let list = api.list(&ListParams::default()).await.context("listing VirtualServices")?;
        let version = list.metadata.resource_version.unwrap_or_default();
        let weights = list.items.iter().map(read).collect();
        let events = api.watch(&WatchParams::default().timeout(290), &version).await;
        Ok(Self { weights, events: events.context("watching VirtualServices")?.boxed() })
    }

    /// Waits until the weights are as wanted.
    pub(crate) async fn until(&mut self, what: &str, is_it: impl Fn(&BTreeMap<String, i64>) -> bool) -> Result<()> {
        let wait = async {
            while !is_it(&self.weights) {
                self.next().await?;
            }
            anyhow::Ok(())
        };
        let late = || format!("VirtualServices: {what} was waited for in vain for {} s", PATIENCE.as_secs());
        tokio::time::timeout(PATIENCE, wait).await.with_context(late)?
    }

    /// Takes one change in; which VirtualService it was.
    pub(crate) async fn next(&mut self) -> Result<String> {
        loop {
            match self.events.next().await {
                None => bail!("the watch of VirtualServices ended"),
                Some(event) => {
                    if let WatchEvent::Modified(object) | WatchEvent::Added(object) = event? {
                        let (name, weight) = read(&object);
                        self.weights.insert(name.clone(), weight);
                        return Ok(name);
                    }
                }
            }
        }
    }
}

/// Name and weight of the canary.
fn read(object: &DynamicObject) -> (String, i64) {
    let weight = object.data.pointer("/spec/http/0/route/1/weight").and_then(Value::as_i64);
    (object.metadata.name.clone().unwrap_or_default(), weight.unwrap_or_default())
}

/// Brings the Rollouts of the probe into their first pause.
async fn prepare(stage: &mut Stage, running: &mut Running) -> Result<Watch> {
    for probe in [&ONCE, &TWICE] {
        for service in objects::services(PROBE, probe.name) {
            stage.create("", "Service", service).await?;
        }
        for name in probe.routes {
            stage.create(ISTIO, KIND, objects::virtual_service(PROBE, name, probe.name)).await?;
        }
        stage.create("argoproj.io", "Rollout", objects::routed_probe(probe)).await?;
    }
    stage.quiet(running, PATIENCE).await?;
    let mut watch = Watch::begin(stage, PROBE).await?;
    for probe in [&ONCE, &TWICE] {
        let target = Target::of_probe("argoproj.io", "Rollout", probe.name, false);
        stage.patch(target, &objects::next_probe(probe)).await?;
        watch.until("the weight of the first step", |weights| probe.has_everywhere(weights, WEIGHT)).await?;
    }
    stage.quiet(running, PATIENCE).await?;
    Ok(watch)
}

impl Routed {
    fn has_everywhere(&self, weights: &BTreeMap<String, i64>, weight: i64) -> bool {
        self.routes.iter().all(|name| weights.get(*name) == Some(&weight))
    }
}

/// Other weights, set by hand, from the request until they were seen to be as before.
struct Repair {
    began: Timestamp,
    ended: Timestamp,
}

impl Repair {
    fn milliseconds(&self) -> f64 {
        self.ended.duration_since(self.began).as_secs_f64() * 1000.0
    }
}

/// What the API server was asked during the slowest repairs, and how long it took for each.
fn slowest(repairs: &[Repair], entries: &[Entry]) -> Vec<String> {
    let mut sorted: Vec<&Repair> = repairs.iter().collect();
    sorted.sort_by(|one, other| other.milliseconds().total_cmp(&one.milliseconds()));
    let after = |repair: &Repair, at: Timestamp| at.duration_since(repair.began).as_secs_f64() * 1000.0;
    let told = sorted.into_iter().take(SLOWEST).map(|repair| {
        let mut asked: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.verb != "watch" && entry.received < repair.ended && entry.answered > repair.began)
            .collect();
        asked.sort_by_key(|entry| entry.received);
        let asked = asked.into_iter().map(|entry| {
            let who = if entry.user == USER { "controller" } else { "bench" };
            let (from, to) = (after(repair, entry.received), after(repair, entry.answered));
            format!("{who} {} {} at {from:.1} to {to:.1}", entry.verb, entry.resource)
        });
        format!("a repair of {:.1} ms: {}", repair.milliseconds(), asked.collect::<Vec<_>>().join("; "))
    });
    told.collect()
}

/// Sets other weights by hand during a pause, until they are as they were.
async fn drift(stage: &Stage, watch: &mut Watch, running: &mut Running, samples: usize) -> Result<Vec<Repair>> {
    let mut taken = Vec::with_capacity(samples);
    for number in 0..samples {
        running.check()?;
        let name = TWICE.routes[number % TWICE.routes.len()];
        let wrong = 50 + i64::try_from(number % 40).unwrap_or_default();
        let patch = json!({"spec": {"http": objects::routes(TWICE.name, wrong)}});
        let began = Clock::system().now();
        let repaired = async {
            watch.until("an own change", |weights| weights.get(name) == Some(&wrong)).await?;
            watch.until("a repair", |weights| weights.get(name) == Some(&WEIGHT)).await
        };
        tokio::try_join!(stage.patch(Target::of_probe(ISTIO, KIND, name, false), &patch), repaired)?;
        taken.push(Repair { began, ended: Clock::system().now() });
        tokio::time::sleep(BETWEEN).await;
    }
    Ok(taken)
}

/// Aborts an update and lets it begin anew; milliseconds from the request until all its weight is on stable.
async fn aborts(stage: &Stage, watch: &mut Watch, running: &mut Running, probe: &Routed) -> Result<Vec<f64>> {
    let rollout = Target::of_probe("argoproj.io", "Rollout", probe.name, true);
    let mut taken = Vec::with_capacity(ABORTS);
    for _ in 0..ABORTS {
        running.check()?;
        let begun = Instant::now();
        let (abort, retry) = (objects::abort(), objects::retry());
        let moved = watch.until("all weight on stable", |weights| probe.has_everywhere(weights, 0));
        tokio::try_join!(stage.patch(rollout, &abort), moved)?;
        taken.push(milliseconds(begun.elapsed()));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let back = watch.until("the weight of the first step", |weights| probe.has_everywhere(weights, WEIGHT));
        tokio::try_join!(stage.patch(rollout, &retry), back)?;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(taken)
}

/// Milliseconds between the writes of the two VirtualServices wherever both were written for one reason.
fn spread(entries: &[Entry]) -> Vec<f64> {
    let of_probe =
        |entry: &&Entry| entry.user == USER && entry.resource == "virtualservices" && entry.namespace == PROBE;
    let mut writes: Vec<(Timestamp, &str)> = entries
        .iter()
        .filter(of_probe)
        .filter(|entry| entry.verb != "watch" && entry.verb != "get")
        .map(|entry| (entry.received, entry.name.as_str()))
        .collect();
    writes.sort();
    let mut taken = Vec::new();
    for pair in writes.chunks(2) {
        if let [(first, one), (last, other)] = pair
            && one != other
        {
            taken.push(last.duration_since(*first).as_secs_f64() * 1000.0);
        }
    }
    taken
}

/// Aborts most of the fleet at once; says who was busy then, and what was asked for each afterwards.
async fn all_at_once(
    stage: &mut Stage,
    fleet: &mut Fleet,
    running: &mut Running,
    cli: &Cli,
    count: usize,
    figures: &mut Figures,
) -> Result<[String; 2]> {
    let count = AT_ONCE.min(count);
    crate::say(&format!("  aborting {count} updates at once"));
    let patience = Duration::from_secs(cli.patience);
    stage.patch_rollouts(0..count, false, |number| objects::image(number, "shop:4")).await?;
    fleet.until("Paused", count, patience, running, Seen::is_paused).await?;
    stage.quiet(running, patience).await?;
    let mut watch = Watch::begin(stage, NAMESPACE).await?;
    let mut left: BTreeSet<String> = (0..count).map(objects::name).collect();
    left.retain(|name| watch.weights.get(name).is_some_and(|weight| *weight > 0));
    if left.len() < count {
        bail!(
            "only {} of {count} VirtualServices have weight on the canary though all Rollouts are Paused",
            left.len()
        );
    }
    let (before, begun) = (stage.meter(Some(running)), Instant::now());
    let moved = async {
        while !left.is_empty() {
            let name = watch.next().await?;
            if watch.weights.get(&name) == Some(&0) {
                left.remove(&name);
            }
        }
        anyhow::Ok((begun.elapsed(), Clock::system().now()))
    };
    let (_, (took, moved)) = tokio::try_join!(stage.patch_rollouts(0..count, true, |_| objects::abort()), moved)?;
    let busy = shares("aborts at once", &stage.meter(Some(running)).since(&before), took);
    let share = count as f64 / AT_ONCE as f64;
    figures.held(
        &format!("{count} aborts at once to routes on stable"),
        took.as_secs_f64(),
        Unit::Seconds,
        Some(targets::ALL_ABORTED * share),
    );
    fleet.until("aborted", count, patience, running, Seen::is_aborted).await?;
    let done = Clock::system().now();
    let after = stage.quiet(running, patience).await?;
    let since = |moment: Timestamp| {
        let later: Vec<Entry> = after.iter().filter(|entry| entry.received > moment).cloned().collect();
        Tally::of(&later, USER)
    };
    let writes_since = |moment: Timestamp| since(moment).writes() as f64 / count as f64;
    figures.held("writes after that, for each", writes_since(moved), Unit::Each, Some(targets::WRITES_AFTER_ABORT));
    figures.add("  of them after all are told as aborted", writes_since(done), Unit::Each);
    stage.patch_rollouts(0..count, false, |number| objects::image(number, "shop:2")).await?;
    fleet.until("Healthy", count, patience, running, Seen::is_healthy).await?;
    let after = requests(&since(moved), count as u64);
    Ok([busy, format!("requests for each of the aborts at once, after the routes: {after}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_slowest_repairs_it_is_told_what_went_on_meanwhile() {
        let at = |millis: i64| Timestamp::from_millisecond(1_000_000 + millis).unwrap();
        let entry = |user: &str, verb: &str, from: i64, to: i64| Entry {
            user: user.to_owned(),
            verb: verb.to_owned(),
            resource: "virtualservices".to_owned(),
            namespace: PROBE.to_owned(),
            name: "routed-one".to_owned(),
            lists_first: false,
            received: at(from),
            answered: at(to),
        };
        let repairs = [(0, 9), (100, 150), (200, 210), (300, 312)];
        let repairs = repairs.map(|(from, to)| Repair { began: at(from), ended: at(to) });
        let entries =
            [entry(USER, "update", 140, 147), entry("admin", "patch", 101, 105), entry("admin", "patch", 1, 2)];
        let told = slowest(&repairs, &entries);
        let first = "a repair of 50.0 ms: bench patch virtualservices at 1.0 to 5.0; controller update virtualservices at 40.0 to 47.0";
        assert_eq!(told, [first, "a repair of 12.0 ms: ", "a repair of 10.0 ms: "]);
    }

    #[test]
    fn writes_of_two_virtual_services_are_paired() {
        let at = |micros: i64| Timestamp::from_microsecond(1_000_000_000 + micros).unwrap();
        let entry = |name: &str, micros: i64| Entry {
            user: USER.to_owned(),
            verb: "update".to_owned(),
            resource: "virtualservices".to_owned(),
            namespace: PROBE.to_owned(),
            name: name.to_owned(),
            lists_first: false,
            received: at(micros),
            answered: at(micros),
        };
        let entries = [
            entry("routed-two", 1500),
            entry("routed-one", 0),
            entry("routed-one", 90_000),
            entry("routed-two", 90_250),
        ];
        assert_eq!(spread(&entries), [1.5, 0.25]);
    }
}
