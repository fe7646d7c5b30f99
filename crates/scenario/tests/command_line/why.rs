//! `why` asks the engine about the objects as they are: holds that no status tells are named.

use serde_json::{Value, json};

use crate::stage::{Stage, rollout, template, virtually};

const PREFIX: &str = "node-agent.tidegate.dev";

fn unready() -> Value {
    template("2", json!({format!("{PREFIX}/ready-after"): "1h"}))
}

fn routed(istio: Value, more: Value) -> Value {
    let mut canary = json!({"stableService": "shop-stable", "canaryService": "shop-canary",
        "trafficRouting": {"istio": istio}, "steps": [{"setWeight": 50}, {"pause": {}}]});
    for (name, value) in more.as_object().unwrap() {
        canary.as_object_mut().unwrap().insert(name.clone(), value.clone());
    }
    json!({"canary": canary})
}

fn virtual_service(destinations: [Value; 2]) -> Value {
    let [stable, canary] = destinations;
    json!({"metadata": {"name": "shop"}, "spec": {"hosts": ["shop"], "http": [{"name": "main", "route": [
        {"destination": stable, "weight": 100}, {"destination": canary, "weight": 0}]}]}})
}

fn by_host() -> Value {
    virtual_service([json!({"host": "shop-stable"}), json!({"host": "shop-canary"})])
}

/// The first line without its time, and the whole answer.
async fn why(stage: &Stage) -> (String, String) {
    let (out, err) = stage.says(&["why", "shop"]).await;
    assert_eq!(err, "");
    let first = out.lines().next().unwrap().split(" since ").next().unwrap().to_owned();
    let (json, _) = stage.says(&["why", "shop", "-o", "json"]).await;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["source"], "engine", "{out}");
    (first, out)
}

fn set_of(answer: &str) -> String {
    let after = answer.split("ReplicaSet ").nth(1).unwrap();
    after.split([' ', ':']).next().unwrap().to_owned()
}

#[test]
fn a_subset_and_a_service_that_wait_for_pods_are_named() {
    virtually(async {
        let stage = Stage::open().await;
        stage.services(&["shop", "shop-stable", "shop-canary"]).await;
        let subset = |name: &str| json!({"host": "shop", "subset": name});
        stage.create("VirtualService", virtual_service([subset("old"), subset("new")])).await;
        let subsets = json!([{"name": "old", "labels": {"app": "shop"}}, {"name": "new", "labels": {"app": "shop"}}]);
        let rule = json!({"metadata": {"name": "shop"}, "spec": {"host": "shop", "subsets": subsets}});
        stage.create("DestinationRule", rule).await;
        let istio = json!({"virtualService": {"name": "shop"}, "destinationRule": {"name": "shop",
            "stableSubsetName": "old", "canarySubsetName": "new"}});
        stage.create("Rollout", rollout(2, routed(istio, json!({})))).await;
        stage.pass(30).await;
        let (first, _) = why(&stage).await;
        assert_eq!(first, "Healthy: waiting for nothing");
        stage.update(unready()).await;
        stage.pass(30).await;
        let (first, answer) = why(&stage).await;
        let set = set_of(&answer);
        assert_eq!(first, format!("Progressing: waiting for pods of ReplicaSet {set}: 0 of 1 available"));
        let service =
            format!("  and for available pods of ReplicaSet {set} before Service shop-canary is switched to it\n");
        let subset = format!("  and for available pods of ReplicaSet {set} before subset new names them\n");
        assert!(answer.contains(&service) && answer.contains(&subset), "{answer}");
        assert!(answer.contains(&format!("\n  ReplicaSet {set} (canary): 0 of 1 pods available\n")), "{answer}");
        assert!(answer.contains("\n  revision 2, step 1 of 2: setWeight: 50\n"), "{answer}");
    });
}

#[test]
fn stable_pods_that_are_missing_before_an_abort_moves_traffic_are_counted() {
    virtually(async {
        let stage = Stage::open().await;
        stage.services(&["shop-stable", "shop-canary"]).await;
        stage.create("VirtualService", by_host()).await;
        let mut frail = rollout(4, routed(json!({"virtualService": {"name": "shop"}}), json!({})));
        let failing = |after: &str| json!({format!("{PREFIX}/unready-after"): after});
        frail["spec"].as_object_mut().unwrap().insert("template".to_owned(), template("1", failing("60s")));
        stage.create("Rollout", frail).await;
        stage.pass(30).await;
        stage.update(template("2", failing("1h"))).await;
        stage.pass(15).await;
        let (first, _) = why(&stage).await;
        assert_eq!(first, "Paused: waiting for someone to promote or abort (CanaryPauseStep)");
        stage.pass(30).await;
        stage.says(&["abort", "shop"]).await;
        stage.pass(5).await;
        let (first, answer) = why(&stage).await;
        assert_eq!(first, "Degraded: waiting for someone to retry, or a new spec: the update was aborted");
        assert!(answer.contains("\n  and for stable pods before traffic moves: 0 of 4 available\n"), "{answer}");
        assert!(answer.ends_with("Unblock: kubectl argo rollouts retry rollout shop\n"), "{answer}");
    });
}

#[test]
fn a_missing_service_is_named_though_no_controller_has_told_yet() {
    virtually(async {
        let stage = Stage::without_controller().await;
        stage.services(&["shop-stable"]).await;
        stage
            .create("Rollout", rollout(1, json!({"canary": {"stableService": "shop-stable", "canaryService": "gone"}})))
            .await;
        let (first, answer) = why(&stage).await;
        let wanted = "Progressing: waiting for a correction: The Rollout \"shop\" is invalid: \
            spec.strategy.canary.canaryService: Invalid value: \"gone\": service \"gone\" not found";
        assert_eq!(first, wanted);
        assert!(answer.ends_with("\nUnblock: kubectl edit rollout shop\n"), "{answer}");
    });
}

#[test]
fn what_a_controller_would_do_is_told_where_none_does_it() {
    virtually(async {
        let stage = Stage::without_controller().await;
        stage.create("Rollout", rollout(1, json!({"canary": {}}))).await;
        let (first, answer) = why(&stage).await;
        assert!(first.starts_with("Progressing: waiting for the controller to make ReplicaSet shop-"), "{first}");
        assert!(answer.contains("\nUnblock: kubectl get pods --all-namespaces -l app.kubernetes.io/name="), "{answer}");
    });
}

#[test]
fn a_route_that_is_gone_is_named_with_the_object_to_mend() {
    virtually(async {
        let stage = Stage::open().await;
        stage.services(&["shop-stable", "shop-canary"]).await;
        stage.create("VirtualService", by_host()).await;
        let istio = json!({"virtualService": {"name": "shop"}});
        stage.create("Rollout", rollout(1, routed(istio, json!({})))).await;
        stage.pass(30).await;
        stage.update(template("2", json!({}))).await;
        stage.pass(30).await;
        let other = virtual_service([json!({"host": "shop-stable"}), json!({"host": "elsewhere"})]);
        stage.patch("VirtualService", "shop", json!({"spec": other["spec"]})).await;
        stage.pass(5).await;
        let (first, answer) = why(&stage).await;
        assert!(first.starts_with("Degraded: waiting for a correction: "), "{answer}");
        assert!(first.ends_with("Canary Service 'shop-canary' not found in route"), "{answer}");
        // What is to be mended is not the Rollout.
        assert!(answer.ends_with("\nUnblock: kubectl edit virtualservice shop\n"), "{answer}");
    });
}

#[test]
fn old_pods_that_wait_for_their_time_and_restarts_are_told_of_a_healthy_rollout() {
    virtually(async {
        let stage = Stage::open().await;
        stage.services(&["shop-stable"]).await;
        let strategy = json!({"blueGreen": {"activeService": "shop-stable", "scaleDownDelaySeconds": 600}});
        stage.create("Rollout", rollout(2, strategy)).await;
        stage.pass(30).await;
        stage.update(template("2", json!({}))).await;
        stage.pass(30).await;
        let (first, answer) = why(&stage).await;
        assert!(first.starts_with("Healthy: waiting for 20"), "{answer}");
        assert!(first.contains(", when ReplicaSet shop-") && first.ends_with(" is scaled down"), "{answer}");
        stage.says(&["restart", "shop", "--in", "1h"]).await;
        stage.pass(5).await;
        let (_, answer) = why(&stage).await;
        assert!(answer.contains(", when the pods are restarted"), "{answer}");
    });
}

#[test]
fn proxies_that_are_given_time_are_waited_for() {
    virtually(async {
        let stage = Stage::open().await;
        stage.services(&["shop-stable", "shop-canary"]).await;
        stage.create("VirtualService", by_host()).await;
        let istio = json!({"virtualService": {"name": "shop"}});
        let mut object = rollout(1, routed(istio, json!({"steps": [{"setWeight": 100}]})));
        let annotations = json!({"rollouts.tidegate.dev/traffic-propagation": "300s"});
        object["metadata"].as_object_mut().unwrap().insert("annotations".to_owned(), annotations);
        stage.create("Rollout", object).await;
        stage.pass(30).await;
        stage.update(template("2", json!({}))).await;
        stage.pass(60).await;
        let (_, answer) = why(&stage).await;
        assert!(answer.contains(", when proxies should have seen the last change of routes"), "{answer}");
        assert!(answer.contains("\n  routes or subsets were written a moment ago\n"), "{answer}");
    });
}
