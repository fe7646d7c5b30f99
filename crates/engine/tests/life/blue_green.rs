//! Blue-green Rollouts.

use serde_json::{Value, json};
use tidegate_api::wire::Text;

use crate::assert_log;
use crate::world::{World, rollout};

fn blue_green(replicas: i32, more: Value) -> World {
    let mut strategy = json!({"activeService": "active", "previewService": "preview"});
    strategy.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let world = World::new(rollout(replicas, json!({"blueGreen": strategy})));
    world.with_service("active").with_service("preview")
}

#[test]
fn the_active_service_is_switched_once_all_pods_are_there() {
    let mut world = blue_green(3, json!({}));
    world.settle();
    assert_eq!((world.selected("active").as_str(), world.status().phase.text()), ("r1", "Healthy"));

    world.set_image("shop:2").settle();
    assert_eq!((world.selected("active").as_str(), world.status().phase.text()), ("r2", "Healthy"));
    assert_eq!(world.sizes(), [("1".to_owned(), 3), ("2".to_owned(), 3)].into(), "the old pods stay for a while");

    world.pass(29);
    assert_eq!(world.sizes().len(), 2);
    world.pass(2);
    assert_eq!(world.sizes(), [("2".to_owned(), 3)].into());
    assert_log("blue-green-auto", &world);
}

#[test]
fn going_back_while_the_old_pods_run_needs_no_pause() {
    let mut world = blue_green(2, json!({"autoPromotionEnabled": false}));
    world.settle().set_image("shop:2").settle();
    assert_eq!(world.status().message.text(), "BlueGreenPause");
    world.patch_status("promote", json!({"pauseConditions": null})).settle();
    assert_eq!(world.selected("active"), "r2");

    world.set_image("shop:1").settle();

    assert_eq!((world.selected("active").as_str(), world.status().phase.text()), ("r3", "Healthy"));
    assert_log("blue-green-fast-rollback", &world);
}

#[test]
fn a_manual_promotion_is_not_forgotten_when_a_pod_goes_away_in_that_moment() {
    let mut world = blue_green(2, json!({"autoPromotionEnabled": false}));
    world.settle().set_image("shop:2").settle();
    let new = world.seen.replica_sets.last_mut().unwrap();
    new.status.available_replicas = 1;

    world.patch_status("promote", json!({"pauseConditions": null}));
    world.look();
    assert_eq!(world.selected("active"), "r1");
    world.settle();

    assert_eq!((world.selected("active").as_str(), world.status().phase.text()), ("r2", "Healthy"));
    assert_eq!(world.status().controller_pause, None);
}

#[test]
fn a_small_preview_grows_before_the_switch() {
    let mut world = blue_green(3, json!({"autoPromotionEnabled": false, "previewReplicaCount": 1}));
    world.settle().set_image("shop:2").settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 3), ("2".to_owned(), 1)].into());

    world.patch_status("promote", json!({"pauseConditions": null})).settle();

    assert_eq!(world.selected("active"), "r2");
    assert_eq!(world.status().phase.text(), "Healthy");
    assert_eq!(world.status().blue_green.unwrap().scale_up_preview_check_point, None);
    assert_log("blue-green-preview-count", &world);
}

#[test]
fn an_abort_keeps_the_active_service_and_the_new_pods_go_after_the_delay() {
    let mut world = blue_green(2, json!({"autoPromotionEnabled": false}));
    world.settle().set_image("shop:2").settle();

    world.patch_status("abort", json!({"abort": true})).settle();
    assert_eq!(world.selected("active"), "r1");
    assert_eq!(world.sizes().len(), 2);
    world.pass(31);
    assert_eq!(world.sizes(), [("1".to_owned(), 2)].into());

    world.patch_status("retry", json!({"abort": false})).settle();
    assert_eq!(world.sizes().len(), 2);
    assert_eq!(world.status().message.text(), "BlueGreenPause");
    assert_log("blue-green-abort-retry", &world);
}

#[test]
fn a_timed_promotion_comes_by_itself() {
    let mut world = blue_green(1, json!({"autoPromotionSeconds": 10}));
    world.settle().set_image("shop:2").settle();
    assert_eq!(world.status().phase.text(), "Paused");
    world.pass(9);
    assert_eq!(world.selected("active"), "r1");
    world.pass(3);
    assert_eq!((world.selected("active").as_str(), world.status().phase.text()), ("r2", "Healthy"));
}

#[test]
fn a_delay_of_zero_takes_the_old_pods_away_at_once() {
    let mut world = blue_green(1, json!({"scaleDownDelaySeconds": 0}));
    world.settle().set_image("shop:2").settle();
    assert_eq!(world.sizes(), [("2".to_owned(), 1)].into());
}

#[test]
fn only_so_many_old_sets_wait_as_the_limit_allows() {
    let mut world = blue_green(1, json!({"scaleDownDelaySeconds": 86400, "scaleDownDelayRevisionLimit": 2}));
    world.settle();
    for image in ["shop:2", "shop:3", "shop:4"] {
        world.set_image(image).settle();
    }
    assert_eq!(world.sizes().keys().cloned().collect::<Vec<_>>(), ["2", "3", "4"]);

    world.patch_spec("limit 1", json!({"strategy": {"blueGreen": {"scaleDownDelayRevisionLimit": 1}}})).settle();
    assert_eq!(world.sizes().keys().cloned().collect::<Vec<_>>(), ["3", "4"]);
}

#[test]
fn pods_of_a_set_that_was_just_emptied_do_not_count_for_a_restart() {
    let mut world = blue_green(3, json!({}));
    world.settle().set_image("shop:2").settle().pass(31);
    assert_eq!(world.sizes(), [("2".to_owned(), 3)].into());
    // Nobody has deleted the pods of the old set yet.
    let pods = world.seen.replica_sets.iter().flat_map(|set| {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set.metadata.name,
            "uid": set.metadata.uid, "controller": true});
        let ready = json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        (0..3).map(move |number| {
            let name = format!("{}-{number}", set.metadata.name.text());
            let metadata =
                json!({"name": name, "creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [owner]});
            serde_json::from_value(json!({"metadata": metadata, "status": {"conditions": ready}})).unwrap()
        })
    });
    world.seen.pods = pods.collect();

    world.patch_spec("restart", json!({"restartAt": "2026-01-01T00:00:30Z"}));
    let plan = tidegate_engine::plan_ahead(&world.seen, world.now);

    let evicted = plan.actions.iter().filter(|action| matches!(action.write, tidegate_engine::Write::Evict { .. }));
    assert_eq!(evicted.count(), 1, "two of three pods go on serving");
}
