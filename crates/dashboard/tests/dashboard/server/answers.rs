//! Shapes and codes of answers, and that changes change the cluster.

use serde_json::{Value, json};

use crate::http::{ask, get};
use crate::world::{World, canary, options, pod};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_and_views_have_the_shape_programs_know() {
    let world = World::start().await;
    world.paused_canary("default", "web").await;
    let server = world.dashboard(options()).await;
    let address = server.address();
    assert_eq!(get(address, "/rollouts/api/v1/version").await.json(), json!({"rolloutsVersion": "v1.2.3+test"}));
    let namespace = get(address, "/rollouts/api/v1/namespace").await.json();
    assert_eq!(namespace, json!({"namespace": "default", "availableNamespaces": ["default"]}));

    let info = get(address, "/rollouts/api/v1/rollouts/default/web/info").await;
    assert_eq!(info.headers["content-type"], "application/json");
    let info = info.json();
    assert_eq!(info["status"], "Paused");
    assert_eq!((info["step"].as_str(), info["actualWeight"].as_str()), (Some("1/4"), Some("25")));
    assert_eq!(info["replicaSets"][0]["revision"], 2, "a number");
    assert!(info["replicaSets"][0].get("stable").is_none(), "what is false is left out");
    assert_eq!(info["generation"], json!("2"), "a text");
    let list = get(address, "/rollouts/api/v1/rollouts/default/info").await.json();
    assert_eq!(list["rollouts"][0]["actualWeight"], "25", "as in the view");
    assert_eq!(get(address, "/rollouts/api/v1/rollouts/empty/info").await.json(), json!({}));

    let alias = get(address, "/api/v1/rollouts/default/web/info").await;
    assert_eq!(alias.json()["objectMeta"]["name"], "web", "also where older releases have it");
    let summaries = get(address, "/api/v1/summaries").await.json();
    assert_eq!(summaries["rollouts"][0]["waitingFor"][0], "someone to promote or abort (CanaryPauseStep)");
    let why = get(address, "/api/v1/rollouts/default/web/why").await.json();
    assert_eq!((why["phase"].as_str(), why["source"].as_str()), (Some("Paused"), Some("engine")));
    let revisions = get(address, "/api/v1/rollouts/default/web/revisions").await.json();
    assert_eq!(revisions["revisions"][0]["revision"], 2);
    assert_eq!(revisions["revisions"][1]["template"]["spec"]["containers"][0]["image"], "shop/web:1.0");
    let events = get(address, "/api/v1/rollouts/default/web/events").await.json();
    assert!(events["events"].as_array().unwrap().iter().any(|event| event["reason"] == "RolloutPaused"), "{events}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_have_the_right_codes() {
    let world = World::still().await;
    world.create("default", canary("web")).await;
    let server = world.dashboard(options()).await;
    let address = server.address();
    for (method, path, body, status, code) in [
        ("GET", "rollouts/default/none/info", "", 404, 5),
        ("GET", "rollouts/default/none/info/watch", "", 404, 5),
        ("PUT", "rollouts/default/none/abort", "", 404, 5),
        ("PUT", "rollouts/default/web/promote", "{", 400, 3),
        ("PUT", "rollouts/default/web/promote", "[]", 400, 3),
        ("PUT", "rollouts/default/web/promote", r#"{"full": "yes"}"#, 400, 3),
        ("PUT", "rollouts/default/web/undo/x", "", 400, 3),
        ("PUT", "rollouts/default/web/undo/9", "", 500, 2),
        ("PUT", "rollouts/default/web/set/typo/shop/web/2.0", "", 500, 2),
        ("GET", "rollouts/default/web/promote", "", 501, 12),
        ("POST", "rollouts/default/web/promote", "", 501, 12),
        ("GET", "elsewhere", "", 501, 12),
    ] {
        let reply = ask(address, method, &format!("/rollouts/api/v1/{path}"), &[], body).await;
        assert_eq!(
            (reply.status, reply.json()["code"].clone()),
            (status, json!(code)),
            "{method} {path}: {}",
            reply.body
        );
        assert!(reply.json()["message"].is_string());
    }
    let missing = get(address, "/rollouts/api/v1/rollouts/default/none/info").await.json();
    assert_eq!(missing["message"], "rollout.argoproj.io \"none\" not found");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_reaches_the_cluster_and_gives_back_the_rollout() {
    let world = World::start().await;
    world.paused_canary("default", "web").await;
    let server = world.dashboard(options()).await;
    let address = server.address();
    let put = async |path: &str, body: &str| -> Value {
        let reply =
            ask(address, "PUT", &format!("/rollouts/api/v1/rollouts/default/web/{path}"), &[], body.to_owned()).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        let rollout = reply.json();
        assert_eq!(rollout["metadata"]["name"], "web");
        assert!(rollout.get("kind").is_none() && rollout.get("apiVersion").is_none());
        rollout
    };
    put("promote", "").await;
    world.until("default", "web", "at step 3", |rollout| rollout["status"]["currentStepIndex"] == 3).await;
    put("abort", "{}").await;
    world.until_phase("default", "web", "Degraded").await;
    put("retry", "").await;
    world.until("default", "web", "retried", |rollout| rollout["status"]["abort"] != true).await;
    put("promote", r#"{"full": true}"#).await;
    world.until_phase("default", "web", "Healthy").await;
    let restarted = put("restart", "").await;
    assert!(restarted["spec"]["restartAt"].is_string());
    assert_eq!(put("pause", "").await["spec"]["paused"], true);
    assert_ne!(put("resume", "").await["spec"]["paused"], true);
    let undone = put("undo/1", "").await;
    assert_eq!(undone["spec"]["template"]["spec"]["containers"][0]["image"], "shop/web:1.0");
    let set = put("set/web/registry.example:5000%2Fshop%2Fweb/3.0", "").await;
    assert_eq!(set["spec"]["template"]["spec"]["containers"][0]["image"], "registry.example:5000/shop/web:3.0");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_that_borrows_its_template_shows_containers_and_sets_the_image_where_it_is() {
    let world = World::start().await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": pod("shop/web:1.0")}});
    world.create("default", deployment).await;
    let mut rollout = canary("web");
    rollout
        .pointer_mut("/spec")
        .unwrap()
        .as_object_mut()
        .unwrap()
        .retain(|name, _| name != "template" && name != "selector");
    rollout["spec"]["workloadRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    world.create("default", rollout).await;
    world.until_phase("default", "web", "Healthy").await;
    let server = world.dashboard(options()).await;
    let address = server.address();
    let info = get(address, "/api/v1/rollouts/default/web/info").await.json();
    assert_eq!(info["containers"], json!([{"name": "web", "image": "shop/web:1.0"}]));
    let reply = ask(address, "PUT", "/api/v1/rollouts/default/web/set/web/shop/web/2.0", &[], "").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let deployment = world.get("Deployment", "default", "web").await;
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "shop/web:2.0");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_path_may_be_empty_or_deep() {
    let world = World::still().await;
    for (root, api, front) in
        [("", "/api/v1/version", "/"), ("/", "/api/v1/version", "/"), ("a/b", "/a/b/api/v1/version", "/a/b/")]
    {
        let server = world.dashboard(tidegate_dashboard::Options { root_path: root.to_owned(), ..options() }).await;
        assert_eq!(get(server.address(), api).await.json()["rolloutsVersion"], "v1.2.3+test", "{root:?}");
        let page = get(server.address(), front).await;
        assert!(page.status == 200 && page.body.contains(&format!("<base href=\"{front}\" />")), "{root:?}");
        let script = get(server.address(), &format!("{front}main.js?v=1")).await;
        assert_eq!(script.headers["content-type"], "text/javascript; charset=utf-8", "a query does not matter");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_is_taken_is_told_as_such() {
    let world = World::still().await;
    let first = world.dashboard(options()).await;
    let port = first.address().port();
    let again = tidegate_dashboard::Options { port, ..options() };
    let second = tidegate_dashboard::Server::start(world.client.clone(), world.clock, again).await;
    assert_eq!(second.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    first.stop().await;
}
