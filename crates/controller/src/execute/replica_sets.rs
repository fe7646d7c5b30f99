//! Writes of ReplicaSets.

use jiff::Timestamp;
use kube::api::{DeleteParams, Patch, Preconditions, PropagationPolicy};
use serde_json::json;
use tidegate_api::names::annotations;
use tidegate_api::rollout::Rollout;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;
use tidegate_bare::Bare;
use tidegate_engine::{SetEdit, SetId, after_collision, after_failed_create, is_as_good, owner_reference};

use super::{Execution, FIELD_MANAGER, patch_params, post_params};
use crate::error::LookError;
use crate::uncertain::Kind;

impl Execution<'_> {
    fn set_failed(&self, verb: &'static str, name: &str, error: kube::Error) -> LookError {
        self.failed(verb, Kind::ReplicaSet, name, error)
    }

    /// Takes a set over, if the Rollout still is the one that was seen.
    pub(super) async fn adopt(&self, set: &SetId) -> Result<(), LookError> {
        let name = self.key.name.as_str();
        let live = self.api::<Rollout>().get(name).await;
        let live = live.map_err(|error| LookError::api("get", "Rollout", &self.key, error))?;
        let wanted = &self.seen.rollout.metadata;
        if live.metadata.uid != wanted.uid || live.metadata.deletion_timestamp.is_some() {
            return Err(LookError::Gone {
                key: self.key.clone(),
                found: live.metadata.uid.text().to_owned(),
                wanted: wanted.uid.text().to_owned(),
            });
        }
        let patch = json!({"metadata": {"uid": set.uid, "ownerReferences": [owner_reference(&self.seen.rollout)]}});
        self.patch_owner("adopt", set, &patch).await
    }

    /// Lets a set go. One that is gone, or another one by now, is none of our business any more.
    pub(super) async fn release(&self, set: &SetId) -> Result<(), LookError> {
        let own = self.seen.rollout.metadata.uid.text();
        let patch = json!({"metadata": {"uid": set.uid, "ownerReferences": [{"$patch": "delete", "uid": own}]}});
        match self.patch_owner("release", set, &patch).await {
            Err(LookError::Api { source, .. }) if matches!(&*source, kube::Error::Api(status) if status.is_not_found() || status.is_invalid()) => {
                Ok(())
            }
            result => result,
        }
    }

    async fn patch_owner(&self, verb: &'static str, set: &SetId, patch: &serde_json::Value) -> Result<(), LookError> {
        let answer = self.api().patch(&set.name, &patch_params(), &Patch::Strategic(patch)).await;
        let Bare(patched) = answer.map_err(|error| self.set_failed(verb, &set.name, error))?;
        self.keep_set(patched);
        Ok(())
    }

    pub(super) async fn create_set(&self, wanted: &ReplicaSet) -> Result<(), LookError> {
        let name = wanted.metadata.name.text();
        let error = match self.api::<ReplicaSet>().create(&post_params(), wanted).await {
            Ok(made) => {
                self.keep_set(made);
                return Ok(());
            }
            Err(error) => error,
        };
        if matches!(&error, kube::Error::Api(status) if status.is_already_exists()) {
            let existing = self.api::<ReplicaSet>().get(name).await;
            let existing = existing.map_err(|error| self.set_failed("get", name, error))?;
            if is_as_good(self.seen, wanted, &existing) {
                self.keep_set(existing);
                return Ok(());
            }
            if let Some(change) = after_collision(self.seen).status {
                self.write_status(&change.status).await?;
            }
        } else if let kube::Error::Api(status) = &error {
            let plan = after_failed_create(self.seen, wanted, &status.message, self.executor.clock.now_seconds());
            if let Some(change) = plan.status {
                self.write_status(&change.status).await?;
                self.tell(&change.events);
            }
        }
        Err(self.set_failed("create", name, error))
    }

    /// Writes the whole set with its version: a change by somebody else in between is noticed.
    pub(super) async fn edit_set(&self, name: &str, edit: &SetEdit) -> Result<(), LookError> {
        let Some(mut set) = self.base_set(name) else { return Ok(()) };
        edit.apply(&mut set);
        let answer = self.api().replace(name, &post_params(), &Bare(set)).await;
        let Bare(edited) = answer.map_err(|error| self.set_failed("update", name, error))?;
        self.keep_set(edited);
        Ok(())
    }

    pub(super) async fn set_deadline(&self, name: &str, deadline: Option<Timestamp>) -> Result<(), LookError> {
        let path = format!("/metadata/annotations/{}", annotations::SCALE_DOWN_DEADLINE);
        let patch = match deadline {
            Some(at) => json!([{"op": "add", "path": path, "value": tidegate_api::values::Time::from(at).0}]),
            None => json!([{"op": "remove", "path": path}]),
        };
        let api = self.api::<ReplicaSet>();
        let url = format!("{}/{name}?fieldManager={FIELD_MANAGER}", api.resource_url());
        let request = http::Request::patch(url)
            .header(http::header::CONTENT_TYPE, "application/json-patch+json")
            .body(patch.to_string().into_bytes())
            .map_err(kube::Error::HttpError);
        let answer = match request {
            Ok(request) => self.executor.client.request(request).await,
            Err(error) => Err(error),
        };
        let Bare(patched) = answer.map_err(|error| self.set_failed("patch", name, error))?;
        self.keep_set(patched);
        Ok(())
    }

    pub(super) async fn delete_set(&self, set: &SetId) -> Result<(), LookError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions { uid: Some(set.uid.clone()), resource_version: None }),
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        match self.api::<ReplicaSet>().delete(&set.name, &params).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(self.set_failed("delete", &set.name, error)),
        }
        self.executor.cache.replica_sets.remove_own(&self.key_of(&set.name), &set.uid);
        Ok(())
    }
}
