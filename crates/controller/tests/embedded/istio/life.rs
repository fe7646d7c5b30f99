//! Updates from beginning to end.

use serde_json::json;

use super::{by_subset, paused, running_by_host, running_by_subset, two_stops, virtual_service};
use crate::world::{image, rollout};

#[tokio::test(start_paused = true)]
async fn a_canary_by_host_moves_weights_step_by_step_and_ends_as_it_began() {
    let world = running_by_host(two_stops()).await;
    assert_eq!(world.weights("shop").await, [[100, 0]], "taken over at the first availability");
    let before = world.get("VirtualService", "shop").await["spec"].clone();

    let world = paused(world).await;
    assert_eq!(world.weights("shop").await, [[75, 25]]);
    assert_eq!(world.reported().await, (25, 75));
    assert_eq!(world.sizes("shop").await, [4, 1]);
    let canary = world.get("Service", "canary").await["spec"]["selector"]["rollouts-pod-template-hash"].clone();
    assert_eq!(world.revision_of(&canary).await, 2);

    world.promote("shop").await;
    world.pass(30).await;
    assert_eq!(world.weights("shop").await, [[50, 50]]);

    world.promote("shop").await;
    world.pass(10).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(world.weights("shop").await, [[100, 0]]);
    assert_eq!(world.sizes("shop").await, [4, 4], "the old pods stay for a while");
    world.pass(40).await;
    assert_eq!(world.sizes("shop").await, [0, 4]);
    let after = world.get("VirtualService", "shop").await;
    assert_eq!(after["spec"], before, "nothing but weights was touched");
    let managers: Vec<_> =
        after["metadata"]["managedFields"].as_array().unwrap().iter().map(|all| &all["manager"]).collect();
    assert!(managers.contains(&&json!("rollouts-controller")), "{managers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_canary_by_subset_keeps_every_field_that_is_not_its_own() {
    let world = running_by_subset(two_stops()).await;
    assert_eq!((world.subset("current").await, world.subset("next").await), (1, 1));
    assert_eq!(world.weights("shop").await, [[0, 100]]);

    let world = paused(world).await;
    assert_eq!((world.subset("current").await, world.subset("next").await), (1, 2));
    assert_eq!(world.weights("shop").await, [[25, 75]]);

    world.promote("shop").await;
    world.pass(30).await;
    world.promote("shop").await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!((world.subset("current").await, world.subset("next").await), (2, 2));
    assert_eq!(world.weights("shop").await, [[0, 100]]);
    assert_eq!(world.sizes("shop").await, [0, 4]);

    let mut rule = world.get("DestinationRule", "shop").await["spec"].clone();
    for subset in rule["subsets"].as_array_mut().unwrap() {
        subset["labels"].as_object_mut().unwrap().remove("rollouts-pod-template-hash");
    }
    assert_eq!(rule, super::rule()["spec"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_moves_all_traffic_to_stable_and_keeps_the_canary_for_a_while() {
    let world = paused(running_by_subset(two_stops()).await).await;
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(2).await;
    assert_eq!(world.weights("shop").await, [[0, 100]]);
    assert_eq!(world.reported().await, (0, 100));
    assert_eq!((world.subset("current").await, world.subset("next").await), (1, 2));
    assert_eq!(world.sizes("shop").await, [4, 1]);
    world.pass(40).await;
    assert_eq!(world.sizes("shop").await, [4, 0]);
    assert_eq!(world.shown("shop").await.0, "Degraded");

    world.patch_status("shop", json!({"abort": false})).await;
    world.pass(30).await;
    assert_eq!(world.weights("shop").await, [[25, 75]], "tried again");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_when_nothing_changes() {
    let world = paused(running_by_subset(two_stops()).await).await;
    world.pass(60).await;
    world.asked();
    world.patch("Rollout", "shop", json!({"metadata": {"labels": {"touched": "yes"}}})).await;
    world.pass(120).await;
    let written = world.written();
    assert!(written.iter().all(|(_, path)| !path.contains("networking.istio.io")), "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn header_and_mirror_routes_come_and_go_with_their_steps() {
    let steps = json!([
        {"setCanaryScale": {"replicas": 1}},
        {"setHeaderRoute": {"name": "beta", "match": [{"headerName": "x-beta", "headerValue": {"exact": "yes"}}]}},
        {"setMirrorRoute": {"name": "shadow", "percentage": 50, "match": [{"method": {"exact": "GET"}}]}},
        {"pause": {}},
        {"setHeaderRoute": {"name": "beta"}},
        {"setWeight": 25},
        {"pause": {}},
    ]);
    let world = running_by_host(two_stops()).await;
    let managed = json!([{"name": "beta"}, {"name": "shadow"}]);
    let strategy = json!({"steps": steps, "trafficRouting": {"managedRoutes": managed}});
    world.patch("Rollout", "shop", json!({"spec": {"strategy": {"canary": strategy}}})).await;
    world.pass(5).await;
    let world = paused(world).await;
    let names = |object: &serde_json::Value| -> Vec<String> {
        object["spec"]["http"]
            .as_array()
            .unwrap()
            .iter()
            .map(|route| route["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let seen = world.get("VirtualService", "shop").await;
    assert_eq!(names(&seen), ["beta", "shadow", "web"]);
    assert_eq!(seen["spec"]["http"][0]["timeout"], "4s", "a copy of the route it was made from");
    assert_eq!(seen["spec"]["http"][1]["mirrorPercentage"]["value"], 50);

    // Somebody takes one out: it comes back.
    let without: Vec<_> = seen["spec"]["http"].as_array().unwrap()[1..].to_vec();
    world.patch("VirtualService", "shop", json!({"spec": {"http": without}})).await;
    world.pass(1).await;
    assert_eq!(names(&world.get("VirtualService", "shop").await), ["beta", "shadow", "web"]);

    world.promote("shop").await;
    world.pass(20).await;
    assert_eq!(names(&world.get("VirtualService", "shop").await), ["shadow", "web"]);
    assert_eq!(world.weights("shop").await, [[75, 25], [75, 25]], "a mirror follows the split");

    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(2).await;
    assert_eq!(names(&world.get("VirtualService", "shop").await), ["web"]);
    assert_eq!(world.weights("shop").await, [[100, 0]]);
}

#[tokio::test(start_paused = true)]
async fn ping_and_pong_change_roles_and_no_selector_changes_at_promotion() {
    let world = super::mesh().await;
    for name in ["ping", "pong"] {
        world.create(crate::world::service(name)).await;
    }
    let routes = json!([{"route": [{"destination": {"host": "ping"}, "weight": 100}, {"destination": {"host": "pong"}, "weight": 0}]}]);
    world.create(virtual_service("shop", routes)).await;
    let strategy = json!({"canary": {"pingPong": {"pingService": "ping", "pongService": "pong"}, "steps": [{"setWeight": 50}, {"pause": {}}],
        "trafficRouting": {"istio": {"virtualService": {"name": "shop"}}}}});
    world.create(rollout("shop", strategy)).await;
    world.pass(30).await;
    let world = paused(world).await;
    assert_eq!(world.weights("shop").await, [[50, 50]]);

    // Superseded by a version without pods: its Service is not pointed at nothing while it carries traffic.
    world.asked();
    world.patch("Rollout", "shop", image("shop:3")).await;
    world.pass(30).await;
    let order: Vec<_> = world.written().into_iter().map(|(_, path)| path).collect();
    let place = |part: &str| order.iter().position(|path| path.contains(part)).unwrap();
    assert!(place("virtualservices/shop") < place("services/pong"), "{order:?}");

    world.promote("shop").await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    assert_eq!(world.weights("shop").await, [[0, 100]]);
    assert_eq!(world.status("shop").await["canary"]["stablePingPong"], "pong");
}

#[tokio::test(start_paused = true)]
async fn a_total_of_a_thousand_makes_steps_of_a_tenth_of_a_percent() {
    let world = super::mesh().await;
    world.create(crate::world::service("shop")).await;
    world.create(virtual_service("shop", by_subset())).await;
    world.create(super::rule()).await;
    let mut strategy = super::subset_level(json!([{"setWeight": 235}, {"pause": {}}]));
    strategy["canary"]["trafficRouting"]["maxTrafficWeight"] = json!(1000);
    world.create(rollout("shop", strategy)).await;
    world.pass(30).await;
    assert_eq!(world.weights("shop").await, [[0, 1000]]);
    let world = paused(world).await;
    assert_eq!(world.weights("shop").await, [[235, 765]]);
    assert_eq!(world.sizes("shop").await, [4, 1]);
}
