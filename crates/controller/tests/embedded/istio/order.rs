//! Who moves first: weights, labels, pods.

use serde_json::json;

use super::{
    by_host, by_subset, host_level, mesh, paused, rule, running_by_host, running_by_subset, subset_level, two_stops,
    virtual_service,
};
use crate::world::{image, rollout, service};

#[tokio::test(start_paused = true)]
async fn a_superseded_canary_loses_its_weight_first_and_keeps_its_pods_a_moment_longer() {
    let world = paused(running_by_subset(two_stops()).await).await;
    world.asked();
    let slow =
        json!({"spec": {"template": {"metadata": {"annotations": {"node-agent.tidegate.dev/start-delay": "20s"}}}}});
    world.patch("Rollout", "shop", image("shop:3")).await;
    world.patch("Rollout", "shop", slow).await;
    world.pass(1).await;
    assert_eq!(world.weights("shop").await, [[0, 100]], "no pod of the new one is there");
    assert_eq!(world.subset("next").await, 2, "and so the subset still names the old one");
    assert_eq!(world.sizes("shop").await[1], 1, "whose pods stay while proxies may not have seen it");

    world.pass(60).await;
    assert_eq!(world.weights("shop").await, [[25, 75]]);
    let newest = world.sizes("shop").await.len() as u64;
    assert_eq!(world.subset("next").await, newest);
    assert_eq!(world.sizes("shop").await[1], 0, "nobody names it any more");
}

#[tokio::test(start_paused = true)]
async fn a_superseded_canary_that_a_subset_names_without_weight_does_not_keep_its_pods_for_ever() {
    // Found by a seed: the next version is aborted before it has a pod, so the subset names the one before.
    let world = paused(running_by_subset(json!([{"pause": {}}, {"setWeight": 25}, {"pause": {}}])).await).await;
    world.promote("shop").await;
    world.pass(30).await;
    assert_eq!(world.weights("shop").await, [[25, 75]]);
    world.patch("Rollout", "shop", image("shop:3")).await;
    world.pass(2).await;
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(60).await;
    assert_eq!(world.weights("shop").await, [[0, 100]]);
    assert_eq!(world.sizes("shop").await, [4, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn labels_come_before_the_weight_that_relies_on_them() {
    let world = running_by_subset(two_stops()).await;
    world.asked();
    let world = paused(world).await;
    let order: Vec<_> =
        world.written().into_iter().map(|(_, path)| path).filter(|path| path.contains("istio")).collect();
    assert_eq!(order.len(), 2, "one write each: {order:?}");
    assert!(order[0].contains("destinationrules") && order[1].contains("virtualservices"), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn one_stable_pod_that_is_not_ready_does_not_hold_a_subset_level_rollout() {
    // istio.md 7.3: the gate of the original stops everything here.
    let world = paused(running_by_subset(two_stops()).await).await;
    let pods = world.list("Pod").await;
    let canary = pods.iter().find(|pod| pod["spec"]["containers"][0]["image"] == "shop:2").unwrap();
    let name = canary["metadata"]["name"].as_str().unwrap();
    world.patch("Pod", name, json!({"metadata": {"annotations": {"node-agent.tidegate.dev/ready": "false"}}})).await;
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 6}})).await;
    world.pass(60).await;
    assert_eq!(world.sizes("shop").await[0], 6, "sizes follow");
}

#[tokio::test(start_paused = true)]
async fn an_abort_with_a_stable_pod_missing_moves_what_the_others_can_carry() {
    let world = paused(running_by_subset(json!([{"setWeight": 50}, {"pause": {}}])).await).await;
    assert_eq!(world.weights("shop").await, [[50, 50]]);
    // One of four stable pods goes and no new one can come.
    world.refuse(|call| {
        let is_pod = call.verb == tidegate_apiserver::Verb::Create && call.resource == "pods";
        is_pod.then(|| tidegate_apiserver::StatusError::forbidden("no room"))
    });
    let pods = world.list("Pod").await;
    let stable = pods.iter().find(|pod| pod["spec"]["containers"][0]["image"] == "shop:1").unwrap();
    world.delete("Pod", stable["metadata"]["name"].as_str().unwrap()).await;
    world.pass(5).await;
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(5).await;
    assert_eq!(world.weights("shop").await, [[25, 75]], "three of four pods carry three quarters");
    assert_eq!(world.reported().await, (25, 75));
    world.pass(60).await;
    assert_eq!(world.sizes("shop").await, [4, 2], "the canary carries traffic, so it stays");

    world.refuse_nothing();
    world.pass(60).await;
    assert_eq!(world.weights("shop").await, [[0, 100]]);
    world.pass(40).await;
    assert_eq!(world.sizes("shop").await, [4, 0]);
}

#[tokio::test(start_paused = true)]
async fn proxies_are_given_the_time_that_the_annotation_says() {
    let world = running_by_subset(json!([{"setWeight": 25}])).await;
    let delay = json!({"metadata": {"annotations": {"rollouts.tidegate.dev/traffic-propagation": "10s"}}});
    world.patch("Rollout", "shop", delay).await;
    world.pass(20).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(8).await;
    assert_eq!(world.subset("next").await, 2, "named");
    assert_eq!(world.weights("shop").await, [[0, 100]], "but not sent to yet");
    world.pass(10).await;
    assert_eq!(world.weights("shop").await, [[100, 0]], "sent to, and all pods are there");
    assert_eq!(world.subset("current").await, 1, "but proxies may still send to the old ones");
    assert_eq!(world.sizes("shop").await, [4, 4]);
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(world.weights("shop").await, [[0, 100]]);
    assert_eq!(world.subset("current").await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_propagation_time_that_is_no_time_is_said() {
    let world = running_by_subset(two_stops()).await;
    let delay = json!({"metadata": {"annotations": {"rollouts.tidegate.dev/traffic-propagation": "soon"}}});
    world.patch("Rollout", "shop", delay).await;
    world.pass(5).await;
    let (_, message) = world.shown("shop").await;
    assert!(message.contains("write whole seconds up to 3600, such as 5s"), "{message}");
}

/// What was written of late, without events: how often, and how often of the status.
fn counted(world: &crate::world::World) -> (usize, usize) {
    let written: Vec<String> =
        world.written().into_iter().map(|(_, path)| path).filter(|path| !path.contains("/events")).collect();
    let statuses = written.iter().filter(|path| path.ends_with("/status")).count();
    (written.len(), statuses)
}

#[tokio::test(start_paused = true)]
async fn an_update_of_one_pod_takes_few_writes_and_few_statuses() {
    let steps = json!([{"setWeight": 20}, {"pause": {}}, {"setWeight": 60}, {"pause": {"duration": 1}}]);
    let world = running_by_host(steps).await;
    world.patch("Rollout", "shop", json!({"spec": {"replicas": 1}})).await;
    world.pass(60).await;
    world.asked();
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(30).await;
    world.promote("shop").await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    let (writes, statuses) = counted(&world);
    // One of each more than on a real cluster, where the pod is ready before anybody has counted it.
    assert!(writes <= 19 && statuses <= 9, "{writes} writes, {statuses} of them of the status");
}

#[tokio::test(start_paused = true)]
async fn an_abort_moves_traffic_before_it_writes_anything_else() {
    let world = paused(running_by_host(two_stops()).await).await;
    world.asked();
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(2).await;
    let written: Vec<String> = world.written().into_iter().map(|(_, path)| path).collect();
    assert!(written[0].contains("/virtualservices/"), "{written:?}");
    assert_eq!(world.weights("shop").await, [[100, 0]]);
    assert_eq!(world.reported().await, (0, 100));
}

#[tokio::test(start_paused = true)]
async fn a_subset_is_not_sent_to_a_stable_version_that_never_had_a_pod() {
    // Found by a seed: nothing is to be carried by the stable version, so nobody counted its pods.
    let world = mesh().await;
    world.create(service("shop")).await;
    world.create(virtual_service("shop", by_subset())).await;
    world.create(rule()).await;
    let mut strategy = subset_level(two_stops());
    strategy["canary"]["dynamicStableScale"] = json!(true);
    let mut shop = rollout("shop", strategy);
    shop["spec"]["template"]["metadata"]["annotations"] = json!({"node-agent.tidegate.dev/unschedulable": "true"});
    world.create(shop).await;
    world.pass(10).await;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.pass(5).await;
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(10).await;
    assert_eq!(world.subset("current").await, 0, "it still names every pod there is");
}

#[tokio::test(start_paused = true)]
async fn stable_pods_stay_when_version_and_size_change_before_any_weight_was_stored() {
    // Found by a seed. Given a stable set that shrinks with its traffic, and a status that knows no weights yet
    let world = mesh().await;
    world.create(service("stable")).await;
    world.create(service("canary")).await;
    world.create(virtual_service("shop", by_host())).await;
    let mut strategy = host_level(two_stops());
    strategy["canary"]["dynamicStableScale"] = json!(true);
    world.create(rollout("shop", strategy)).await;
    world.pass(30).await;
    let names = |pods: Vec<serde_json::Value>| -> std::collections::BTreeSet<String> {
        let there = pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        there.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let before = names(world.list("Pod").await);
    // When a new version and another size are seen at once
    world.refuse(|call| {
        let is_write = matches!(call.verb, tidegate_apiserver::Verb::Create | tidegate_apiserver::Verb::Update);
        let is_set = is_write && call.resource == "replicasets" && call.subresource.is_empty();
        is_set.then(|| tidegate_apiserver::StatusError::new(503, "ServiceUnavailable", "not now"))
    });
    let more = before.len() + 1;
    world.patch("Rollout", "shop", image("shop:2")).await;
    world.patch("Rollout", "shop", json!({"spec": {"replicas": more}})).await;
    world.patch_status("shop", json!({"canary": {"weights": null}})).await;
    world.refuse_nothing();
    world.pass(20).await;
    // Then no pod that carries traffic has gone
    let after = names(world.list("Pod").await);
    assert!(before.is_subset(&after), "{before:?} became {after:?}");
}
