//! Many aborts at once.

use std::time::Duration;

use serde_json::json;

use super::{by_host, host_level, mesh, two_stops, virtual_service};
use crate::world::{World, image, rollout, service};

const MANY: usize = 40;

fn name(number: usize) -> String {
    format!("shop-{number}")
}

/// Many Rollouts in their first pause, each with its own Services and VirtualService.
async fn many_paused() -> World {
    let world = mesh().await;
    for name in (0..MANY).map(name) {
        let own = |role: &str| format!("{name}-{role}");
        let mut routes = by_host();
        routes[0]["route"][0]["destination"]["host"] = json!(own("stable"));
        routes[0]["route"][1]["destination"]["host"] = json!(own("canary"));
        world.create(virtual_service(&name, routes)).await;
        let mut strategy = host_level(two_stops());
        strategy["canary"]["trafficRouting"]["istio"]["virtualService"]["name"] = json!(name);
        for role in ["stable", "canary"] {
            let mut service = service(&own(role));
            service["spec"]["selector"] = json!({"app": name});
            world.create(service).await;
            strategy["canary"][format!("{role}Service")] = json!(own(role));
        }
        world.create(rollout(&name, strategy)).await;
    }
    world.pass(60).await;
    for name in (0..MANY).map(name) {
        world.patch("Rollout", &name, image("shop:2")).await;
    }
    world.pass(60).await;
    for name in (0..MANY).map(name) {
        assert_eq!(world.shown(&name).await, ("Paused".to_owned(), "CanaryPauseStep".to_owned()), "{name}");
    }
    world
}

#[tokio::test(start_paused = true)]
async fn of_many_aborts_at_once_all_routes_are_written_before_the_rest() {
    let world = many_paused().await;
    world.written();
    // When all are aborted, one every few milliseconds.
    for name in (0..MANY).map(name) {
        world.patch_status(&name, json!({"abort": true})).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.pass(5).await;
    // Then all routes come before nearly all the rest; those of the first few, when it was no burst yet, apart.
    let written = world.written();
    let is_route = |path: &str| path.contains("virtualservices");
    let is_word = |path: &str| path.contains("/events");
    let last = written.iter().rposition(|(_, path)| is_route(path)).unwrap();
    assert_eq!(written.iter().filter(|(_, path)| is_route(path)).count(), MANY, "each once: {written:?}");
    let is_set = |path: &str| path.contains("/replicasets/");
    let is_other = |path: &str| !is_route(path) && !is_set(path) && !is_word(path);
    let before = written[..last].iter().filter(|(_, path)| is_other(path)).count();
    assert!(before <= 8 * 2, "{before} other writes before the last route: {written:?}");
    let noted = written[..last].iter().filter(|(_, path)| is_set(path)).count();
    assert!(noted >= MANY - 2, "when pods go is noted at once: {noted}");
    // And the rest follows: every one says that it is aborted, and is at rest.
    for name in (0..MANY).map(name) {
        assert_eq!(world.shown(&name).await.0, "Degraded", "{name}");
        assert_eq!(world.weights(&name).await, [[100, 0]]);
        assert_eq!(world.status(&name).await["canary"]["weights"]["canary"]["weight"], 0);
    }
    let after = written[last..].iter().filter(|(_, path)| !is_word(path)).count();
    assert!(after > MANY, "the rest comes later: {after}");
    world.pass(60).await;
    world.written();
    world.pass(60).await;
    let written = world.written();
    assert!(written.is_empty(), "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn a_single_abort_is_told_at_once() {
    let world = many_paused().await;
    world.patch_status("shop-7", json!({"abort": true})).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(world.shown("shop-7").await.0, "Degraded");
}
