//! Others who write: people and programs that edit and delete objects, and pods that fail.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};

use super::menu::Fault;
use super::schedule::Schedule;
use crate::journal::Journal;
use crate::random::Random;

/// The name under which all this is done.
pub const MEDDLER: &str = "meddler";
const NEVER_READY: &str = "node-agent.tidegate.dev/never-ready";
const CRASH_AFTER: &str = "node-agent.tidegate.dev/crash-after";

/// An object to do something to.
#[derive(Clone, Debug)]
struct Prey {
    resource: String,
    namespace: String,
    name: String,
    version: String,
}

/// Edits, deletes and fails objects, second by second, until the schedule ends. `prey` names the resources
/// (`pods`, `replicasets.apps`) that may be edited and deleted.
pub async fn meddle(client: Client, journal: &Journal, schedule: &Schedule, seed: u64, prey: &[&str]) {
    let mut random = Random::new(seed, "meddler");
    let mut recovering: Vec<(Duration, Prey)> = Vec::new();
    while schedule.is_active() {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = journal.elapsed();
        for (_, key) in recovering.extract_if(.., |(at, _)| *at <= now) {
            annotate(&client, &key, json!({NEVER_READY: null})).await;
        }
        let happens = |fault, random: &mut Random| random.per_mille(schedule.menu().rate(fault));
        if happens(Fault::SlowPods, &mut random)
            && let Some(key) = any(journal, &mut random, &["pods"])
        {
            let pause = Duration::from_secs(random.between(3, 40));
            journal.tell(&format!("fault: pod {} is not ready for {} s", key.name, pause.as_secs()));
            annotate(&client, &key, json!({NEVER_READY: "true"})).await;
            recovering.push((now + pause, key));
        }
        if happens(Fault::DeadPods, &mut random)
            && let Some(key) = any(journal, &mut random, &["pods"])
        {
            journal.tell(&format!("fault: pod {} dies", key.name));
            let death = if random.per_mille(500) { json!({NEVER_READY: "true"}) } else { json!({CRASH_AFTER: "1s"}) };
            annotate(&client, &key, death).await;
        }
        if happens(Fault::Edits, &mut random)
            && let Some(key) = any(journal, &mut random, prey)
        {
            edit(&client, journal, &key, &mut random).await;
        }
        if happens(Fault::Deletions, &mut random)
            && let Some(key) = any(journal, &mut random, prey)
        {
            journal.tell(&format!("fault: somebody deletes {}/{}", key.resource, key.name));
            // It may be gone already.
            let _ = api(&client, &key).delete(&key.name, &DeleteParams::background()).await;
        }
    }
}

/// Repairs the pods that were made to fail for good.
pub async fn heal(client: &Client, journal: &Journal) {
    let ill = candidates(journal, &["pods"], |object| {
        let annotations = &object["metadata"]["annotations"];
        annotations.get(NEVER_READY).is_some() || annotations.get(CRASH_AFTER).is_some()
    });
    for key in ill {
        annotate(client, &key, json!({NEVER_READY: null, CRASH_AFTER: null})).await;
    }
}

fn any(journal: &Journal, random: &mut Random, resources: &[&str]) -> Option<Prey> {
    random.pick(&candidates(journal, resources, |_| true)).cloned()
}

/// Objects of these resources. Cluster-wide ones are nobody's business.
fn candidates(journal: &Journal, resources: &[&str], wanted: impl Fn(&Value) -> bool) -> Vec<Prey> {
    let mirror = journal.mirror();
    let found = mirror.all().filter(|((resource, namespace, _), object)| {
        resources.contains(&resource.as_str()) && !namespace.is_empty() && wanted(object)
    });
    let prey = found.map(|((resource, namespace, name), object)| {
        let (resource, namespace, name) = (resource.clone(), namespace.clone(), name.clone());
        let version = object["apiVersion"].as_str().unwrap_or("v1");
        let version = version.rsplit('/').next().unwrap_or_default().to_owned();
        Prey { resource, namespace, name, version }
    });
    prey.collect()
}

async fn edit(client: &Client, journal: &Journal, key: &Prey, random: &mut Random) {
    let has_size = journal
        .mirror()
        .get(&key.resource, &key.namespace, &key.name)
        .is_some_and(|object| object["spec"]["replicas"].is_i64());
    if has_size && random.per_mille(300) {
        let size = random.below(7);
        journal.tell(&format!("fault: somebody scales {}/{} to {size}", key.resource, key.name));
        change(client, key, json!({"spec": {"replicas": size}})).await;
        return;
    }
    journal.tell(&format!("fault: somebody edits {}/{}", key.resource, key.name));
    annotate(client, key, json!({"meddler.tidegate.dev/note": random.below(1000).to_string()})).await;
}

async fn annotate(client: &Client, key: &Prey, annotations: Value) {
    change(client, key, json!({"metadata": {"annotations": annotations}})).await;
}

async fn change(client: &Client, key: &Prey, patch: Value) {
    // It may be gone by now, which is just as well.
    let _ = api(client, key).patch(&key.name, &PatchParams::default(), &Patch::Merge(patch)).await;
}

fn api(client: &Client, key: &Prey) -> Api<DynamicObject> {
    let (plural, group) = key.resource.split_once('.').unwrap_or((&key.resource, ""));
    // Only the path counts; it is made of group, version and plural.
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, &key.version, "Any"), plural);
    Api::namespaced_with(client.clone(), &key.namespace, &resource)
}
