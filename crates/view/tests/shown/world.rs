//! Objects of one namespace, made shortly.

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tidegate_view::{Objects, Paint, RolloutInfo, rollout_text};

const HASH: &str = "rollouts-pod-template-hash";

pub(crate) fn now() -> Timestamp {
    "2026-08-14T09:30:05Z".parse().unwrap()
}

/// The time so many seconds ago.
pub(crate) fn ago(seconds: i64) -> String {
    (now() - SignedDuration::from_secs(seconds)).to_string()
}

pub(crate) const MINUTE: i64 = 60;
pub(crate) const HOUR: i64 = 3600;
pub(crate) const DAY: i64 = 86_400;

pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_str(&value.to_string()).unwrap()
}

/// Objects of one namespace, made shortly.
pub(crate) struct World {
    pub(crate) rollout: Value,
    pub(crate) sets: Vec<Value>,
    pub(crate) pods: Vec<Value>,
    pub(crate) runs: Vec<Value>,
    pub(crate) experiments: Vec<Value>,
}

impl World {
    pub(crate) fn new(namespace: &str, name: &str, age: i64, spec: Value, status: Value) -> Self {
        let metadata = json!({"name": name, "namespace": namespace, "uid": "root", "creationTimestamp": ago(age)});
        let rollout = json!({"metadata": metadata, "spec": spec, "status": status});
        Self { rollout, sets: vec![], pods: vec![], runs: vec![], experiments: vec![] }
    }

    pub(crate) fn meta(owner: &str, name: &str, age: i64, revision: i64) -> Value {
        json!({
            "name": name, "uid": name, "creationTimestamp": ago(age), "ownerReferences": [
                {"apiVersion": "v1", "kind": "Any", "name": "any", "uid": owner, "controller": true}],
            "annotations": {"rollout.argoproj.io/revision": revision.to_string()},
        })
    }

    /// A ReplicaSet `owner-hash` with so many pods, all or none of them available.
    pub(crate) fn set(
        &mut self,
        owner: &str,
        name: &str,
        age: i64,
        revision: i64,
        image: &str,
        pods: (i32, i32),
    ) -> &mut Value {
        let mut metadata = Self::meta(owner, name, age, revision);
        let hash = name.rsplit('-').next().unwrap();
        metadata["labels"] = json!({HASH: hash});
        self.sets.push(json!({
            "metadata": metadata,
            "spec": {"replicas": pods.0, "template": {"spec": {"containers": [{"name": "main", "image": image}]}}},
            "status": {"replicas": pods.0, "availableReplicas": pods.1},
        }));
        self.sets.last_mut().unwrap()
    }

    /// A pod of a ReplicaSet with so many containers.
    pub(crate) fn pod(&mut self, set: &str, suffix: &str, age: i64, containers: usize, state: &Value, restarts: i32) {
        let is_ready = state.get("running").is_some();
        let one = json!({"name": "main", "ready": is_ready, "restartCount": restarts, "state": state});
        let all: Vec<Value> = (0..containers)
            .map(|index| if index == 0 { one.clone() } else { json!({"name": "b", "ready": is_ready, "state": state}) })
            .collect();
        let specs: Vec<Value> = (0..containers).map(|index| json!({"name": index.to_string()})).collect();
        self.pods.push(json!({
            "metadata": Self::meta(set, &format!("{set}-{suffix}"), age, 0),
            "spec": {"containers": specs},
            "status": {"phase": if is_ready { "Running" } else { "Pending" }, "containerStatuses": all},
        }));
    }

    pub(crate) fn running(&mut self, set: &str, suffix: &str, age: i64, containers: usize) {
        self.pod(set, suffix, age, containers, &json!({"running": {}}), 0);
    }

    pub(crate) fn objects(&self) -> Objects {
        Objects {
            rollout: read(&self.rollout),
            replica_sets: self.sets.iter().map(read).collect(),
            pods: self.pods.iter().map(read).collect(),
            experiments: self.experiments.iter().map(read).collect(),
            analysis_runs: self.runs.iter().map(read).collect(),
            workload_template: None,
        }
    }

    pub(crate) fn text(&self, paint: Paint) -> String {
        rollout_text(&RolloutInfo::new(&self.objects()), now(), paint)
    }
}

/// As much of JSON Schema as ours uses.
pub(crate) fn fits(value: &Value, schema: &Value, place: &str) {
    match schema["type"].as_str().unwrap() {
        "object" => {
            let fields = value.as_object().unwrap();
            for name in schema["required"].as_array().unwrap() {
                assert!(fields.contains_key(name.as_str().unwrap()), "{place}: no {name}");
            }
            for (name, field) in fields {
                let known = &schema["properties"][name];
                assert!(known.is_object(), "{place}: {name} is not in the schema");
                fits(field, known, &format!("{place}.{name}"));
            }
        }
        "array" => value.as_array().unwrap().iter().for_each(|item| fits(item, &schema["items"], place)),
        "integer" => assert!(value.is_i64(), "{place}"),
        "string" => assert!(value.is_string(), "{place}"),
        other => panic!("{place}: {other}"),
    }
}
