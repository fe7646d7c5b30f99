//! What is edited all the same, but may not be what the user means.

use serde_json::Value;
use tidegate_api::rollout::IstioVirtualService;
use tidegate_api::wire::Items;

use super::desired::Desired;
use super::place::{Place, object_name};
use super::routes::Protocol;
use super::virtual_service::select;
use super::weights::{Role, destinations};

/// Things to tell the user about a VirtualService, one sentence each; none when its routes cannot be matched, which is
/// an error elsewhere.
///
/// Hosts are compared by their first part only, so a Service of another namespace counts as the Rollout's own; and
/// the weight of a destination that is not ours is read as parts of the total, whatever the user had in mind.
pub fn warnings(
    object: &Value,
    reference: &IstioVirtualService,
    wanted: &Desired<'_>,
    rollout_namespace: &str,
) -> Vec<String> {
    let name = object_name("VirtualService", object);
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let Ok(selection) = select(spec, reference, wanted, &name) else { return Vec::new() };
    let mut warnings = Vec::new();
    for protocol in Protocol::ALL {
        let list = protocol.list(spec).map(Vec::as_slice).unwrap_or_default();
        for (index, route) in selection.of(protocol).iter().filter_map(|index| Some((*index, list.get(*index)?))) {
            let place = Place::of(&name, protocol, index, route);
            for found in destinations(route, wanted, &place).into_iter().flatten() {
                let namespace = found.host.split('.').nth(1).unwrap_or(rollout_namespace);
                if matches!(found.role, Role::Canary | Role::Stable) && namespace != rollout_namespace {
                    warnings.push(format!(
                        "{name}: {place}: host {} is in namespace {namespace}, the Rollout in {rollout_namespace}; it is \
                         weighted as the Rollout's own Service",
                        found.host
                    ));
                }
                if found.role == Role::Foreign
                    && !is_declared(wanted, found.subset)
                    && found.weight().is_some_and(|weight| weight > 0)
                {
                    warnings.push(format!(
                        "{name}: {place}: destination {} is not the Rollout's; its weight is kept and counts as parts of {}",
                        found.label(),
                        wanted.whole()
                    ));
                }
            }
        }
    }
    warnings
}

/// Whether the user says in `additionalSubsetNames` that a weight is meant.
fn is_declared(wanted: &Desired<'_>, subset: &str) -> bool {
    let declared = wanted.routing.destination_rule.map(|rule| rule.additional_subset_names.items()).unwrap_or_default();
    !subset.is_empty() && declared.iter().any(|name| name == subset)
}
