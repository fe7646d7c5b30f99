//! Writes of the Rollout itself, its Services and its workload.

use kube::api::{Api, DynamicObject, Patch};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::{Rollout, RolloutStatus};
use tidegate_bare::Bare;
use tidegate_engine::status_patch;
use tidegate_runtime::Key;
use tracing::info;

use super::{Execution, patch_params, post_params};
use crate::error::LookError;
use crate::lifecycle;
use crate::uncertain::Kind;

impl Execution<'_> {
    fn rollout_failed(&self, verb: &'static str, error: kube::Error) -> LookError {
        self.failed(verb, Kind::Rollout, &self.key.name, error)
    }

    async fn replace(&self, rollout: Rollout) -> Result<(), LookError> {
        let answer = self.api().replace(&self.key.name, &post_params(), &Bare(rollout)).await;
        let Bare(stored) = answer.map_err(|error| self.rollout_failed("update", error))?;
        self.keep_rollout(stored);
        Ok(())
    }

    pub(super) async fn set_revision(&self, revision: i64) -> Result<(), LookError> {
        let mut rollout = self.base_rollout();
        let own = rollout.metadata.annotations.get_or_insert_default();
        own.insert(annotations::REVISION.to_owned(), revision.to_string());
        self.replace(rollout).await
    }

    pub(super) async fn set_replicas(&self, replicas: i32) -> Result<(), LookError> {
        let mut rollout = self.base_rollout();
        rollout.spec.replicas = Some(replicas);
        self.replace(rollout).await
    }

    pub(super) async fn set_workload_generation(&self, generation: &str) -> Result<(), LookError> {
        let patch = json!({"metadata": {"annotations": {annotations::WORKLOAD_GENERATION: generation}}});
        let answer = self.api().patch(&self.key.name, &patch_params(), &Patch::Merge(&patch)).await;
        let Bare(rollout) = answer.map_err(|error| self.rollout_failed("patch", error))?;
        self.keep_rollout(rollout);
        Ok(())
    }

    /// Sends only the fields that differ, without a version: what people change at the same time stays.
    pub(super) async fn write_status(&self, status: &RolloutStatus) -> Result<(), LookError> {
        let Some(patch) = status_patch::between(self.seen.rollout.status.as_ref(), status) else { return Ok(()) };
        self.check_right()?;
        let (rollout, namespace) = (self.key.name.as_str(), self.key.namespace.as_str());
        let answer = self.api().patch_status(&self.key.name, &patch_params(), &Patch::Merge(&patch)).await;
        let Bare(stored) = answer.map_err(|error| self.rollout_failed("patch", error))?;
        self.keep_rollout(stored);
        info!(rollout, namespace, "Patched: {patch}");
        lifecycle::stored(&self.executor.metrics, &self.key, self.seen.rollout.status.as_ref(), status);
        Ok(())
    }

    pub(super) async fn switch_service(&self, name: &str, hash: &str, marks: bool) -> Result<(), LookError> {
        let mut patch = json!({"spec": {"selector": {labels::POD_TEMPLATE_HASH: hash}}});
        if marks {
            patch["metadata"] = json!({"annotations": {annotations::MANAGED_BY: self.key.name}});
        }
        let answer = self.api().patch(name, &patch_params(), &Patch::Strategic(&patch)).await;
        let Bare(service) = answer.map_err(|error| self.failed("patch", Kind::Service, name, error))?;
        self.executor.cache.services.put_own(service);
        Ok(())
    }

    /// Reads and writes the Deployment whole: nothing of it is ours but its size.
    pub(super) async fn scale_workload(&self, name: &str, replicas: i32) -> Result<(), LookError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.executor.client.clone(), &self.key.namespace, &resource);
        let key = Key::new(self.key.namespace.clone(), name);
        let failed = |verb, error| LookError::api(verb, "Deployment", &key, error);
        let mut deployment = api.get(name).await.map_err(|error| failed("get", error))?;
        let Some(spec) = deployment.data.get_mut("spec").and_then(serde_json::Value::as_object_mut) else {
            return Ok(());
        };
        if spec.insert("replicas".to_owned(), replicas.into()) == Some(replicas.into()) {
            return Ok(());
        }
        api.replace(name, &post_params(), &deployment).await.map_err(|error| failed("update", error))?;
        Ok(())
    }
}
