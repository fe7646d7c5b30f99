//! Who weights what: entries of one Rollout that name the same VirtualService, and Rollouts that share one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tidegate_api::rollout::IstioVirtualService;
use tidegate_api::wire::{Items, Text};

use super::desired::Routing;
use super::names::VirtualServiceName;
use super::place::Place;
use super::routes::Protocol;

/// The VirtualServices a Rollout names, each once, in the order of the spec.
///
/// Two entries may name one object with routes of their own; as one entry they are one edit and one write.
pub fn merged(
    references: &[IstioVirtualService],
    rollout_namespace: &str,
) -> Vec<(VirtualServiceName, IstioVirtualService)> {
    let mut merged: Vec<(VirtualServiceName, IstioVirtualService)> = Vec::new();
    for reference in references.iter().filter(|reference| !reference.name.text().is_empty()) {
        let name = VirtualServiceName::parse(reference.name.text(), rollout_namespace);
        match merged.iter_mut().find(|(other, _)| *other == name) {
            None => merged.push((name, reference.clone())),
            Some((_, first)) => {
                append(&mut first.routes, &reference.routes);
                append(&mut first.tls_routes, &reference.tls_routes);
                append(&mut first.tcp_routes, &reference.tcp_routes);
            }
        }
    }
    merged
}

fn append<T: Clone + PartialEq>(all: &mut Option<Vec<T>>, more: &Option<Vec<T>>) {
    for item in more.items() {
        if !all.items().contains(item) {
            all.get_or_insert_default().push(item.clone());
        }
    }
}

/// A Rollout that names a VirtualService.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Namespace and name of the Rollout.
    pub rollout: &'a str,
    /// The entry of its spec that names the VirtualService.
    pub reference: &'a IstioVirtualService,
    /// What its spec says.
    pub routing: &'a Routing<'a>,
}

/// Something of a VirtualService that more than one Rollout writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The route, for people.
    pub what: String,
    /// The Rollouts, by name.
    pub rollouts: Vec<String>,
}

/// Routes that more than one Rollout weights and managed routes that more than one writes: each would undo what the
/// other does, for ever. None of them should be written until one Rollout gives way.
pub fn contests(object: &Value, claims: &[Claim<'_>]) -> Vec<Contest> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let mut routes: BTreeMap<(Protocol, usize), BTreeSet<&str>> = BTreeMap::new();
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for claim in claims {
        for name in claim.routing.managed_routes.iter().chain(claim.routing.step_routes.keys()) {
            names.entry(name).or_default().insert(claim.rollout);
        }
        let Ok(selection) = claim.routing.selector(claim.reference).select_all(spec) else { continue };
        for protocol in Protocol::ALL {
            for index in selection.of(protocol) {
                routes.entry((protocol, *index)).or_default().insert(claim.rollout);
            }
        }
    }
    let place = |(protocol, index): (Protocol, usize)| {
        let list = protocol.list(spec).map(Vec::as_slice).unwrap_or_default();
        Place::of("", protocol, index, list.get(index).unwrap_or(&Value::Null)).to_string()
    };
    let weighted = routes.into_iter().map(|(at, rollouts)| (place(at), rollouts));
    let managed = names.into_iter().map(|(name, rollouts)| (format!("managed route '{name}'"), rollouts));
    let contested = weighted.chain(managed).filter(|(_, rollouts)| rollouts.len() > 1);
    contested.map(|(what, all)| Contest { what, rollouts: all.into_iter().map(str::to_owned).collect() }).collect()
}
