//! Lists of destinations with weights: what is whose, and how they are split.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::change::Written;
use super::error::RouterError;
use super::read::SeenRoute;
use super::wanted::Wanted;
use crate::istio::whole_number;
use crate::services::Services;

/// What a destination is to the Rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The new pods.
    Canary,
    /// The old pods.
    Stable,
    /// A running experiment, by Service.
    Experiment(String),
    /// Of an experiment that is over: it goes.
    Former,
    /// The user's, weight included.
    Foreign,
}

impl Role {
    /// Of a Service, where experiments have no place.
    pub(crate) fn of(service: &str, wanted: &Wanted<'_>) -> Self {
        match service {
            _ if service == wanted.services.canary => Self::Canary,
            _ if service == wanted.services.stable => Self::Stable,
            _ => Self::Foreign,
        }
    }
}

/// A list of destinations.
pub(crate) struct Weighted<'a> {
    /// Kind, namespace and name.
    pub(crate) object: String,
    /// Where the list is, such as `spec.weighted.services`.
    pub(crate) place: String,
    /// The weight of an entry that has none.
    pub(crate) default: i64,
    /// The weight that means all traffic.
    pub(crate) total: i64,
    /// Whether experiments have a place in it.
    pub(crate) takes_experiments: bool,
    /// The entries, each with the name it goes by.
    pub(crate) entries: Vec<(&'a str, Role)>,
    /// What is wanted.
    pub(crate) wanted: &'a Wanted<'a>,
}

/// How one list is to be split.
pub(crate) struct Split {
    pub(crate) canary: i64,
    pub(crate) stable: i64,
    pub(crate) experiments: Vec<(String, i64)>,
}

impl Split {
    /// All traffic, less what others hold.
    pub(crate) fn of(wanted: &Wanted<'_>, total: i64, held: i64, takes_experiments: bool) -> Self {
        let canary = wanted.part_of(total, i64::from(wanted.weight)).min((total - held).max(0));
        let mut left = (total - held - canary).max(0);
        let mut experiments = Vec::new();
        for found in wanted.experiments.iter().filter(|_| takes_experiments) {
            let part = wanted.part_of(total, found.weight).min(left);
            left -= part;
            experiments.push((found.service.clone(), part));
        }
        Self { canary, stable: left, experiments }
    }
}

impl Weighted<'_> {
    fn weight(&self, entry: &Value) -> Option<i64> {
        entry.get("weight").filter(|weight| !weight.is_null()).map_or(Some(self.default), whole_number)
    }

    /// The weight of an entry; an error when it is no whole number.
    fn number(&self, index: usize, entry: &Value) -> Result<i64, RouterError> {
        self.weight(entry).ok_or_else(|| RouterError::Shape {
            object: self.object.clone(),
            field: format!("{}[{index}].weight", self.place),
            wanted: "a whole number from 0 to 2147483647",
        })
    }

    /// The split that keeps what is the user's and sums up to the total.
    fn split(&self, list: &[Value]) -> Result<Split, RouterError> {
        let mut held: i64 = 0;
        let mut names = Vec::new();
        for (index, ((name, role), entry)) in self.entries.iter().zip(list).enumerate() {
            if *role != Role::Foreign {
                continue;
            }
            let weight = self.number(index, entry)?;
            held = held.saturating_add(weight);
            if weight > 0 {
                names.push(*name);
            }
        }
        let split = Split::of(self.wanted, self.total, held, self.takes_experiments);
        if held < self.total {
            return Ok(split);
        }
        if self.wanted.weight <= 0 && split.experiments.is_empty() {
            // Weights are relative: with what is ours together on stable the user's share stays what it is, and an
            // abort always finds its way.
            let own = self.entries.iter().zip(list).filter(|((_, role), _)| *role != Role::Foreign);
            let own = own.filter_map(|(_, entry)| self.weight(entry)).fold(0, i64::saturating_add);
            let stable = if own > 0 { own.min(i64::from(i32::MAX)) } else { self.total };
            return Ok(Split { stable, ..split });
        }
        let (object, place) = (self.object.clone(), self.place.clone());
        Err(RouterError::NoRoom { object, place, names: names.join(", "), held, total: self.total })
    }

    /// Sets the weights of a list; everything else in it stays. `make` gives the entry of an experiment that is not
    /// there yet, without weight.
    pub(crate) fn weigh(
        &self,
        list: &mut Vec<Value>,
        make: impl Fn(&str) -> Option<Value>,
    ) -> Result<Vec<Written>, RouterError> {
        let split = self.split(list)?;
        let mut written = Vec::new();
        let mut kept = Vec::new();
        let mut done: Vec<&Role> = Vec::new();
        for ((name, role), entry) in self.entries.iter().zip(list.iter()) {
            let part = match role {
                Role::Canary => Some(split.canary),
                Role::Stable => Some(split.stable),
                Role::Experiment(service) => split.part(service),
                Role::Former => None,
                Role::Foreign => {
                    kept.push(entry.clone());
                    continue;
                }
            };
            // Of several of one role the first gets the weight.
            let target = part.map(|part| if done.contains(&role) { 0 } else { part });
            done.push(role);
            let before = self.weight(entry);
            if target != before || target.is_none() {
                written.push(self.difference(name, before, target));
            }
            let Some(target) = target else { continue };
            let mut entry = entry.clone();
            if before != Some(target)
                && let Value::Object(fields) = &mut entry
            {
                fields.insert("weight".to_owned(), json!(target));
            }
            kept.push(entry);
        }
        for (service, part) in &split.experiments {
            let is_there = done.contains(&&Role::Experiment(service.clone()));
            if let Some(mut entry) = make(service).filter(|_| *part > 0 && !is_there)
                && let Value::Object(fields) = &mut entry
            {
                fields.insert("weight".to_owned(), json!(part));
                written.push(self.difference(service, None, Some(*part)));
                kept.push(entry);
            }
        }
        *list = kept;
        Ok(written)
    }

    fn difference(&self, destination: &str, before: Option<i64>, after: Option<i64>) -> Written {
        Written::Weight { place: self.place.clone(), destination: destination.to_owned(), before, after }
    }

    /// The weights as they are.
    pub(crate) fn read(&self, list: &[Value]) -> Result<SeenRoute, RouterError> {
        let mut seen = seen_route(&self.object, &self.place);
        for (index, ((_, role), entry)) in self.entries.iter().zip(list).enumerate() {
            let weight = self.number(index, entry)?;
            seen.total = seen.total.saturating_add(weight);
            match role {
                Role::Canary => seen.canary = seen.canary.saturating_add(weight),
                Role::Stable => seen.stable = seen.stable.saturating_add(weight),
                Role::Experiment(service) => *seen.additional.entry(service.clone()).or_default() += weight,
                Role::Former | Role::Foreign => {}
            }
        }
        Ok(seen)
    }
}

impl Split {
    fn part(&self, service: &str) -> Option<i64> {
        self.experiments.iter().find(|(name, _)| name == service).map(|(_, part)| *part)
    }
}

/// A place that nothing is known of yet.
pub(crate) fn seen_route(object: &str, place: &str) -> SeenRoute {
    let (object, route) = (object.to_owned(), place.to_owned());
    SeenRoute { object, route, canary: 0, stable: 0, additional: BTreeMap::new(), total: 0 }
}

/// Counts the weight of a Service in a list that is all the Rollout's.
pub(crate) fn count(route: &mut SeenRoute, service: &str, weight: i64, services: &Services<'_>) {
    let sum = match service {
        _ if service == services.canary => &mut route.canary,
        _ if service == services.stable => &mut route.stable,
        _ => route.additional.entry(service.to_owned()).or_default(),
    };
    *sum = sum.saturating_add(weight);
    route.total = route.total.saturating_add(weight);
}
