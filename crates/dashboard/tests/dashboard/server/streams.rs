//! Streams: what comes first, what follows, how they end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::http::open;
use crate::world::{World, canary, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_rollout_is_told_at_once_on_change_and_at_its_end() {
    let world = World::still().await;
    let mut rollout = canary("web");
    rollout["status"] = json!({"phase": "Paused", "message": "CanaryPauseStep", "observedGeneration": "1"});
    world.create("default", rollout).await;
    let server = world.dashboard(options()).await;
    let path = "/rollouts/api/v1/rollouts/default/web/info/watch";
    let mut live = open(server.address(), "GET", path, &[("accept", "text/event-stream")], "").await;
    assert_eq!(live.headers["content-type"], "text/event-stream");
    assert_eq!(live.headers["x-content-type-options"], "nosniff");
    let first = live.message("\n\n\n").await.unwrap();
    let json = first.strip_prefix("data: ").and_then(|rest| rest.strip_suffix(" \n\n\n")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(json).unwrap()["result"]["status"], "Paused");
    let second = live.message("\n\n\n").await.unwrap();
    assert_eq!(first, second, "the same view again, as programs expect");

    world.delete("Rollout", "default", "web").await;
    let mut last = String::new();
    while let Some(message) = live.message("\n\n\n").await {
        last = message;
    }
    assert!(last.contains(r#""grpc_code":5"#) && last.contains(r#""http_status":"Not Found""#), "{last}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_hold_only_the_fields_that_are_asked_for() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let path = "/api/v1/rollouts/default/web/info/watch?fields=result.status,result.objectMeta.name";
    let mut live = open(server.address(), "GET", path, &[], "").await;
    assert_eq!(live.headers["content-type"], "application/json");
    let line = live.line().await.unwrap();
    // What begins alike is kept with it.
    let meta = json!({"name": "web", "namespace": "default"});
    assert_eq!(line, json!({"result": {"status": "Progressing", "objectMeta": meta}}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_tells_of_new_changed_and_deleted_rollouts() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let mut live = open(server.address(), "GET", "/api/v1/rollouts/default/info/watch", &[], "").await;
    let mut next = async || {
        let line = live.line().await.unwrap()["result"].clone();
        (
            line["type"].as_str().unwrap().to_owned(),
            line["rolloutInfo"]["objectMeta"]["name"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(next().await, ("Updated".to_owned(), "web".to_owned()));
    world.create("default", canary("cart")).await;
    assert_eq!(next().await, ("Added".to_owned(), "cart".to_owned()));
    world.patch("Rollout", "default", "cart", json!({"spec": {"paused": true}})).await;
    assert_eq!(next().await, ("Updated".to_owned(), "cart".to_owned()));
    world.create("other", canary("elsewhere")).await;
    world.delete("Rollout", "default", "cart").await;
    assert_eq!(next().await, ("Deleted".to_owned(), "cart".to_owned()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn summaries_are_told_whole_and_then_as_they_change() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let mut live = open(server.address(), "GET", "/api/v1/summaries/watch", &[], "").await;
    let mut next = async || live.line().await.unwrap()["result"].clone();
    assert_eq!(next().await["type"], "Begin");
    assert_eq!(next().await["rollouts"][0]["name"], "web");
    assert_eq!(next().await, json!({"type": "Complete", "scope": "all", "problem": ""}));
    world.create("other", canary("cart")).await;
    assert_eq!(next().await["rollouts"][0]["namespace"], "other");
    world.delete("Rollout", "other", "cart").await;
    assert_eq!(next().await["deleted"], json!([{"namespace": "other", "name": "cart"}]));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_that_changes_fifty_times_a_second_is_sent_a_few_times() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let path = "/api/v1/rollouts/default/web/info/watch?repeat=false&fields=result.desired";
    let mut live = open(server.address(), "GET", path, &[], "").await;
    live.line().await.unwrap();
    for replicas in 1..=50 {
        world.patch("Rollout", "default", "web", json!({"spec": {"replicas": replicas}})).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut messages = 0;
    loop {
        messages += 1;
        if live.line().await.unwrap()["result"]["desired"] == 50 {
            break;
        }
    }
    assert!(messages < 20, "{messages} messages for fifty changes");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_end_when_the_server_does() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let mut live = open(server.address(), "GET", "/api/v1/summaries/watch", &[], "").await;
    live.line().await.unwrap();
    server.stop().await;
    while live.message("\n").await.is_some() {}
}
