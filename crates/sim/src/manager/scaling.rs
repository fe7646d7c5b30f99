//! Autoscalers: reads and writes the size of any kind that has a scale.

use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch};
use kube::core::gvk::ParseGroupVersionError;
use kube::{Api, discovery};
use serde_json::json;

use super::requests::{Trouble, answer, ask, by, patched_by};
use super::{Manager, Work};
use crate::controllers::autoscaler;
use crate::objects::Key;

impl Manager {
    pub(super) async fn autoscaler(&mut self, key: &Key) -> Result<(), Trouble> {
        let Some(found) = self.autoscalers.get(key).cloned() else { return Ok(()) };
        let spec = found.spec.clone();
        let next = self.clock.now().saturating_add(autoscaler::PERIOD);
        self.wake(Work::Autoscaler(key.clone()), next.unwrap_or_else(|_| self.clock.now()));
        let (version, kind) = (spec.scale_target_ref.api_version.unwrap_or_default(), spec.scale_target_ref.kind);
        let place = self.place(&version, &kind).await?;
        let target = place.map(|place| Api::<DynamicObject>::namespaced_with(self.client.clone(), &key.0, &place));
        let name = &spec.scale_target_ref.name;
        let scale = match &target {
            Some(target) => answer(target.get_scale(name)).await?.ok(),
            None => None,
        };
        let size = scale.as_ref().map(|scale| scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0));
        let plan = autoscaler::plan(&found, size, self.clock.now_seconds());
        if let (Some(target), Some(scale), Some(wanted)) = (target, scale, plan.scale_to) {
            let metadata = json!({"resourceVersion": scale.metadata.resource_version});
            let patch = Patch::Merge(json!({"metadata": metadata, "spec": {"replicas": wanted}}));
            ask(target.patch_scale(name, &patched_by(), &patch)).await?;
        }
        if let Some(status) = plan.status {
            let api: Api<HorizontalPodAutoscaler> = Api::namespaced(self.client.clone(), &key.0);
            let wanted = HorizontalPodAutoscaler { status: Some(status), ..HorizontalPodAutoscaler::clone(&found) };
            let written = ask(api.replace_status(&key.1, &by(), &wanted)).await?;
            self.autoscalers.put(written);
        }
        Ok(())
    }

    /// Where a kind is served; `None` if it is not.
    async fn place(&mut self, version: &str, kind: &str) -> Result<Option<ApiResource>, Trouble> {
        let named = (version.to_owned(), kind.to_owned());
        if let Some(place) = self.places.get(&named) {
            return Ok(Some(place.clone()));
        }
        let parsed: Result<kube::core::GroupVersion, ParseGroupVersionError> = version.parse();
        let Ok(parsed) = parsed else { return Ok(None) };
        let kind = GroupVersionKind::gvk(&parsed.group, &parsed.version, kind);
        let Ok((place, _)) = answer(discovery::pinned_kind(&self.client, &kind)).await? else { return Ok(None) };
        self.places.insert(named, place.clone());
        Ok(Some(place))
    }
}
