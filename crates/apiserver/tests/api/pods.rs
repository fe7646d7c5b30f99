//! Binding, grace, eviction.

use serde_json::{Value, json};
use tidegate_apiserver::{ApiServer, Options};
use tidegate_clock::Clock;

use crate::support::{PODS, get, make, raw, raw_typed, server};

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}})
}

async fn bound(server: &ApiServer, name: &str) {
    make(server, PODS, pod(name)).await;
    let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}});
    make(server, &format!("{PODS}/{name}/binding"), binding).await;
}

#[tokio::test]
async fn a_pod_is_bound_once_and_then_dies_gracefully() {
    let server = server();
    bound(&server, "p").await;
    let path = format!("{PODS}/p");
    let (_, seen) = get(&server, &path).await;
    assert_eq!(
        (&seen["spec"]["nodeName"], &seen["status"]["conditions"][0]["type"]),
        (&json!("n"), &json!("PodScheduled"))
    );
    let again = json!({"metadata": {"name": "p"}, "target": {"name": "m"}});
    let (code, refused) = raw(&server, "POST", &format!("{path}/binding"), Some(again)).await;
    assert_eq!(code, 409);
    assert!(refused["message"].as_str().unwrap().ends_with("pod p is already assigned to node \"n\""));

    let (_, dying) = raw(&server, "DELETE", &path, None).await;
    assert_eq!(dying["metadata"]["deletionGracePeriodSeconds"], json!(30));
    assert_eq!(dying["metadata"]["deletionTimestamp"], json!("2026-01-01T00:00:30Z"));
    assert_eq!(get(&server, &path).await.0, 200);
    let (code, _) = raw(&server, "DELETE", &format!("{path}?gracePeriodSeconds=0"), None).await;
    assert_eq!((code, get(&server, &path).await.0), (200, 404));
}

#[tokio::test]
async fn a_pod_that_runs_nowhere_is_gone_at_once() {
    let server = server();
    make(&server, PODS, pod("p")).await;
    let (code, last) = raw(&server, "DELETE", &format!("{PODS}/p"), None).await;
    assert_eq!((code, last["kind"].as_str()), (200, Some("Pod")));
    assert_eq!(get(&server, &format!("{PODS}/p")).await.0, 404);
}

#[tokio::test]
async fn eviction_spends_the_budget_and_is_refused_without_one() {
    let server = server();
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let selector = json!({"matchLabels": {"a": "b"}});
    make(&server, budgets, json!({"metadata": {"name": "j"}, "spec": {"minAvailable": 1, "selector": selector}})).await;
    let status = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
    }});
    let merge = "application/merge-patch+json";
    raw_typed(&server, "PATCH", &format!("{budgets}/j/status"), Some(status), merge).await;
    for name in ["p", "q"] {
        bound(&server, name).await;
        let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        raw_typed(&server, "PATCH", &format!("{PODS}/{name}/status"), Some(running), merge).await;
    }

    let first = raw(&server, "POST", &format!("{PODS}/p/eviction"), Some(json!({"metadata": {"name": "p"}}))).await;
    let (code, refused) =
        raw(&server, "POST", &format!("{PODS}/q/eviction"), Some(json!({"metadata": {"name": "q"}}))).await;

    assert_eq!(first.0, 201);
    assert!(get(&server, &format!("{PODS}/p")).await.1["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(get(&server, &format!("{budgets}/j")).await.1["status"]["disruptionsAllowed"], json!(0));
    assert_eq!((code, refused["reason"].as_str()), (429, Some("TooManyRequests")));
    assert_eq!(
        refused["details"]["causes"][0]["message"],
        json!("The disruption budget j does not allow evicting pods currently")
    );
}

#[tokio::test]
async fn a_pods_spec_is_frozen_except_for_images() {
    let server = server();
    let mut made = make(&server, PODS, pod("p")).await;
    made["spec"]["containers"][0]["image"] = json!("y:1");
    let (code, mut changed) = raw(&server, "PUT", &format!("{PODS}/p"), Some(made)).await;
    assert_eq!((code, &changed["metadata"]["generation"]), (200, &json!(2)));
    changed["spec"]["containers"][0]["name"] = json!("z");
    let (code, refused) = raw(&server, "PUT", &format!("{PODS}/p"), Some(changed)).await;
    assert_eq!(code, 422);
    assert!(refused["message"].as_str().unwrap().contains("pod updates may not change fields other than"));
}

#[tokio::test]
async fn a_pod_without_grace_left_can_still_be_deleted_by_another_policy() {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    let server = ApiServer::new(Options { collects_garbage: false, ..Options::new(clock) });
    make(&server, PODS, pod("a")).await;
    let policy = |name: &str| Some(json!({"propagationPolicy": name, "gracePeriodSeconds": 0}));
    let path = format!("{PODS}/a");
    let (_, held) = raw(&server, "DELETE", &path, policy("Foreground")).await;
    assert_eq!(held["metadata"]["deletionGracePeriodSeconds"], json!(0));
    assert_eq!(raw(&server, "DELETE", &path, policy("Background")).await.0, 200);
    assert_eq!(get(&server, &path).await.0, 404);
}

#[tokio::test]
async fn a_pod_has_a_log_and_nothing_to_enter() {
    let server = server();
    let containers = json!([{"name": "web", "image": "web:1"}]);
    make(&server, PODS, json!({"metadata": {"name": "a"}, "spec": {"containers": containers}})).await;
    let (code, log) = get(&server, &format!("{PODS}/a/log?follow=true")).await;
    assert_eq!((code, log.as_str().unwrap().contains("pod a: container web, image web:1")), (200, true), "{log}");
    assert_eq!(get(&server, &format!("{PODS}/none/log")).await.0, 404);
    assert_eq!(get(&server, &format!("{PODS}/a/log?container=x")).await.0, 400);
    assert_eq!(raw(&server, "DELETE", &format!("{PODS}/a/log"), None).await.0, 405);

    for (method, subresource, hint) in
        [("POST", "exec", "kubectl logs a"), ("GET", "attach", "kubectl logs a"), ("POST", "portforward", "curl")]
    {
        let (code, refused) = raw(&server, method, &format!("{PODS}/a/{subresource}"), None).await;
        assert_eq!((code, &refused["kind"]), (400, &json!("Status")));
        assert!(refused["message"].as_str().unwrap().contains(hint), "{subresource}: {refused}");
        assert_eq!(raw(&server, method, &format!("{PODS}/none/{subresource}"), None).await.0, 404);
    }

    server.set_logs(|pod| format!("one\ntwo\n{}\n", pod["metadata"]["name"]));
    assert_eq!(get(&server, &format!("{PODS}/a/log?tailLines=2")).await.1, "two\n\"a\"\n");
}
