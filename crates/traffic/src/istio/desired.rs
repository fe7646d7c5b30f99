//! What a Rollout wants of its VirtualServices and its DestinationRule.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_api::rollout::{
    CanaryStatus, CanaryStrategy, IstioDestinationRule, IstioVirtualService, WeightDestination,
};
use tidegate_api::wire::{Items, Text};

use super::error::RouterError;
use super::names::Services;
use super::routes::Selector;
use crate::router::{ManagedKind, ManagedRoute};

/// What the Rollout's spec says, the same for every VirtualService.
#[derive(Clone, Debug)]
pub struct Routing<'a> {
    /// The Services hosts are compared with, ping-pong roles resolved.
    pub services: Services<'a>,
    /// With it, destinations are told by subset.
    pub destination_rule: Option<&'a IstioDestinationRule>,
    /// `managedRoutes`: names of routes that steps write, the first takes precedence.
    pub managed_routes: Vec<&'a str>,
    /// Names that header and mirror steps use, and for which of the two; removed with the managed ones.
    pub step_routes: BTreeMap<&'a str, ManagedKind>,
}

impl<'a> Routing<'a> {
    /// Reads it from a canary strategy; without Istio there is nothing to select and every edit is an error.
    pub fn of(canary: &'a CanaryStrategy, status: Option<&CanaryStatus>) -> Self {
        let routing = canary.traffic_routing.as_ref();
        let mut step_routes = BTreeMap::new();
        for step in canary.steps.items() {
            let header = step.set_header_route.as_ref().map(|step| (step.name.text(), ManagedKind::Header));
            let mirror = step.set_mirror_route.as_ref().map(|step| (step.name.text(), ManagedKind::Mirror));
            step_routes.extend(header.into_iter().chain(mirror).filter(|(name, _)| !name.is_empty()));
        }
        Self {
            services: Services::of(canary, status),
            destination_rule: routing.and_then(|r| r.istio.as_ref()?.destination_rule.as_ref()),
            managed_routes: routing
                .iter()
                .flat_map(|r| r.managed_routes.items())
                .map(|route| route.name.text())
                .filter(|name| !name.is_empty())
                .collect(),
            step_routes,
        }
    }

    /// The selection of routes, the same that validation uses.
    pub fn selector(&self, virtual_service: &'a IstioVirtualService) -> Selector<'a> {
        Selector {
            virtual_service,
            destination_rule: self.destination_rule,
            services: self.services.clone(),
            managed_routes: self.managed_routes.clone(),
        }
    }

    pub(super) fn check_roles_differ(&self) -> Result<(), RouterError> {
        let (kind, canary, stable, fields) = match self.destination_rule {
            Some(rule) => (
                "DestinationRule subset",
                rule.canary_subset_name.text(),
                rule.stable_subset_name.text(),
                "canarySubsetName and stableSubsetName",
            ),
            None => ("Service", self.services.canary, self.services.stable, "canaryService and stableService"),
        };
        if canary == stable && !canary.is_empty() {
            return Err(RouterError::SameRoles { kind, name: canary.to_owned(), fields });
        }
        Ok(())
    }
}

/// How managed routes are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagedForm {
    /// All fields of the base route, with the conditions of the step joined to its own.
    #[default]
    Cloned,
    /// Name, conditions and destinations only, as the original writes them.
    Plain,
}

/// A destination of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// Its weight in the route.
    pub weight: i64,
    /// Pod template hash of its pods.
    pub hash: String,
}

/// Traffic as it should be.
#[derive(Clone, Debug)]
pub struct Desired<'a> {
    /// What the spec says.
    pub routing: Routing<'a>,
    /// Weight of the canary.
    pub weight: i32,
    /// The weight that means all traffic (`maxTrafficWeight`).
    pub total: i32,
    /// Running experiments with a weight, by Service.
    pub experiments: BTreeMap<String, Experiment>,
    /// Services of experiments that are over: their destinations may go. All other unknown ones are the user's.
    pub former: BTreeSet<String>,
    /// Header and mirror routes by name; none at all at the end and on abort.
    pub routes: Option<BTreeMap<String, ManagedRoute>>,
    /// How managed routes are made.
    pub form: ManagedForm,
}

impl<'a> Desired<'a> {
    /// All traffic to stable, nothing managed: the state before and after a rollout, on abort, and the one to leave
    /// behind when the Rollout goes.
    pub fn idle(routing: Routing<'a>, total: i32) -> Self {
        Self {
            routing,
            weight: 0,
            total,
            experiments: BTreeMap::new(),
            former: BTreeSet::new(),
            routes: None,
            form: ManagedForm::default(),
        }
    }

    /// The same with another weight of the canary.
    pub fn with_weight(self, weight: i32) -> Self {
        Self { weight, ..self }
    }

    /// The same with these experiments; those without Service or hash are not there yet and left out.
    pub fn with_experiments(self, destinations: &[WeightDestination]) -> Self {
        let mut experiments = BTreeMap::new();
        for found in destinations {
            let (service, hash) = (found.service_name.text(), found.pod_template_hash.text());
            let own = [self.routing.services.canary, self.routing.services.stable];
            if service.is_empty() || service.starts_with('.') || hash.is_empty() || own.contains(&service) {
                continue;
            }
            let weight = i64::from(found.weight.unwrap_or_default().max(0));
            experiments.entry(service.to_owned()).or_insert(Experiment { weight, hash: hash.to_owned() });
        }
        Self { experiments, ..self }
    }

    /// The weight that means all traffic, inside the bounds validation sets.
    pub(super) fn whole(&self) -> i64 {
        i64::from(self.total).clamp(1, 1_000_000)
    }

    /// Whether a route of this name is written and removed by the controller.
    pub(super) fn owns(&self, name: &str) -> bool {
        self.routing.managed_routes.contains(&name)
            || self.routing.step_routes.contains_key(name)
            || self.routes.as_ref().is_some_and(|routes| routes.contains_key(name))
    }

    /// The managed routes wanted, in order of precedence.
    pub(super) fn ordered_routes(&self) -> Vec<(&str, &ManagedRoute)> {
        let place = |name: &str| {
            let position = self.routing.managed_routes.iter().position(|other| *other == name);
            position.unwrap_or(usize::MAX)
        };
        let mut all: Vec<_> = self.routes.iter().flatten().map(|(name, route)| (name.as_str(), route)).collect();
        all.sort_by_key(|(name, _)| (place(name), *name));
        all
    }
}
