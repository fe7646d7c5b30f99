//! What the objects say, which is what may be reported.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tidegate_api::rollout::IstioVirtualService;

use super::desired::Desired;
use super::destination_rule::named_hashes;
use super::edit::Edit;
use super::error::RouterError;
use super::names::short_host;
use super::place::{Place, object_name};
use super::routes::Protocol;
use super::virtual_service::{edit_virtual_service, select};
use super::weights::{Role, destinations, whole_number};
use crate::router::{SeenRoute, Span};

/// A VirtualService as it was read, with the entry of the Rollout's spec that names it.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    /// The entry.
    pub reference: &'a IstioVirtualService,
    /// The object.
    pub object: &'a Value,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Every weighted route of every VirtualService that could be read.
    pub routes: Vec<SeenRoute>,
    /// Why others could not.
    pub problems: Vec<RouterError>,
    /// Whether no edit is left to do in any of them.
    pub is_as_wanted: bool,
    /// Pod template hashes that some subset names.
    pub named: BTreeSet<String>,
    /// Those of them whose subset some route still sends requests to.
    pub weighted: BTreeSet<String>,
}

impl Seen {
    /// The canary's weight over all routes; none when nothing could be read.
    pub fn canary(&self) -> Option<Span> {
        self.span(|route| route.canary)
    }

    /// The stable weight over all routes.
    pub fn stable(&self) -> Option<Span> {
        self.span(|route| route.stable)
    }

    /// The weight of an experiment over all routes, 0 where it is not in one.
    pub fn additional(&self, service: &str) -> Option<Span> {
        self.span(|route| route.additional.get(service).copied().unwrap_or_default())
    }

    fn span(&self, weight: impl Fn(&SeenRoute) -> i64) -> Option<Span> {
        Span::over(self.routes.iter().map(weight))
    }
}

/// Reads weights and references back; `rule` is the DestinationRule when the Rollout names one and it exists.
pub fn read_back(virtual_services: &[Read<'_>], rule: Option<&Value>, wanted: &Desired<'_>) -> Seen {
    let mut seen = Seen { is_as_wanted: true, ..Seen::default() };
    for read in virtual_services {
        match routes_of(read, wanted) {
            Ok(routes) => seen.routes.extend(routes),
            Err(error) => seen.problems.push(error),
        }
        let is_done = matches!(edit_virtual_service(read.object, read.reference, wanted), Ok(Edit::Unchanged));
        seen.is_as_wanted &= is_done;
    }
    let Some(rule) = rule else { return seen };
    let host = rule.get("spec").and_then(|spec| spec.get("host")).and_then(Value::as_str).unwrap_or_default();
    let mut used = BTreeSet::new();
    for read in virtual_services {
        used.extend(used_subsets(read.object, short_host(host)));
    }
    for (subset, hash) in named_hashes(rule) {
        seen.named.insert(hash.to_owned());
        if used.contains(subset) {
            seen.weighted.insert(hash.to_owned());
        }
    }
    seen
}

pub(super) fn routes_of(read: &Read<'_>, wanted: &Desired<'_>) -> Result<Vec<SeenRoute>, RouterError> {
    let object = object_name("VirtualService", read.object);
    let spec = read.object.get("spec").unwrap_or(&Value::Null);
    let selection = select(spec, read.reference, wanted, &object)?;
    let mut routes = Vec::new();
    for protocol in Protocol::ALL {
        let list = protocol.list(spec).map(Vec::as_slice).unwrap_or_default();
        for (index, route) in selection.of(protocol).iter().filter_map(|index| Some((*index, list.get(*index)?))) {
            routes.push(route_of(&object, route, wanted, &Place::of(&object, protocol, index, route))?);
        }
    }
    Ok(routes)
}

fn route_of(object: &str, route: &Value, wanted: &Desired<'_>, place: &Place<'_>) -> Result<SeenRoute, RouterError> {
    let (object, shown) = (object.to_owned(), place.to_string());
    let mut seen = SeenRoute { object, route: shown, canary: 0, stable: 0, additional: BTreeMap::new(), total: 0 };
    for (index, found) in destinations(route, wanted, place)?.into_iter().enumerate() {
        let weight = found.weight().ok_or_else(|| RouterError::Shape {
            object: seen.object.clone(),
            field: format!("{}.route[{index}].weight", place.path()),
            wanted: "a whole number from 0 to 2147483647",
        })?;
        seen.total = seen.total.saturating_add(weight);
        match found.role {
            Role::Canary => seen.canary = seen.canary.saturating_add(weight),
            Role::Stable => seen.stable = seen.stable.saturating_add(weight),
            Role::Experiment(service) => *seen.additional.entry(service).or_default() += weight,
            Role::Foreign | Role::Leftover => {}
        }
    }
    Ok(seen)
}

/// Subsets of a host that any route sends requests or copies to, selected or not. What cannot be read counts as used.
fn used_subsets<'a>(object: &'a Value, host: &str) -> BTreeSet<&'a str> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let mut used = BTreeSet::new();
    let mut note = |destination: Option<&'a Value>| {
        let Some(destination) = destination else { return };
        let text = |field: &str| destination.get(field).and_then(Value::as_str).unwrap_or_default();
        if short_host(text("host")) == host {
            used.insert(text("subset"));
        }
    };
    for route in Protocol::ALL.iter().filter_map(|protocol| protocol.list(spec)).flatten() {
        let entries = route.get("route").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for entry in entries {
            let weight = whole_number(entry.get("weight").unwrap_or(&Value::Null));
            // The only destination of a route gets everything, whatever its weight says.
            if weight != Some(0) || entries.len() == 1 {
                note(entry.get("destination"));
            }
        }
        note(route.get("mirror"));
        for mirror in route.get("mirrors").and_then(Value::as_array).into_iter().flatten() {
            note(mirror.get("destination"));
        }
    }
    used
}
