//! Several Rollouts and one VirtualService.

use serde_json::json;

use super::{mesh, paused, rule, running_by_subset, running_by_two, subset_level, two_stops, virtual_service};
use crate::world::{image, rollout, service};

#[tokio::test(start_paused = true)]
async fn of_two_rollouts_that_weight_one_route_the_first_goes_on_and_the_other_is_told() {
    let world = running_by_subset(two_stops()).await;
    let mut own_rule = rule();
    own_rule["metadata"]["name"] = json!("late");
    world.create(own_rule).await;
    let mut strategy = subset_level(two_stops());
    strategy["canary"]["trafficRouting"]["istio"]["destinationRule"]["name"] = json!("late");
    let second = rollout("late", strategy);
    world.create(second).await;
    world.pass(10).await;
    let (phase, message) = world.shown("late").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("belongs to Rollout default/shop, which was there first"), "{message}");
    assert_eq!(world.shown("shop").await.0, "Healthy");

    world.delete("Rollout", "shop").await;
    world.pass(30).await;
    assert_eq!(world.shown("late").await.0, "Healthy", "within a moment of the other's end");
}

#[tokio::test(start_paused = true)]
async fn fifty_rollouts_share_one_virtual_service() {
    let world = mesh().await;
    let route = |name: &str| {
        json!({"name": name, "match": [{"uri": {"prefix": format!("/{name}")}}], "route": [
            {"destination": {"host": format!("{name}-stable")}, "weight": 100},
            {"destination": {"host": format!("{name}-canary")}, "weight": 0}]})
    };
    let names: Vec<String> = (0..50).map(|number| format!("app-{number}")).collect();
    let routes: Vec<_> = names.iter().map(|name| route(name)).collect();
    world.create(virtual_service("shared", routes.into())).await;
    for name in &names {
        for role in ["stable", "canary"] {
            let mut of_app = service(&format!("{name}-{role}"));
            of_app["spec"]["selector"] = json!({"app": name});
            world.create(of_app).await;
        }
        let strategy = json!({"canary": {"canaryService": format!("{name}-canary"), "stableService": format!("{name}-stable"),
            "steps": [{"setWeight": 25}, {"pause": {}}],
            "trafficRouting": {"istio": {"virtualService": {"name": "shared", "routes": [name]}}}}});
        let mut object = rollout(name, strategy);
        object["spec"]["replicas"] = json!(1);
        world.create(object).await;
    }
    world.pass(30).await;
    for name in &names {
        world.patch("Rollout", name, image("shop:2")).await;
    }
    world.pass(60).await;
    for name in &names {
        assert_eq!(world.shown(name).await.0, "Paused", "{name}");
    }
    assert_eq!(world.weights("shared").await, vec![vec![75, 25]; 50]);
}

#[tokio::test(start_paused = true)]
async fn several_virtual_services_change_together() {
    let world = paused(running_by_two().await).await;
    assert_eq!(world.weights("edge").await, [[75, 25]]);
    assert_eq!(world.weights("mesh").await, [[75, 25]]);
}
