//! Leaders that are killed in the middle of updates, on a real control plane.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod program;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use tidegate_testbed::{Options, Testbed};
use tokio::time::Instant;

use program::{PATIENCE, Program, install, kubectl, until};

/// Two candidates at any time; each acts as a user of its own, so that the audit log tells them apart.
const USERS: [&str; 2] = ["alice", "bob"];
const LEASE: Duration = Duration::from_secs(3);
const FLAGS: [&str; 3] = [
    "--leader-election-lease-duration=3s",
    "--leader-election-renew-deadline=2s",
    "--leader-election-retry-period=200ms",
];
const REPLICAS: i64 = 4;

fn rollout(image: &str) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop"}, "spec": {
        "replicas": REPLICAS, "selector": {"matchLabels": {"app": "shop"}},
        "strategy": {"canary": {"maxUnavailable": 0, "steps": [
            {"setWeight": 25}, {"pause": {"duration": 1}}, {"setWeight": 50}, {"pause": {"duration": 1}}]}},
        "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": image}]}},
    }})
}

fn api(client: &kube::Client, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client.clone(), "default", &resource)
}

fn start(testbed: &Testbed, user: &str) -> Program {
    Program::start(&testbed.kubeconfig_of(user).unwrap(), &FLAGS)
}

/// The user that holds the lease, found by the identity that its program has announced.
async fn holder(testbed: &Testbed) -> String {
    let lease = ["get", "lease", "argo-rollouts-controller-lock", "-n", "argo-rollouts"];
    kubectl(testbed, &[&lease[..], &["-o", "jsonpath={.spec.holderIdentity}"]].concat()).await
}

/// The fewest available pods that a watch of the ReplicaSets has seen since all were there, and where.
#[derive(Default)]
struct Floor {
    is_full: bool,
    lowest: Option<i64>,
    /// What was seen, in order: available pods of one set, and of all.
    story: Vec<String>,
}

async fn watch_pods(sets: Api<DynamicObject>, floor: Arc<Mutex<Floor>>) {
    let mut available = std::collections::BTreeMap::new();
    let mut events = std::pin::pin!(watcher(sets, watcher::Config::default()));
    // A list is of one moment: nothing is summed up in the middle of it.
    let mut lists = false;
    while let Some(event) = events.next().await {
        let mut line = String::new();
        match event {
            Ok(Event::Apply(set) | Event::InitApply(set)) => {
                let count = set.data["status"]["availableReplicas"].as_i64().unwrap_or(0);
                let (wanted, version) = (&set.data["spec"]["replicas"], set.metadata.resource_version.unwrap());
                let name = set.metadata.name.unwrap();
                line = format!("{version} {name}: {count} of {wanted}");
                available.insert(name, count);
            }
            Ok(Event::Delete(set)) => {
                available.remove(&set.metadata.name.unwrap());
            }
            Ok(Event::Init) => {
                lists = true;
                available.clear();
            }
            Ok(Event::InitDone) => lists = false,
            Err(error) => line = error.to_string(),
        }
        let sum: i64 = available.values().sum();
        let mut floor = floor.lock().unwrap();
        floor.story.push(format!("{line} -> {sum}{}", if lists { " (list)" } else { "" }));
        if lists {
            continue;
        }
        floor.is_full |= sum >= REPLICAS;
        if floor.is_full {
            floor.lowest = Some(floor.lowest.map_or(sum, |lowest| lowest.min(sum)));
        }
    }
}

/// Who wrote what: every write of a candidate must fall into a time in which its own lease was the last one written.
fn assert_only_leaders_write(log: PathBuf) -> usize {
    let text = std::fs::read_to_string(log).unwrap();
    let mut entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_write = |entry: &Value| matches!(entry["verb"].as_str(), Some("create" | "update" | "patch" | "delete"));
    entries.retain(|entry| entry["stage"] == "ResponseComplete" && is_write(entry));
    entries.sort_by_key(|entry| entry["requestReceivedTimestamp"].as_str().unwrap().to_owned());
    let (mut leader, mut changes, mut writes) = (String::new(), 0, 0);
    for entry in &entries {
        let user = entry["user"]["username"].as_str().unwrap();
        let code = entry["responseStatus"]["code"].as_i64().unwrap_or(200);
        if entry["objectRef"]["resource"] == "leases" {
            if code < 300 && leader != user {
                leader = user.to_owned();
                changes += 1;
            }
        } else {
            assert_eq!(user, leader, "a write without the lease: {entry:#}");
            writes += 1;
        }
    }
    assert!(writes > 0, "the audit log has no write of a candidate");
    changes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_leaders_are_killed_in_the_middle_of_updates_and_another_goes_on_within_a_lease() {
    // Given two candidates and a Rollout that is up.
    let audited = USERS.map(str::to_owned).to_vec();
    let testbed = Testbed::start(Options { audit: true, audited, ..Options::default() }).await.unwrap();
    install(&testbed).await;
    for user in USERS {
        let role = ["--clusterrole=cluster-admin", &format!("--user={user}")];
        kubectl(&testbed, &[&["create", "clusterrolebinding", user][..], &role[..]].concat()).await;
    }
    let client = testbed.client().await.unwrap();
    let rollouts = api(&client, "argoproj.io", "v1alpha1", "Rollout");
    let first = serde_json::from_value(rollout("shop:1")).unwrap();
    rollouts.create(&PostParams::default(), &first).await.unwrap();
    let floor = Arc::new(Mutex::new(Floor::default()));
    let watch = tokio::spawn(watch_pods(api(&client, "apps", "v1", "ReplicaSet"), Arc::clone(&floor)));
    let mut leading = (USERS[0], start(&testbed, USERS[0]));
    let mut identity = leading.1.says("I am the new leader: ").await;
    let mut waiting = (USERS[1], start(&testbed, USERS[1]));
    let phase = ["get", "rollout", "shop", "-o", "jsonpath={.status.phase}"];
    until("phase", &testbed, &phase, "Healthy", &leading.1).await;

    // When the leader is killed five times, each time at another moment of an update.
    for round in 1..=5_u64 {
        waiting.1.says("All caches are synced").await;
        let next = json!({"spec": {"template": rollout(&format!("shop:{}", round + 1))["spec"]["template"]}});
        rollouts.patch("shop", &PatchParams::default(), &Patch::Merge(&next)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(round * 450 - 400)).await;
        leading.1.child.kill().await.unwrap();
        let died = Instant::now();
        while holder(&testbed).await == identity {
            assert!(died.elapsed() < PATIENCE, "nobody takes over:\n{}", waiting.1.text());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // Two tries apart, and a machine that is busy with other tests.
        assert!(died.elapsed() < LEASE + Duration::from_secs(2), "round {round}: {:?}", died.elapsed());
        identity = waiting.1.says("I am the new leader: ").await;
        let dead = std::mem::replace(&mut leading, waiting);
        waiting = (dead.0, start(&testbed, dead.0));
        drop(dead);
    }

    // Then the last version is out, no pod was missing on the way, and nobody wrote without the lease.
    until("phase", &testbed, &phase, "Healthy", &leading.1).await;
    let image = ["get", "rs", "-o", "jsonpath={.items[?(@.spec.replicas>0)].spec.template.spec.containers[0].image}"];
    until("image", &testbed, &image, "shop:6", &leading.1).await;
    watch.abort();
    let floor = std::mem::take(&mut *floor.lock().unwrap());
    assert!(floor.lowest >= Some(REPLICAS), "pods fell to {:?}:\n{}", floor.lowest, floor.story.join("\n"));
    assert_eq!(assert_only_leaders_write(testbed.audit_log()), 6, "leaders there were");
    let events = kubectl(&testbed, &["get", "events", "-o", "jsonpath={range .items[*]}{.reason}{'\\n'}{end}"]).await;
    let completed = events.lines().filter(|reason| *reason == "RolloutCompleted").count();
    assert!(completed >= 2, "the first version and the last were told: {events}");
}
