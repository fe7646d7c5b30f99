//! Canaries without a router.

use serde_json::json;
use tidegate_api::wire::{Items, Text};

use crate::assert_log;
use crate::world::{World, rollout};

fn canary(replicas: i32, steps: serde_json::Value) -> World {
    World::new(rollout(replicas, json!({"canary": {"steps": steps}})))
}

#[test]
fn weights_are_reached_step_by_step_and_pauses_wait_for_a_person() {
    let steps = json!([{"setWeight": 20}, {"pause": {}}, {"setWeight": 60}, {"pause": {"duration": "10s"}}]);
    let mut world = canary(5, steps);
    world.settle();
    assert_eq!(world.status().phase.text(), "Healthy");

    world.set_image("shop:2").settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 4), ("2".to_owned(), 1)].into());
    assert_eq!(world.status().current_step_index, Some(1));
    assert!(world.most_pods <= 7 && world.fewest_available >= 4, "{} {}", world.most_pods, world.fewest_available);

    world.patch_status("promote", json!({"pauseConditions": null})).settle();
    assert_eq!(world.status().current_step_index, Some(3));
    world.pass(5);
    assert_eq!(world.status().phase.text(), "Paused");
    world.pass(10);
    assert_eq!(world.status().phase.text(), "Healthy");
    assert_eq!(world.sizes(), [("2".to_owned(), 5)].into());
    assert_log("canary-steps", &world);
}

/// Every status is a write that everybody who watches is told of.
#[test]
fn an_update_of_one_pod_takes_eight_statuses() {
    let mut world = canary(1, json!([{"setWeight": 20}, {"pause": {}}, {"setWeight": 60}, {"pause": {"duration": 1}}]));
    world.settle();
    world.statuses = 0;
    world.set_image("shop:2").settle();
    world.patch_status("promote", json!({"pauseConditions": null})).settle().pass(2);
    assert_eq!(world.status().phase.text(), "Healthy");
    assert!(world.statuses <= 8, "{}: {}", world.statuses, world.log.join("\n"));
}

/// A leader makes the stable set smaller and dies; the next one begins with another version, for which it is to grow again, before
/// anybody has counted its pods.
#[test]
fn pods_that_a_set_is_giving_away_are_not_counted_when_it_is_to_grow_again() {
    let steps = json!([{"setWeight": 25}, {"pause": {}}, {"setWeight": 50}, {"pause": {}}]);
    let mut world = World::new(rollout(4, json!({"canary": {"maxUnavailable": 0, "steps": steps}})));
    world.settle().set_image("shop:2").settle();
    world.patch_status("promote", json!({"pauseConditions": null})).settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 2), ("2".to_owned(), 2)].into());
    // Of its three pods one is about to go.
    let stable = world.seen.replica_sets.iter_mut().min_by_key(|set| set.metadata.creation_timestamp.clone()).unwrap();
    (stable.status.replicas, stable.status.available_replicas) = (3, 3);
    world.set_image("shop:3");
    for _ in 0..10 {
        world.look();
    }
    let sizes = world.sizes();
    assert_eq!((sizes["1"], sizes["2"]), (2, 2), "four pods stay: {}", world.log.join("\n"));
    // Once they are counted it goes on.
    world.settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 3), ("3".to_owned(), 1)].into());
    assert_eq!(world.status().phase.text(), "Paused");
}

/// A Rollout is made smaller, and before the pod that goes is counted another version comes with the size of before. The set may
/// not grow yet, which is no reason to call the version before this one healthy, nor to give the new one its size of after all
/// steps.
#[test]
fn a_new_version_begins_while_the_stable_set_is_still_giving_pods_away() {
    let mut world = canary(3, json!([{"pause": {}}, {"setWeight": 50}, {"pause": {}}]));
    world.settle().patch_spec("smaller", json!({"replicas": 2})).settle();
    let stable = world.seen.replica_sets.iter_mut().next().unwrap();
    (stable.status.replicas, stable.status.available_replicas) = (3, 3);
    world.patch_spec("larger", json!({"replicas": 3})).set_image("shop:2");
    for _ in 0..10 {
        world.look();
    }
    let told = world.log.join("\n");
    assert_eq!((world.sizes().get("1"), world.sizes().get("2")), (Some(&2), None), "{told}");
    assert_eq!(world.status().phase.text(), "Paused", "{told}");
    assert_ne!(world.status().current_pod_hash, world.status().stable_rs, "{told}");
    world.settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 3)].into());
}

#[test]
fn an_abort_goes_back_to_stable_and_a_retry_starts_again() {
    let mut world = canary(4, json!([{"setWeight": 50}, {"pause": {}}]));
    world.settle().set_image("shop:2").settle();

    world.patch_status("abort", json!({"abort": true})).settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 4)].into());
    assert_eq!(world.status().phase.text(), "Degraded");
    assert_eq!(world.status().current_step_index, Some(0));
    assert!(world.fewest_available >= 3);

    world.patch_status("retry", json!({"abort": false})).settle();
    assert_eq!(world.status().phase.text(), "Paused");
    world.patch_status("promote", json!({"pauseConditions": null})).settle();
    assert_eq!(world.status().phase.text(), "Healthy");
    assert_log("canary-abort-retry", &world);
}

/// A version becomes stable at once where none is, as in Argo Rollouts, also one whose pods never come: then those of the version
/// before serve, and surge must not be used up for ever.
#[test]
fn pods_of_a_stable_version_that_never_came_make_room_for_the_next() {
    let canary = json!({"canary": {"maxSurge": 1, "maxUnavailable": 0}});
    let mut world = World::new(rollout(3, canary));
    world.settle().patch_status("lose the stable version", json!({"stableRS": ""}));
    world.broken = Some("shop:2");
    world.set_image("shop:2").settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 3), ("2".to_owned(), 1)].into());

    world.fewest_available = i32::MAX;
    world.set_image("shop:3").settle();
    assert_eq!(world.status().phase.text(), "Healthy", "{}", world.log.join("\n"));
    assert_eq!(world.sizes(), [("3".to_owned(), 3)].into());
    assert!(world.most_pods <= 4 && world.fewest_available >= 3, "{} {}", world.most_pods, world.fewest_available);
}

#[test]
fn an_abort_that_is_first_seen_together_with_the_new_revision_holds_that_revision() {
    let mut world = canary(4, json!([{"setWeight": 50}]));
    world.settle().set_image("shop:2").patch_status("abort", json!({"abort": true})).settle();
    assert_eq!(world.status().phase.text(), "Degraded", "{}", world.log.join("\n"));
    assert_eq!(world.sizes(), [("1".to_owned(), 4)].into());

    world.set_image("shop:3").settle();
    assert_eq!(world.status().phase.text(), "Healthy", "an abort that was acted on ends with the next revision");
}

#[test]
fn an_abort_that_is_first_seen_together_with_another_size_holds_the_new_revision() {
    let mut world = canary(4, json!([{"setWeight": 50}]));
    world.settle().set_image("shop:2").patch_spec("scale", json!({"replicas": 6}));
    world.patch_status("abort", json!({"abort": true})).settle();
    assert_eq!(world.status().phase.text(), "Degraded", "{}", world.log.join("\n"));
    assert_eq!(world.sizes(), [("1".to_owned(), 6)].into());
}

#[test]
fn an_abort_ends_a_full_promotion_and_a_full_promotion_ends_an_abort_that_was_acted_on() {
    let mut world = canary(4, json!([{"setWeight": 50}, {"pause": {}}]));
    world.settle().set_image("shop:2").settle();
    world.patch_status("promote --full", json!({"promoteFull": true}));
    world.patch_status("abort", json!({"abort": true})).settle();
    assert_eq!(world.status().phase.text(), "Degraded", "{}", world.log.join("\n"));
    assert_eq!(world.sizes(), [("1".to_owned(), 4)].into());

    world.patch_status("promote --full", json!({"promoteFull": true})).settle();
    assert_eq!(world.status().phase.text(), "Healthy");
    assert_eq!(world.sizes(), [("2".to_owned(), 4)].into());
}

#[test]
fn an_abort_of_one_revision_is_not_told_of_the_next() {
    let mut world = canary(4, json!([{"setWeight": 50}, {"pause": {}}]));
    world.settle().set_image("shop:2").settle().patch_status("abort", json!({"abort": true})).settle();
    world.set_image("shop:3").patch_spec("scale", json!({"replicas": 6})).settle();
    let told = world.log.iter().filter(|line| line.starts_with("   RolloutAborted:")).count();
    assert_eq!(told, 1, "{}", world.log.join("\n"));
}

#[test]
fn conditions_agree_with_the_phase_after_an_abort() {
    let mut world = canary(2, json!([{"setWeight": 50}, {"pause": {}}]));
    world.settle().set_image("shop:2").settle();
    assert!(world.conditions().contains(&"Paused=True RolloutPaused".to_owned()), "{:?}", world.conditions());

    world.patch_status("abort", json!({"abort": true})).settle();

    assert!(world.conditions().contains(&"Paused=False RolloutPaused".to_owned()), "{:?}", world.conditions());
    assert!(world.conditions().contains(&"Progressing=False RolloutAborted".to_owned()), "{:?}", world.conditions());
}

#[test]
fn a_full_promotion_skips_pauses_and_clears_an_abort() {
    let mut world = canary(3, json!([{"setWeight": 10}, {"pause": {}}, {"setWeight": 50}, {"pause": {}}]));
    world.settle().set_image("shop:2").settle();
    world.patch_status("abort", json!({"abort": true})).settle();

    world.patch_status("promote --full", json!({"promoteFull": true})).settle();

    let status = world.status();
    assert_eq!((status.phase.text(), status.current_step_index), ("Healthy", Some(4)));
    assert_eq!((status.abort, status.promote_full), (None, None));
    assert_eq!(status.duration.unwrap().completion_status.text(), "FastPromoted");
}

#[test]
fn a_third_version_in_the_middle_starts_again_and_the_second_goes() {
    let mut world = canary(4, json!([{"setWeight": 25}, {"pause": {}}]));
    world.settle().set_image("shop:2").settle();

    world.set_image("shop:3").settle();

    assert!(world.most_pods <= 5 && world.fewest_available >= 3, "{} {}", world.most_pods, world.fewest_available);
    assert_eq!(world.sizes(), [("1".to_owned(), 3), ("3".to_owned(), 1)].into());
    assert_eq!(world.status().current_step_index, Some(1));
    assert_log("canary-third-version", &world);
}

#[test]
fn the_stable_version_again_skips_the_steps_and_makes_no_new_set() {
    let mut world = canary(4, json!([{"setWeight": 25}, {"pause": {}}]));
    world.settle().set_image("shop:2").settle();

    world.set_image("shop:1").settle();

    assert_eq!(world.seen.replica_sets.len(), 2);
    assert_eq!(world.sizes(), [("3".to_owned(), 4)].into());
    assert_eq!((world.status().phase.text(), world.status().current_step_index), ("Healthy", Some(2)));
    assert_log("canary-back-to-stable", &world);
}

#[test]
fn sizes_follow_the_replicas_in_a_pause() {
    let mut world = canary(4, json!([{"setWeight": 25}, {"pause": {}}]));
    world.settle().set_image("shop:2").settle();

    world.patch_spec("scale to 8", json!({"replicas": 8})).settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 6), ("2".to_owned(), 2)].into());
    assert_eq!(world.status().phase.text(), "Paused");

    world.patch_spec("scale to 4", json!({"replicas": 4})).settle();
    assert_eq!(world.sizes(), [("1".to_owned(), 3), ("2".to_owned(), 1)].into());
}

#[test]
fn spec_paused_stops_the_steps_until_it_is_taken_away() {
    let mut world = canary(2, json!([{"setWeight": 50}]));
    world.settle().patch_spec("pause", json!({"paused": true})).set_image("shop:2").settle();
    assert_eq!(world.status().message.text(), "manually paused");
    assert_eq!(world.sizes(), [("1".to_owned(), 2)].into());

    world.patch_spec("resume", json!({"paused": false})).settle();

    assert_eq!(world.status().phase.text(), "Healthy");
    assert_eq!(world.sizes(), [("2".to_owned(), 2)].into());
}

#[test]
fn pods_that_never_come_end_in_a_timeout_and_a_good_version_gets_out_of_it() {
    let mut world = World::new(rollout(2, json!({"canary": {"steps": [{"setWeight": 50}]}})));
    world.patch_spec("deadline", json!({"progressDeadlineSeconds": 30})).settle();
    world.broken = Some("broken");
    world.set_image("broken:2").settle();
    assert_eq!(world.status().phase.text(), "Progressing");

    world.pass(40);
    assert_eq!(world.status().phase.text(), "Degraded");
    assert!(world.status().message.text().starts_with("ProgressDeadlineExceeded: ReplicaSet \"shop-"));

    world.set_image("shop:3").settle();
    assert_eq!(world.status().phase.text(), "Healthy");
    assert_log("canary-deadline", &world);
}

#[test]
fn with_progress_deadline_abort_a_timeout_gives_the_update_up() {
    let mut world = World::new(rollout(2, json!({"canary": {"steps": [{"setWeight": 50}]}})));
    let deadline = json!({"progressDeadlineSeconds": 30, "progressDeadlineAbort": true});
    world.patch_spec("deadline", deadline).settle();
    world.broken = Some("broken");
    world.set_image("broken:2").settle();

    world.pass(40);

    assert_eq!(world.status().abort, Some(true));
    assert_eq!(world.sizes(), [("1".to_owned(), 2)].into());
    let message = world.status().message.unwrap();
    assert!(message.starts_with("RolloutAborted: Rollout aborted update to revision 2: ReplicaSet"), "{message}");
}

#[test]
fn old_sets_beyond_the_limit_are_deleted_and_a_rollback_within_the_window_skips_the_steps() {
    let mut world = canary(1, json!([{"setWeight": 50}, {"pause": {}}]));
    world.patch_spec("limits", json!({"revisionHistoryLimit": 2, "rollbackWindow": {"revisions": 2}}));
    world.settle();
    for image in ["shop:2", "shop:3", "shop:4"] {
        world.set_image(image).settle();
        world.patch_status("promote", json!({"pauseConditions": null})).settle();
    }
    assert_eq!(world.seen.replica_sets.len(), 3);

    world.set_image("shop:3").settle();
    assert_eq!((world.status().phase.text(), world.status().current_step_index), ("Healthy", Some(2)));
    assert_log("canary-history", &world);
}

#[test]
fn a_canary_without_steps_replaces_all_pods() {
    let mut world = World::new(rollout(4, json!({"canary": {}})));
    world.settle().set_image("shop:2").settle();
    assert_eq!(world.sizes(), [("2".to_owned(), 4)].into());
    assert_eq!(world.status().current_step_index, None);
    assert!(world.most_pods <= 5 && world.fewest_available >= 3);
}

#[test]
fn the_index_never_leaves_the_steps_however_the_status_was_garbled() {
    for index in [-3, 99, i32::MAX] {
        let mut world = canary(1, json!([{"setWeight": 50}, {"pause": {}}]));
        world.settle().set_image("shop:2").settle();
        world.patch_status("garble", json!({"currentStepIndex": index})).settle();
        let index = world.status().current_step_index.unwrap();
        assert!((0..=2).contains(&index), "{index}");
    }
}

#[test]
fn an_invalid_spec_is_told_and_nothing_else_is_touched() {
    let mut world = canary(2, json!([{"setWeight": 50}]));
    world.settle();
    let before = world.seen.replica_sets.clone();

    world.patch_spec("nonsense", json!({"strategy": {"canary": {"maxSurge": 0, "maxUnavailable": 0}}})).settle();
    assert_eq!(world.status().phase.text(), "Degraded");
    assert!(world.status().message.text().starts_with("InvalidSpec: The Rollout \"shop\" is invalid: spec.strategy"));
    assert_eq!(world.seen.replica_sets, before);

    let fixed = json!({"strategy": {"canary": {"maxSurge": 1, "maxUnavailable": 0}}});
    world.patch_spec("fixed", fixed).settle();
    assert_eq!(world.status().phase.text(), "Healthy");
    assert!(world.status().conditions.items().iter().all(|found| found.kind.text() != "InvalidSpec"));
    assert!(world.conditions().contains(&"Healthy=True RolloutHealthy".to_owned()), "{:?}", world.conditions());
}
