//! A whole update, an abort, and outside changes.

use serde_json::{Value, json};

use tidegate_sim::routers::{Place, SHOP, all, gateway_api, nginx, smi, traefik};

use super::{paused, running, together};

#[tokio::test(start_paused = true)]
async fn weights_follow_the_steps_to_the_end_and_all_goes_back_to_stable() {
    for way in all(&SHOP) {
        let world = running(&way).await;
        assert_eq!(world.weight(&way).await.unwrap_or_default(), 0, "{}", way.name);
        world.patch("Rollout", "shop", crate::world::image("shop:2")).await;
        world.pass(30).await;
        assert_eq!((world.weight(&way).await, world.said().await), (Some(25), (25, 75)), "{}", way.name);
        world.promote("shop").await;
        world.pass(30).await;
        assert_eq!((world.weight(&way).await, world.said().await), (Some(50), (50, 50)), "{}", way.name);
        world.promote("shop").await;
        world.pass(90).await;
        assert_eq!(world.shown("shop").await.0, "Healthy", "{}", way.name);
        assert_eq!((world.weight(&way).await.unwrap_or_default(), world.said().await), (0, (0, 100)), "{}", way.name);
        world.written();
        world.pass(120).await;
        assert_eq!(world.written(), [], "{}: nothing is written at rest", way.name);
    }
}

#[tokio::test(start_paused = true)]
async fn an_abort_moves_all_weight_to_stable_first() {
    for way in all(&SHOP) {
        let world = paused(&way).await;
        world.written();
        world.patch_status("shop", json!({"abort": true})).await;
        world.pass(2).await;
        let Place { kind, ref name, .. } = way.place;
        assert_eq!(world.weight(&way).await, Some(0), "{}", way.name);
        assert_eq!(world.said().await, (0, 100), "{}", way.name);
        let written = world.written();
        let first = written.first().map(|(_, path)| path.as_str()).unwrap_or_default();
        assert!(first.ends_with(&format!("/{name}")), "{} {kind}: {written:?}", way.name);
        assert_eq!(world.shown("shop").await.0, "Degraded", "{}", way.name);
    }
}

/// Sets all weights to a half, wherever they are.
fn meddle(object: &mut Value) {
    match object {
        Value::Array(list) => list.iter_mut().for_each(meddle),
        Value::Object(fields) => {
            for (name, value) in fields {
                let alb = |text: &str| {
                    text.replace("\"Weight\":25", "\"Weight\":50").replace("\"Weight\":75", "\"Weight\":50")
                };
                match (name.as_str(), &*value) {
                    ("weight" | "nginx.ingress.kubernetes.io/canary-weight", Value::String(_)) => *value = json!("50"),
                    ("weight", Value::Number(_)) => *value = json!(50),
                    ("alb.ingress.kubernetes.io/actions.stable", Value::String(text)) => *value = json!(alb(text)),
                    _ => meddle(value),
                }
            }
        }
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changes_is_set_back_and_the_object_says_who_it_was() {
    for way in all(&SHOP) {
        let world = paused(&way).await;
        let Place { kind, ref name, .. } = way.place;
        let mut object = world.get(kind, name).await;
        meddle(&mut object);
        let params = kube::api::PostParams { field_manager: Some("argocd".to_owned()), ..Default::default() };
        world.api(kind).replace(name, &params, &serde_json::from_value(object).unwrap()).await.unwrap();
        world.pass(2).await;
        assert_eq!(world.weight(&way).await, Some(25), "{}", way.name);
        world.pass(10).await;
        let events = world.list("Event").await;
        let repaired = events.iter().find(|event| event["reason"] == "TrafficRepaired").unwrap();
        assert_eq!(repaired["involvedObject"]["kind"], kind, "{}", way.name);
        let message = repaired["message"].as_str().unwrap();
        assert!(message.contains("changed by argocd, set back for Rollout default/shop"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn several_routers_of_one_rollout_have_the_same_weights_at_every_step() {
    let ways = [nginx(&SHOP), smi(&SHOP), traefik(&SHOP), gateway_api(&SHOP)];
    let world = paused(&together(&ways)).await;
    for (wanted, said) in [(25, (25, 75)), (50, (50, 50))] {
        for way in &ways {
            assert_eq!((world.weight(way).await, world.said().await), (Some(wanted), said), "{}", way.name);
        }
        world.promote("shop").await;
        world.pass(30).await;
    }
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Healthy");
    for way in &ways {
        assert_eq!(world.weight(way).await, Some(0), "{}", way.name);
    }
}
