//! What stays of an object when somebody else writes it: the part the controller owns, as it was before that write.
//!
//! Git holds 100/0 while a canary is at 20. Whoever applies what Git holds means the rest of the object, not the weights; the
//! admission guard puts them back before the object is stored, so that no proxy ever sees the others.

use serde_json::Value;
use tidegate_api::rollout::{IstioDestinationRule, IstioVirtualService};
use tidegate_api::wire::Text;

use super::desired::Desired;
use super::destination_rule::{Hashes, edit_destination_rule, managed_by, named_hashes};
use super::error::RouterError;
use super::place::object_name;
use super::read_back::{Read, read_back};
use super::routes::Protocol;
use super::virtual_service::{bases, edit_virtual_service, owned_routes, select};
use crate::router::Span;

/// An object with what the controller owns put back.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The whole object.
    pub object: Value,
    /// The canary's weight in it.
    pub weight: i64,
}

/// The VirtualService somebody else writes, with the weights and managed routes of the one it replaces; none when both say
/// the same, or when the one before says nothing that could be kept.
///
/// Of `wanted` only the spec's part counts and which experiments run: weights are those of `before`.
///
/// # Errors
/// When the new object has no routes that the weights could be put back into.
pub fn keep_weights(
    before: &Value,
    after: &Value,
    reference: &IstioVirtualService,
    mut wanted: Desired<'_>,
) -> Result<Option<Kept>, RouterError> {
    let seen = read_back(&[Read { reference, object: before }], None, &wanted);
    let Some(span) = seen.canary() else { return Ok(None) };
    // A route in which others hold a share has less room: the highest weight is the one that was meant. Routes that differ
    // though they have room are not the controller's work; then the lowest is the safe one until it repairs them.
    let is_meant = seen.routes.iter().all(|route| route.canary == span.highest || route.stable == 0);
    let of = |span: Span| if is_meant { span.highest } else { span.lowest };
    let weight = of(span);
    for (service, experiment) in &mut wanted.experiments {
        experiment.weight = seen.additional(service).map_or(0, of);
    }
    wanted.weight = i32::try_from(weight).unwrap_or(i32::MAX);
    wanted.routes = None;
    let mut object = edit_virtual_service(after, reference, &wanted)?.object(after).clone();
    put_back_routes(before, &mut object, reference, &wanted)?;
    Ok((object != *after).then_some(Kept { object, weight }))
}

/// Header and mirror routes go where the controller puts them: before all others, in the order they had.
fn put_back_routes(
    before: &Value,
    object: &mut Value,
    reference: &IstioVirtualService,
    wanted: &Desired<'_>,
) -> Result<(), RouterError> {
    let name = object_name("VirtualService", before);
    let spec = before.get("spec").unwrap_or(&Value::Null);
    let owned = owned_routes(spec, &select(spec, reference, wanted, &name)?, wanted);
    if owned.is_empty() {
        return Ok(());
    }
    let field = Protocol::Http.field();
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let (list, selection) = (Protocol::Http.list(spec), select(spec, reference, wanted, &name)?);
    bases(list.map(Vec::as_slice), selection.of(Protocol::Http), wanted, &name)?;
    if let Some(list) = object.get_mut("spec").and_then(|spec| spec.get_mut(field)).and_then(Value::as_array_mut) {
        list.splice(0..0, owned.into_iter().cloned());
    }
    Ok(())
}

/// The DestinationRule somebody else writes, with the pods its subsets named before; none when nothing is to be put back.
///
/// # Errors
/// When the new object lacks a subset that the Rollout names.
pub fn keep_subsets(
    before: &Value,
    after: &Value,
    rule: &IstioDestinationRule,
    rollout: &str,
    mut wanted: Hashes,
) -> Result<Option<Value>, RouterError> {
    if managed_by(before) != Some(rollout) {
        return Ok(None);
    }
    let named = named_hashes(before);
    // A subset that named no pods before is not the controller's yet, whatever it names now.
    let hash = |subset: &str| named.iter().find(|(name, _)| *name == subset).map(|(_, hash)| (*hash).to_owned());
    wanted.canary = hash(rule.canary_subset_name.text());
    wanted.stable = hash(rule.stable_subset_name.text());
    wanted.experiments.retain(|service, _| hash(service).is_some());
    let edit = edit_destination_rule(after, rule, rollout, &wanted)?;
    Ok(edit.changed().map(|change| change.object.clone()))
}
