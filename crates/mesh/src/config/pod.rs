//! Pods: who they belong to and how they answer.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Problem;
use super::parts::{Part, Read, identity, read_or_report};

/// The part of requests a pod answers with status 500: `0.05` or `5%`.
pub const ERROR_RATE_ANNOTATION: &str = "sim.tidegate.dev/error-rate";
/// How long a pod takes to answer: `25ms`, `1.5s`, or a range such as `20ms-80ms`.
pub const LATENCY_ANNOTATION: &str = "sim.tidegate.dev/latency";
/// The version that metrics show; without it the label `version`.
pub const VERSION_ANNOTATION: &str = "sim.tidegate.dev/version";

/// The labels that tell the ReplicaSets of one owner apart, ours first.
const HASH_LABELS: [&str; 2] = ["rollouts-pod-template-hash", "pod-template-hash"];
/// A day in milliseconds, more than any request takes.
const MAX_LATENCY: f64 = 86_400_000.0;

/// How long a pod takes, in milliseconds; each time between the two is as likely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The least.
    pub from: f64,
    /// The most.
    pub to: f64,
}

/// A pod as the mesh sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its address.
    pub ip: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The Rollout (or Deployment, or other owner) it belongs to.
    pub workload: String,
    /// The hash of its template; empty without one.
    pub hash: String,
    /// `destination_version`.
    pub version: String,
    /// `destination_canonical_revision`.
    pub revision: String,
    /// From 0 to 1.
    pub error_rate: f64,
    /// How long it takes.
    pub latency: Latency,
    /// Whether a Service would send it requests.
    pub(crate) ready: bool,
    /// Whether it has not ended and is not about to.
    pub(crate) lives: bool,
}

impl Pod {
    pub(super) fn read(object: &Value, problems: &mut Vec<Problem>) -> Option<Self> {
        read_or_report("Pod", object, problems, Self::read_parts)
    }

    fn read_parts(object: &Value, report: &mut dyn FnMut(String)) -> Read<Self> {
        let (namespace, name) = identity(object);
        let whole = Part::new(object, String::new())?;
        let Some(metadata) = whole.part("metadata")? else { return whole.wrong("metadata", "must be set") };
        let labels = metadata.labels("labels")?;
        let notes = metadata.labels("annotations")?;
        let label = |key: &str| labels.get(key).cloned();
        let hash = HASH_LABELS.iter().find_map(|key| label(key)).unwrap_or_default();
        let version = notes.get(VERSION_ANNOTATION).cloned().or_else(|| label("version"));
        let revision = label("service.istio.io/canonical-revision")
            .or_else(|| label("app.kubernetes.io/version"))
            .or_else(|| version.clone());
        let mut behaviour = Behaviour::default();
        behaviour.read(&notes, report);
        let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
        let leaving = metadata.get("deletionTimestamp").is_some();
        Ok(Self {
            workload: workload(object, &hash).unwrap_or_else(|| name.clone()),
            ip: object.pointer("/status/podIP").and_then(Value::as_str).unwrap_or_default().to_owned(),
            version: version.unwrap_or_else(|| "unknown".to_owned()),
            revision: revision.unwrap_or_else(|| "latest".to_owned()),
            error_rate: behaviour.error_rate,
            latency: behaviour.latency,
            ready: is_ready(object),
            lives: !leaving && !matches!(phase, "Succeeded" | "Failed"),
            namespace,
            name,
            labels,
            hash,
        })
    }

    /// An endpoint that is no pod.
    pub(super) fn foreign(namespace: &str, ip: &str) -> Self {
        let behaviour = Behaviour::default();
        Self {
            namespace: namespace.to_owned(),
            name: ip.to_owned(),
            ip: ip.to_owned(),
            labels: BTreeMap::new(),
            workload: "unknown".to_owned(),
            hash: String::new(),
            version: "unknown".to_owned(),
            revision: "latest".to_owned(),
            error_rate: behaviour.error_rate,
            latency: behaviour.latency,
            ready: true,
            lives: true,
        }
    }

    /// Whether it carries all of these labels.
    pub fn has_labels(&self, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(key, value)| self.labels.get(key) == Some(value))
    }
}

/// The owner with the hash cut off its ReplicaSet's name, as Istio's sidecar injector names it.
fn workload(object: &Value, hash: &str) -> Option<String> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners
        .iter()
        .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
        .or_else(|| owners.first())?;
    let name = owner.get("name")?.as_str()?;
    let is_set = owner.get("kind").and_then(Value::as_str) == Some("ReplicaSet");
    let cut = name.strip_suffix(hash).and_then(|name| name.strip_suffix('-'));
    Some(cut.filter(|_| is_set && !hash.is_empty()).unwrap_or(name).to_owned())
}

fn is_ready(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type").and_then(Value::as_str) == Some("Ready")
            && condition.get("status").and_then(Value::as_str) == Some("True")
    })
}

/// What annotations say of the answers.
struct Behaviour {
    error_rate: f64,
    latency: Latency,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self { error_rate: 0.0, latency: Latency { from: 5.0, to: 15.0 } }
    }
}

impl Behaviour {
    fn read(&mut self, notes: &BTreeMap<String, String>, report: &mut dyn FnMut(String)) {
        if let Some(text) = notes.get(ERROR_RATE_ANNOTATION) {
            match rate(text) {
                Some(rate) => self.error_rate = rate,
                None => report(format!("annotation {ERROR_RATE_ANNOTATION}: `{text}` is not like `0.05` or `5%`")),
            }
        }
        if let Some(text) = notes.get(LATENCY_ANNOTATION) {
            match latency(text) {
                Some(latency) => self.latency = latency,
                None => report(format!("annotation {LATENCY_ANNOTATION}: `{text}` is not like `25ms` or `20ms-80ms`")),
            }
        }
    }
}

fn rate(text: &str) -> Option<f64> {
    let text = text.trim();
    let rate = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&rate).then_some(rate)
}

fn latency(text: &str) -> Option<Latency> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (span(from)?, span(to)?);
    (from <= to).then_some(Latency { from, to })
}

fn span(text: &str) -> Option<f64> {
    let text = text.trim();
    let millis = match text.strip_suffix("ms") {
        Some(number) => number.parse::<f64>().ok()?,
        None => text.strip_suffix('s')?.parse::<f64>().ok()? * 1000.0,
    };
    (0.0..=MAX_LATENCY).contains(&millis).then_some(millis)
}
