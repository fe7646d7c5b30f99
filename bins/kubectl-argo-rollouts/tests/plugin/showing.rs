//! Commands that show: `get`, `list`, completion.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::{World, canary, steps};

pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/cli")
}

/// Puts recorded objects into the cluster, with owners as the cluster knows them.
pub(crate) fn load(world: &World, sample: &Path) {
    let kinds = [
        ("rollouts", "/apis/argoproj.io/v1alpha1/namespaces/default"),
        ("experiments", "/apis/argoproj.io/v1alpha1/namespaces/default"),
        ("replicasets", "/apis/apps/v1/namespaces/default"),
        ("analysisruns", "/apis/argoproj.io/v1alpha1/namespaces/default"),
        ("pods", "/api/v1/namespaces/default"),
    ];
    let mut uids: BTreeMap<String, Value> = BTreeMap::new();
    for (kind, base) in kinds {
        let Ok(text) = std::fs::read_to_string(sample.join(format!("{kind}.json"))) else { continue };
        let list: Value = serde_json::from_str(&text).unwrap();
        for item in list["items"].as_array().unwrap() {
            let mut item = item.clone();
            let recorded = item["metadata"]["uid"].as_str().unwrap().to_owned();
            let metadata = item["metadata"].as_object_mut().unwrap();
            for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "generateName", "managedFields"]
            {
                metadata.remove(field);
            }
            metadata.insert("namespace".to_owned(), json!("default"));
            for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
                let uid = owner["uid"].as_str().unwrap().to_owned();
                owner["uid"] = uids.get(&uid).cloned().unwrap_or_else(|| json!("somebody-else"));
            }
            let made = world.create(&format!("{base}/{kind}"), &item);
            uids.insert(recorded, made["metadata"]["uid"].clone());
        }
    }
}

/// The words of a view without those that depend on the moment and the place, in any order: pods of one second are
/// sorted by name.
fn words(text: &str) -> Vec<String> {
    // Such as 47s, 2d1h or 3y40d: what was recorded gets older every day.
    let is_age = |word: &str| {
        let is_unit = |byte: u8| b"smhdy".contains(&byte);
        word.starts_with(|first: char| first.is_ascii_digit())
            && word.bytes().last().is_some_and(is_unit)
            && word.bytes().all(|byte| byte.is_ascii_digit() || is_unit(byte))
    };
    let lines = text.lines().filter(|line| !line.starts_with("Namespace:"));
    let words = lines.flat_map(str::split_whitespace).filter(|word| !is_age(word));
    let mut words: Vec<String> =
        words.map(|word| if word.starts_with("delay:") { "delay".to_owned() } else { word.to_owned() }).collect();
    words.sort();
    words
}

#[test]
fn every_recorded_rollout_is_found_whole_by_labels_and_owners() {
    let mut count = 0;
    for entry in std::fs::read_dir(samples()).unwrap() {
        let sample = entry.unwrap().path();
        let described: Value =
            serde_json::from_str(&std::fs::read_to_string(sample.join("sample.json")).unwrap()).unwrap();
        let world = World::new();
        load(&world, &sample);
        let name = described["args"][2].as_str().unwrap();
        let output = world.run(&["get", "rollout", name, "--no-color"]);
        let wanted = std::fs::read_to_string(sample.join("output.txt")).unwrap();
        assert_eq!(words(&String::from_utf8_lossy(&output.stdout)), words(&wanted), "{}", sample.display());
        assert_eq!(output.stderr, b"");
        for asked in world.asked().iter().filter(|asked| asked.path.contains("limit=")) {
            assert!(asked.path.contains("labelSelector="), "a whole namespace was loaded: {}", asked.path);
        }
        count += 1;
    }
    assert!(count >= 16, "samples went missing: {count}");
}

#[test]
fn an_experiment_is_found_with_its_pods_and_runs() {
    let world = World::new();
    load(&world, &samples().join("experiment-running"));
    let output = world.run(&["get", "exp", "shop-77c686987c-2-1"]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(out.starts_with("Name:            shop-77c686987c-2-1\nNamespace:       default\nStatus:          ◌ Running\nImages:          demo/web:1 (Σ:before)\n                 demo/web:2 (Σ:after)\n\n"), "{out}");
    assert_eq!(out.lines().filter(|line| line.contains("□ ")).count(), 3, "{out}");
    assert!(out.contains("└──α shop-77c686987c-2-1-compare"), "{out}");
    world.says(&["get", "experiment", "gone"], 1, "", "Error: experiment.argoproj.io \"gone\" not found\n");
    world.says(
        &["get", "experiment", "shop-77c686987c-2-1", "-o", "name"],
        0,
        "experiment.argoproj.io/shop-77c686987c-2-1\n",
        "",
    );
    let output = world.run(&["list", "experiments"]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        out.starts_with("NAME                 STATUS   DURATION  REMAINING  AGE\nshop-77c686987c-2-1  Running  16s       -          "),
        "{out}"
    );
}

#[test]
fn a_missing_rollout_is_named_in_the_singular() {
    let world = World::new();
    world.says(&["get", "rollout", "gone"], 1, "", "Error: rollout.argoproj.io \"gone\" not found\n");
    world.says(&["get", "rollout", "gone", "-w"], 1, "", "Error: rollout.argoproj.io \"gone\" not found\n");
    world.says(&["status", "gone"], 1, "", "Error: rollout.argoproj.io \"gone\" not found\n");
    world.says(&["status", "gone", "--watch=false"], 1, "", "Error: rollout.argoproj.io \"gone\" not found\n");
}

#[test]
fn a_view_is_printed_for_programs_too() {
    let world = World::new();
    world.rollout(&canary(
        "shop",
        steps(),
        json!({"phase": "Paused", "message": "CanaryPauseStep", "currentStepIndex": 1,
        "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]}),
    ));
    world.says(&["get", "rollout", "shop", "-o", "name"], 0, "rollout.argoproj.io/shop\n", "");
    let output = world.run(&["get", "rollout", "shop", "-o=json"]);
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&info["status"], &info["step"], &info["setWeight"]), (&json!("Paused"), &json!("1/2"), &json!("50")));
    let output = world.run(&["get", "ro", "shop", "--output", "yaml"]);
    let yaml = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(yaml.contains("\nstatus: Paused\n") || yaml.contains("\nstatus: \"Paused\"\n"), "{yaml}");
    let output = world.run(&["get", "rollouts", "shop", "-o", "wide"]);
    let wide = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(wide.contains("\nWaiting for:     someone to promote or abort (CanaryPauseStep)\n"), "{wide}");
    let error = "Error: invalid argument \"x\" for \"-o, --output\" flag: must be one of json, yaml, name, wide\n";
    world.says(&["get", "rollout", "shop", "-o", "x"], 1, "", error);
}

#[test]
fn colours_are_for_people_and_for_those_who_ask() {
    let world = World::new();
    world.rollout(&canary("shop", steps(), json!({"phase": "Healthy"})));
    let coloured = |arguments: &[&str]| world.run(arguments).stdout.contains(&0x1b);
    assert!(!coloured(&["get", "rollout", "shop"]));
    assert!(coloured(&["get", "rollout", "shop", "--color=always"]));
    assert!(!coloured(&["get", "rollout", "shop", "--color=always", "--no-color"]));
}

#[test]
fn rollouts_are_listed_by_namespace_name_and_labels() {
    let world = World::new();
    world.says(&["list", "rollouts"], 0, "", "No resources found.\n");
    world.says(&["list", "rollouts", "-o", "json"], 0, "[]\n", "");
    let mut labelled = canary(
        "web",
        json!([]),
        json!({"phase": "Healthy", "replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "availableReplicas": 2}),
    );
    labelled["metadata"]["labels"] = json!({"team": "a"});
    world.rollout(&labelled);
    world.rollout(&canary("shop", steps(), json!({"phase": "Paused", "currentStepIndex": 1, "replicas": 2, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2})));
    let header = "NAME        STRATEGY   STATUS        STEP  SET-WEIGHT  READY  DESIRED  UP-TO-DATE  AVAILABLE\n";
    let shop = "shop        Canary     Paused        1/2   50          2/2    2        1           2        \n";
    let web = "web         Canary     Healthy       -     100         2/2    2        2           2        \n";
    world.says(&["list", "rollouts"], 0, &format!("{header}{shop}{web}"), "");
    world.says(&["list", "ro", "--name", "web"], 0, &format!("{header}{web}"), "");
    world.says(&["list", "rollout", "-l", "team=a", "ignored", "words"], 0, &format!("{header}{web}"), "");
    let error = "Error: --watch goes with the table only, not with -o json, yaml or name\n";
    world.says(&["list", "rollouts", "-w", "-o", "json"], 1, "", error);
    world.says(&["list", "rollouts", "-n", "elsewhere"], 0, "", "No resources found.\n");
    world.says(&["list", "rollouts", "-o", "name"], 0, "rollout.argoproj.io/shop\nrollout.argoproj.io/web\n", "");
    let output = world.run(&["list", "rollouts", "-A"]);
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        all.starts_with("NAMESPACE  NAME        STRATEGY ") && all.contains("\ndefault    shop        Canary"),
        "{all}"
    );
    let output = world.run(&["list", "rollouts", "-o", "wide"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("demo/web:2"));
    let asked = world.asked();
    assert!(asked.iter().any(|asked| asked.path.contains("fieldSelector=metadata.name%3Dweb")));
    assert!(asked.iter().any(|asked| asked.path.starts_with("/apis/argoproj.io/v1alpha1/rollouts?")));
}

#[test]
fn one_rollout_that_cannot_be_read_does_not_hide_the_others() {
    let world = World::new();
    world.rollout(&canary("web", json!([]), json!({"phase": "Healthy"})));
    world.refuse(|asked| {
        asked.path.contains("/rollouts?").then(|| {
            let bad = json!({"metadata": {"name": "bad"}, "spec": {"replicas": "many"}});
            let good = json!({"metadata": {"name": "good"}, "spec": {"strategy": {"canary": {}}}, "status": {"phase": "Healthy"}});
            (200, json!({"metadata": {"resourceVersion": "1"}, "items": [bad, good]}))
        })
    });
    let output = world.run(&["list", "rollouts"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("\ngood ") && !out.contains("bad"), "{out}");
    assert!(err.starts_with("Warning: rollout \"bad\" cannot be read: "), "{err}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn why_names_the_cause_and_the_command_that_helps() {
    let world = World::new();
    load(&world, &samples().join("canary-degraded"));
    world.create(
        "/api/v1/namespaces/default/events",
        &json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "type": "Warning",
            "reason": "Failed", "message": "no such image", "lastTimestamp": "2026-11-15T07:36:10Z",
            "involvedObject": {"kind": "Pod", "name": "shop-774d856d4-hn455", "namespace": "default"}}),
    );
    let output = world.run(&["why", "shop"]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        out.starts_with("Degraded: waiting for pods of ReplicaSet shop-774d856d4: 0 of 1 available since 2026-11-15T"),
        "{out}"
    );
    assert!(out.contains("\n  pod shop-774d856d4-hn455: ErrImagePull, ready 0/1\n"), "{out}");
    assert!(out.contains("\n  event Failed: no such image\n"), "{out}");
    assert!(out.ends_with("\nUnblock: kubectl argo rollouts abort shop\n"), "{out}");
    let output = world.run(&["why", "shop", "-o", "json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["unblock"], "kubectl argo rollouts abort shop");
    world.says(&["why", "gone"], 1, "", "Error: rollout.argoproj.io \"gone\" not found\n");
    let asked = world.asked();
    assert!(asked.iter().any(|asked| asked.path.contains("fieldSelector=involvedObject.name%3Dshop-774d856d4-hn455")));
}

/// Services and templates that a recorded Rollout names; they were not recorded.
fn surround(world: &World, rollout: &Value) {
    let spec = &rollout["spec"]["strategy"];
    let mut services = Vec::new();
    let mut templates = Vec::new();
    let mut open = vec![spec];
    while let Some(value) = open.pop() {
        for (name, value) in value.as_object().into_iter().flatten() {
            match name.as_str() {
                "activeService" | "previewService" | "stableService" | "canaryService" => services.push(value),
                "templateName" => templates.push(value),
                _ => open.push(value),
            }
        }
        open.extend(value.as_array().into_iter().flatten());
    }
    services.dedup();
    templates.dedup();
    for name in services {
        let spec = json!({"selector": rollout["spec"]["selector"]["matchLabels"], "ports": [{"port": 80}]});
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        world.create("/api/v1/namespaces/default/services", &service);
    }
    for name in templates {
        let metric = json!({"name": "m", "count": 1, "provider": {"web": {"url": "http://metrics"}}});
        let template = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate",
            "metadata": {"name": name}, "spec": {"metrics": [metric]}});
        world.create("/apis/argoproj.io/v1alpha1/namespaces/default/analysistemplates", &template);
    }
}

#[test]
fn why_is_told_of_every_recorded_state_and_says_who_knows() {
    // Routes are not recorded, and new Services select nothing yet: of those two states the status tells.
    let answers = BTreeMap::from([
        ("analysis-success", "nothing (engine)"),
        ("analysis-failed", "someone to retry, or a new spec: the update was aborted (engine)"),
        ("analysis-inconclusive", "someone to promote or abort (InconclusiveAnalysisRun) (engine)"),
        ("background-analysis-running", "someone to promote or abort (CanaryPauseStep) (engine)"),
        ("bluegreen-analysis", "nothing (engine)"),
        ("bluegreen-paused", "someone to promote or abort (BlueGreenPause) (status)"),
        ("bluegreen-rolled-back", "nothing (engine)"),
        ("canary-aborted", "someone to retry, or a new spec: the update was aborted (engine)"),
        ("canary-degraded", "pods of ReplicaSet shop-774d856d4: 0 of 1 available (engine)"),
        ("canary-initial", "nothing (engine)"),
        ("canary-no-steps-healthy", "nothing (engine)"),
        ("canary-paused", "someone to promote or abort (CanaryPauseStep) (engine)"),
        ("canary-third-revision", "someone to promote or abort (CanaryPauseStep) (engine)"),
        ("experiment-running", "Experiment shop-77c686987c-2-1 to finish (engine)"),
        ("invalid-spec", "a correction: The Rollout \"shop\" is invalid: spec.strategy.steps[0].setWeight: "),
        ("istio-host-paused", "someone to promote or abort (CanaryPauseStep) (status)"),
    ]);
    for entry in std::fs::read_dir(samples()).unwrap() {
        let sample = entry.unwrap().path();
        let world = World::new();
        load(&world, &sample);
        let described: Value =
            serde_json::from_str(&std::fs::read_to_string(sample.join("sample.json")).unwrap()).unwrap();
        let name = described["args"][2].as_str().unwrap();
        surround(&world, &world.stored(&format!("rollouts/{name}")));
        let output = world.run(&["why", name, "-o", "json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let first = answer["waitingFor"][0]["what"].as_str().unwrap_or("nothing");
        let told = format!("{} ({})", first, answer["source"].as_str().unwrap());
        let sample = sample.file_name().unwrap().to_str().unwrap();
        let wanted = answers.get(sample).unwrap_or_else(|| panic!("{sample} is new: {told}"));
        assert!(told.starts_with(wanted), "{sample}: {told}");
    }
}

/// A Rollout in its first pause, behind a router.
fn routed(routing: &Value) -> Value {
    let pause = json!({"phase": "Paused", "message": "CanaryPauseStep", "currentStepIndex": 1,
        "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]});
    let mut rollout = canary("web", steps(), pause);
    let canary = &mut rollout["spec"]["strategy"]["canary"];
    canary["trafficRouting"] = routing.clone();
    (canary["stableService"], canary["canaryService"]) = (json!("stable"), json!("canary"));
    rollout
}

#[test]
fn why_asks_nobody_about_routers_that_are_not_driven_here() {
    let world = World::new();
    world.rollout(&routed(&json!({"plugins": {"acme/router": {"route": "web"}}})));
    let answer: Value = serde_json::from_slice(&world.run(&["why", "web", "-o", "json"]).stdout).unwrap();
    assert_eq!(answer["source"], "status");
    assert_eq!(answer["waitingFor"][0]["what"], "someone to promote or abort (CanaryPauseStep)");
}

#[test]
fn why_looks_at_the_objects_of_other_routers() {
    let world = World::new();
    for name in ["stable", "canary"] {
        let spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        world.create("/api/v1/namespaces/default/services", &service);
    }
    world.rollout(&routed(&json!({"nginx": {"stableIngress": "web"}})));
    let answer: Value = serde_json::from_slice(&world.run(&["why", "web", "-o", "json"]).stdout).unwrap();
    assert_eq!(answer["source"], "engine");
    let first = answer["waitingFor"][0]["what"].as_str().unwrap();
    assert!(first.contains("ingress.networking.k8s.io \"web\" not found"), "{answer}");
}
