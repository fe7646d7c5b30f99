//! Ambassador mappings a Rollout names.

use tidegate_api::rollout::{AmbassadorTrafficRouting, Rollout};
use tidegate_api::wire::Items;

use super::{Found, report_missing};
use crate::error::{BadValue, FieldError};

const PATH: &str = "spec.strategy.canary.trafficRouting.ambassador.mappings";

fn ambassador(rollout: &Rollout) -> Option<&AmbassadorTrafficRouting> {
    rollout.spec.canary()?.traffic_routing.as_ref()?.ambassador.as_ref()
}

pub(super) fn missing(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    let Some(ambassador) = ambassador(rollout) else { return Vec::new() };
    let names = ambassador.mappings.items();
    if names.is_empty() {
        return vec![FieldError::invalid(PATH, BadValue::null(), "must provide at least one mapping")];
    }
    let mut errors = Vec::new();
    for name in names {
        report_missing(&mut errors, PATH, name, &found.mappings, name.as_str());
    }
    errors
}

pub(super) fn unfitting(found: &Found) -> Vec<FieldError> {
    let weighted = found.mappings.iter().filter_map(|(name, lookup)| {
        let weight = lookup.found()?["spec"]["weight"].as_i64().filter(|weight| *weight != 0)?;
        Some(FieldError::invalid("spec.weight", weight, format!("Ambassador mapping \"{name}\" can not define weight")))
    });
    weighted.collect()
}
