//! Corners of the contract that need a cluster: Rollouts without a status, selectors with expressions, every kind of
//! container, live views of what was just created.

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{World, canary, steps};

const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

/// A ReplicaSet of a Rollout with one revision.
fn set(owner: &Value, revision: &str, image: &str) -> Value {
    let labels = json!({"app": "shop", "rollouts-pod-template-hash": revision});
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": format!("shop-{revision}"), "labels": labels,
            "annotations": {"rollout.argoproj.io/revision": revision},
            "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "shop",
                                 "uid": owner["metadata"]["uid"], "controller": true}]},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}},
    })
}

#[test]
fn a_rollout_without_a_status_is_no_trouble_for_any_command() {
    let world = World::new();
    world.rollout(&canary("bare", steps(), Value::Null));
    let cases: [(&[&str], i32, &str); 17] = [
        (&["get", "rollout", "bare"], 0, "Name:            bare\n"),
        (&["get", "rollout", "bare", "-o", "json"], 0, "{"),
        (&["get", "rollout", "bare", "-o", "yaml"], 0, "actualWeight: "),
        (&["list", "rollouts"], 0, "NAME  "),
        (&["status", "bare", "--watch=false"], 0, "Progressing - more replicas need to be updated\n"),
        (&["why", "bare"], 0, "Progressing: waiting for the controller to make ReplicaSet bare-"),
        (&["plan", "bare"], 0, "STEP  ACTION"),
        (&["abort", "bare"], 0, "rollout 'bare' aborted\n"),
        (&["retry", "rollout", "bare"], 0, "rollout 'bare' retried\n"),
        (&["pause", "bare"], 0, "rollout 'bare' paused\n"),
        (&["promote", "bare"], 0, "rollout 'bare' promoted\n"),
        (&["promote", "bare", "--full"], 0, "rollout 'bare' fully promoted\n"),
        (&["resume", "bare"], 1, ""),
        (&["restart", "bare"], 0, "rollout 'bare' restarts in 0s\n"),
        (&["set", "image", "bare", "main=x"], 0, "rollout \"bare\" image updated\n"),
        (&["undo", "bare"], 1, ""),
        (&["undo", "bare", "--to-stable"], 1, ""),
    ];
    for (arguments, code, begins) in cases {
        // Whatever the command before it wrote is gone.
        let path = "/apis/argoproj.io/v1alpha1/namespaces/default/rollouts/bare";
        world.request("DELETE", path, "application/json", &Value::Null);
        world.rollout(&canary("bare", steps(), Value::Null));
        let output = world.run(arguments);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
        assert!(out.starts_with(begins), "{arguments:?}: {out}");
        assert_eq!(err.starts_with("Error: "), code == 1, "{arguments:?}: {err}");
    }
}

#[test]
fn undo_finds_revisions_by_a_selector_with_expressions() {
    let world = World::new();
    let mut rollout = canary("shop", steps(), json!({}));
    rollout["spec"]["selector"] =
        json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["shop", "x"]}]});
    let owner = world.rollout(&rollout);
    for (revision, image) in [("1", "demo/web:1"), ("2", "demo/web:2")] {
        world.create(SETS, &set(&owner, revision, image));
    }
    world.says(&["undo", "shop"], 0, "rollout 'shop' undo\n", "");
    let asked = world.asked();
    assert!(asked.iter().any(|asked| asked.path.contains("labelSelector=app%20in%20%28shop%2Cx%29")), "{asked:?}");
    let image = world.stored("rollouts/shop")["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(image, "demo/web:1");
}

#[test]
fn undo_restores_the_workload_a_rollout_refers_to_whatever_its_kind() {
    let world = World::new();
    let mut rollout = canary("shop", steps(), json!({}));
    let template = rollout["spec"].as_object_mut().unwrap().remove("template").unwrap();
    rollout["spec"]["workloadRef"] = json!({"apiVersion": "v1", "kind": "PodTemplate", "name": "shop"});
    let owner = world.rollout(&rollout);
    // The embedded cluster has no PodTemplates; what is asked of one is answered here.
    let pod_template =
        json!({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "shop"}, "template": template});
    world.refuse(move |asked| asked.path.contains("/podtemplates/").then(|| (200, pod_template.clone())));
    for (revision, image) in [("1", "demo/web:1"), ("2", "demo/web:2")] {
        world.create(SETS, &set(&owner, revision, image));
    }
    world.says(&["undo", "shop"], 0, "rollout 'shop' undo\n", "");
    let (form, path, body) = world.writes().remove(0);
    assert_eq!(
        (form.as_str(), path.as_str()),
        ("JSON", "/api/v1/namespaces/default/podtemplates/shop".trim_start_matches('/'))
    );
    assert_eq!(body[0]["path"], "/template");
}

#[test]
fn an_image_is_set_in_containers_of_every_kind() {
    let world = World::new();
    let mut rollout = canary("shop", steps(), json!({}));
    let pod = rollout["spec"]["template"]["spec"].as_object_mut().unwrap();
    pod.insert(
        "initContainers".to_owned(),
        json!([{"name": "setup", "image": "old"}, {"name": "main", "image": "old"}]),
    );
    pod.insert("ephemeralContainers".to_owned(), json!([{"name": "debug", "image": "old"}]));
    world.rollout(&rollout);
    let images = || {
        let stored = world.stored("rollouts/shop");
        let pod = &stored["spec"]["template"]["spec"];
        let all = ["initContainers", "containers", "ephemeralContainers"].map(|list| pod[list].clone());
        let all = all.iter().flat_map(|list| list.as_array().cloned().unwrap_or_default());
        all.map(|container| container["image"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    world.says(&["set", "image", "shop", "main=new"], 0, "rollout \"shop\" image updated\n", "");
    assert_eq!(images(), ["old", "new", "new", "old"]);
    world.says(&["set", "image", "shop", "*=all"], 0, "rollout \"shop\" image updated\n", "");
    assert_eq!(images(), ["all", "all", "all", "all"]);
    let output = world.run(&["set", "image", "shop", "a=b=c"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("\nUsage: kubectl-argo-rollouts set image "), "{err}");
}

#[test]
fn what_was_created_and_experiments_can_be_looked_at_live() {
    let world = World::new();
    let rollout = world.file("rollout.json", &canary("web", steps(), Value::Null).to_string());
    let template = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "m", "image": "i"}]}});
    let spec = json!({"templates": [{"name": "a", "selector": {"matchLabels": {"app": "x"}}, "template": template}]});
    let experiment =
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Experiment", "metadata": {"name": "try"}, "spec": spec});
    world.create("/apis/argoproj.io/v1alpha1/namespaces/default/experiments", &experiment);
    for (arguments, first, name) in [
        (&["create", "-f", &rollout, "-w"][..], "rollout.argoproj.io/web created\n", "Name:            web"),
        (&["get", "experiment", "try", "-w"], "\u{1b}[H\u{1b}[2J\u{1b}[0;0HName:            try\n", "try"),
    ] {
        let mut child = world.start(arguments);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, first, "{arguments:?}");
        while !line.contains(name) {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "{arguments:?}");
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn lists_say_when_a_line_was_printed_if_they_are_asked_to() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let output = world.run(&["list", "rollouts", "--timestamps", "-A"]);
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.starts_with("TIMESTAMP             NAMESPACE  NAME        STRATEGY   STATUS        STEP  SET-WEIGHT  "),
        "{out}"
    );
    let row = out.lines().nth(1).unwrap();
    let (time, rest) = row.split_once("  ").unwrap();
    assert!(time.len() == 20 && time.ends_with('Z') && rest.starts_with("default    web         Canary "), "{row}");
}
