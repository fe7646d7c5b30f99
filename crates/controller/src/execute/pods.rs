//! Writes of pods: evictions, and labels and annotations in place.

use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tidegate_api::view::Pod;
use tidegate_engine::MetadataEdit;

use super::{Execution, Outcome, post_params};
use crate::error::LookError;

/// How often the write of one pod is tried, and how long the first pause is; each further one is twice as long.
const TRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// What the API server answers when a disruption budget says no.
const TOO_MANY_REQUESTS: u16 = 429;

impl Execution<'_> {
    /// Asks for a pod to go; a disruption budget may say no, and then it is asked again another time.
    pub(super) async fn evict(&self, name: &str) -> Result<Outcome, LookError> {
        let key = self.key_of(name);
        let body = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": key.name, "namespace": key.namespace},
        });
        let url = format!("{}/{name}/eviction", self.api::<Pod>().resource_url());
        let request = http::Request::post(url)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body.to_string().into_bytes())
            .map_err(kube::Error::HttpError);
        let answer = match request {
            Ok(request) => self.executor.client.request_text(request).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(_) => Ok(Outcome::Done),
            Err(kube::Error::Api(status)) if status.code == TOO_MANY_REQUESTS => Ok(Outcome::Refused),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Outcome::Done),
            Err(error) => Err(LookError::api("evict", "Pod", &key, error)),
        }
    }

    fn pod_api(&self) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
        Api::namespaced_with(self.executor.client.clone(), &self.key.namespace, &resource)
    }

    pub(super) async fn edit_pod(&self, name: &str, edit: &MetadataEdit) -> Result<(), LookError> {
        let api = self.pod_api();
        let known = self.pods.iter().find(|pod| pod["metadata"]["name"] == name).cloned();
        let mut pod: Option<DynamicObject> = known.and_then(|pod| serde_json::from_value::<DynamicObject>(pod).ok());
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=TRIES {
            let Some(current) = &mut pod else { return Ok(()) };
            apply(edit, current);
            let error = match api.replace(name, &post_params(), current).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
                Err(error) => error,
            };
            if attempt == TRIES {
                return Err(LookError::api("update", "Pod", &self.key_of(name), error));
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
            // The role lets us list pods but not get one.
            let params = ListParams::default().fields(&format!("metadata.name={name}"));
            let listed = api.list(&params).await;
            let listed = listed.map_err(|error| LookError::api("list", "Pod", &self.key_of(name), error))?;
            pod = listed.items.into_iter().next();
        }
        Ok(())
    }
}

fn apply(edit: &MetadataEdit, pod: &mut DynamicObject) {
    let labels = pod.metadata.labels.get_or_insert_default();
    change(labels, &edit.labels);
    let annotations = pod.metadata.annotations.get_or_insert_default();
    change(annotations, &edit.annotations);
    if pod.types.is_none() {
        pod.types = Some(kube::core::TypeMeta { api_version: "v1".to_owned(), kind: "Pod".to_owned() });
    }
}

fn change(
    entries: &mut std::collections::BTreeMap<String, String>,
    edit: &std::collections::BTreeMap<String, Option<String>>,
) {
    for (key, value) in edit {
        match value {
            Some(value) => entries.insert(key.clone(), value.clone()),
            None => entries.remove(key),
        };
    }
}

/// Reads pods as the engine sees them.
pub(crate) fn views(pods: &[Value]) -> Vec<Pod> {
    pods.iter().filter_map(|pod| serde_json::from_value(pod.clone()).ok()).collect()
}
