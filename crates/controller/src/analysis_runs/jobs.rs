//! Measurements that are Jobs: made, looked after, ended, and cleaned up.

use std::sync::Arc;

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, ObjectMeta};
use kube::{Client, Resource};
use serde::Deserialize;
use serde_json::{Value, json};
use tidegate_analysis::{Collect, Report, Task, Work};
use tidegate_api::analysis::{AnalysisRun, Measurement};
use tidegate_api::names::{annotations, labels};
use tidegate_api::wire::Text;
use tidegate_providers::job;
use tidegate_runtime::{Change, Guarded, Key, Stored, Watch, watch};
use tracing::warn;

use super::{Analysis, BY_RUN};
use crate::cache::controller_of;
use crate::controller::Shared;
use crate::error::REQUEST_TIMEOUT;
use crate::execute::FIELD_MANAGER;

/// A Job as far as it is watched: whose it is and whether it is over.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SeenJob {
    metadata: ObjectMeta,
    status: Value,
}

impl Resource for SeenJob {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind(_: &()) -> std::borrow::Cow<'_, str> {
        "Job".into()
    }

    fn group(_: &()) -> std::borrow::Cow<'_, str> {
        "batch".into()
    }

    fn version(_: &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> std::borrow::Cow<'_, str> {
        "jobs".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl SeenJob {
    /// For the index: the uid of its run.
    pub(super) fn run_uid(&self) -> Vec<String> {
        let labels = self.metadata.labels.as_ref();
        labels.and_then(|all| all.get(labels::ANALYSIS_RUN_UID)).cloned().into_iter().collect()
    }

    fn note(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    /// The run it measures for.
    fn run(&self) -> Option<Key> {
        if let Some(owner) = controller_of(&self.metadata).filter(|owner| owner.kind == "AnalysisRun") {
            return Some(Key::new(self.metadata.namespace.text(), owner.name.clone()));
        }
        let (name, namespace) = (annotations::ANALYSIS_RUN_NAME, annotations::ANALYSIS_RUN_NAMESPACE);
        Some(Key::new(self.note(namespace)?, self.note(name)?))
    }

    fn is_over(&self) -> bool {
        let mut conditions = self.status["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| matches!(condition["type"].as_str(), Some("Complete" | "Failed")))
    }
}

/// Watches the Jobs of runs, wherever they are.
pub(crate) async fn watch_jobs(shared: Arc<Shared>) {
    let Some(analysis) = &shared.options.analysis else { return };
    let client = client(&shared, analysis);
    let elsewhere = analysis.jobs.namespace.clone();
    let api: Api<Guarded<SeenJob>> = match elsewhere.or_else(|| shared.options.namespace.clone()) {
        Some(namespace) => Api::namespaced(client, &namespace),
        None => Api::all(client),
    };
    let how = Watch { labels: Some(labels::ANALYSIS_RUN_UID.to_owned()), relist_after: shared.options.resync };
    let for_changes = Arc::clone(&shared);
    watch(api, how, shared.runs.jobs.clone(), move |change| job_changed(&for_changes, &change)).await;
}

/// A Job that has ended or is gone wakes its run.
fn job_changed(shared: &Shared, change: &Change<SeenJob>) {
    let job = match change {
        Change::Applied { new: Stored::Good(job), .. } if job.is_over() => job,
        Change::Deleted(Stored::Good(job)) => job,
        _ => return,
    };
    let (uid, metric) = (job.run_uid(), job.note(annotations::ANALYSIS_RUN_METRIC_NAME));
    if let (Some(run), Some(uid), Some(metric)) = (job.run(), uid.first(), metric) {
        shared.runs.states.nudge(&run, uid, metric);
        shared.runs.queue.add(run);
    }
}

fn client(shared: &Shared, analysis: &Analysis) -> Client {
    analysis.job_client.clone().unwrap_or_else(|| shared.executor.client.clone())
}

fn api(client: Client, group: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    Api::namespaced_with(client, namespace, &resource)
}

/// Waits for an answer, but not for ever; the text of an error is what users see.
async fn answered<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Problem> {
    match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Err(Problem::Missing),
        Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Err(Problem::Exists(status.message)),
        Ok(Err(kube::Error::Api(status))) => Err(Problem::Other(status.message)),
        Ok(Err(error)) => Err(Problem::Other(error.to_string())),
        Err(_) => Err(Problem::Other(format!("no answer within {} seconds", REQUEST_TIMEOUT.as_secs()))),
    }
}

enum Problem {
    Missing,
    Exists(String),
    Other(String),
}

impl Problem {
    /// In words; a Job that is not there has a name.
    fn text(self, name: &str) -> String {
        match self {
            Self::Missing => format!("job.batch \"{name}\" not found"),
            Self::Exists(text) | Self::Other(text) => text,
        }
    }
}

/// Does what a step asks of a Job.
pub(super) async fn perform(shared: &Shared, analysis: &Analysis, run: &AnalysisRun, work: &Work) -> Report {
    let jobs = Jobs { shared, analysis, run, work };
    let outcome = match (work.task, &work.measurement) {
        (Task::Start, _) => jobs.start().await,
        (Task::Resume, Some(measurement)) => jobs.resume(measurement).await,
        (Task::Terminate, Some(measurement)) => jobs.end(measurement).await,
        (_, None) => Err("job metadata reference missing".to_owned()),
    };
    match outcome {
        Ok(measurement) => work.report(measurement, std::collections::BTreeMap::new()),
        Err(text) => work.failed(text, shared.executor.clock.now()),
    }
}

struct Jobs<'a> {
    shared: &'a Shared,
    analysis: &'a Analysis,
    run: &'a AnalysisRun,
    work: &'a Work,
}

impl Jobs<'_> {
    fn api(&self, namespace: &str) -> Api<DynamicObject> {
        api(client(self.shared, self.analysis), "batch", "Job", namespace)
    }

    /// Makes the Job; one of that name that is ours is the very one.
    async fn start(&self) -> Result<Measurement, String> {
        let place = &self.analysis.jobs;
        let wanted =
            job::build(self.run, &self.work.metric.0, self.work.number, place).map_err(|error| error.text())?;
        let namespace = job::namespace(self.run, place);
        let object: DynamicObject = serde_json::from_value(wanted).map_err(|error| error.to_string())?;
        let name = object.metadata.name.text().to_owned();
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        self.shared.executor.check_leadership().map_err(|error| error.to_string())?;
        let made = match answered(self.api(&namespace).create(&params, &object)).await {
            Err(Problem::Exists(text)) => {
                let found = answered(self.api(&namespace).get(&name)).await.map_err(|problem| problem.text(&name))?;
                let found = as_json(&found);
                if !job::is_ours(&found, self.run) {
                    return Err(text);
                }
                found
            }
            made => as_json(&made.map_err(|problem| problem.text(&name))?),
        };
        Ok(job::started(&made, self.shared.executor.clock.now()))
    }

    async fn resume(&self, measurement: &Measurement) -> Result<Measurement, String> {
        let (namespace, name) = job::reference(measurement, self.run).map_err(|error| error.text())?;
        let found = answered(self.api(&namespace).get(&name)).await.map_err(|problem| problem.text(&name))?;
        let found = as_json(&found);
        let pods = self.pods(&namespace, &found).await;
        Ok(job::resumed(measurement, &found, &pods, self.shared.executor.clock.now()))
    }

    /// The Job's pods. They only explain; without an answer nothing is explained.
    async fn pods(&self, namespace: &str, found: &Value) -> Vec<Value> {
        let selector = format!("{}={}", labels::ANALYSIS_RUN_UID, self.run.metadata.uid.text());
        let pods = api(client(self.shared, self.analysis), "", "Pod", namespace);
        let params = ListParams::default().labels(&selector);
        let all = answered(pods.list(&params)).await.map(|list| list.items).unwrap_or_default();
        let uid = &found["metadata"]["uid"];
        let owned = |pod: &Value| {
            let mut owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            owners.any(|owner| &owner["uid"] == uid)
        };
        all.iter().map(as_json).filter(owned).collect()
    }

    async fn end(&self, measurement: &Measurement) -> Result<Measurement, String> {
        let (namespace, name) = job::reference(measurement, self.run).map_err(|error| error.text())?;
        self.shared.executor.check_leadership().map_err(|error| error.to_string())?;
        match answered(self.api(&namespace).delete(&name, &DeleteParams::foreground())).await {
            Ok(_) | Err(Problem::Missing) => {}
            Err(problem) => return Err(problem.text(&name)),
        }
        Ok(job::terminated(measurement, self.shared.executor.clock.now()))
    }
}

fn as_json(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Deletes Jobs of measurements that are no longer kept. What fails is done with the next one.
pub(super) async fn collect(shared: &Shared, run: &AnalysisRun, cut: &[Collect]) {
    let Some(analysis) = shared.options.analysis.as_ref().filter(|_| !cut.is_empty()) else { return };
    let known = shared.runs.jobs.find(BY_RUN, run.metadata.uid.text());
    let known: Vec<Value> = known.iter().map(|job| json!({"metadata": job.metadata, "status": job.status})).collect();
    let jobs = api(client(shared, analysis), "batch", "Job", &job::namespace(run, &analysis.jobs));
    for Collect { metric, keep } in cut {
        for name in job::beyond(&known, metric, *keep) {
            if shared.executor.check_leadership().is_err() {
                return;
            }
            match answered(jobs.delete(&name, &DeleteParams::foreground())).await {
                Ok(_) | Err(Problem::Missing) => {}
                Err(problem) => warn!(job = name, "An old Job stays: {}", problem.text(&name)),
            }
        }
    }
}
