//! Rollouts that write the same routes. Each would undo what the other does, for ever; so the one that was there first
//! goes on, and the others are told.

use std::sync::Arc;

use serde_json::Value;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Text;
use tidegate_engine::routing;
use tidegate_runtime::Key;
use tidegate_traffic::istio::{Claim, Routing, contests};

use crate::cache::{BY_DESTINATION_RULE, BY_VIRTUAL_SERVICE};
use crate::controller::Shared;

const ISTIO: &str = "spec.strategy.canary.trafficRouting.istio";

/// Whether one Rollout was there before another.
fn is_before(one: &Rollout, other: &Rollout) -> bool {
    let age = |rollout: &Rollout| {
        let created = rollout.metadata.creation_timestamp.clone();
        (created, rollout.metadata.namespace.clone(), rollout.metadata.name.clone())
    };
    age(one) < age(other)
}

/// Rollouts that an index finds, this one apart, that go first.
fn earlier(shared: &Shared, rollout: &Rollout, index: &'static str, key: &Key) -> Vec<Arc<Rollout>> {
    let mut found = shared.executor.cache.rollouts.find(index, &key.to_string());
    found.retain(|other| other.metadata.uid != rollout.metadata.uid && is_before(other, rollout));
    found
}

/// Routes of this VirtualService that an earlier Rollout writes too.
pub(crate) fn for_routes(shared: &Shared, rollout: &Rollout, key: &Key, object: &Value) -> Vec<String> {
    let mut all = earlier(shared, rollout, BY_VIRTUAL_SERVICE, key);
    if all.is_empty() {
        return Vec::new();
    }
    let own = Key::of(&rollout.metadata).to_string();
    all.push(Arc::new(rollout.clone()));
    let claimants: Vec<_> = all
        .iter()
        .filter_map(|other| {
            let canary = other.spec.canary()?;
            let status = other.status.as_ref().and_then(|status| status.canary.as_ref());
            let named = routing::virtual_services(other).into_iter().find(|(name, reference)| {
                Key::new(name.namespace.clone(), name.name.clone()) == *key
                    || crate::cache::dotted_key(other, reference).as_ref() == Some(key)
            });
            Some((Key::of(&other.metadata).to_string(), named?.1, Routing::of(canary, status)))
        })
        .collect();
    let claims: Vec<Claim<'_>> =
        claimants.iter().map(|(rollout, reference, routing)| Claim { rollout, reference, routing }).collect();
    let contested = contests(object, &claims).into_iter().filter(|contest| contest.rollouts.contains(&own));
    contested
        .filter_map(|contest| {
            let other = contest.rollouts.iter().find(|other| **other != own)?;
            Some(format!(
                "{ISTIO}: Forbidden: {} of VirtualService {key} belongs to Rollout {other}, which was there first; name \
                 another route, or take it out of one of the two",
                contest.what
            ))
        })
        .collect()
}

/// An earlier Rollout that names the same DestinationRule: a rule is marked with one Rollout.
pub(crate) fn for_rule(shared: &Shared, rollout: &Rollout, key: &Key) -> Option<String> {
    let other = earlier(shared, rollout, BY_DESTINATION_RULE, key).into_iter().next()?;
    Some(format!(
        "{ISTIO}.destinationRule.name: Forbidden: DestinationRule {key} belongs to Rollout {}, which was there first; give \
         each Rollout a rule of its own",
        other.metadata.name.text()
    ))
}
