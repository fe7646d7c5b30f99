//! Writes for Experiments.

use std::sync::Arc;

use kube::api::{Api, DeleteParams, Patch, Preconditions};
use kube::core::{NamespaceResourceScope, ObjectMeta};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::{Experiment, ExperimentStatus};
use tidegate_api::names::annotations;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::Text;
use tidegate_engine::status_patch;
use tidegate_experiment::{Action, Part, SetEdit, Step, Write};
use tidegate_runtime::Key;
use tracing::info;

use super::look::tell;
use super::observe::Sight;
use crate::cache::controller_of;
use crate::controller::Shared;
use crate::error::{LookError, in_time};
use crate::execute::{FIELD_MANAGER, patch_params, post_params};
use crate::triggers;
use crate::uncertain::Kind;

/// What came of a step.
pub(super) enum Written {
    /// All of it was written; the Experiment as it is stored now.
    All(Arc<Experiment>),
    /// A write was refused for good.
    Refused {
        part: Part,
        /// What the API server said.
        problem: String,
    },
}

/// Why a single write was not made.
enum Failure {
    /// It never will be.
    Refused(String),
    /// It may be the next time.
    Passing(LookError),
}

/// Writes a step, action by action and its status at the end; the first failure ends it.
pub(super) async fn carry_out(
    shared: &Shared,
    key: &Key,
    experiment: &Arc<Experiment>,
    sight: &Sight,
    outcome: &Step,
) -> Result<Written, LookError> {
    let writer = Writer { shared, key, experiment, sight };
    for action in &outcome.actions {
        shared.executor.check_leadership()?;
        match writer.write_in_time(action).await {
            Ok(()) => tell(shared, experiment, &action.events),
            Err(Failure::Refused(problem)) => return Ok(Written::Refused { part: action.part.clone(), problem }),
            Err(Failure::Passing(error)) => return Err(error),
        }
    }
    match &outcome.status {
        Some(status) => Ok(Written::All(writer.write_status(status).await?)),
        None => Ok(Written::All(Arc::clone(experiment))),
    }
}

struct Writer<'a> {
    shared: &'a Shared,
    key: &'a Key,
    experiment: &'a Experiment,
    sight: &'a Sight,
}

fn is_exists(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_already_exists())
}

/// What the API server will say the next time too.
fn refusal(error: &kube::Error) -> Option<String> {
    match error {
        kube::Error::Api(status) if matches!(status.code, 400 | 403 | 405 | 413 | 422) => Some(status.message.clone()),
        _ => None,
    }
}

fn target(write: &Write) -> (Kind, &str) {
    match write {
        Write::CreateSet(set) => (Kind::ReplicaSet, set.metadata.name.text()),
        Write::EditSet(edit) => (Kind::ReplicaSet, &edit.name),
        Write::CreateService(body) => (Kind::Service, service_name(body)),
        Write::DeleteService { name, .. } => (Kind::Service, name),
        Write::CreateRun(run) => (Kind::AnalysisRun, run.metadata.name.text()),
        Write::TerminateRun(name) => (Kind::AnalysisRun, name),
    }
}

fn service_name(body: &Value) -> &str {
    body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

impl Writer<'_> {
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.shared.executor.client.clone(), &self.key.namespace)
    }

    fn key_of(&self, name: &str) -> Key {
        Key::new(self.key.namespace.clone(), name)
    }

    /// A write without a good answer may have had its effect: the object is read again before the next look.
    async fn write_in_time(&self, action: &Action) -> Result<(), Failure> {
        let (kind, name) = target(&action.write);
        let object = self.key_of(name);
        let written = async { Ok(self.write(&action.write).await) };
        let written = match in_time("write", kind.name(), &object, written).await {
            Ok(written) => written,
            Err(error) => Err(Failure::Passing(error)),
        };
        if matches!(written, Err(Failure::Passing(_))) {
            self.shared.experiments.doubt(self.key, kind, &object);
        }
        written
    }

    fn failed(&self, verb: &'static str, kind: Kind, name: &str, error: kube::Error) -> Failure {
        match refusal(&error) {
            Some(problem) => Failure::Refused(problem),
            None => Failure::Passing(LookError::api(verb, kind.name(), &self.key_of(name), error)),
        }
    }

    async fn write(&self, write: &Write) -> Result<(), Failure> {
        match write {
            Write::CreateSet(set) => self.create_set(set).await,
            Write::EditSet(edit) => self.edit_set(edit).await,
            Write::CreateService(body) => self.create_service(body).await,
            Write::DeleteService { name, uid } => self.delete_service(name, uid).await,
            Write::CreateRun(run) => self.create_run(run).await,
            Write::TerminateRun(name) => self.terminate_run(name).await,
        }
    }

    /// Whether an object was made for this template of this Experiment.
    fn is_own(&self, found: &ObjectMeta, template: Option<&String>) -> bool {
        let marks = found.annotations.as_ref();
        let mark = |name: &str| marks.and_then(|marks| marks.get(name));
        controller_of(found).is_some_and(|owner| owner.uid == self.experiment.metadata.uid.text())
            && mark(annotations::EXPERIMENT_NAME).map(String::as_str) == Some(self.key.name.as_str())
            && mark(annotations::EXPERIMENT_TEMPLATE_NAME) == template
    }

    async fn create_set(&self, wanted: &ReplicaSet) -> Result<(), Failure> {
        let name = wanted.metadata.name.text();
        let api = self.api::<ReplicaSet>();
        let made = match api.create(&post_params(), wanted).await {
            Err(error) if is_exists(&error) => {
                let found = api.get(name).await.map_err(|error| self.failed("get", Kind::ReplicaSet, name, error))?;
                let template = wanted.annotations().get(annotations::EXPERIMENT_TEMPLATE_NAME);
                if !self.is_own(&found.metadata, template) {
                    let text = format!(
                        "ReplicaSet {name} already exists and is not owned by this Experiment; delete it or rename the template"
                    );
                    return Err(Failure::Refused(text));
                }
                found
            }
            made => made.map_err(|error| self.failed("create", Kind::ReplicaSet, name, error))?,
        };
        info!(
            experiment = self.key.name.as_str(),
            namespace = self.key.namespace.as_str(),
            "Created ReplicaSet {name}"
        );
        self.shared.executor.cache.replica_sets.put_own(made);
        Ok(())
    }

    /// Writes the whole set with the version that was seen: a change by somebody else in between is noticed.
    async fn edit_set(&self, edit: &SetEdit) -> Result<(), Failure> {
        let name = edit.name.as_str();
        let seen = self.sight.replica_sets.iter().find(|set| set.metadata.name.text() == name);
        let Some(mut set) = seen.cloned() else { return Ok(()) };
        edit.apply(&mut set);
        let answer = self.api::<ReplicaSet>().replace(name, &post_params(), &set).await;
        let written = answer.map_err(|error| self.failed("update", Kind::ReplicaSet, name, error))?;
        self.shared.executor.cache.replica_sets.put_own(written);
        Ok(())
    }

    async fn create_service(&self, body: &Value) -> Result<(), Failure> {
        let name = service_name(body);
        let api = self.api::<Service>();
        let url = format!("{}?fieldManager={FIELD_MANAGER}", api.resource_url());
        let request = http::Request::post(url)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body.to_string().into_bytes())
            .map_err(kube::Error::HttpError);
        let answer = match request {
            Ok(request) => self.shared.executor.client.request::<Service>(request).await,
            Err(error) => Err(error),
        };
        let made = match answer {
            Err(error) if is_exists(&error) => {
                let found = api.get(name).await.map_err(|error| self.failed("get", Kind::Service, name, error))?;
                let marks: Option<ObjectMeta> =
                    body.get("metadata").and_then(|own| serde_json::from_value(own.clone()).ok());
                let marks = marks.unwrap_or_default().annotations.unwrap_or_default();
                let template = marks.get(annotations::EXPERIMENT_TEMPLATE_NAME);
                if !self.is_own(&found.metadata, template) {
                    let template = template.map_or("", String::as_str);
                    return Err(Failure::Refused(format!(
                        "service {name} already exists and is not owned by experiment template {template}"
                    )));
                }
                found
            }
            made => made.map_err(|error| self.failed("create", Kind::Service, name, error))?,
        };
        self.shared.executor.cache.services.put_own(made);
        Ok(())
    }

    async fn delete_service(&self, name: &str, uid: &str) -> Result<(), Failure> {
        let is_meant = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        match self.api::<Service>().delete(name, &DeleteParams::default().preconditions(is_meant)).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(self.failed("delete", Kind::Service, name, error)),
        }
        self.shared.executor.cache.services.remove_own(&self.key_of(name), uid);
        Ok(())
    }

    async fn create_run(&self, run: &AnalysisRun) -> Result<(), Failure> {
        let name = run.metadata.name.text();
        // One of that name, whoever made it, is seen by the next look, which knows what it means.
        let answer = self.api::<AnalysisRun>().create(&post_params(), run).await;
        let made = answer.map_err(|error| self.failed("create", Kind::AnalysisRun, name, error))?;
        self.keep_run(made);
        Ok(())
    }

    async fn terminate_run(&self, name: &str) -> Result<(), Failure> {
        let patch = json!({"spec": {"terminate": true}});
        match self.api::<AnalysisRun>().patch(name, &patch_params(), &Patch::Merge(&patch)).await {
            Ok(run) => self.keep_run(run),
            // The next look finds out that it is gone.
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                self.shared.experiments.doubt(self.key, Kind::AnalysisRun, &self.key_of(name));
            }
            Err(error) => return Err(self.failed("patch", Kind::AnalysisRun, name, error)),
        }
        Ok(())
    }

    /// Of own writes no watch tells anything new: whoever runs it looks at it.
    fn keep_run(&self, run: AnalysisRun) {
        let key = Key::of(&run.metadata);
        self.shared.executor.cache.analysis_runs.put_own(run);
        if self.shared.options.analysis.is_some() {
            self.shared.runs.queue.add(key);
        }
    }

    /// Stores a status. Experiments have no status subresource. The version makes sure that it follows from what is
    /// stored, and that a write which comes late does nothing.
    async fn write_status(&self, status: &ExperimentStatus) -> Result<Arc<Experiment>, LookError> {
        let value = |status: &ExperimentStatus| serde_json::to_value(status).unwrap_or(Value::Null);
        let before = self.experiment.status.as_ref().map(value).unwrap_or_else(|| json!({}));
        let changes = status_patch::difference(&before, &value(status)).unwrap_or_else(|| json!({}));
        let version = self.experiment.metadata.resource_version.text();
        let patch = json!({"metadata": {"resourceVersion": version}, "status": changes});
        self.shared.executor.check_leadership()?;
        let key = self.key;
        let patched = async {
            let answer = self.api::<Experiment>().patch(&key.name, &patch_params(), &Patch::Merge(&patch)).await;
            answer.map_err(|error| LookError::api("patch", "Experiment", key, error))
        };
        let stored = match in_time("patch", "Experiment", key, patched).await {
            Ok(stored) => stored,
            Err(error) => {
                self.shared.experiments.doubt(key, Kind::Experiment, key);
                return Err(error);
            }
        };
        info!(experiment = key.name.as_str(), namespace = key.namespace.as_str(), "Patched: {changes}");
        let own = Arc::new(stored.clone());
        let change = self.shared.executor.cache.experiments.put_own(stored);
        triggers::experiment_stored(self.shared, &change);
        Ok(self.shared.executor.cache.experiments.get(key).unwrap_or(own))
    }
}
