//! Watches: order, selectors, expiry, renewal, bookmarks.

use std::time::Duration;

use futures::StreamExt;
use kube::api::{DeleteParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;

use crate::support::{MAPS, config_map, config_maps, make, raw_typed, server};

async fn lines(server: &tidegate_apiserver::ApiServer, query: &str) -> Vec<serde_json::Value> {
    let (code, body) = crate::support::get(server, &format!("{MAPS}?watch=1&timeoutSeconds=5&{query}")).await;
    assert_eq!(code, 200, "{body}");
    let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(events: &[serde_json::Value]) -> Vec<&str> {
    events.iter().filter_map(|e| e["type"].as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_changes_in_order_and_objects_that_leave_its_selection() {
    let server = server();
    let from = server.revision();
    make(&server, MAPS, json!({"metadata": {"name": "a", "labels": {"app": "x"}}})).await;
    let merge = "application/merge-patch+json";
    for labels in [json!({"app": "x", "n": "1"}), json!({"app": "y"}), json!({"app": "x"})] {
        let patch = Some(json!({"metadata": {"labels": labels}}));
        raw_typed(&server, "PATCH", &format!("{MAPS}/a"), patch, merge).await;
    }
    config_maps(&server).delete("a", &DeleteParams::default()).await.unwrap();

    let all = lines(&server, &format!("resourceVersion={from}")).await;
    assert_eq!(kinds(&all), ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]);
    let some = lines(&server, &format!("resourceVersion={from}&labelSelector=app%3Dx")).await;
    assert_eq!(kinds(&some), ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]);
    assert_eq!(some[2]["object"]["metadata"]["labels"]["app"], json!("x"));
    assert_eq!(some[2]["object"]["metadata"]["resourceVersion"], all[2]["object"]["metadata"]["resourceVersion"]);
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_their_bookmark_and_old_versions_are_gone() {
    let server = server();
    make(&server, MAPS, json!({"metadata": {"name": "a"}})).await;
    let query = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let events = lines(&server, query).await;
    assert_eq!(kinds(&events), ["ADDED", "BOOKMARK"]);
    assert_eq!(events[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], json!("true"));

    server.compact();
    let late = lines(&server, "resourceVersion=1").await;
    assert_eq!((kinds(&late), &late[0]["object"]["code"]), (vec!["ERROR"], &json!(410)));
    assert!(late[0]["object"]["message"].as_str().unwrap().starts_with("too old resource version: 1 ("));
}

#[tokio::test(start_paused = true)]
async fn an_open_watch_hears_of_later_changes_and_gets_bookmarks() {
    let server = server();
    let maps = config_maps(&server);
    let from = server.revision().to_string();
    let mut stream = maps.watch(&WatchParams::default(), &from).await.unwrap().boxed();
    let later = maps.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        later.create(&PostParams::default(), &config_map("a")).await.unwrap();
    });

    assert!(
        matches!(stream.next().await, Some(Ok(WatchEvent::Added(map))) if map.metadata.name.as_deref() == Some("a"))
    );
    assert!(matches!(stream.next().await, Some(Ok(WatchEvent::Bookmark(_)))));
}

#[tokio::test(start_paused = true)]
async fn a_watcher_lives_through_an_hour_of_renewals_and_an_expiry() {
    let server = server();
    let maps = config_maps(&server);
    let started = tokio::time::Instant::now();
    let writer = maps.clone();
    let compactor = server.clone();
    tokio::spawn(async move {
        for i in 0..60 {
            tokio::time::sleep(Duration::from_secs(60)).await;
            writer.create(&PostParams::default(), &config_map(&format!("m{i}"))).await.unwrap();
            if i % 20 == 10 {
                compactor.compact();
            }
        }
    });

    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let mut seen = std::collections::BTreeSet::new();
        let mut stream = watcher(maps.clone(), config).boxed();
        while seen.len() < 60 {
            if let Some(Ok(Event::Apply(map) | Event::InitApply(map))) = stream.next().await {
                seen.extend(map.metadata.name);
            }
        }
        assert!(seen.contains("m59"));
    }
    assert!(started.elapsed() >= Duration::from_secs(3600));
}
