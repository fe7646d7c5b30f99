//! What a Rollout wants of its routers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tidegate_api::rollout::{CanaryStatus, CanaryStrategy, SetHeaderRoute, WeightDestination};
use tidegate_api::wire::{Items, Text};

use super::error::RouterError;
use super::fields::{list, text};
use super::managed_route::{ManagedKind, ManagedRoute};
use crate::services::Services;

/// The Rollout as objects name the one that made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its UID.
    pub uid: &'a str,
}

impl Owner<'_> {
    /// The owner reference of objects that a router makes.
    pub(crate) fn reference(&self) -> Value {
        json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": self.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        })
    }

    /// Whether an object is this Rollout's.
    pub(crate) fn controls(&self, object: &Value) -> bool {
        !self.uid.is_empty() && controller(object) == Some(self.uid)
    }
}

/// UID of the object that another one belongs to.
pub(crate) fn controller(object: &Value) -> Option<&str> {
    let owners = list(object, &["metadata", "ownerReferences"])?;
    owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true))).map(|owner| text(owner, &["uid"]))
}

/// A running experiment that gets traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Its Service.
    pub service: String,
    /// Pod template hash of its pods.
    pub hash: String,
    /// Its weight.
    pub weight: i64,
}

/// Traffic as it should be.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The Rollout.
    pub rollout: Owner<'a>,
    /// The Services of most routers.
    pub services: Services<'a>,
    /// The Services of load balancers of AWS, which prefer the ping-pong pair.
    pub paired: Services<'a>,
    /// Weight of the canary.
    pub weight: i32,
    /// `maxTrafficWeight`: the weight that means all traffic.
    pub max_weight: Option<i32>,
    /// Running experiments with a weight, in the order of their templates.
    pub experiments: Vec<Destination>,
    /// Services of experiments that are over: their destinations may go. All other unknown ones are the user's.
    pub former: BTreeSet<String>,
    /// `managedRoutes`: names of routes that steps write, the first takes precedence.
    pub managed_routes: Vec<&'a str>,
    /// Header and mirror routes by name; none at all at the end and on abort.
    pub routes: Option<BTreeMap<String, ManagedRoute>>,
    /// Pod template hash of the stable pods, empty when there are none; none leaves what names them as it is.
    pub stable_hash: Option<&'a str>,
    /// Pod template hash of the canary's pods, likewise.
    pub canary_hash: Option<&'a str>,
    /// Seconds since 1970.
    pub now: i64,
}

impl<'a> Wanted<'a> {
    /// All traffic to stable, nothing managed: the state before and after a rollout and on abort.
    pub fn idle(canary: &'a CanaryStrategy, status: Option<&CanaryStatus>, rollout: Owner<'a>, now: i64) -> Self {
        let routing = canary.traffic_routing.as_ref();
        let managed = routing.iter().flat_map(|routing| routing.managed_routes.items());
        Self {
            rollout,
            services: Services::of(canary, status),
            paired: Services::ping_pong_first(canary, status),
            weight: 0,
            max_weight: routing.and_then(|routing| routing.max_traffic_weight),
            experiments: Vec::new(),
            former: BTreeSet::new(),
            managed_routes: managed.map(|route| route.name.text()).filter(|name| !name.is_empty()).collect(),
            routes: None,
            stable_hash: Some(""),
            canary_hash: Some(""),
            now,
        }
    }

    /// The same with another weight of the canary.
    pub fn with_weight(self, weight: i32) -> Self {
        Self { weight, ..self }
    }

    /// The same with these experiments; those without Service or hash are not there yet and left out.
    pub fn with_experiments(mut self, destinations: &[WeightDestination]) -> Self {
        self.experiments.clear();
        let own = [self.services.canary, self.services.stable, self.paired.canary, self.paired.stable];
        for found in destinations {
            let (service, hash) = (found.service_name.text(), found.pod_template_hash.text());
            let is_known = own.contains(&service) || self.experiments.iter().any(|other| other.service == service);
            if service.is_empty() || hash.is_empty() || is_known {
                continue;
            }
            let weight = i64::from(found.weight.unwrap_or_default().max(0));
            self.experiments.push(Destination { service: service.to_owned(), hash: hash.to_owned(), weight });
        }
        self
    }

    /// The weight that means all traffic, inside the bounds validation sets.
    pub(crate) fn whole(&self) -> i64 {
        i64::from(self.max_weight.unwrap_or(100)).clamp(1, 1_000_000)
    }

    /// A weight as parts of another whole; rounded down, so that nothing gets more than it was given.
    pub(crate) fn part_of(&self, total: i64, weight: i64) -> i64 {
        weight.clamp(0, self.whole()).saturating_mul(total) / self.whole()
    }

    /// Names of routes that steps write, in order of precedence.
    pub(crate) fn owned_routes(&self) -> Vec<&str> {
        let mut names = self.managed_routes.clone();
        let asked = self.routes.iter().flat_map(BTreeMap::keys).map(String::as_str);
        names.extend(asked.filter(|name| !self.managed_routes.contains(name)));
        names
    }

    /// The header routes wanted, in order of precedence; a step without match asks for none.
    pub(crate) fn headers(&self) -> Vec<(&str, &SetHeaderRoute)> {
        let found = self.owned_routes().into_iter().filter_map(|name| self.routes.as_ref()?.get_key_value(name));
        found
            .filter_map(|(name, route)| match route {
                ManagedRoute::Header(step) if !step.matches.items().is_empty() => Some((name.as_str(), step)),
                _ => None,
            })
            .collect()
    }

    /// An error when a route is asked for that a router cannot make.
    pub(crate) fn check_routes(&self, router: &'static str, can: &[ManagedKind]) -> Result<(), RouterError> {
        for (name, route) in self.routes.iter().flatten() {
            let is_empty = match route {
                ManagedRoute::Header(step) => step.matches.items().is_empty(),
                ManagedRoute::Mirror(step) => step.matches.items().is_empty(),
            };
            if !is_empty && !can.contains(&route.kind()) {
                return Err(RouterError::CannotRoute { router, kind: route.kind().name(), name: name.clone() });
            }
        }
        Ok(())
    }
}

impl Services<'_> {
    pub(crate) fn check_differ(&self) -> Result<(), RouterError> {
        if self.stable.is_empty() || self.canary.is_empty() {
            return Err(RouterError::NoServices);
        }
        if self.stable == self.canary {
            return Err(RouterError::SameServices { name: self.stable.to_owned() });
        }
        Ok(())
    }
}
