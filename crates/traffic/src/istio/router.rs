//! Istio as one of the routers: all that is to change in its objects, in the order that is safe when it is written at once.
//!
//! A controller has more to say about that order: several VirtualServices change in stages, and proxies get time between
//! routes and subsets. It makes the same edits one by one.

use tidegate_api::rollout::{CanaryStrategy, IstioDestinationRule, IstioTrafficRouting, IstioVirtualService};
use tidegate_api::wire::{Items, Text};

use super::claims::merged;
use super::desired::{Desired, Experiment, Routing};
use super::destination_rule::{Hashes, edit_destination_rule, named_hashes, subset_message};
use super::edit::Edit;
use super::names::VirtualServiceName;
use super::read_back::{Read, routes_of};
use super::virtual_service::edit_virtual_service;
use crate::router::{Change, Event, Need, ObjectRef, Router, RouterError, Seen, SeenRoute, Versions, Wanted};

/// The name of the router.
pub const ISTIO: &str = "istio";

/// The router of `trafficRouting.istio`.
pub(crate) struct Istio<'a> {
    pub(crate) spec: &'a IstioTrafficRouting,
    pub(crate) canary: &'a CanaryStrategy,
    pub(crate) versions: &'a Versions,
}

/// The VirtualServices that a Rollout names, each once; none when it names them in two ways.
pub fn virtual_services(
    spec: &IstioTrafficRouting,
    rollout_namespace: &str,
) -> Vec<(VirtualServiceName, IstioVirtualService)> {
    match (&spec.virtual_service, spec.virtual_services.items()) {
        (Some(one), []) => merged(std::slice::from_ref(one), rollout_namespace),
        (None, many) => merged(many, rollout_namespace),
        _ => Vec::new(),
    }
}

impl<'a> Istio<'a> {
    fn virtual_services(&self, wanted: &Wanted<'_>) -> Vec<(ObjectRef, IstioVirtualService)> {
        let resource = self.versions.virtual_service();
        let named = virtual_services(self.spec, wanted.rollout.namespace).into_iter();
        named.map(|(name, reference)| (resource.named(&name.namespace, &name.name), reference)).collect()
    }

    fn rule(&self, wanted: &Wanted<'_>) -> Option<(ObjectRef, &'a IstioDestinationRule)> {
        let rule = self.spec.destination_rule.as_ref().filter(|rule| !rule.name.text().is_empty())?;
        Some((self.versions.destination_rule().named(wanted.rollout.namespace, rule.name.text()), rule))
    }

    fn desired<'w>(&'w self, wanted: &'w Wanted<'_>) -> Desired<'w> {
        let routing = Routing {
            services: wanted.services.clone(),
            managed_routes: wanted.managed_routes.clone(),
            ..Routing::of(self.canary, None)
        };
        let total = i32::try_from(wanted.whole()).unwrap_or(i32::MAX);
        let named = wanted.experiments.iter().filter(|found| !found.service.starts_with('.'));
        let experiments =
            named.map(|found| (found.service.clone(), Experiment { weight: found.weight, hash: found.hash.clone() }));
        Desired {
            weight: wanted.weight,
            experiments: experiments.collect(),
            former: wanted.former.clone(),
            routes: wanted.routes.clone(),
            ..Desired::idle(routing, total)
        }
    }

    fn routes(&self, seen: &Seen, wanted: &Wanted<'_>, desired: &Desired<'_>) -> Result<Vec<Change>, RouterError> {
        let mut changes = Vec::new();
        for (name, reference) in self.virtual_services(wanted) {
            let object = seen.get(&name, virtual_service_hint)?;
            let Edit::Changed(edit) = edit_virtual_service(object, &reference, desired)? else { continue };
            let told = edit.messages(&name.name, desired);
            let mut change = Change::update(&name, edit.object, edit.written);
            for message in told {
                change = change.map(|change| change.telling(Event::normal("Updated VirtualService", message)));
            }
            changes.extend(change);
        }
        Ok(changes)
    }

    /// What is to change in the DestinationRule, and whether the stable subset is to name other pods.
    fn subsets(
        &self,
        seen: &Seen,
        wanted: &Wanted<'_>,
        desired: &Desired<'_>,
    ) -> Result<Option<(Change, bool)>, RouterError> {
        let Some((name, rule)) = self.rule(wanted) else { return Ok(None) };
        let object = seen.get(&name, || {
            "create it, or correct spec.strategy.canary.trafficRouting.istio.destinationRule.name".to_owned()
        })?;
        let hashes = Hashes {
            canary: wanted.canary_hash.map(str::to_owned),
            stable: wanted.stable_hash.map(str::to_owned),
            experiments: desired.experiments.clone(),
        };
        let Edit::Changed(edit) = edit_destination_rule(object, rule, wanted.rollout.name, &hashes)? else {
            return Ok(None);
        };
        let is_stable = |(name, _): &(&str, &str)| *name == rule.stable_subset_name.text();
        let named = named_hashes(object).into_iter().find(is_stable).map(|(_, hash)| hash);
        let moves_stable = wanted.stable_hash.is_some() && named != wanted.stable_hash;
        let told = Event::normal("UpdatedDestinationRule", subset_message(&edit.object, rule));
        let change = Change::update(&name, edit.object, edit.written);
        Ok(change.map(|change| (change.telling(told), moves_stable)))
    }
}

fn virtual_service_hint() -> String {
    "create it, or correct spec.strategy.canary.trafficRouting.istio.virtualService".to_owned()
}

impl Router for Istio<'_> {
    fn name(&self) -> &'static str {
        ISTIO
    }

    fn needs(&self, _: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        let routes = self.virtual_services(wanted).into_iter().map(|(name, _)| name);
        Ok(routes.chain(self.rule(wanted).map(|(name, _)| name)).map(Need::Object).collect())
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        let desired = self.desired(wanted);
        let mut changes = self.routes(seen, wanted, &desired)?;
        let Some((subsets, moves_stable)) = self.subsets(seen, wanted, &desired)? else { return Ok(changes) };
        // Weight leaves a subset before it names other pods, and comes to it after. Stable pods that change are complete.
        let now = self.read(seen, wanted);
        let is_lowered = now.iter().flatten().any(|route| route.canary > i64::from(wanted.weight));
        changes.insert(if is_lowered && !moves_stable { changes.len() } else { 0 }, subsets);
        Ok(changes)
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        let desired = self.desired(wanted);
        let mut all = Vec::new();
        for (name, reference) in self.virtual_services(wanted) {
            let found = seen.get(&name, virtual_service_hint);
            match found.and_then(|object| Ok(routes_of(&Read { reference: &reference, object }, &desired)?)) {
                Ok(routes) => all.extend(routes.into_iter().map(Ok)),
                Err(error) => all.push(Err(error)),
            }
        }
        all
    }
}
