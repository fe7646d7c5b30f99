//! Weights that a Rollout leaves behind.

use tidegate_api::rollout::Rollout;
use tidegate_engine::{Event, routing};
use tidegate_runtime::Key;

use super::IstioKind;
use crate::controller::Shared;

/// A Rollout that is deleted in the middle of an update leaves its VirtualServices as they are: whether its pods stay, and
/// which, is decided by whoever deleted it. Those who look at the VirtualService are told.
pub(crate) fn tell(shared: &Shared, rollout: &Rollout) {
    let istio = &shared.executor.istio;
    let weights = rollout.status.as_ref().and_then(|status| status.canary.as_ref()?.weights.as_ref());
    let canary = weights.and_then(|weights| weights.canary.as_ref()?.weight).unwrap_or_default();
    if canary == 0 || !istio.is_local() {
        return;
    }
    for (name, _) in routing::virtual_services(rollout) {
        let Some(found) = istio.store(IstioKind::VirtualService).get(&Key::new(name.namespace, name.name)) else {
            continue;
        };
        let message = format!(
            "Rollout {} was deleted while weight {canary} was on its canary; the weights are left as they are: set them by hand",
            Key::of(&rollout.metadata),
        );
        let event = Event::warning("WeightsLeft", message);
        let (about, version) = (kube::Resource::meta(&*found), istio.api_version());
        shared.executor.events.tell_about(about, IstioKind::VirtualService.name(), &version, &event);
    }
}
