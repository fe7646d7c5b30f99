//! Started on what another controller has left, ours changes nothing that the recorded state does not ask for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;

use crate::world::{World, resource};

/// Kinds in the order they are made: owners before what they own.
const KINDS: [(&str, &str); 5] = [
    ("rollouts", "Rollout"),
    ("experiments", "Experiment"),
    ("replicasets", "ReplicaSet"),
    ("analysisruns", "AnalysisRun"),
    ("pods", "Pod"),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/cli")
}

fn read(sample: &str, file: &str) -> Option<Value> {
    let text = std::fs::read_to_string(folder().join(sample).join(file)).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// Everything of one sample in a cluster of its own.
struct Sample {
    world: World,
    namespace: String,
    /// Old uids and the new ones.
    uids: BTreeMap<String, String>,
}

impl Sample {
    fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.world.client.clone(), &self.namespace, &resource(kind))
    }

    async fn list(&self, kind: &str) -> Vec<Value> {
        let all = self.api(kind).list(&kube::api::ListParams::default()).await.unwrap().items;
        all.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    async fn load(name: &str) -> Self {
        let about = read(name, "sample.json").unwrap();
        // A minute before the recording ended: making the objects takes a second each, so that their order is kept.
        let now: jiff::Timestamp = about["now"].as_str().unwrap().parse().unwrap();
        let epoch = now - jiff::SignedDuration::from_secs(60);
        let world =
            World::empty(&epoch.to_string(), [tidegate_install::crds(), tidegate_sim::istio::crds()].concat()).await;
        let namespace = about["namespace"].as_str().unwrap().to_owned();
        let spaces: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource("Namespace"));
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        spaces.create(&PostParams::default(), &serde_json::from_value(space).unwrap()).await.unwrap();
        let mut sample = Self { world, namespace, uids: BTreeMap::new() };
        let mut objects = Vec::new();
        for (file, kind) in KINDS {
            let mut items = read(name, &format!("{file}.json"))
                .map_or_else(Vec::new, |list| list["items"].as_array().unwrap().clone());
            items.sort_by_key(|item| item["metadata"]["creationTimestamp"].as_str().unwrap().to_owned());
            objects.extend(items.into_iter().map(|item| (kind, item)));
        }
        let rollout = objects[0].1.clone();
        for (service, hash) in services(&rollout) {
            sample.make_service(&rollout, &service, &hash).await;
        }
        for (name, routes) in virtual_services(&rollout) {
            sample.make_virtual_service(&rollout, &name, &routes).await;
        }
        for template in templates(&rollout) {
            sample.make_template(&template).await;
        }
        for (kind, object) in objects {
            sample.make(kind, object).await;
            if kind == "ReplicaSet" {
                sample.world.pass(1).await;
            }
        }
        sample
    }

    /// Makes an object as it was: owners by their new uids, the status by a second write.
    async fn make(&mut self, kind: &str, mut object: Value) {
        let old = object["metadata"]["uid"].as_str().unwrap().to_owned();
        let version = match kind {
            "ReplicaSet" => "apps/v1",
            "Pod" => "v1",
            _ => "argoproj.io/v1alpha1",
        };
        object["apiVersion"] = json!(version);
        object["kind"] = json!(kind);
        if object["metadata"]["ownerReferences"][0]["kind"] == "Job" {
            // A pod of a Job that was not recorded.
            return;
        }
        let metadata = object["metadata"].as_object_mut().unwrap();
        for server_side in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
            metadata.remove(server_side);
        }
        for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
            let new = self.uids.get(owner["uid"].as_str().unwrap()).unwrap().clone();
            owner["uid"] = json!(new);
        }
        let mut status = object["status"].clone();
        let sizes = object["spec"]["replicas"].clone();
        let api = self.api(kind);
        let mut made = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        self.uids.insert(old, made.metadata.uid.clone().unwrap());
        if kind == "Rollout" {
            // Generations begin at 1 here.
            status["observedGeneration"] = json!("1");
        }
        if kind == "ReplicaSet" {
            status["observedGeneration"] = json!(1);
            assert_eq!(made.data["spec"]["replicas"], sizes);
        }
        if made.data["status"] == status {
            return;
        }
        made.data["status"] = status;
        let name = made.metadata.name.clone().unwrap();
        api.replace_status(&name, &PostParams::default(), &made).await.unwrap();
    }

    async fn make_service(&self, rollout: &Value, name: &str, hash: &str) {
        let selector = &rollout["spec"]["selector"]["matchLabels"];
        let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"ports": [{"port": 80}], "selector": selector}});
        if !hash.is_empty() {
            service["spec"]["selector"]["rollouts-pod-template-hash"] = json!(hash);
            service["metadata"]["annotations"] =
                json!({"argo-rollouts.argoproj.io/managed-by-rollouts": rollout["metadata"]["name"]});
        }
        let object = serde_json::from_value(service).unwrap();
        self.api("Service").create(&PostParams::default(), &object).await.unwrap();
    }

    /// A VirtualService with the weights that the status reports.
    async fn make_virtual_service(&self, rollout: &Value, name: &str, routes: &[String]) {
        let (canary, weights) = (&rollout["spec"]["strategy"]["canary"], &rollout["status"]["canary"]["weights"]);
        let split = json!([
            {"destination": {"host": canary["stableService"]}, "weight": weights["stable"]["weight"]},
            {"destination": {"host": canary["canaryService"]}, "weight": weights["canary"]["weight"]},
        ]);
        let http: Vec<Value> = routes.iter().map(|route| json!({"name": route, "route": split})).collect();
        let object = json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": name},
            "spec": {"hosts": ["shop.example"], "http": http}});
        let object = serde_json::from_value(object).unwrap();
        self.api("VirtualService").create(&PostParams::default(), &object).await.unwrap();
    }

    async fn make_template(&self, name: &str) {
        let template = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": name},
            "spec": {"args": [{"name": "hash", "value": "x"}, {"name": "mode", "value": "x"}],
                "metrics": [{"name": "m", "provider": {"job": {"spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}]}});
        let object = serde_json::from_value(template).unwrap();
        self.api("AnalysisTemplate").create(&PostParams::default(), &object).await.unwrap();
    }

    /// Sizes of the sets and the pods there are.
    async fn state(&self) -> (BTreeMap<String, i64>, Vec<String>) {
        let sets = self.list("ReplicaSet").await;
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        let sizes = sets.iter().map(|set| (name(set), set["spec"]["replicas"].as_i64().unwrap())).collect();
        let mut pods = self.list("Pod").await;
        pods.retain(|pod| pod["metadata"].get("deletionTimestamp").is_none());
        let mut pods: Vec<String> = pods.iter().map(name).collect();
        pods.sort();
        (sizes, pods)
    }
}

/// The Services a Rollout names and the template each selected.
fn services(rollout: &Value) -> Vec<(String, String)> {
    let (spec, status) = (&rollout["spec"]["strategy"], &rollout["status"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = [
        (&spec["blueGreen"]["activeService"], &status["blueGreen"]["activeSelector"]),
        (&spec["blueGreen"]["previewService"], &status["blueGreen"]["previewSelector"]),
        (&spec["canary"]["canaryService"], &status["currentPodHash"]),
        (&spec["canary"]["stableService"], &status["stableRS"]),
    ];
    named.into_iter().filter(|(name, _)| name.is_string()).map(|(name, hash)| (text(name), text(hash))).collect()
}

/// The VirtualServices a Rollout names, and their routes.
fn virtual_services(rollout: &Value) -> Vec<(String, Vec<String>)> {
    let named = &rollout["spec"]["strategy"]["canary"]["trafficRouting"]["istio"]["virtualServices"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let routes = |found: &Value| {
        found["routes"].as_array().map_or_else(|| vec!["only".to_owned()], |all| all.iter().map(text).collect())
    };
    named.as_array().into_iter().flatten().map(|found| (text(&found["name"]), routes(found))).collect()
}

fn templates(rollout: &Value) -> Vec<String> {
    let text = rollout["spec"]["strategy"].to_string();
    let after = text.split("\"templateName\":\"").skip(1);
    let mut names: Vec<String> = after.map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// Sets whose recorded deadline asks for their end.
fn is_to_go(set: &Value) -> bool {
    set["metadata"]["annotations"]["scale-down-deadline"].as_str().is_some_and(|text| !text.is_empty())
}

/// The pods are up and everything is counted when our controller comes.
async fn taken_over_quietly(name: &str) {
    let mut sample = Sample::load(name).await;
    sample.world.start_others();
    // The recorded pods start when they started.
    sample.world.pass(70).await;
    let before = sample.state().await;
    let going: Vec<String> = sample
        .list("ReplicaSet")
        .await
        .iter()
        .filter(|set| is_to_go(set))
        .map(|set| set["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    let rollout = sample.list("Rollout").await.remove(0);
    sample.world.start_controller(Options { lacks_analysis: false, ..Options::default() }, Leadership::alone());
    sample.world.pass(600).await;
    let (told, written): (Vec<_>, Vec<_>) =
        sample.world.written().into_iter().partition(|(_, path)| path.ends_with("/events"));
    if going.is_empty() {
        assert_eq!(written, [], "{name}: there is nothing to do");
        assert!(told.len() <= 1, "{name}: at most it is told that the Rollout is there: {told:?}");
    }
    let is_due = |(_, path): &(String, String)| {
        path.ends_with("/status") || going.iter().any(|set| path.ends_with(&format!("/{set}")))
    };
    assert!(written.iter().all(is_due), "{name}: {written:?}");

    let after = sample.state().await;
    let expected: BTreeMap<String, i64> =
        before.0.iter().map(|(set, size)| (set.clone(), if going.contains(set) { 0 } else { *size })).collect();
    assert_eq!(after.0, expected, "{name}: sets and their sizes");
    let is_kept = |pod: &&String| !going.iter().any(|set| pod.starts_with(&format!("{set}-")));
    let kept: Vec<&String> = before.1.iter().filter(is_kept).collect();
    assert_eq!(after.1.iter().collect::<Vec<_>>(), kept, "{name}: pods");
    let now = sample.list("Rollout").await.remove(0);
    for field in ["stableRS", "currentPodHash", "abort", "phase"] {
        assert_eq!(now["status"][field], rollout["status"][field], "{name}: {field}: {}", now["status"]);
    }
    let steps = now["spec"]["strategy"]["canary"]["steps"].as_array().map_or(0, Vec::len);
    let index = now["status"]["currentStepIndex"].as_u64().unwrap_or(0);
    // What is left of an invalid spec is not touched before it is corrected.
    assert!(index <= steps as u64 || now["status"] == rollout["status"], "{name}: step {index} of {steps}");
    sample.world.asked();
    sample.world.pass(600).await;
    assert_eq!(sample.world.written(), [], "{name}: quiet");
}

#[test]
fn every_recorded_sample_is_tested() {
    let mut found: Vec<String> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, SAMPLES);
}

macro_rules! samples {
    ($($test:ident $name:literal,)*) => {
        const SAMPLES: &[&str] = &[$($name),*];

        $(
            #[tokio::test(start_paused = true)]
            async fn $test() {
                taken_over_quietly($name).await;
            }
        )*
    };
}

samples! {
    an_analysis_that_failed "analysis-failed",
    an_analysis_that_was_inconclusive "analysis-inconclusive",
    an_analysis_that_succeeded "analysis-success",
    a_background_analysis_that_runs "background-analysis-running",
    a_blue_green_with_analysis "bluegreen-analysis",
    a_blue_green_that_waits "bluegreen-paused",
    a_blue_green_that_went_back "bluegreen-rolled-back",
    a_canary_that_was_aborted "canary-aborted",
    a_canary_out_of_time "canary-degraded",
    a_canary_on_its_first_revision "canary-initial",
    a_canary_without_steps "canary-no-steps-healthy",
    a_canary_that_waits "canary-paused",
    a_canary_on_its_third_revision "canary-third-revision",
    an_experiment_that_runs "experiment-running",
    an_invalid_spec "invalid-spec",
    a_canary_behind_istio "istio-host-paused",
}
