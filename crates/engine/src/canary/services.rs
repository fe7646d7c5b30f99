//! The Services of a canary.

use tidegate_api::rollout::CanaryStrategy;
use tidegate_api::wire::Text;

use crate::pass::{Pass, plain_weights};
use crate::services::Check;
use crate::sets::SetFacts;

impl<'a> Pass<'a> {
    /// The ping-pong Service that is not stable; at the very beginning pong counts as stable.
    fn idle_service(&self, canary: &'a CanaryStrategy) -> Option<&'a str> {
        let pair = canary.ping_pong.as_ref()?;
        let stable = self.old.canary.as_ref().map_or("", |state| state.stable_ping_pong.text());
        if stable == "ping" { pair.pong_service.as_deref() } else { pair.ping_service.as_deref() }
    }

    /// The idle one of the two follows the new template at once: no traffic reaches it before a route says so. While
    /// it still carries that of a canary which is superseded, it waits for pods or for the route.
    pub(super) fn switch_ping_pong(&mut self, canary: &'a CanaryStrategy) {
        if self.is_fully_promoted() {
            return;
        }
        let carries = plain_weights(self.weights.as_ref()).is_some_and(|weights| weights.canary > 0);
        let check = if carries { Check::Availability } else { Check::None };
        self.ensure_service(self.idle_service(canary), self.sets.new, check);
    }

    pub(super) fn switch_canary_services(&mut self, canary: &'a CanaryStrategy) {
        let (stable_service, canary_service) = (canary.stable_service.as_deref(), canary.canary_service.as_deref());
        self.ensure_service(stable_service, self.sets.stable, Check::Availability);
        if self.is_aborted() && !self.is_routed() {
            self.ensure_service(canary_service, self.sets.stable, Check::Availability);
        } else if self.is_rolling_back_dynamically() {
            // The previous canary still carries traffic until the stable set has grown.
        } else if self.is_aborted() {
            // Decided together with the weight, so that the Service is switched once.
        } else {
            self.ensure_service(canary_service, self.sets.new, Check::Availability);
        }
    }

    /// Going back to a stable set that has been shrunk: the old canary keeps its traffic while the stable set grows.
    pub(crate) fn is_rolling_back_dynamically(&self) -> bool {
        let is_dynamic = self.canary().is_some_and(|canary| canary.dynamic_stable_scale == Some(true));
        let weights = self.old.canary.as_ref().and_then(|state| state.weights.as_ref());
        let canary_hash =
            weights.and_then(|weights| weights.canary.as_ref()).map(|found| found.pod_template_hash.text());
        let Some(new) = self.sets.new else { return false };
        self.is_fully_promoted()
            && self.is_routed()
            && is_dynamic
            && canary_hash.is_some_and(|hash| hash != new.hash())
            && new.serving() < self.replicas()
    }
}
