//! What `plan` says of a manifest is what the controller then does: steps, weights, pods, routes, and no sooner.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_sim::journal::{Change, Mirror};

use crate::stage::{Stage, virtually};

const HASH: &str = "rollouts-pod-template-hash";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One manifest: the objects of a trace or of an example.
struct Manifest {
    name: String,
    objects: Vec<Value>,
}

impl Manifest {
    fn rollout(&self) -> &Value {
        self.objects.iter().find(|object| object["kind"] == "Rollout").unwrap()
    }
}

fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

fn examples() -> Vec<Manifest> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(repository().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let files = ["rollout.yaml", "routes.yaml"].map(|file| path.join(file));
            let objects = files.iter().filter(|file| file.exists()).flat_map(|file| documents(file)).collect();
            found.push(Manifest { name, objects });
        } else if name.ends_with(".yaml") {
            found.push(Manifest { name, objects: documents(&path) });
        }
    }
    found
}

fn traces() -> Vec<Manifest> {
    let entries = std::fs::read_dir(repository().join("tests/compat/traces")).unwrap();
    let read = |path: PathBuf| {
        let scenario: Value = documents(&path.join("scenario.yaml")).remove(0);
        let objects = scenario["objects"].as_array().unwrap().clone();
        Manifest { name: path.file_name().unwrap().to_str().unwrap().to_owned(), objects }
    };
    entries.map(|entry| read(entry.unwrap().path())).collect()
}

/// What was seen of an update.
#[derive(Default)]
struct Seen {
    /// By step index; that of the switch to the new version has none.
    steps: BTreeMap<i64, Step>,
    stable: String,
    peak: i64,
    /// Weights that changed in VirtualServices, and routes that came and went.
    routes: Vec<String>,
    /// Subsets that came to name other pods.
    subsets: Vec<String>,
    began: Duration,
}

/// The state when a step was over.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    weight: Option<i64>,
    canary: i64,
    stable: i64,
    /// The most pods that were asked for until then.
    peak: i64,
    at: Duration,
}

/// The steps of a blue-green update have no index.
const SWITCH: i64 = -1;
const PAUSE: i64 = -2;

impl Seen {
    /// Sizes of the new and of the stable set.
    fn sizes(&self, mirror: &Mirror) -> (i64, i64) {
        let (mut new, mut stable) = (0, 0);
        for set in mirror.of("replicasets.apps") {
            let is_ours = set["metadata"]["ownerReferences"][0]["kind"] == "Rollout";
            let size = set["spec"]["replicas"].as_i64().unwrap_or(0);
            if is_ours && set["metadata"]["labels"][HASH] == self.stable.as_str() {
                stable += size;
            } else if is_ours {
                new += size;
            }
        }
        (new, stable)
    }

    fn see(&mut self, change: &Change, mirror: &Mirror) {
        let (canary, stable) = self.sizes(mirror);
        self.peak = self.peak.max(canary + stable);
        let Some(old) = &change.old else { return };
        match change.key.0.as_str() {
            "destinationrules.networking.istio.io" => self.subsets.extend(relabelled(old, &change.new)),
            "virtualservices.networking.istio.io" => self.routes.extend(differences(old, &change.new)),
            "rollouts.argoproj.io" => {
                let index = |object: &Value| object["status"]["currentStepIndex"].as_i64();
                let passed = index(old).filter(|before| index(&change.new) == Some(before + 1));
                let active = "/status/blueGreen/activeSelector";
                let is_switched = old.pointer(active) != change.new.pointer(active);
                let is_blue_green = !change.new["spec"]["strategy"]["blueGreen"].is_null();
                let is_paused = is_blue_green && change.new["status"]["phase"] == "Paused";
                let unnumbered = is_switched.then_some(SWITCH).or(is_paused.then_some(PAUSE));
                let Some(step) = passed.or(unnumbered) else { return };
                let weight = change.new["status"]["canary"]["weights"]["canary"]["weight"].as_i64();
                let peak = self.peak;
                self.steps.insert(step, Step { weight, canary, stable, peak, at: change.at - self.began });
                self.peak = canary + stable;
            }
            _ => {}
        }
    }
}

/// Routes of a protocol by name; those without one by their place among themselves.
fn routes(object: &Value, protocol: &str) -> BTreeMap<String, Vec<i64>> {
    let mut unnamed = 0;
    let all = object["spec"][protocol].as_array().cloned().unwrap_or_default();
    let entries = all.iter().map(|route| {
        let name = route["name"].as_str().map_or_else(|| format!("#{unnamed}"), str::to_owned);
        unnamed += i32::from(route["name"].is_null());
        let destinations = route["route"].as_array().cloned().unwrap_or_default();
        (name, destinations.iter().map(|found| found["weight"].as_i64().unwrap_or(0)).collect())
    });
    entries.collect()
}

/// Weights and names of routes that differ.
fn differences(old: &Value, new: &Value) -> Vec<String> {
    let mut told = Vec::new();
    for protocol in ["http", "tls", "tcp"] {
        let (old, new) = (routes(old, protocol), routes(new, protocol));
        told.extend(new.keys().filter(|name| !old.contains_key(*name)).map(|_| "written".to_owned()));
        for (name, before) in &old {
            let Some(after) = new.get(name) else {
                told.push("removed".to_owned());
                continue;
            };
            let changed = before.iter().zip(after).filter(|(before, after)| before != after);
            told.extend(changed.map(|(before, after)| format!("{before} -> {after}")));
        }
    }
    told
}

/// Subsets that name other pods, as a plan says it; the new version by its place holder.
fn relabelled(old: &Value, new: &Value) -> Vec<String> {
    let subsets = |object: &Value| object["spec"]["subsets"].as_array().cloned().unwrap_or_default();
    let (old, new) = (subsets(old), subsets(new));
    let both =
        old.iter().filter_map(|before| Some((before, new.iter().find(|after| after["name"] == before["name"])?)));
    let hash = |subset: &Value| subset["labels"][HASH].as_str().unwrap_or("none").to_owned();
    let changed = both.filter(|(before, after)| hash(before) != hash(after));
    changed
        .map(|(before, _)| format!("subset {}: {} -> <new>", before["name"].as_str().unwrap(), hash(before)))
        .collect()
}

/// What a plan says about subsets.
fn planned_subsets(plan: &Value) -> Vec<String> {
    let lines = plan["routes"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    lines.filter_map(|line| Some(format!("subset {}", line.split_once(": subset ")?.1))).collect()
}

/// What a plan says about routes, in the same short form.
fn planned(plan: &Value) -> Vec<String> {
    let lines = plan["routes"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    let lines = lines.filter(|line| line.contains(": VirtualService ") && !line.starts_with("start: "));
    let short = |line: &str| match line.split(": {").next().unwrap().rsplit_once(' ').unwrap() {
        (_, word @ ("written" | "removed")) => word.to_owned(),
        (before, after) => {
            let before = before.strip_suffix(" ->").unwrap().rsplit(' ').next().unwrap();
            format!("{before} -> {after}")
        }
    };
    lines.map(short).collect()
}

/// Plays an update of a manifest to its end; none for one that is refused, as the plan says.
async fn play(manifest: &Manifest) -> Option<(Value, Seen)> {
    let stage = Stage::open().await;
    let rollout = manifest.rollout();
    let name = rollout["metadata"]["name"].as_str().unwrap().to_owned();
    for object in manifest.objects.iter().filter(|object| object["kind"] != "Secret") {
        let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap_or(("", "v1"));
        let kind = GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap());
        let api: Api<DynamicObject> =
            Api::namespaced_with(stage.world.client("user"), "default", &ApiResource::from_gvk(&kind));
        api.create(&PostParams::default(), &serde_json::from_value(object.clone()).unwrap()).await.unwrap();
    }
    stage.pass(60).await;
    let stored = serde_json::to_value(stage.api("Rollout").get(&name).await.unwrap()).unwrap();
    let (plan, err) = stage.says(&["plan", &name, "-o", "json"]).await;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let refused = stored["status"]["phase"] == "Degraded";
    assert_eq!(err.starts_with("Error: "), refused, "{}: {err}", manifest.name);
    if refused {
        let (problem, told) = (plan[0]["refusals"][0].as_str().unwrap(), stored["status"]["message"].as_str().unwrap());
        assert!(told.contains(problem), "{}: {problem} and {told}", manifest.name);
        return None;
    }
    assert_eq!(stored["status"]["phase"], "Healthy", "{}", manifest.name);
    let seen = Arc::new(Mutex::new(Seen {
        stable: stored["status"]["stableRS"].as_str().unwrap().to_owned(),
        began: stage.world.journal().elapsed(),
        peak: rollout["spec"]["replicas"].as_i64().unwrap_or(1),
        ..Seen::default()
    }));
    let noting = Arc::clone(&seen);
    stage.world.journal().listen(Box::new(move |change, mirror| noting.lock().unwrap().see(change, mirror)));
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}});
    let (kind, changed) = match rollout["spec"]["workloadRef"]["name"].as_str() {
        Some(workload) => ("Deployment", workload),
        None => ("Rollout", name.as_str()),
    };
    stage.patch(kind, changed, patch).await;
    finish(&stage, &name, &manifest.name).await;
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    Some((plan[0].clone(), seen))
}

/// Promotes, and has analyses and experiments succeed in time, until the update is over.
async fn finish(stage: &Stage, name: &str, manifest: &str) {
    for _ in 0..1000 {
        stage.pass(20).await;
        let rollout = serde_json::to_value(stage.api("Rollout").get(name).await.unwrap()).unwrap();
        let status = &rollout["status"];
        let generation = rollout["metadata"]["generation"].to_string();
        if status["phase"] == "Healthy" && status["observedGeneration"] == generation.as_str() {
            return;
        }
        for kind in ["AnalysisRun", "Experiment"] {
            for found in stage.api(kind).list(&ListParams::default()).await.unwrap() {
                if found.data["status"]["phase"].is_null() {
                    // As long as the longest of them takes.
                    stage.pass(300).await;
                    let patch = json!({"status": {"phase": "Successful"}});
                    stage.patch(kind, &found.metadata.name.unwrap(), patch).await;
                }
            }
        }
        let waits = stage.says(&["why", name]).await.0;
        if waits.starts_with("Paused: waiting for someone to promote or abort") {
            stage.says(&["promote", name]).await;
        }
    }
    panic!("{manifest}: the update does not end: {}", stage.says(&["why", name]).await.0);
}

/// Compares every step; returns how many there were.
fn compare(manifest: &Manifest, plan: &Value, seen: &Seen) -> usize {
    let rows = plan["steps"].as_array().unwrap();
    let canary = &manifest.rollout()["spec"]["strategy"]["canary"];
    if canary.is_null() {
        for (action, index) in [("pause", PAUSE), ("switch", SWITCH)] {
            let row = rows.iter().find(|row| row["action"] == action);
            let (Some(row), Some(step)) = (row, seen.steps.get(&index)) else {
                assert!(row.is_none() && !seen.steps.contains_key(&index), "{}: {action}", manifest.name);
                continue;
            };
            let place = format!("{}, {action}: {row} {step:?}", manifest.name);
            assert_eq!((&row["canary"], &row["stable"]), (&json!(step.canary), &json!(step.stable)), "{place}");
            assert_eq!(row["peak"], step.peak, "{place}");
        }
        return 1;
    }
    // Old pods go a few seconds after their traffic; by the end of a pause they are gone.
    let is_dynamic = canary["dynamicStableScale"] == true;
    assert_eq!(seen.steps.len(), rows.len() - 1, "{}: steps that were gone through", manifest.name);
    for (index, row) in rows.iter().take(rows.len() - 1).enumerate() {
        let step = &seen.steps[&i64::try_from(index).unwrap()];
        let place = format!("{}, step {}: {row} {step:?}", manifest.name, index + 1);
        assert_eq!(row["canary"], step.canary, "pods: {place}");
        if !is_dynamic || row["action"].as_str().unwrap().starts_with("pause") {
            assert_eq!(row["stable"], step.stable, "pods: {place}");
        }
        if !is_dynamic {
            assert_eq!(row["peak"], step.peak, "peak: {place}");
        }
        if !canary["trafficRouting"].is_null() {
            assert_eq!(row["weight"].as_i64(), step.weight, "weight: {place}");
        }
        let earliest = Duration::from_secs(row["earliestSeconds"].as_u64().unwrap());
        assert!(step.at >= earliest, "too early: {place}");
    }
    let (mut planned, mut routes) = (planned(plan), seen.routes.clone());
    planned.sort();
    routes.sort();
    assert_eq!(planned, routes, "{}: {}", manifest.name, plan["routes"]);
    assert_eq!(planned_subsets(plan), seen.subsets, "{}", manifest.name);
    rows.len() - 1
}

fn check(manifests: Vec<Manifest>, least: usize, steps: usize) {
    let (mut played, mut compared) = (0, 0);
    for manifest in manifests {
        virtually(async {
            if let Some((plan, seen)) = play(&manifest).await {
                compared += compare(&manifest, &plan, &seen);
            }
            played += 1;
        });
    }
    assert!(played >= least && compared >= steps, "{played} manifests, {compared} steps");
}

#[test]
fn every_example_does_what_its_plan_says() {
    check(examples(), 9, 42);
}

#[test]
fn every_recorded_manifest_does_what_its_plan_says() {
    check(traces(), 31, 97);
}
