//! Writes runs.

use std::sync::Arc;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::{Value, json};
use tidegate_api::analysis::{AnalysisRun, AnalysisRunStatus};
use tidegate_api::wire::Text;
use tidegate_engine::status_patch;
use tidegate_runtime::{Change, Key};
use tracing::info;

use crate::controller::Shared;
use crate::error::{LookError, in_time};
use crate::execute::FIELD_MANAGER;
use crate::triggers;

const KIND: &str = "AnalysisRun";

fn api(shared: &Shared, key: &Key) -> Api<AnalysisRun> {
    Api::namespaced(shared.executor.client.clone(), &key.namespace)
}

/// Stores a status with the first so many reports in it. Runs have no status subresource. The version makes sure that
/// the status follows from what is stored, and that a write which comes late does nothing.
pub(super) async fn write(
    shared: &Shared,
    key: &Key,
    run: &AnalysisRun,
    status: &AnalysisRunStatus,
    reports: usize,
) -> Result<Arc<AnalysisRun>, LookError> {
    let value = |status: &AnalysisRunStatus| serde_json::to_value(status).unwrap_or(Value::Null);
    let before = run.status.as_ref().map(value).unwrap_or_else(|| json!({}));
    let changes = status_patch::difference(&before, &value(status)).unwrap_or_else(|| json!({}));
    let patch = json!({"metadata": {"resourceVersion": run.metadata.resource_version.text()}, "status": changes});
    shared.executor.check_leadership()?;
    shared.runs.states.sending(key, status, reports);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let patched = async {
        let answer = api(shared, key).patch(&key.name, &params, &Patch::Merge(&patch)).await;
        answer.map_err(|error| LookError::api("patch", KIND, key, error))
    };
    let stored = in_time("patch", KIND, key, patched).await?;
    info!(analysisrun = key.name.as_str(), namespace = key.namespace.as_str(), "Patched: {changes}");
    shared.runs.states.settle(key, Some(status));
    Ok(keep(shared, key, stored))
}

/// Keeps what the API says and tells those whom it concerns.
fn keep(shared: &Shared, key: &Key, stored: AnalysisRun) -> Arc<AnalysisRun> {
    let own = Arc::new(stored.clone());
    let change = shared.executor.cache.analysis_runs.put_own(stored);
    triggers::run_stored(shared, &change);
    shared.executor.cache.analysis_runs.get(key).unwrap_or(own)
}

/// Reads a run whose last write has no known outcome.
pub(super) async fn read_again(shared: &Shared, key: &Key) -> Result<(), LookError> {
    let read =
        async { api(shared, key).get_opt(&key.name).await.map_err(|error| LookError::api("get", KIND, key, error)) };
    match in_time("get", KIND, key, read).await? {
        Some(found) => {
            shared.runs.states.settle(key, found.status.as_ref());
            keep(shared, key, found);
        }
        None => {
            shared.runs.states.forget(key);
            gone(shared, key);
        }
    }
    Ok(())
}

fn gone(shared: &Shared, key: &Key) {
    let store = &shared.executor.cache.analysis_runs;
    let uid = store.get(key).and_then(|known| known.metadata.uid.clone());
    let change = uid.map_or(Change::None, |uid| store.remove_own(key, &uid));
    triggers::run_stored(shared, &change);
}

/// Deletes a run whose time is over, and with it what it owns.
pub(super) async fn delete(shared: &Shared, key: &Key, run: &AnalysisRun) -> Result<(), LookError> {
    shared.executor.check_leadership()?;
    let uid = run.metadata.uid.clone();
    let params = DeleteParams::background().preconditions(Preconditions { uid, resource_version: None });
    let deleted = async {
        match api(shared, key).delete(&key.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(LookError::api("delete", KIND, key, error)),
        }
    };
    in_time("delete", KIND, key, deleted).await?;
    info!(analysisrun = key.name.as_str(), namespace = key.namespace.as_str(), "Deleted after its time to live");
    gone(shared, key);
    Ok(())
}
