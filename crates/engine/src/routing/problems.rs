//! What keeps a Rollout from using its routes at all. Each is the text users read in the condition `InvalidSpec`.

use tidegate_api::wire::Text;
use tidegate_traffic::istio::{Hashes, RouterError, edit_destination_rule};
use tidegate_validate::FieldError;
use tidegate_validate::references::Lookup;

use super::{Objects, destination_rule, propagation};
use crate::observed::Observed;

const RULE: &str = "spec.strategy.canary.trafficRouting.istio.destinationRule.name";

/// The first problem, if there is one.
pub(crate) fn problem(seen: &Observed) -> Option<String> {
    if !super::is_routed(&seen.rollout) {
        return None;
    }
    if let Some(contest) = seen.routes.contested.first() {
        return Some(contest.clone());
    }
    if let Err(problem) = propagation(&seen.rollout) {
        return Some(problem);
    }
    let others = || super::routers::problem(seen).map(|error| error.explained());
    unusable_rule(seen).or_else(|| unreadable(seen)).or_else(others)
}

fn unusable_rule(seen: &Observed) -> Option<String> {
    let rule = destination_rule(&seen.rollout)?;
    let detail = match seen.routes.destination_rule.as_ref()? {
        Lookup::Missing(detail) => detail.clone(),
        // Whether it can be edited at all does not depend on what is wanted of it.
        Lookup::Found(object) => {
            let edited = edit_destination_rule(object, rule, seen.rollout.metadata.name.text(), &Hashes::default());
            edited.err()?.to_string()
        }
    };
    Some(FieldError::invalid(RULE, rule.name.text(), detail).to_string())
}

/// Routes that the reference check accepts, but that hold what nobody can read.
fn unreadable(seen: &Observed) -> Option<String> {
    let wanted = super::desired(&seen.rollout, &crate::plan::Traffic { max_weight: 100, ..Default::default() })?;
    let objects = Objects::of(seen);
    let problems = objects.read(&wanted).problems;
    problems.first().map(RouterError::explained)
}
