//! Kubernetes Jobs whose end is the measurement. Only data: the caller creates, reads and deletes.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use ring::digest;
use serde_json::{Map, Value as Json, json};
use tidegate_api::analysis::{AnalysisRun, JobProvider, Measurement, Metric};
use tidegate_api::names::{analysis_phase, annotations, labels};
use tidegate_api::values::Time;
use tidegate_api::wire::Text;

use crate::talk::Failure;

/// Names of Jobs may be this long: their pods carry the name as a label.
const MAX_NAME: usize = 63;
const NAME: &str = "job-name";
const NAMESPACE: &str = "job-namespace";
/// Reasons to wait that do not go away by waiting.
const HOPELESS: [&str; 3] = ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"];

/// Where Jobs are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The namespace for all Jobs; `None` means that of the run.
    pub namespace: Option<String>,
    /// Whether they are made in another cluster.
    pub is_elsewhere: bool,
}

/// The namespace Jobs of a run live in.
pub fn namespace(run: &AnalysisRun, place: &Place) -> String {
    place.namespace.clone().unwrap_or_else(|| run.metadata.namespace.text().to_owned())
}

/// The name of the `number`th Job of a metric. A long name ends in a hash, so that two never share a Job.
pub fn name(uid: &str, metric: &str, number: i32) -> String {
    let whole = format!("{uid}.{metric}.{number}");
    if whole.len() <= MAX_NAME {
        return whole;
    }
    let hash = digest::digest(&digest::SHA256, metric.as_bytes());
    let hash: String = hash.as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let room = MAX_NAME.saturating_sub(uid.len() + number.to_string().len() + hash.len() + 3);
    let end = (0..=room.min(metric.len())).rev().find(|at| metric.is_char_boundary(*at)).unwrap_or(0);
    let cut = metric[..end].trim_end_matches(['-', '.', '_']);
    if cut.is_empty() { format!("{uid}.{hash}.{number}") } else { format!("{uid}.{cut}-{hash}.{number}") }
}

/// The Job to create.
pub fn build(run: &AnalysisRun, metric: &Metric, number: i32, place: &Place) -> Result<Json, Failure> {
    let none = JobProvider::default();
    let settings = metric.provider.as_ref().and_then(|named| named.job.as_deref()).unwrap_or(&none);
    let (uid, run_name) = (run.metadata.uid.text(), run.metadata.name.text());
    let own_namespace = run.metadata.namespace.text();
    let namespace = namespace(run, place);
    let given = settings.metadata.clone().unwrap_or_default();
    let mut own_labels = given.labels.unwrap_or_default();
    own_labels.insert(labels::ANALYSIS_RUN_UID.to_owned(), uid.to_owned());
    let mut notes = given.annotations.unwrap_or_default();
    notes.insert(annotations::ANALYSIS_RUN_NAME.to_owned(), run_name.to_owned());
    notes.insert(annotations::ANALYSIS_RUN_NAMESPACE.to_owned(), own_namespace.to_owned());
    notes.insert(annotations::ANALYSIS_RUN_METRIC_NAME.to_owned(), metric.name.text().to_owned());
    let mut spec = settings.spec.as_ref().map(|spec| spec.to_object()).unwrap_or_default();
    label_pods(&mut spec, uid)?;
    let mut metadata = json!({
        "name": name(uid, metric.name.text(), number), "namespace": namespace, "labels": own_labels,
        "annotations": notes,
    });
    if namespace == own_namespace
        && !place.is_elsewhere
        && let Some(fields) = metadata.as_object_mut()
    {
        fields.insert("ownerReferences".to_owned(), owner(run_name, uid));
    }
    Ok(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}))
}

fn owner(name: &str, uid: &str) -> Json {
    json!([{
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "name": name, "uid": uid, "controller": true,
        "blockOwnerDeletion": true,
    }])
}

fn label_pods(spec: &mut Map<String, Json>, uid: &str) -> Result<(), Failure> {
    let bad = || Failure::from("provider.job.spec.template is no pod template");
    let mut at = spec;
    for field in ["template", "metadata", "labels"] {
        let next = at.entry(field).or_insert_with(|| json!({}));
        if next.is_null() {
            *next = json!({});
        }
        at = next.as_object_mut().ok_or_else(bad)?;
    }
    at.insert(labels::ANALYSIS_RUN_UID.to_owned(), Json::from(uid));
    Ok(())
}

/// Whether a Job that exists already under our name is ours.
pub fn is_ours(job: &Json, run: &AnalysisRun) -> bool {
    let uid = run.metadata.uid.text();
    let owners = job["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let mut controllers = owners.filter(|owner| owner["controller"] == true);
    match controllers.next() {
        Some(owner) => owner["uid"] == uid,
        None => job["metadata"]["labels"][labels::ANALYSIS_RUN_UID] == uid,
    }
}

/// The measurement once the Job was created; looked after at once.
pub fn started(job: &Json, now: Timestamp) -> Measurement {
    let text = |field: &str| job["metadata"][field].as_str().unwrap_or_default().to_owned();
    Measurement {
        phase: Some(analysis_phase::RUNNING.to_owned()),
        started_at: Some(Time::from(now)),
        resume_at: Some(Time::from(now)),
        metadata: Some(BTreeMap::from([(NAME.to_owned(), text("name")), (NAMESPACE.to_owned(), text("namespace"))])),
        ..Measurement::default()
    }
}

/// Which Job a measurement is about: namespace and name.
pub fn reference(measurement: &Measurement, run: &AnalysisRun) -> Result<(String, String), Failure> {
    let notes = measurement.metadata.clone().unwrap_or_default();
    let name = notes.get(NAME).filter(|name| !name.is_empty()).ok_or("job metadata reference missing")?;
    let namespace = notes.get(NAMESPACE).filter(|namespace| !namespace.is_empty()).cloned();
    Ok((namespace.unwrap_or_else(|| run.metadata.namespace.text().to_owned()), name.clone()))
}

/// What Job and pods say about a measurement.
pub fn resumed(measurement: &Measurement, job: &Json, pods: &[Json], now: Timestamp) -> Measurement {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    let mut phase = None;
    for condition in conditions {
        match condition["type"].as_str() {
            Some("Complete") => phase = Some(analysis_phase::SUCCESSFUL),
            Some("Failed") => phase = Some(analysis_phase::FAILED),
            _ => {}
        }
    }
    match phase {
        Some(analysis_phase::FAILED) => over(measurement, analysis_phase::FAILED, failure(job, pods), now),
        Some(phase) => over(measurement, phase, None, now),
        None => match pods.iter().find_map(hopeless) {
            Some(text) => over(measurement, analysis_phase::INCONCLUSIVE, Some(text), now),
            None => waiting(measurement, pods, now),
        },
    }
}

fn over(measurement: &Measurement, phase: &str, message: Option<String>, now: Timestamp) -> Measurement {
    Measurement {
        phase: Some(phase.to_owned()),
        message,
        finished_at: Some(Time::from(now)),
        resume_at: None,
        ..measurement.clone()
    }
}

/// Still under way: looked at again after a while that grows with its age.
fn waiting(measurement: &Measurement, pods: &[Json], now: Timestamp) -> Measurement {
    let started = measurement.started_at.as_ref().and_then(Time::instant).unwrap_or(now);
    let elapsed = now.duration_since(started).as_secs_f64().max(0.0);
    let wait = SignedDuration::from_secs(((2.0 * elapsed).sqrt() as i64).max(1));
    Measurement {
        message: pods.iter().find_map(stuck),
        resume_at: Some(Time::from(now.checked_add(wait).unwrap_or(now))),
        ..measurement.clone()
    }
}

/// Containers of a pod, those that come first first.
fn containers(pod: &Json) -> impl Iterator<Item = &Json> {
    let of = |field: &str| pod["status"][field].as_array().into_iter().flatten();
    of("initContainerStatuses").chain(of("containerStatuses"))
}

fn text<'a>(json: &'a Json, field: &str) -> &'a str {
    json[field].as_str().unwrap_or_default()
}

/// What keeps a pod from ever running.
fn hopeless(pod: &Json) -> Option<String> {
    containers(pod).find_map(|container| {
        let waiting = &container["state"]["waiting"];
        let reason = text(waiting, "reason");
        HOPELESS.contains(&reason).then(|| {
            let (pod, container) = (text(&pod["metadata"], "name"), text(container, "name"));
            format!("Pod {pod}, container {container} has terminal error ({reason}): {}\n", text(waiting, "message"))
        })
    })
}

/// What keeps a pod from running for now.
fn stuck(pod: &Json) -> Option<String> {
    let name = text(&pod["metadata"], "name");
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let unscheduled = conditions.find(|condition| {
        condition["type"] == "PodScheduled" && condition["status"] == "False" && condition["reason"] == "Unschedulable"
    });
    if let Some(condition) = unscheduled {
        return Some(format!("Pod {name} cannot be scheduled: {}", text(condition, "message")));
    }
    containers(pod).find_map(|container| {
        let waiting = &container["state"]["waiting"];
        (waiting["reason"] == "CreateContainerConfigError").then(|| {
            let container = text(container, "name");
            format!("Pod {name}, container {container} cannot be created: {}", text(waiting, "message"))
        })
    })
}

/// Why a Job failed: what its containers said last, or the Job's own reason.
fn failure(job: &Json, pods: &[Json]) -> Option<String> {
    let said = pods.iter().flat_map(|pod| containers(pod).map(move |container| (pod, container))).find_map(
        |(pod, container)| {
            let ended = &container["state"]["terminated"];
            let code = ended["exitCode"].as_i64().filter(|code| *code != 0)?;
            let (pod, container) = (text(&pod["metadata"], "name"), text(container, "name"));
            let words = [text(ended, "reason"), text(ended, "message")].into_iter().filter(|word| !word.is_empty());
            let words: Vec<&str> = words.collect();
            Some(format!("Pod {pod}, container {container} ended with code {code}: {}", words.join(": ")))
        },
    );
    let mut conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    let own = conditions
        .find(|condition| condition["type"] == "Failed")
        .map(|condition| format!("Job failed: {}: {}", text(condition, "reason"), text(condition, "message")));
    said.or(own)
}

/// The measurement of a Job that was deleted because the run ends.
pub fn terminated(measurement: &Measurement, now: Timestamp) -> Measurement {
    over(measurement, analysis_phase::INCONCLUSIVE, None, now)
}

/// Names of the Jobs of a metric beyond the newest `keep`, oldest first; Jobs that still run are kept.
pub fn beyond(jobs: &[Json], metric: &str, keep: usize) -> Vec<String> {
    let is_over = |job: &Json| {
        let mut conditions = job["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| matches!(condition["type"].as_str(), Some("Complete" | "Failed")))
    };
    let own =
        |job: &&Json| job["metadata"]["annotations"][annotations::ANALYSIS_RUN_METRIC_NAME] == metric && is_over(job);
    let mut own: Vec<&Json> = jobs.iter().filter(own).collect();
    let created = |job: &Json| text(&job["metadata"], "creationTimestamp").to_owned();
    own.sort_by_key(|job| (created(job), text(&job["metadata"], "name").to_owned()));
    let excess = own.len().saturating_sub(keep);
    own.into_iter().take(excess).map(|job| text(&job["metadata"], "name").to_owned()).collect()
}
