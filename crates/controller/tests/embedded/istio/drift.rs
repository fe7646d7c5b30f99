//! Somebody else writes the same objects.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::{by_host, by_subset, paused, running_by_host, running_by_subset, two_stops};

#[tokio::test(start_paused = true)]
async fn weights_that_somebody_changes_are_set_back_at_once_and_the_object_says_who_it_was() {
    let world = paused(running_by_host(two_stops()).await).await;
    for _ in 0..20 {
        let params = PatchParams { field_manager: Some("argocd-controller".to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(json!({"spec": {"http": by_host()}}));
        world.api("VirtualService").patch("shop", &params, &patch).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert_eq!(world.weights("shop").await, [[75, 25]]);
    }
    assert_eq!(world.reported().await, (25, 75));
    world.pass(5).await;
    let events = world.list("Event").await;
    let repaired = events.iter().find(|event| event["involvedObject"]["kind"] == "VirtualService").unwrap();
    assert_eq!(repaired["reason"], "TrafficRepaired");
    let message = repaired["message"].as_str().unwrap();
    assert!(message.contains("changed by argocd-controller") && message.contains("Rollout default/shop"), "{message}");
    assert!(message.contains("canary 30 -> 25"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn labels_and_marks_that_a_replacement_takes_away_come_back() {
    let world = paused(running_by_subset(two_stops()).await).await;
    let version = world.get("DestinationRule", "shop").await["metadata"]["resourceVersion"].clone();
    let mut plain = super::rule();
    plain["metadata"]["resourceVersion"] = version;
    let plain = serde_json::from_value(plain).unwrap();
    world.api("DestinationRule").replace("shop", &kube::api::PostParams::default(), &plain).await.unwrap();
    world.pass(1).await;
    assert_eq!((world.subset("current").await, world.subset("next").await), (1, 2));
    let marked = world.get("DestinationRule", "shop").await["metadata"]["annotations"].clone();
    assert_eq!(marked, json!({"argo-rollouts.argoproj.io/managed-by-rollouts": "shop"}));
}

#[tokio::test(start_paused = true)]
async fn changes_that_are_not_about_weights_are_nobodys_business() {
    let world = paused(running_by_host(two_stops()).await).await;
    world.pass(20).await;
    world.asked();
    world.patch("VirtualService", "shop", json!({"spec": {"hosts": ["shop.example", "www.shop.example"]}})).await;
    world.pass(20).await;
    let written = world.written();
    assert!(written.is_empty(), "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_always_faster_meets_a_retry_from_what_is_there() {
    let world = paused(running_by_host(two_stops()).await).await;
    // The route gets a new field in the very moment in which the step writes weights.
    let object = world.get("VirtualService", "shop").await;
    let mut http = object["spec"]["http"].clone();
    http[0]["retries"] = json!({"attempts": 7});
    world.deafen("virtualservices");
    world.patch("VirtualService", "shop", json!({"spec": {"http": http}})).await;
    world.promote("shop").await;
    world.pass(20).await;
    let after = world.get("VirtualService", "shop").await;
    assert_eq!(after["spec"]["http"][0]["retries"]["attempts"], 7, "kept");
    assert_eq!(world.weights("shop").await, [[50, 50]]);
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_gone_is_told_and_what_is_reported_is_what_is_there() {
    let world = paused(running_by_subset(two_stops()).await).await;
    let mut routes = by_subset();
    routes[0]["route"].as_array_mut().unwrap().remove(0);
    world.patch("VirtualService", "shop", json!({"spec": {"http": routes}})).await;
    world.pass(5).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("Canary DestinationRule subset 'next' not found in route"), "{message}");

    world.patch("VirtualService", "shop", json!({"spec": {"http": by_subset()}})).await;
    world.pass(2).await;
    assert_eq!(world.shown("shop").await.0, "Paused");
    assert_eq!(world.weights("shop").await, [[25, 75]]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_rollout_leaves_the_rule_as_its_user_wrote_it() {
    let world = running_by_subset(two_stops()).await;
    world.api("Rollout").delete("shop", &DeleteParams::default()).await.unwrap();
    world.pass(10).await;
    let rule = world.get("DestinationRule", "shop").await;
    assert_eq!(rule["spec"], super::rule()["spec"]);
    assert!(rule["metadata"].get("annotations").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_gives_up_routing_releases_its_rule_and_goes_on_without() {
    let world = running_by_subset(two_stops()).await;
    world.patch("Rollout", "shop", json!({"spec": {"strategy": {"canary": {"trafficRouting": null}}}})).await;
    world.pass(10).await;
    assert_eq!(world.get("DestinationRule", "shop").await["spec"], super::rule()["spec"]);
    assert_eq!(world.shown("shop").await.0, "Healthy");
}
