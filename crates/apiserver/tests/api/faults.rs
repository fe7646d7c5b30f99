//! Faults before and after the effect, and on watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{PostParams, WatchEvent, WatchParams};
use tidegate_apiserver::{After, ApiServer, Before, Call, Deliver, Delivery, Faults, Options, StatusError, Verb};
use tidegate_clock::Clock;

use crate::support::{config_map, config_maps};

#[derive(Default)]
struct Script {
    writes: AtomicU32,
    deliveries: AtomicU32,
}

impl Faults for Script {
    fn before(&self, call: &Call<'_>) -> Before {
        if call.verb != Verb::Create {
            return Before::Pass;
        }
        match self.writes.fetch_add(1, Ordering::SeqCst) {
            0 => Before::Fail(StatusError::forbidden("admission webhook \"x\" denied the request")),
            _ => Before::Pass,
        }
    }

    fn after(&self, call: &Call<'_>, _: u16) -> After {
        match (call.verb, self.writes.load(Ordering::SeqCst)) {
            (Verb::Create, 2) => After::Fail(StatusError::internal("lost")),
            (Verb::Create, 3) => After::Silence,
            _ => After::Pass,
        }
    }

    fn deliver(&self, _: &Delivery<'_>) -> Deliver {
        match self.deliveries.fetch_add(1, Ordering::SeqCst) {
            0 => Deliver::Drop,
            1 => Deliver::HoldBack(Duration::from_secs(5)),
            2 => Deliver::Pass,
            _ => Deliver::Expire,
        }
    }
}

fn faulty() -> ApiServer {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    ApiServer::new(Options { faults: Arc::new(Script::default()), ..Options::new(clock) })
}

#[tokio::test(start_paused = true)]
async fn refusals_before_and_failures_after_the_effect_differ_in_what_stays() {
    let server = faulty();
    let maps = config_maps(&server);
    let create = |name: &'static str| {
        let maps = maps.clone();
        async move { maps.create(&PostParams::default(), &config_map(name)).await }
    };

    assert!(matches!(create("a").await, Err(kube::Error::Api(s)) if s.is_forbidden()));
    assert!(matches!(create("b").await, Err(kube::Error::Api(s)) if s.code == 500));
    assert!(tokio::time::timeout(Duration::from_secs(60), create("c")).await.is_err());

    let there = |name: &'static str| {
        let maps = maps.clone();
        async move { maps.get_opt(name).await.unwrap().is_some() }
    };
    assert!(!there("a").await && there("b").await && there("c").await);
}

#[tokio::test(start_paused = true)]
async fn deliveries_are_lost_overtaken_and_expired_as_told() {
    let server = faulty();
    let maps = config_maps(&server);
    let from = server.revision().to_string();
    // The first three creations meet their own faults; their outcome does not matter here.
    for name in ["a", "b", "c"] {
        let (parameters, map) = (PostParams::default(), config_map(name));
        let _ = tokio::time::timeout(Duration::from_secs(1), maps.create(&parameters, &map)).await;
    }
    for name in ["d", "e"] {
        maps.create(&PostParams::default(), &config_map(name)).await.unwrap();
    }

    let mut stream = maps.watch(&WatchParams::default().disable_bookmarks(), &from).await.unwrap().boxed();
    let mut seen = Vec::new();
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            WatchEvent::Added(map) => seen.extend(map.metadata.name),
            WatchEvent::Error(status) => seen.push(status.code.to_string()),
            _ => {}
        }
    }
    // "a" was never made, "b" is dropped, "c" is held back past the end, "d" passes, "e" meets the expiry.
    assert_eq!(seen, ["d", "410"]);
}

/// Does to each delivery what the list says, in turn; then lets everything pass.
struct Deliveries(std::sync::Mutex<std::collections::VecDeque<Deliver>>);

impl Faults for Deliveries {
    fn before(&self, call: &Call<'_>) -> Before {
        if call.verb == Verb::Get { Before::Delay(Duration::from_secs(7)) } else { Before::Pass }
    }

    fn lag(&self, call: &Call<'_>) -> u64 {
        if call.verb == Verb::List { 2 } else { 0 }
    }

    fn after(&self, call: &Call<'_>, _: u16) -> After {
        if call.verb == Verb::Get { After::Delay(Duration::from_secs(3)) } else { After::Pass }
    }

    fn deliver(&self, _: &Delivery<'_>) -> Deliver {
        self.0.lock().unwrap().pop_front().unwrap_or_default()
    }
}

/// Names of three new objects with the second at which each arrives at a watch.
async fn arrivals(deliveries: &[Deliver]) -> (ApiServer, Vec<(String, u64)>) {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    let script = Deliveries(std::sync::Mutex::new(deliveries.iter().copied().collect()));
    let server = ApiServer::new(Options { faults: Arc::new(script), ..Options::new(clock) });
    let maps = config_maps(&server);
    let from = server.revision().to_string();
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &config_map(name)).await.unwrap();
    }
    let started = tokio::time::Instant::now();
    let parameters = WatchParams::default().disable_bookmarks().timeout(20);
    let mut stream = maps.watch(&parameters, &from).await.unwrap().boxed();
    let mut seen = Vec::new();
    while let Some(event) = stream.next().await {
        if let WatchEvent::Added(map) = event.unwrap() {
            seen.push((map.metadata.name.unwrap(), started.elapsed().as_secs()));
        }
    }
    (server, seen)
}

fn named(seen: &[(String, u64)]) -> Vec<(&str, u64)> {
    seen.iter().map(|(name, at)| (name.as_str(), *at)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_delayed_event_delays_those_after_it_and_a_held_back_one_is_overtaken() {
    let (_, seen) = arrivals(&[Deliver::Delay(Duration::from_secs(5))]).await;
    assert_eq!(named(&seen), [("a", 5), ("b", 5), ("c", 5)]);
    let (_, seen) = arrivals(&[Deliver::HoldBack(Duration::from_secs(5))]).await;
    assert_eq!(named(&seen), [("b", 0), ("c", 0), ("a", 5)]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_hands_out_what_it_held_back_and_nothing_more() {
    let (_, seen) = arrivals(&[Deliver::HoldBack(Duration::from_secs(60))]).await;
    assert_eq!(named(&seen), [("b", 0), ("c", 0), ("a", 20)], "when it is over");
    let (_, seen) = arrivals(&[Deliver::HoldBack(Duration::from_secs(5)), Deliver::End]).await;
    assert_eq!(named(&seen), [("a", 0)], "when it is ended");
}

#[tokio::test(start_paused = true)]
async fn requests_wait_before_and_after_their_effect_and_lists_lag_behind() {
    let (server, _) = arrivals(&[]).await;
    let maps = config_maps(&server);
    let started = tokio::time::Instant::now();
    maps.get("a").await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 10);

    let list = maps.list(&kube::api::ListParams::default().match_any()).await.unwrap();
    let names: Vec<_> = list.items.iter().map(|map| map.metadata.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["a"]);
    let exact = kube::api::ListParams::default().at(&server.revision().to_string());
    let list = maps.list(&exact.matching(kube::api::VersionMatch::NotOlderThan)).await.unwrap();
    assert_eq!(list.items.len(), 3, "who insists on a version gets it");
}
