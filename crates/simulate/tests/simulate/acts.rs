//! What people do while an update is under way.

use tidegate_simulate::report::{Ending, LineKind, text};

use crate::{of_text, only, plain, read, run, setting};

const STEPS: &str = "[{setWeight: 50}, {pause: {}}, {setWeight: 80}, {pause: {duration: 30s}}]";

#[test]
fn a_pause_without_end_is_ended_by_the_simulated_user() {
    let report = of_text(&plain("web", STEPS), "promoteAfter: 45s");
    let rollout = only(&report);
    assert_eq!((rollout.ending, rollout.promotions), (Ending::Healthy, 1), "{}", text(&report));
    assert!(text(&report).contains("user promotes after 45s"));
}

#[test]
fn nobody_promotes_when_nobody_should() {
    let report = of_text(&plain("web", STEPS), "promoteAfter: never\nexpect: paused");
    let rollout = only(&report);
    assert_eq!((rollout.ending, rollout.promotions), (Ending::Paused, 0), "{}", text(&report));
    assert!(report.as_expected && text(&report).contains("waits for someone to promote or abort"));
}

#[test]
fn an_abort_and_a_retry_are_done_at_their_time() {
    let report =
        of_text(&plain("web", STEPS), "promoteAfter: 2m\nacts: [{at: 20s, do: abort}, {at: 1m, do: retry web}]");
    let rollout = only(&report);
    let acts: Vec<(f64, &str)> = rollout
        .timeline
        .iter()
        .filter(|line| line.kind == LineKind::Act)
        .map(|line| (line.at, line.what.as_str()))
        .collect();
    assert_eq!(acts[1], (20.0, "user aborts"), "{acts:?}");
    assert_eq!(acts[2], (60.0, "user retries"), "{acts:?}");
    assert_eq!(rollout.ending, Ending::Healthy, "{}", text(&report));
}

#[test]
fn undo_brings_the_old_version_back() {
    let report = of_text(&plain("web", STEPS), "promoteAfter: never\nacts: [{at: 20s, do: undo}]\nexpect: aborted");
    assert!(report.as_expected, "{}", text(&report));
    assert!(text(&report).contains("Healthy on the old version"), "{}", text(&report));
}

#[test]
fn scaling_deleting_pods_and_crashes_are_lived_through() {
    let acts = "acts: [{at: 5s, do: scale 5}, {at: 12s, do: delete-pod old}, {at: 15s, do: crash-controller 8s}, {at: 20s, do: restart}]";
    let report = of_text(&plain("web", STEPS), acts);
    let rollout = only(&report);
    assert_eq!(rollout.ending, Ending::Healthy, "{}", text(&report));
    assert!(rollout.peak_pods >= 5, "{}", text(&report));
    let told = text(&report);
    assert!(told.contains("user scales to 5") && told.contains("user deletes pod web-"), "{told}");
    assert!(told.contains("the controller crashes and is back after 8s"), "{told}");
}

#[test]
fn an_act_that_makes_no_sense_is_told_and_changes_nothing() {
    let report = of_text(&plain("web", STEPS), "acts: [{at: 5s, do: abort shop}]");
    assert_eq!(only(&report).ending, Ending::Healthy);
    let told = text(&report);
    assert!(
        told.contains("an act could not be done: there is no Rollout \"shop\" in the files; there are web"),
        "{told}"
    );
}

#[test]
fn a_file_that_is_applied_is_an_update_like_any_other() {
    let input = read(&["examples/1-replicas-only"], "").unwrap();
    let name = input.rollout_names()[0].1.clone();
    let report = run(&input, &setting("until: 20m\nacts: [{at: 8m, apply: examples/1-replicas-only/rollout.yaml}]"));
    let told = text(&report);
    assert!(told.contains("user applies examples/1-replicas-only/rollout.yaml"), "{told}");
    assert!(told.contains("Healthy on the old version") || told.contains("Aborted"), "{name}\n{told}");
}

#[test]
fn the_pods_of_a_referenced_deployment_are_updated() {
    let deployment = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: 'web:1'}]}
";
    let rollout = "apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 2
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy: {canary: {steps: [{setWeight: 50}, {pause: {duration: 10s}}]}}
";
    let report = of_text(&format!("{deployment}---\n{rollout}"), "");
    assert_eq!(only(&report).ending, Ending::Healthy, "{}", text(&report));
    assert_eq!(only(&report).update, "user sets image main=web:simulated");
    let alone = read(&["-"], rollout).unwrap_err();
    assert!(alone.contains("spec.workloadRef.name: Deployment default/web is not in the files"), "{alone}");
}
