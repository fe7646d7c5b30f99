//! The controllers as functions, in a loop with a toy of the layer below: each tells its story.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use serde_json::{Value, json};
use tidegate_sim::controllers::pods::Pod;
use tidegate_sim::controllers::{deployment, replica_set};

fn now() -> Timestamp {
    "2026-01-01T00:10:00Z".parse().unwrap()
}

fn set(replicas: i32) -> ReplicaSet {
    serde_json::from_value(json!({
        "metadata": {"name": "web", "uid": "u", "generation": 1},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}}},
    }))
    .unwrap()
}

fn pod(name: &str, more: Value) -> Pod {
    let mut pod = json!({"metadata": {"name": name, "labels": {"app": "web"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "n", "containers": []},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:01:00Z"}]}});
    merge(&mut pod, more);
    serde_json::from_value(pod).unwrap()
}

fn merge(into: &mut Value, more: Value) {
    for (key, value) in more.as_object().unwrap().clone() {
        if value.is_object() && into[&key].is_object() {
            merge(&mut into[&key], value);
        } else {
            into[&key] = value;
        }
    }
}

#[test]
fn a_replica_set_creates_what_is_missing_and_counts_only_pods_that_serve() {
    let ended = pod("ended", json!({"status": {"phase": "Failed"}}));
    let leaving = pod("leaving", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:09:59Z"}}));
    let serving = pod("serving", json!({}));
    let plan = replica_set::plan(&set(3), &[&ended, &leaving, &serving], now());
    assert_eq!((plan.create, plan.delete.len()), (2, 0));
    let status = plan.status.unwrap();
    assert_eq!((status.replicas, status.ready_replicas, status.available_replicas), (1, Some(1), Some(1)));
    assert_eq!(status.terminating_replicas, Some(1));
}

#[test]
fn surplus_pods_go_in_the_order_of_how_little_they_serve() {
    let pods = [
        pod("old-ready", json!({})),
        pod("new-ready", json!({"metadata": {"creationTimestamp": "2026-01-01T00:05:00Z"}})),
        pod("unready", json!({"status": {"conditions": []}})),
        pod("pending", json!({"status": {"phase": "Pending", "conditions": []}})),
        pod("unassigned", json!({"spec": {"nodeName": null}, "status": {"phase": "Pending", "conditions": []}})),
    ];
    let all: Vec<&Pod> = pods.iter().collect();
    let plan = replica_set::plan(&set(0), &all, now());
    assert_eq!(plan.delete, ["unassigned", "pending", "unready", "new-ready", "old-ready"]);
    assert_eq!(replica_set::plan(&set(4), &all, now()).delete, ["unassigned"]);
}

#[test]
fn a_pod_becomes_available_after_min_ready_seconds_and_the_plan_says_when() {
    let mut patient = set(1);
    patient.spec.min_ready_seconds = Some(600);
    let plan = replica_set::plan(&patient, &[&pod("a", json!({}))], now());
    assert_eq!(plan.status.unwrap().available_replicas, None);
    assert_eq!(plan.wake_at.unwrap().to_string(), "2026-01-01T00:11:00Z");
}

/// Deployment and sets, where every pod asked for is available at once.
struct Toy {
    deployment: Deployment,
    sets: BTreeMap<String, ReplicaSet>,
    story: Vec<String>,
}

impl Toy {
    fn new(spec: Value) -> Self {
        let mut all = json!({"replicas": 4, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}});
        merge(&mut all, spec);
        let deployment = json!({"metadata": {"name": "web", "uid": "d", "generation": 1}, "spec": all});
        Self { deployment: serde_json::from_value(deployment).unwrap(), sets: BTreeMap::new(), story: Vec::new() }
    }

    fn image(&mut self, image: &str) {
        let pod = self.deployment.spec.template.spec.as_mut().unwrap();
        pod.containers[0].image = Some(image.to_owned());
    }

    fn image_of(&self, name: &str) -> String {
        let template = self.sets[name].spec.template.as_ref().unwrap();
        template.spec.as_ref().unwrap().containers[0].image.clone().unwrap()
    }

    /// Plans and applies until nothing is left to do; tells the sizes by image.
    fn settle(&mut self) -> Vec<String> {
        for pass in 0..200 {
            let sets: Vec<&ReplicaSet> = self.sets.values().collect();
            let plan = deployment::plan(&self.deployment, &sets, now());
            if plan.writes.is_empty() {
                return std::mem::take(&mut self.story);
            }
            for write in plan.writes {
                self.apply(write, pass);
            }
        }
        panic!("does not settle: {:#?}", self.story);
    }

    fn apply(&mut self, write: deployment::Write, pass: i64) {
        match write {
            deployment::Write::CreateSet(mut set) => {
                let created = Timestamp::from_second(1_767_225_600 + pass + self.sets.len() as i64 * 1000).unwrap();
                set.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(created));
                let name = set.metadata.name.clone().unwrap();
                let size = set.spec.replicas.unwrap();
                self.sets.insert(name.clone(), *set);
                self.story.push(format!("{} created with {size}", self.image_of(&name)));
                self.pods_follow(&name);
            }
            deployment::Write::UpdateSet { name, replicas, annotations } => {
                let set = self.sets.get_mut(&name).unwrap();
                let before = set.spec.replicas.replace(replicas).unwrap();
                set.metadata.annotations.get_or_insert_default().extend(annotations);
                if before != replicas {
                    self.story.push(format!("{} from {before} to {replicas}", self.image_of(&name)));
                }
                self.pods_follow(&name);
            }
            deployment::Write::DeleteSet(name) => {
                self.story.push(format!("{} deleted", self.image_of(&name)));
                self.sets.remove(&name);
            }
            deployment::Write::Annotate(annotations) => {
                self.deployment.metadata.annotations.get_or_insert_default().extend(annotations);
            }
            deployment::Write::Status(status) => self.deployment.status = Some(*status),
        }
    }

    fn pods_follow(&mut self, name: &str) {
        let set = self.sets.get_mut(name).unwrap();
        let pods = set.spec.replicas.unwrap();
        let status =
            json!({"replicas": pods, "readyReplicas": pods, "availableReplicas": pods, "terminatingReplicas": 0});
        set.status = Some(serde_json::from_value(status).unwrap());
    }
}

#[test]
fn a_rolling_update_goes_up_and_down_within_surge_and_unavailability() {
    let mut toy = Toy::new(json!({}));
    assert_eq!(toy.settle(), ["web:1 created with 4"]);
    toy.image("web:2");
    assert_eq!(
        toy.settle(),
        ["web:2 created with 1", "web:1 from 4 to 2", "web:2 from 1 to 3", "web:1 from 2 to 0", "web:2 from 3 to 4",]
    );
    let status = toy.deployment.status.clone().unwrap();
    let conditions: Vec<_> =
        status.conditions.unwrap().iter().map(|c| (c.type_.clone().unwrap(), c.reason.clone().unwrap())).collect();
    assert!(conditions.contains(&("Progressing".to_owned(), "NewReplicaSetAvailable".to_owned())), "{conditions:?}");
    assert_eq!(toy.deployment.metadata.annotations.unwrap()["deployment.kubernetes.io/revision"], "2");
}

#[test]
fn going_back_to_an_old_template_uses_its_set_again() {
    let mut toy = Toy::new(json!({"replicas": 1}));
    toy.settle();
    toy.image("web:2");
    toy.settle();
    toy.image("web:1");
    assert_eq!(toy.settle(), ["web:1 from 0 to 1", "web:2 from 1 to 0"]);
    let revisions: Vec<&str> = toy
        .sets
        .values()
        .map(|set| set.metadata.annotations.as_ref().unwrap()["deployment.kubernetes.io/revision"].as_str())
        .collect();
    assert!(revisions.contains(&"3") && revisions.contains(&"2"), "{revisions:?}");
}

#[test]
fn recreate_ends_the_old_before_it_starts_the_new() {
    let mut toy = Toy::new(json!({"strategy": {"type": "Recreate"}}));
    toy.settle();
    toy.image("web:2");
    assert_eq!(toy.settle(), ["web:1 from 4 to 0", "web:2 created with 4"]);
}

#[test]
fn history_beyond_the_limit_is_removed() {
    let mut toy = Toy::new(json!({"replicas": 1, "revisionHistoryLimit": 1}));
    for image in ["web:1", "web:2", "web:3"] {
        toy.image(image);
        toy.settle();
    }
    assert_eq!(toy.sets.len(), 2);
}
