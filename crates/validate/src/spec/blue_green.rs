//! Rules of the blue-green strategy.

use tidegate_api::rollout::{BlueGreenStrategy, RolloutSpec};
use tidegate_api::wire::Text;

use crate::error::FieldError;

pub(super) fn check(errors: &mut Vec<FieldError>, spec: &RolloutSpec, blue_green: &BlueGreenStrategy) {
    let active = blue_green.active_service.text();
    if active == blue_green.preview_service.text() {
        errors.push(FieldError::invalid(
            "spec.strategy.activeService",
            active,
            "This rollout uses the same service for the active and preview services, but two different services are required.",
        ));
    }
    if let Some(limit) = blue_green.scale_down_delay_revision_limit
        && spec.revision_history_limit_or_default() < limit
    {
        errors.push(FieldError::invalid(
            "spec.strategy.scaleDownDelayRevisionLimit",
            limit,
            "This rollout's revision history limit can not be smaller than the rollout's scale down limit",
        ));
    }
    super::check_anti_affinity(errors, blue_green.anti_affinity.as_ref());
}
