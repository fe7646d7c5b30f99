//! How Experiments end, what they leave, and what is wrong from the beginning.

use serde_json::{Value, json};
use tidegate_api::wire::Text;

use crate::world::{World, template, template_with, words};

#[test]
fn when_its_time_is_over_it_is_successful_and_its_pods_go_after_the_delay() {
    let mut world = World::new(json!({"duration": "5s", "templates": [template("a")]}));
    world.begin();
    world.pass(5);
    assert!(!world.look(), "it lasts at least its time");
    world.pass(1);
    world.settle();
    assert_eq!(world.phase(), words("Successful", ""));
    assert_eq!(world.template("a").status.text(), "Successful");
    let message = "Experiment \"exp\" has successfully ran and completed.";
    assert_eq!(world.condition("Progressing"), Some(["False", "ExperimentCompleted", message].map(str::to_owned)));
    assert!(world.was_told("- ExperimentSuccessful: Experiment transitioned from Running -> Successful"));
    assert_eq!((world.sizes(), world.deadline(0).as_deref()), (vec![1], Some("2026-03-01T12:00:36Z")));
    world.pass(10);
    world.settle();
    assert_eq!(world.deadline(0).as_deref(), Some("2026-03-01T12:00:36Z"), "it is never moved");
    world.pass(20);
    world.settle();
    assert_eq!(world.sizes(), [0]);
    assert!(world.was_told("- ScalingReplicaSet: Scaled down ReplicaSet exp-a from 1 to 0"));
    world.run_pods();
    world.settle();
    assert_eq!(world.template("a").available_replicas, Some(0));
    assert_eq!(world.last.wake_at, None, "nothing more will happen");
}

#[test]
fn without_delay_pods_go_at_once_and_a_deadline_that_is_there_or_unreadable_keeps_nobody() {
    for (delay, deadline) in [(0, "2099-01-01T00:00:00Z"), (30, "2020-01-01T00:00:00Z"), (30, "soon")] {
        let mut world =
            World::new(json!({"duration": "5s", "scaleDownDelaySeconds": delay, "templates": [template("a")]}));
        world.begin();
        world.pass(6);
        world.sets[0]
            .metadata
            .annotations
            .as_mut()
            .unwrap()
            .insert("scale-down-deadline".to_owned(), deadline.to_owned());
        // While it runs a deadline is removed; it is there again when the time is over.
        world.experiment.status.as_mut().unwrap().phase = Some("Successful".to_owned());
        world.settle();
        assert_eq!(world.sizes(), [0], "{delay} {deadline}");
        assert_eq!(world.deadline(0).is_none(), delay == 0, "{delay} {deadline}");
    }
}

#[test]
fn without_duration_it_runs_until_it_is_told_to_end() {
    let mut world = World::new(json!({"templates": [template("a")]}));
    world.begin();
    world.pass(1_000_000);
    assert!(!world.look());
    assert_eq!(world.last.wake_at, None);
    world.experiment.spec.terminate = Some(true);
    world.settle();
    assert_eq!(world.phase(), words("Successful", ""));
    world.pass(31);
    world.settle();
    assert_eq!(world.sizes(), [0]);
}

#[test]
fn one_that_is_told_to_end_before_it_has_begun_makes_no_pods() {
    let mut world = World::new(json!({"terminate": true, "templates": [template("a")]}));
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.sets.len()), ("Successful", 0));
}

#[test]
fn one_that_is_being_deleted_is_left_alone() {
    let mut world = World::new(json!({"templates": [template("a")]}));
    world.experiment.metadata.deletion_timestamp = serde_json::from_value(json!("2026-03-01T11:00:00Z")).unwrap();
    assert!(!world.look());
}

#[test]
fn a_final_phase_stays_whatever_happens_to_the_pods() {
    let mut world = World::new(json!({"duration": "5s", "templates": [template("a")]}));
    world.begin();
    world.pass(6);
    world.settle();
    world.sets[0].status.available_replicas = 0;
    world.pass(10_000);
    world.settle();
    world.sets.clear();
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.sets.len()), ("Successful", 0));
}

#[test]
fn a_retried_experiment_uses_its_sets_again_and_its_second_end_has_the_whole_delay() {
    let mut world = World::new(json!({"duration": "5s", "templates": [template("a")]}));
    world.begin();
    world.pass(6);
    world.settle();
    world.pass(31);
    world.settle();
    world.run_pods();
    world.settle();
    world.experiment.status = None;
    world.begin();
    assert_eq!((world.phase().0.as_str(), world.sizes(), world.deadline(0)), ("Running", vec![1], None));
    world.pass(6);
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.sizes()), ("Successful", vec![1]));
    assert!(world.deadline(0).is_some());
}

#[test]
fn a_bad_spec_gets_a_condition_and_nothing_else_until_it_is_set_right() {
    let cases: [(Value, &str); 7] = [
        (json!({"templates": [{"name": "a"}]}), "Rollout has missing field '.Spec.Templates[0].Selector'"),
        (
            json!({"templates": [template_with("a", json!({"selector": {}}))]}),
            "This experiment is selecting all pods at index 0. A non-empty selector is required.",
        ),
        (
            json!({"progressDeadlineSeconds": 5, "templates": [template_with("a", json!({"minReadySeconds": 6}))]}),
            "MinReadySeconds cannot be longer than ProgressDeadlineSeconds. Check template index 0",
        ),
        (json!({"templates": [template_with("", json!({}))]}), "Experiment exp has empty template name at index 0"),
        (
            json!({"templates": [template("a"), template("a")]}),
            "Experiment exp has repeated template name 'a' in templates",
        ),
        (
            json!({"templates": [template("a")], "analyses": [{"name": "x"}, {"name": "x"}]}),
            "Experiment exp has repeated analysis name 'x' in analyses",
        ),
        (json!({"templates": [template("a")], "duration": "soon"}), "Experiment exp has invalid duration: "),
    ];
    for (spec, message) in cases {
        let mut world = World::new(spec);
        world.settle();
        let [status, reason, text] = world.condition("InvalidSpec").unwrap();
        assert_eq!((status.as_str(), reason.as_str()), ("True", "InvalidSpec"));
        assert!(text.starts_with(message), "{text}");
        assert_eq!((world.phase().0.as_str(), world.sets.len()), ("", 0));
        world.pass(60);
        assert!(!world.look(), "it is said once");
        world.experiment.spec = World::new(json!({"templates": [template("a")]})).experiment.spec;
        world.settle();
        assert_eq!((world.condition("InvalidSpec"), world.sets.len()), (None, 1));
    }
}

#[test]
fn one_that_becomes_invalid_while_it_runs_can_still_be_ended() {
    let mut world = World::new(json!({"templates": [template("a")]}));
    world.begin();
    world.experiment.spec.duration = Some("soon".to_owned());
    world.settle();
    assert!(world.condition("InvalidSpec").is_some());
    assert_eq!((world.phase().0.as_str(), world.sizes()), ("Running", vec![1]));
    world.experiment.spec.terminate = Some(true);
    world.settle();
    world.pass(31);
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.sizes()), ("Successful", vec![0]));
    assert_eq!(world.condition("InvalidSpec"), None);
}

#[test]
fn a_status_of_garbage_breaks_nothing() {
    for status in [
        json!({"phase": "Strange", "availableAt": "never", "templateStatuses": [{"name": "a", "status": "?", "lastTransitionTime": "x"}]}),
        json!({"phase": "Running", "analysisRuns": [{"name": "x", "phase": "?"}], "conditions": [{}]}),
        json!({"availableAt": "9999-12-30T22:00:00Z", "phase": "Running"}),
    ] {
        let mut world = World::new(json!({"duration": "87600h", "templates": [template("a")]}));
        world.experiment.status = serde_json::from_value(status).unwrap();
        world.begin();
        assert_eq!(world.sizes(), [1]);
    }
}
