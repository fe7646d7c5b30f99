//! Each entry of the fault menu: that it happens, and what the client sees of it.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use tidegate_apiserver::Faults;
use tidegate_sim::faults::{Fault, Interruption, Menu, Schedule, heal, meddle};
use tidegate_sim::{Setting, World};

use crate::support::{api, create, deployment, pass, patch};

/// How long faults happen in these tests.
const UNTIL: Duration = Duration::from_secs(60);

fn world(menu: Menu) -> (World, Arc<Schedule>) {
    let schedule = Arc::new(Schedule::new(1, menu, &["victim"], UNTIL));
    let faults = Arc::clone(&schedule) as Arc<dyn Faults>;
    let world = World::empty(Setting { faults, ..Setting::new(1) });
    schedule.report_to(world.journal());
    (world, schedule)
}

fn always(fault: Fault) -> (World, Arc<Schedule>) {
    world(Menu::calm().with(fault, 1000))
}

fn victim(world: &World) -> Api<ConfigMap> {
    Api::default_namespaced(world.client("victim"))
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// Creates an object as the victim; the code of the answer, 0 for none within ten seconds.
async fn attempt(world: &World, name: &str) -> u16 {
    let maps = victim(world);
    match tokio::time::timeout(Duration::from_secs(10), maps.create(&PostParams::default(), &map(name))).await {
        Ok(Ok(_)) => 201,
        Ok(Err(kube::Error::Api(status))) => status.code,
        Ok(Err(error)) => panic!("{error}"),
        Err(_) => 0,
    }
}

async fn exists(world: &World, name: &str) -> bool {
    api::<ConfigMap>(world).get_opt(name).await.unwrap().is_some()
}

#[tokio::test(start_paused = true)]
async fn writes_meet_refusals_that_leave_nothing_behind_until_the_faults_stop() {
    for (fault, code) in [(Fault::TooManyRequests, 429), (Fault::Refusal, 403), (Fault::FailureBefore, 500)] {
        let (world, _) = always(fault);
        assert_eq!(attempt(&world, "a").await, code, "{fault:?}");
        assert!(!exists(&world, "a").await, "{fault:?}");
        assert!(world.journal().story()[0].contains(&code.to_string()), "{:?}", world.journal().story());
        world.pass(UNTIL).await;
        assert_eq!(attempt(&world, "a").await, 201, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn conflicts_hit_changes_but_not_creations() {
    let (world, _) = always(Fault::Conflict);
    assert_eq!(attempt(&world, "a").await, 201);
    let change = Patch::Merge(json!({"data": {"k": "v"}}));
    let answer = victim(&world).patch("a", &PatchParams::default(), &change).await;
    assert!(matches!(answer, Err(kube::Error::Api(status)) if status.is_conflict()));
    assert_eq!(api::<ConfigMap>(&world).get("a").await.unwrap().data, None);
}

#[tokio::test(start_paused = true)]
async fn failures_and_silence_after_the_effect_leave_the_effect() {
    for (fault, code) in [(Fault::FailureAfter, 500), (Fault::SilenceAfter, 0)] {
        let (world, _) = always(fault);
        assert_eq!(attempt(&world, "a").await, code, "{fault:?}");
        assert!(exists(&world, "a").await, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn slow_requests_take_time_and_then_succeed() {
    let (world, _) = always(Fault::SlowRequest);
    assert_eq!(attempt(&world, "a").await, 201);
    assert!(world.journal().elapsed() >= Duration::from_millis(100), "{:?}", world.journal().elapsed());
    let before = world.journal().elapsed();
    assert!(exists(&world, "a").await);
    assert_eq!(world.journal().elapsed(), before, "others are not slowed down");
}

#[tokio::test(start_paused = true)]
async fn a_crash_ends_the_client_before_or_after_a_write_and_a_lost_lease_at_one() {
    let (world, schedule) = always(Fault::Crash);
    assert_eq!(attempt(&world, "a").await, 0, "who is dead hears nothing");
    assert!(!exists(&world, "a").await);
    assert!(matches!(schedule.interruption().await, Interruption::Crash(pause) if pause >= Duration::from_secs(1)));

    let (world, schedule) = self::world(Menu::calm().with(Fault::Crash, 300));
    for name in 0..40 {
        attempt(&world, &format!("m-{name}")).await;
        if world.journal().elapsed() >= UNTIL {
            break;
        }
    }
    let story = world.journal().story().join("\n");
    assert!(story.contains("crash before") && story.contains("crash after"), "{story}");
    assert!(matches!(schedule.interruption().await, Interruption::Crash(_)));

    let (world, schedule) = always(Fault::LeaseLoss);
    assert_eq!(attempt(&world, "a").await, 201);
    assert_eq!(schedule.interruption().await, Interruption::LeaseLoss);
}

#[tokio::test(start_paused = true)]
async fn a_stale_list_shows_an_older_state() {
    let (world, _) = always(Fault::StaleList);
    for name in ["a", "b", "c"] {
        create::<ConfigMap>(&world, json!({"metadata": {"name": name}})).await;
    }
    let seen = async || victim(&world).list(&ListParams::default().match_any()).await.unwrap();
    let latest = victim(&world).list(&ListParams::default()).await.unwrap();
    assert_eq!(latest.items.len(), 3, "a list that asks for the latest state gets it");
    let stale = seen().await;
    assert!(stale.items.len() < 3, "{}", stale.items.len());
    assert_ne!(stale.metadata.resource_version, Some(world.server().revision().to_string()));
    world.pass(UNTIL).await;
    assert_eq!(seen().await.items.len(), 3);
}

/// What a watch of the victim sees of ten objects that are changed once each, and when the last of it comes.
async fn watched(world: &World) -> (Vec<String>, Duration) {
    let from = world.server().revision().to_string();
    let mut stream = victim(world).watch(&WatchParams::default().timeout(200), &from).await.unwrap().boxed();
    for name in 0..10 {
        let name = format!("m-{name}");
        create::<ConfigMap>(world, json!({"metadata": {"name": name}})).await;
        patch::<ConfigMap>(world, &name, json!({"data": {"k": "v"}})).await;
    }
    let mut seen = Vec::new();
    let mut last = Duration::ZERO;
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            WatchEvent::Added(map) => seen.push(format!("added {}", map.name_any())),
            WatchEvent::Modified(map) => seen.push(format!("modified {}", map.name_any())),
            WatchEvent::Error(status) => seen.push(status.code.to_string()),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Deleted(_) => panic!("nothing was deleted"),
        }
        last = world.journal().elapsed();
    }
    (seen, last)
}

#[tokio::test(start_paused = true)]
async fn late_events_come_in_order() {
    let (calm, _) = world(Menu::calm());
    let (expected, at) = watched(&calm).await;
    assert_eq!((expected.len(), at), (20, Duration::ZERO));

    let (late, _) = world(Menu::calm().with(Fault::LateEvents, 200));
    let (seen, at) = watched(&late).await;
    assert_eq!(seen, expected);
    assert!(at >= Duration::from_millis(100), "{at:?}");
}

#[tokio::test(start_paused = true)]
async fn overtaken_events_change_places_except_those_of_one_object() {
    let (calm, _) = world(Menu::calm());
    let (expected, _) = watched(&calm).await;
    let (world, _) = world(Menu::calm().with(Fault::OvertakenEvents, 300));
    let (seen, _) = watched(&world).await;

    assert_ne!(seen, expected);
    let mut sorted = seen.clone();
    sorted.sort();
    let mut all = expected;
    all.sort();
    assert_eq!(sorted, all, "nothing is lost");
    for name in 0..10 {
        let place = |what: &str| seen.iter().position(|line| *line == format!("{what} m-{name}")).unwrap();
        assert!(place("added") < place("modified"), "{seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_loses_events_expires_later_so_that_nobody_misses_them_for_ever() {
    let (world, _) = always(Fault::LostEvents);
    let (seen, at) = watched(&world).await;
    assert_eq!(seen, ["410"]);
    assert!(at > Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn broken_watches_end_and_expired_ones_say_410() {
    let (world, _) = always(Fault::BrokenWatch);
    assert_eq!(watched(&world).await.0, Vec::<String>::new());
    assert!(world.journal().elapsed() < Duration::from_secs(1), "it ended long before its timeout");
    let (world, _) = always(Fault::ExpiredWatch);
    assert_eq!(watched(&world).await.0, ["410"]);
}

async fn meddled(fault: Fault) -> World {
    let (mut world, schedule) = world(Menu::calm().with(fault, 500));
    world.add_nodes();
    world.add_manager();
    create::<Deployment>(&world, deployment("web", 3, "web:1")).await;
    pass(&world, 10).await;
    meddle(world.client("meddler"), world.journal(), &schedule, 1, &["pods", "replicasets.apps"]).await;
    world
}

#[tokio::test(start_paused = true)]
async fn slow_and_dead_pods_are_unready_until_they_are_healed() {
    for fault in [Fault::SlowPods, Fault::DeadPods] {
        let world = meddled(fault).await;
        let story = world.journal().story().join("\n");
        let told = if fault == Fault::SlowPods { "is not ready for" } else { "dies" };
        assert!(story.contains(told), "{story}");
        let available = async || {
            api::<Deployment>(&world).get("web").await.unwrap().status.unwrap().available_replicas.unwrap_or(0)
        };
        assert!(available().await < 3, "{fault:?}");
        heal(&world.client("meddler"), world.journal()).await;
        pass(&world, 600).await;
        assert_eq!(available().await, 3, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn others_edit_and_delete_what_controllers_keep_and_it_comes_back() {
    for (fault, told) in [(Fault::Edits, "somebody scales"), (Fault::Deletions, "somebody deletes")] {
        let world = meddled(fault).await;
        let story = world.journal().story().join("\n");
        assert!(story.contains(told), "{story}");
        pass(&world, 120).await;
        let pods = api::<Pod>(&world).list(&ListParams::default()).await.unwrap().items.len();
        assert_eq!(pods, 3, "{fault:?}");
    }
}
