//! Commands that change: the very patches, and what is said.

use serde_json::{Value, json};

use crate::world::{World, canary, status, steps};

type Write = (String, String, Value);

fn write(form: &str, path: &str, body: Value) -> Write {
    (form.to_owned(), path.to_owned(), body)
}

/// A Rollout that is paused in the middle of an update.
fn paused() -> Value {
    canary(
        "shop",
        steps(),
        json!({
            "phase": "Paused", "message": "CanaryPauseStep", "currentStepIndex": 1, "controllerPause": true,
            "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}],
            "currentPodHash": "new", "stableRS": "old",
        }),
    )
}

#[test]
fn abort_pause_and_retry_send_their_patches_and_say_so() {
    let world = World::new();
    world.rollout(&paused());
    world.rollout(&canary("web", steps(), json!({})));
    world.says(&["abort", "shop", "web"], 0, "rollout 'shop' aborted\nrollout 'web' aborted\n", "");
    let abort = json!({"status": {"abort": true}});
    assert_eq!(
        world.writes(),
        [write("MERGE", "rollouts/shop/status", abort.clone()), write("MERGE", "rollouts/web/status", abort)]
    );
    world.says(&["retry", "ro", "shop"], 0, "rollout 'shop' retried\n", "");
    assert_eq!(world.writes(), [write("MERGE", "rollouts/shop/status", json!({"status": {"abort": false}}))]);
    world.says(&["pause", "shop", "-n", "default"], 0, "rollout 'shop' paused\n", "");
    assert_eq!(world.writes(), [write("MERGE", "rollouts/shop", json!({"spec": {"paused": true}}))]);
    assert_eq!(world.stored("rollouts/shop")["spec"]["paused"], true);
}

#[test]
fn several_names_stop_at_the_first_that_is_missing() {
    let world = World::new();
    world.rollout(&paused());
    let missing = "Error: rollouts.argoproj.io \"gone\" not found\n";
    world.says(&["abort", "shop", "gone", "web"], 1, "rollout 'shop' aborted\n", missing);
    // A missing object costs two requests, because its status may be no subresource.
    let paths: Vec<String> = world.writes().into_iter().map(|(_, path, _)| path).collect();
    assert_eq!(paths, ["rollouts/shop/status", "rollouts/gone/status", "rollouts/gone"]);
}

#[test]
fn without_a_status_subresource_the_object_is_patched_and_other_refusals_are_final() {
    let world = World::new();
    world.rollout(&paused());
    world.refuse(|asked| {
        asked
            .path
            .ends_with("/status")
            .then(|| status(404, "NotFound", "the server could not find the requested resource"))
    });
    world.says(&["retry", "rollout", "shop"], 0, "rollout 'shop' retried\n", "");
    let paths: Vec<String> = world.writes().into_iter().map(|(_, path, _)| path).collect();
    assert_eq!(paths, ["rollouts/shop/status", "rollouts/shop"]);
    world.says(&["promote", "shop"], 0, "rollout 'shop' promoted\n", "");
    let unified = json!({"spec": {"paused": false}, "status": {"pauseConditions": null}});
    assert_eq!(world.writes().last(), Some(&write("MERGE", "rollouts/shop", unified)));
    world.refuse(|asked| asked.path.ends_with("/status").then(|| status(500, "InternalError", "etcd is away")));
    world.says(&["abort", "shop"], 1, "", "Error: etcd is away\n");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn promote_sends_what_the_state_calls_for() {
    let world = World::new();
    world.rollout(&paused());
    world.says(&["promote", "shop"], 0, "rollout 'shop' promoted\n", "");
    assert_eq!(world.writes(), [write("MERGE", "rollouts/shop/status", json!({"status": {"pauseConditions": null}}))]);

    let next = json!({"status": {"pauseConditions": null, "currentStepIndex": 2}});
    world.says(&["promote", "shop"], 0, "rollout 'shop' promoted\n", "");
    assert_eq!(world.writes(), [write("MERGE", "rollouts/shop/status", next)]);

    world.says(&["pause", "shop"], 0, "rollout 'shop' paused\n", "");
    world.writes();
    world.says(&["promote", "shop", "--full"], 0, "rollout 'shop' fully promoted\n", "");
    assert_eq!(
        world.writes(),
        [
            write("MERGE", "rollouts/shop/status", json!({"status": {"promoteFull": true}})),
            write("MERGE", "rollouts/shop", json!({"spec": {"paused": false}})),
        ]
    );
    world.rollout(&canary("plain", json!([]), json!({"currentPodHash": "a", "stableRS": "a"})));
    world.says(&["promote", "plain"], 0, "rollout 'plain' promoted\n", "");
    world.says(&["promote", "plain", "--full"], 0, "rollout 'plain' fully promoted\n", "");
    assert_eq!(world.writes(), []);
}

#[test]
fn steps_are_skipped_with_the_old_flags_which_say_that_they_are_old() {
    let world = World::new();
    world.rollout(&paused());
    let current =
        "Flag --skip-current-step has been deprecated, use without the flag instead ex: promote ROLLOUT_NAME\n";
    let all = "Flag --skip-all-steps has been deprecated, use --full instead\n";
    world.says(&["promote", "shop", "-c"], 0, "rollout 'shop' promoted\n", current);
    world.says(&["promote", "shop", "--skip-all-steps"], 0, "rollout 'shop' promoted\n", all);
    let index = |index: i32| write("MERGE", "rollouts/shop/status", json!({"status": {"currentStepIndex": index}}));
    assert_eq!(world.writes(), [index(2), index(2)]);
    let both = "Error: Cannot use skip-current-step and skip-all-steps flags at the same time\n";
    world.says(&["promote", "shop", "-c", "-a"], 1, "", both);
    world.rollout(&canary("plain", json!([]), json!({})));
    let error = format!("{current}Error: Cannot skip steps of a rollout without steps\n");
    world.says(&["promote", "plain", "-c"], 1, "", &error);
}

#[test]
fn an_invalid_spec_is_not_promoted() {
    let world = World::new();
    world.rollout(&canary("shop", json!([{"setWeight": 120}]), json!({"currentStepIndex": 0})));
    let reason = "spec.strategy.steps[0].setWeight: Invalid value: 120: SetWeight needs to be between 0 and 100";
    let error = format!("Error: rollout \"shop\" cannot be promoted while its spec is invalid: {reason}\n");
    world.says(&["promote", "shop"], 1, "", &error);
    assert_eq!(world.writes(), []);
}

#[test]
fn resume_goes_on_with_what_is_paused_and_refuses_what_is_not() {
    let world = World::new();
    world.rollout(&paused());
    world.says(&["resume", "shop"], 0, "rollout 'shop' resumed\n", "");
    world.says(&["resume", "shop"], 1, "", "Error: rollout \"shop\" is not paused\n");
    world.says(&["pause", "shop"], 0, "rollout 'shop' paused\n", "");
    world.says(&["resume", "shop"], 0, "rollout 'shop' resumed\n", "");
    assert_eq!(world.writes().last(), Some(&write("MERGE", "rollouts/shop", json!({"spec": {"paused": false}}))));
}

#[test]
fn restart_writes_a_whole_second_and_echoes_the_delay() {
    let world = World::new();
    world.rollout(&paused());
    world.says(&["restart", "shop"], 0, "rollout 'shop' restarts in 0s\n", "");
    world.says(&["restart", "shop", "--in", "10m"], 0, "rollout 'shop' restarts in 10m\n", "");
    let writes = world.writes();
    let at = |index: usize| writes[index].2["spec"]["restartAt"].as_str().unwrap().to_owned();
    assert_eq!(at(0).len(), "2026-01-01T00:00:00Z".len());
    assert!(at(1) > at(0));
    world.says(&["restart", "shop", "-i", "zz"], 1, "", "Error: time: invalid duration \"zz\"\n");
    world.says(&["restart", "shop", "-i", "10"], 1, "", "Error: time: missing unit in duration \"10\"\n");
    assert_eq!(world.writes(), []);
}

#[test]
fn experiments_and_runs_are_retried_and_ended() {
    let world = World::new();
    let base = "/apis/argoproj.io/v1alpha1/namespaces/default";
    let experiment = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Experiment", "metadata": {"name": "e"},
        "spec": {"templates": []}, "status": {"phase": "Failed"}});
    world.create(&format!("{base}/experiments"), &experiment);
    let run = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "metadata": {"name": "r"},
        "spec": {"metrics": []}});
    world.create(&format!("{base}/analysisruns"), &run);
    world.says(&["retry", "exp", "e"], 0, "experiment 'e' retried\n", "");
    world.says(&["terminate", "experiment", "e"], 0, "experiment 'e' terminated\n", "");
    world.says(&["terminate", "ar", "r"], 0, "analysisRun 'r' terminated\n", "");
    let end = json!({"spec": {"terminate": true}});
    assert_eq!(
        world.writes(),
        [
            write("MERGE", "experiments/e", json!({"status": null})),
            write("MERGE", "experiments/e", end.clone()),
            write("MERGE", "analysisruns/r", end),
        ]
    );
}

#[test]
fn set_image_writes_the_whole_object_and_survives_conflicts() {
    let world = World::new();
    world.rollout(&paused());
    let mut conflicts = 2;
    world.refuse(move |asked| {
        if asked.method == "PUT" && conflicts > 0 {
            conflicts -= 1;
            return Some(status(409, "Conflict", "the object has been modified"));
        }
        None
    });
    world.says(&["set", "image", "shop", "*=demo/web:3"], 0, "rollout \"shop\" image updated\n", "");
    assert_eq!(world.writes().len(), 3);
    let stored = world.stored("rollouts/shop");
    assert_eq!(stored["spec"]["template"]["spec"]["containers"][0]["image"], "demo/web:3");
    world.says(&["set", "image", "shop", "typo=x"], 1, "", "Error: unable to find container named \"typo\"\n");
    world.refuse(|asked| (asked.method == "PUT").then(|| status(409, "Conflict", "the object has been modified")));
    world.says(&["set", "image", "shop", "main=x"], 1, "", "Error: the object has been modified\n");
}

#[test]
fn set_image_changes_the_workload_a_rollout_refers_to() {
    let world = World::new();
    let template = json!({"metadata": {"labels": {"app": "x"}}, "spec": {
        "initContainers": [{"name": "setup", "image": "a"}], "containers": [{"name": "main", "image": "a"}]}});
    world.create(
        "/apis/apps/v1/namespaces/default/deployments",
        &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "back"},
                "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template}}),
    );
    world.rollout(&json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "front"},
        "spec": {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "back"}, "strategy": {"canary": {}}}}));
    world.says(&["set", "image", "front", "*=b"], 0, "deployment \"back\" image updated\n", "");
    let (form, path, body) = world.writes().remove(0);
    assert_eq!((form.as_str(), path.as_str()), ("PUT", "apis/apps/v1/namespaces/default/deployments/back"));
    assert_eq!(body["spec"]["template"]["spec"]["initContainers"][0]["image"], "b");
    assert_eq!(body["spec"]["template"]["spec"]["containers"][0]["image"], "b");
}

#[test]
fn environment_resources_and_config_maps_are_set_in_the_template() {
    let world = World::new();
    let mut rollout = paused();
    rollout["spec"]["template"]["spec"] = json!({
        "containers": [{"name": "main", "image": "a", "env": [{"name": "OLD", "value": "1"}, {"name": "MODE", "value": "slow"}],
                        "envFrom": [{"configMapRef": {"name": "cfg-1"}}]}],
        "volumes": [{"name": "v", "configMap": {"name": "cfg-1"}}],
    });
    world.rollout(&rollout);
    world.says(
        &["set", "env", "shop", "-c", "main", "MODE=fast", "NEW=a=b", "OLD-"],
        0,
        "rollout \"shop\" env updated\n",
        "",
    );
    world.says(
        &["set", "resources", "shop", "--limits", "cpu=1,memory=1Gi"],
        0,
        "rollout \"shop\" resources updated\n",
        "",
    );
    world.says(&["set", "configmap", "shop", "cfg-1=cfg-2"], 0, "rollout \"shop\" configmap updated\n", "");
    let spec = world.stored("rollouts/shop")["spec"]["template"]["spec"].clone();
    let container = &spec["containers"][0];
    assert_eq!(container["env"], json!([{"name": "MODE", "value": "fast"}, {"name": "NEW", "value": "a=b"}]));
    assert_eq!(container["resources"]["limits"], json!({"cpu": "1", "memory": "1Gi"}));
    assert_eq!(container["envFrom"][0]["configMapRef"]["name"], "cfg-2");
    assert_eq!(spec["volumes"][0]["configMap"]["name"], "cfg-2");
    world.says(&["set", "configmap", "shop", "x=y"], 1, "", "Error: no container of \"shop\" uses ConfigMap \"x\"\n");
    world.says(&["set", "env", "shop", "nonsense"], 1, "", "Error: \"nonsense\" is neither KEY=VALUE nor KEY-\n");
}

/// A ReplicaSet of a Rollout.
fn set(owner: &Value, revision: &str, image: &str) -> Value {
    let name = format!("shop-{revision}");
    let labels = json!({"app": "shop", "rollouts-pod-template-hash": revision});
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": name, "labels": labels, "annotations": {"rollout.argoproj.io/revision": revision},
            "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "shop",
                                 "uid": owner["metadata"]["uid"], "controller": true}]},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}},
    })
}

#[test]
fn undo_restores_a_template_without_its_hash() {
    let world = World::new();
    let mut rollout = paused();
    rollout["status"]["stableRS"] = json!("1");
    let owner = world.rollout(&rollout);
    let nothing = "Error: no revision found for rollout \"shop\"\n";
    world.says(&["undo", "shop"], 1, "", nothing);
    for (revision, image) in [("1", "demo/web:1"), ("2", "demo/web:2"), ("3", "demo/web:3")] {
        world.create("/apis/apps/v1/namespaces/default/replicasets", &set(&owner, revision, image));
    }
    world.says(&["undo", "shop"], 0, "skipped rollback (current template already matches revision 0)\n", "");
    assert_eq!(world.writes(), []);
    world.says(&["undo", "shop", "--to-revision=1"], 0, "rollout 'shop' undo\n", "");
    let (form, path, body) = world.writes().remove(0);
    assert_eq!((form.as_str(), path.as_str()), ("JSON", "rollouts/shop"));
    assert_eq!(body[0]["op"], "replace");
    assert_eq!(body[0]["path"], "/spec/template");
    assert_eq!(body[0]["value"]["metadata"]["labels"], json!({"app": "shop"}));
    assert_eq!(body[0]["value"]["spec"]["containers"][0]["image"], "demo/web:1");
    world.says(
        &["undo", "shop", "--to-revision", "9"],
        1,
        "",
        "Error: unable to find specified revision 9 in history\n",
    );
    world.says(&["undo", "shop", "--to-revision=-1"], 1, "", nothing);
    world.says(&["undo", "shop", "--to-revision=3"], 0, "rollout 'shop' undo\n", "");
    world.says(&["undo", "shop", "--to-stable"], 0, "rollout 'shop' undo\n", "");
    let image = world.stored("rollouts/shop")["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(image, "demo/web:1");
}
