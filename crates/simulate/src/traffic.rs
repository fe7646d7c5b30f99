//! The mesh over the cluster: it follows what is written, is under load, and is asked about it.
//!
//! As in a real one, a change is gathered for a moment before proxies hear of it, and each proxy hears of it late. The mesh
//! moves when something changed, when it is asked, and every few seconds: not more often, so that quiet hours are short.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_clock::Clock;
use tidegate_mesh::config::{ERROR_RATE_ANNOTATION, LATENCY_ANNOTATION};
use tidegate_mesh::promql::{Reply, answer};
use tidegate_mesh::{Config, Delays, Load, Mesh, Met, Objects, Proxies};
use tidegate_sim::Random;

use crate::loads::Split;
use crate::quantities::Span;
use crate::seen::{Inner as SeenInner, Seen};
use crate::setting::{Version, VersionSetting};

/// Proxies that send.
const PROXIES: usize = 10;
/// How late a proxy is at most, in milliseconds.
const MOST_BEHIND: u64 = 1000;
/// How long changes are gathered.
const GATHERED: Duration = Duration::from_millis(100);
/// How often the mesh moves when nothing happens.
const IDLE: Duration = Duration::from_secs(5);
const HASH: &str = "/metadata/labels/rollouts-pod-template-hash";

struct Inner {
    mesh: Mesh,
    random: Random,
}

/// The mesh of a run.
pub(crate) struct Traffic {
    inner: Mutex<Inner>,
    clock: Clock,
    seen: Arc<Seen>,
    versions: Vec<VersionSetting>,
    splits: Vec<Split>,
}

impl Traffic {
    pub(crate) fn new(
        seed: u64,
        clock: Clock,
        seen: Arc<Seen>,
        versions: Vec<VersionSetting>,
        splits: Vec<Split>,
    ) -> Self {
        let mut random = Random::new(seed, "mesh");
        let mut delay = || i64::try_from(random.between(0, MOST_BEHIND)).unwrap_or(0);
        let delays: Vec<Delays> = (0..PROXIES).map(|_| Delays { routes: delay(), clusters: delay() }).collect();
        let mesh = Mesh::new(Proxies::new(delays), clock.now().as_millisecond());
        Self { inner: Mutex::new(Inner { mesh, random }), clock, seen, versions, splits }
    }

    /// The mesh, having sent all that was due until now.
    fn now(&self) -> MutexGuard<'_, Inner> {
        // Counters are whole after every request.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { mesh, random } = &mut *inner;
        mesh.advance(self.clock.now().as_millisecond(), &mut || random.bits());
        inner
    }

    /// Requests come from now on; metrics are kept of them if somebody may ask.
    pub(crate) fn load(&self, loads: Vec<Load>, keeps_metrics: bool) {
        let mut inner = self.now();
        inner.mesh.loads = loads;
        inner.mesh.keeps_metrics = keeps_metrics;
    }

    /// Answers as the HTTP API of a Prometheus that scrapes the mesh.
    pub(crate) fn query(&self, path: &str, parameters: &[(String, String)]) -> Reply {
        let inner = self.now();
        answer(inner.mesh.store(), path, parameters, inner.mesh.now())
    }

    /// Reads what each load met until now. It is not given away: a copy for each look would be most of the work of a fleet.
    pub(crate) fn read_met(&self, read: impl FnOnce(&[BTreeMap<String, Met>])) {
        read(self.now().mesh.met());
    }

    /// Tells the mesh what there is now; what it cannot read is given back.
    pub(crate) fn publish(&self) -> Vec<String> {
        let config = self.read(&self.seen.lock());
        let problems = config.problems().map(ToString::to_string).collect();
        self.now().mesh.publish(config);
        problems
    }

    fn read(&self, seen: &SeenInner) -> Config {
        let mut own = Vec::new();
        let mut rest = Vec::new();
        for ((resource, _, _), object) in &seen.mesh {
            match (resource == "pods").then(|| self.behaving(object, seen)).flatten() {
                Some(pod) => own.push(pod),
                None => rest.push(object.as_ref()),
            }
        }
        own.extend(self.splits.iter().map(|split| routes(split, seen)));
        Config::read(&Objects::sorted(rest.into_iter().chain(&own)))
    }

    /// A pod of a version that something is said about.
    fn behaving(&self, pod: &Value, seen: &SeenInner) -> Option<Value> {
        let fitting = self.versions.iter().filter(|one| is_of(pod, &one.version, seen));
        let mut notes = BTreeMap::new();
        for setting in fitting {
            notes.extend(setting.error_rate.map(|rate| (ERROR_RATE_ANNOTATION, rate.to_string())));
            notes.extend(setting.latency.map(|span| (LATENCY_ANNOTATION, shown(span))));
        }
        if notes.is_empty() {
            return None;
        }
        let mut pod = pod.clone();
        let metadata = pod.get_mut("metadata").and_then(Value::as_object_mut)?;
        let all = metadata.entry("annotations").or_insert_with(|| json!({})).as_object_mut()?;
        all.extend(notes.into_iter().map(|(name, value)| (name.to_owned(), value.into())));
        Some(pod)
    }
}

fn shown(span: Span) -> String {
    format!("{}ms-{}ms", span.from.as_millis(), span.to.as_millis())
}

/// Whether a pod is of a version.
pub(crate) fn is_of(pod: &Value, version: &Version, seen: &SeenInner) -> bool {
    let hash = pod.pointer(HASH).and_then(Value::as_str);
    let is_old = hash.is_some_and(|hash| seen.old.contains(hash) || seen.old.is_empty());
    match version {
        Version::Old => is_old,
        Version::New => hash.is_some() && !is_old,
        Version::Image(image) => {
            let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
            containers.into_iter().flatten().any(|container| container["image"] == **image)
        }
    }
}

/// The routes that a router would have, by the weights that the controller reports.
fn routes(split: &Split, seen: &SeenInner) -> Value {
    let status = seen.rollouts.get(&split.rollout).and_then(|watched| watched.rollout.as_ref());
    let weight =
        status.and_then(|rollout| rollout.pointer("/status/canary/weights/canary/weight")?.as_i64()).unwrap_or(0);
    let (namespace, name) = &split.rollout;
    json!({
        "apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
        "metadata": {"name": format!("{name}-simulated"), "namespace": namespace, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"hosts": [split.host], "http": [{"route": [
            {"destination": {"host": split.stable}, "weight": 100 - weight.clamp(0, 100)},
            {"destination": {"host": split.canary}, "weight": weight.clamp(0, 100)},
        ]}]},
    })
}

/// Follows the cluster until the end.
pub(crate) async fn follow(traffic: Arc<Traffic>) {
    let seen = Arc::clone(&traffic.seen);
    loop {
        tokio::select! {
            biased;
            () = seen.mesh_changed.notified() => {
                tokio::time::sleep(GATHERED).await;
                traffic.publish();
            }
            () = tokio::time::sleep(IDLE) => drop(traffic.now()),
        }
    }
}
