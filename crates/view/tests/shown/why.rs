//! States in which Rollouts get stuck, and what is said about each; the answers are files under `why/`.

use std::path::Path;

use serde_json::{Value, json};
use tidegate_view::{PodEvent, RolloutInfo, why, why_text};

use crate::world::{DAY, World, ago, fits, now};

/// A canary in the middle of an update: two stable pods, one new pod, step 1 of 3.
fn canary() -> World {
    let steps = json!([{"setWeight": 50}, {"pause": {}}, {"analysis": {"templates": [{"templateName": "errors"}]}}]);
    let mut world = World::new(
        "web",
        "shop",
        DAY,
        json!({"replicas": 2, "strategy": {"canary": {"steps": steps}}}),
        json!({
            "phase": "Progressing", "message": "more replicas need to be updated", "observedGeneration": "1",
            "currentStepIndex": 0, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 3, "availableReplicas": 3,
            "stableRS": "old", "currentPodHash": "new",
            "conditions": [progress("ReplicaSetUpdated", "ReplicaSet \"shop-new\" is progressing.")],
        }),
    );
    world.rollout["metadata"]["generation"] = json!(1);
    world.rollout["metadata"]["annotations"] = json!({"rollout.argoproj.io/revision": "2"});
    world.set("root", "shop-old", DAY, 1, "shop:1", (2, 2));
    world.running("shop-old", "a", DAY, 1);
    world.running("shop-old", "b", DAY, 1);
    world.set("root", "shop-new", 90, 2, "shop:2", (1, 1));
    world
}

fn progress(reason: &str, message: &str) -> Value {
    json!({"type": "Progressing", "status": "True", "reason": reason, "message": message,
           "lastUpdateTime": ago(90), "lastTransitionTime": ago(90)})
}

/// The canary with a status changed and new pods that wait for something.
fn changed(status: Value) -> World {
    let mut world = canary();
    for (name, value) in status.as_object().unwrap() {
        world.rollout["status"][name] = value.clone();
    }
    world
}

fn starting(state: &Value, restarts: i32) -> World {
    let mut world = canary();
    world.sets[1]["status"]["availableReplicas"] = json!(0);
    world.pod("shop-new", "x", 90, 1, state, restarts);
    world
}

fn paused(reason: &str) -> Value {
    json!({"phase": "Paused", "message": reason, "controllerPause": true,
           "pauseConditions": [{"reason": reason, "startTime": ago(372)}]})
}

fn blue_green(status: Value) -> World {
    let mut world = changed(status);
    world.rollout["spec"]["strategy"] = json!({"blueGreen": {"activeService": "a", "previewService": "p"}});
    world.rollout["status"]["blueGreen"] = json!({"activeSelector": "old", "previewSelector": "new"});
    world
}

/// An AnalysisRun of the new revision.
fn run(world: &mut World, name: &str, status: Value) {
    let metadata = World::meta("root", name, 60, 2);
    world.runs.push(json!({"metadata": metadata, "spec": {"metrics": [{"name": "errors"}]}, "status": status}));
}

fn measured(phase: &str, value: &str, message: &str) -> Value {
    json!({"phase": phase, "message": format!("Metric \"errors\" assessed {phase}"), "metricResults": [
        {"name": "errors", "phase": phase, "measurements": [{"phase": phase, "value": value, "message": message}]},
        {"name": "fine", "phase": "Successful"}]})
}

fn aborted(message: &str) -> World {
    changed(json!({
        "phase": "Degraded", "message": format!("RolloutAborted: {message}"), "abort": true, "abortedAt": ago(300),
        "conditions": [progress("RolloutAborted", message)],
    }))
}

fn paused_states() -> Vec<(&'static str, World)> {
    let mut manual = changed(json!({"phase": "Paused", "message": "manually paused"}));
    manual.rollout["spec"]["paused"] = json!(true);
    let mut endless = changed(paused("CanaryPauseStep"));
    endless.rollout["status"]["currentStepIndex"] = json!(1);
    let mut timed = changed(paused("CanaryPauseStep"));
    timed.rollout["status"]["currentStepIndex"] = json!(1);
    timed.rollout["spec"]["strategy"]["canary"]["steps"][1] = json!({"pause": {"duration": "1h"}});
    let mut automatic = blue_green(paused("BlueGreenPause"));
    automatic.rollout["spec"]["strategy"]["blueGreen"]["autoPromotionSeconds"] = json!(600);
    let mut undecided = changed(paused("InconclusiveAnalysisRun"));
    undecided.rollout["status"]["currentStepIndex"] = json!(2);
    run(&mut undecided, "shop-new-2-2", measured("Inconclusive", "0.5", ""));
    let mut crippled = changed(paused("CanaryPauseStep"));
    crippled.rollout["status"]["currentStepIndex"] = json!(1);
    crippled.sets[1]["status"]["availableReplicas"] = json!(0);
    crippled.pod("shop-new", "x", 90, 1, &json!({"waiting": {"reason": "CrashLoopBackOff"}}), 4);
    vec![
        ("paused-by-hand", manual),
        ("pause-without-end", endless),
        ("pause-with-an-end", timed),
        ("blue-green-pause", blue_green(paused("BlueGreenPause"))),
        ("blue-green-pause-with-an-end", automatic),
        ("inconclusive-analysis", undecided),
        ("paused-while-pods-crash", crippled),
    ]
}

fn degraded_states() -> Vec<(&'static str, World)> {
    let message = "The Rollout \"shop\" is invalid: spec.strategy.steps[0].setWeight: Invalid value: 120: SetWeight needs to be between 0 and 100";
    let invalid = changed(json!({
        "phase": "Degraded", "message": format!("InvalidSpec: {message}"),
        "conditions": [{"type": "InvalidSpec", "status": "True", "reason": "InvalidSpec", "message": message, "lastTransitionTime": ago(600)}],
    }));
    let mut failed = aborted(
        "Rollout aborted update to revision 2: Step-based analysis phase error/failed: Metric \"errors\" assessed Failed due to failed (1) > failureLimit (0)",
    );
    run(&mut failed, "shop-new-2-2", measured("Failed", "0.31", ""));
    run(&mut failed, "shop-old-1-2", measured("Successful", "", ""));
    let mut error = aborted(
        "Rollout aborted update to revision 2: Step-based analysis phase error/failed: Metric \"errors\" assessed Error",
    );
    run(&mut error, "shop-new-2-2", measured("Error", "", "Get \"http://prometheus\": connection refused"));
    let mut late = starting(&json!({"waiting": {"reason": "ErrImagePull", "message": "image shop:2 not found"}}), 0);
    late.rollout["status"]["phase"] = json!("Degraded");
    late.rollout["status"]["message"] =
        json!("ProgressDeadlineExceeded: ReplicaSet \"shop-new\" has timed out progressing.");
    late.rollout["status"]["conditions"] =
        json!([progress("ProgressDeadlineExceeded", "ReplicaSet \"shop-new\" has timed out progressing.")]);
    let unsupported = changed(json!({
        "phase": "Degraded", "message": "Unsupported: spec.strategy.canary.trafficRouting.alb is not driven by this controller",
        "conditions": [progress("Unsupported", "spec.strategy.canary.trafficRouting.alb is not driven by this controller")],
    }));
    vec![
        ("invalid-spec", invalid),
        ("aborted-by-hand", aborted("Rollout aborted update to revision 2")),
        ("aborted-by-analysis", failed),
        ("aborted-by-an-error", error),
        ("progress-deadline", late),
        ("unsupported", unsupported),
    ]
}

fn pod_states() -> Vec<(&'static str, World)> {
    let mut unscheduled = starting(&json!({}), 0);
    unscheduled.pods[2]["status"] = json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient cpu."}]});
    let mut quota = canary();
    quota.sets[1]["status"] = json!({"replicas": 0, "availableReplicas": 0, "conditions": [
        {"type": "ReplicaFailure", "status": "True", "message": "pods \"shop-new-x\" is forbidden: exceeded quota: compute"}]});
    let mut stable = canary();
    stable.sets[0]["status"]["availableReplicas"] = json!(1);
    stable.pods[0]["status"] =
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
    let mut many = starting(&json!({"waiting": {"reason": "ContainerCreating"}}), 0);
    many.sets[1]["spec"]["replicas"] = json!(6);
    for suffix in ["y", "z", "u", "v", "w"] {
        many.pod("shop-new", suffix, 80, 1, &json!({"waiting": {"reason": "ContainerCreating"}}), 0);
    }
    let mut init = starting(&json!({}), 0);
    init.pods[2]["status"] = json!({"phase": "Pending", "initContainerStatuses": [
        {"name": "setup", "restartCount": 2, "state": {"terminated": {"exitCode": 1, "message": "no such table"}}}]});
    let mut preview = blue_green(json!({"message": "active service cutover pending"}));
    preview.sets[1]["status"]["availableReplicas"] = json!(0);
    preview.pod("shop-new", "x", 90, 1, &json!({"waiting": {"reason": "ContainerCreating"}}), 0);
    vec![
        (
            "image-cannot-be-pulled",
            starting(
                &json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"shop:2\""}}),
                0,
            ),
        ),
        (
            "crash-loop",
            starting(
                &json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}),
                9,
            ),
        ),
        ("not-ready-yet", starting(&json!({"waiting": {"reason": "ContainerCreating"}}), 0)),
        ("no-room-on-nodes", unscheduled),
        ("quota", quota),
        ("stable-pods-missing", stable),
        ("many-pods", many),
        ("init-container-fails", init),
        ("preview-starting", preview),
    ]
}

fn other_states() -> Vec<(&'static str, World)> {
    let mut healthy = changed(json!({"phase": "Healthy", "message": null, "currentStepIndex": 3}));
    healthy.rollout["status"]["stableRS"] = json!("new");
    let mut unseen = canary();
    unseen.rollout["metadata"]["generation"] = json!(4);
    let mut bare = canary();
    bare.rollout["status"] = Value::Null;
    bare.sets.clear();
    bare.rollout["metadata"]["annotations"] = Value::Null;
    let mut analysis = changed(json!({"currentStepIndex": 2, "canary": {
        "currentStepAnalysisRunStatus": {"name": "shop-new-2-2", "status": "Running"}}}));
    run(&mut analysis, "shop-new-2-2", measured("Running", "0.02", ""));
    let mut unbegun = changed(json!({"currentStepIndex": 2, "canary": {
        "currentStepAnalysisRunStatus": {"name": "shop-new-2-2", "status": ""}}}));
    run(&mut unbegun, "shop-new-2-2", Value::Null);
    let mut experiment = changed(json!({"canary": {"currentExperiment": "shop-new-2-0"}}));
    experiment.rollout["spec"]["strategy"]["canary"]["steps"][0] = json!({"experiment": {"templates": []}});
    experiment.experiments.push(
        json!({"metadata": World::meta("root", "shop-new-2-0", 60, 2), "spec": {}, "status": {"phase": "Running"}}),
    );
    let mut before = blue_green(json!({"message": "active service cutover pending"}));
    before.rollout["status"]["blueGreen"]["prePromotionAnalysisRunStatus"] =
        json!({"name": "shop-new-2-pre", "status": "Running"});
    run(&mut before, "shop-new-2-pre", measured("Running", "", ""));
    let mut routes = canary();
    routes.rollout["status"]["conditions"].as_array_mut().unwrap().push(json!({"type": "TrafficRouting", "status": "False",
        "reason": "TrafficRoutingError", "message": "VirtualService \"shop\" not found", "lastTransitionTime": ago(45)}));
    let mut restart = changed(json!({"message": "rollout is restarting"}));
    restart.rollout["spec"]["restartAt"] = json!(ago(-600));
    vec![
        ("healthy", healthy),
        ("spec-not-seen", unseen),
        ("no-controller", bare),
        ("analysis-running", analysis),
        ("analysis-not-begun", unbegun),
        ("experiment-running", experiment),
        ("pre-promotion-analysis", before),
        ("routes-cannot-be-written", routes),
        ("restart-to-come", restart),
        ("steps-to-come", changed(json!({"message": "waiting for all steps to complete"}))),
    ]
}

fn answer(world: &World, events: &[PodEvent]) -> String {
    let objects = world.objects();
    why_text(&why(&objects, &RolloutInfo::new(&objects), events, None), now())
}

#[test]
fn every_stuck_state_is_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shown/why");
    let all = [paused_states(), degraded_states(), pod_states(), other_states()];
    let mut count = 0;
    for (name, world) in all.iter().flatten() {
        let path = folder.join(format!("{name}.txt"));
        let ours = answer(world, &[]);
        if std::env::var_os("UPDATE_WHY").is_some() {
            std::fs::write(&path, &ours).unwrap();
        }
        let wanted = std::fs::read_to_string(&path).unwrap();
        assert_eq!(ours, wanted, "{name}");
        let first = ours.lines().next().unwrap();
        assert!(first.contains(": waiting for "), "{name}: {first}");
        count += 1;
    }
    assert!(count >= 25, "{count}");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), count, "an answer without its state");
}

#[test]
fn the_last_warning_about_a_pod_is_part_of_the_chain() {
    let event = |kind: &str, message: &str| PodEvent {
        kind: kind.to_owned(),
        reason: "FailedMount".to_owned(),
        message: message.to_owned(),
        last_timestamp: None,
    };
    let events = [event("Warning", "old"), event("Warning", "secret \"db\" not found"), event("Normal", "Pulled")];
    let text = answer(&starting(&json!({"waiting": {"reason": "ContainerCreating"}}), 0), &events);
    assert!(text.contains("\n  event FailedMount: secret \"db\" not found\n"), "{text}");
}

#[test]
fn the_json_of_an_answer_keeps_to_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/why.schema.json")).unwrap();
    for (name, world) in [paused_states(), degraded_states(), pod_states(), other_states()].iter().flatten() {
        let objects = world.objects();
        let answer = serde_json::to_value(why(&objects, &RolloutInfo::new(&objects), &[], None)).unwrap();
        fits(&answer, &schema, name);
    }
}
