//! Weights of the destinations of one route.

use serde_json::{Map, Value, json};
use tidegate_api::wire::Text;

use super::desired::Desired;
use super::error::RouterError;
use super::names::short_host;
use super::place::Place;
use crate::router::Written;

/// What a destination is to the Rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The new pods.
    Canary,
    /// The old pods.
    Stable,
    /// A running experiment, by Service.
    Experiment(String),
    /// The user's, weight included.
    Foreign,
    /// Of an experiment that is over, or without a host: it goes.
    Leftover,
}

/// A destination with its role and the weight it has.
pub(super) struct Destination<'a> {
    pub(super) entry: &'a Map<String, Value>,
    pub(super) role: Role,
    pub(super) host: &'a str,
    pub(super) subset: &'a str,
}

impl Destination<'_> {
    /// Host and subset, for people.
    pub(super) fn label(&self) -> String {
        if self.subset.is_empty() { self.host.to_owned() } else { format!("{}/{}", self.host, self.subset) }
    }

    /// The weight, 0 when absent; none when it is no whole number Istio could hold.
    pub(super) fn weight(&self) -> Option<i64> {
        whole_number(self.entry.get("weight").unwrap_or(&Value::Null))
    }
}

/// A weight as people and programs write it: `5`, `5.0`, absent.
pub(crate) fn whole_number(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return value.is_null().then_some(0) };
    let whole = number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        // The bound keeps the conversion exact.
        (0.0..=f64::from(i32::MAX)).contains(&float).then_some(float as i64)
    });
    whole.filter(|whole| (0..=i64::from(i32::MAX)).contains(whole))
}

/// The destinations of a route with their roles.
pub(super) fn destinations<'a>(
    route: &'a Value,
    wanted: &Desired<'_>,
    place: &Place<'_>,
) -> Result<Vec<Destination<'a>>, RouterError> {
    let field = place.protocol.field();
    let Value::Object(route) = route else {
        return Err(place.casting(format!("{field}[]"), "map[string]interface"));
    };
    let Some(Value::Array(list)) = route.get("route") else {
        return Err(place.casting(format!("{field}[].route"), "[]interface"));
    };
    let read = |entry: &'a Value| {
        let entry = entry.as_object()?;
        let destination = entry.get("destination")?.as_object()?;
        let text = |name: &str| destination.get(name).and_then(Value::as_str).unwrap_or_default();
        let (host, subset) = (text("host"), text("subset"));
        Some(Destination { entry, role: role(wanted, host, subset), host, subset })
    };
    let all: Option<Vec<_>> = list.iter().map(read).collect();
    all.ok_or_else(|| place.casting(format!("{field}[].route[].destination"), "map[string]interface"))
}

fn role(wanted: &Desired<'_>, host: &str, subset: &str) -> Role {
    if host.is_empty() {
        return Role::Leftover;
    }
    if let Some(rule) = wanted.routing.destination_rule
        && !subset.is_empty()
    {
        // Both roles may share one host, so that only the subset tells them apart.
        return match subset {
            _ if subset == rule.canary_subset_name.text() => Role::Canary,
            _ if subset == rule.stable_subset_name.text() => Role::Stable,
            // `additionalSubsetNames` among them: every weight that is not ours is kept, named or not.
            _ => Role::Foreign,
        };
    }
    let short = short_host(host);
    let services = &wanted.routing.services;
    match short {
        "" => Role::Foreign,
        _ if short == services.canary => Role::Canary,
        _ if short == services.stable => Role::Stable,
        _ if wanted.experiments.contains_key(short) => Role::Experiment(short.to_owned()),
        _ if subset.is_empty() && wanted.former.contains(short) => Role::Leftover,
        _ => Role::Foreign,
    }
}

/// How one route is to be split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) canary: i64,
    pub(super) stable: i64,
    /// By Service, ascending.
    pub(super) experiments: Vec<(String, i64)>,
}

/// The split that keeps what is the user's and sums up to the total.
pub(super) fn split(
    destinations: &[Destination<'_>],
    wanted: &Desired<'_>,
    place: &Place<'_>,
) -> Result<Split, RouterError> {
    let total = wanted.whole();
    let mut held: i64 = 0;
    let mut hosts = Vec::new();
    for (index, found) in destinations.iter().enumerate().filter(|(_, found)| found.role == Role::Foreign) {
        let weight = found.weight().ok_or_else(|| RouterError::Shape {
            object: place.object.clone(),
            field: format!("{}.route[{index}].weight", place.path()),
            wanted: "a whole number from 0 to 2147483647",
        })?;
        held = held.saturating_add(weight);
        if weight > 0 {
            hosts.push(found.label());
        }
    }
    let weight = i64::from(wanted.weight).clamp(0, total);
    if held >= total {
        if weight == 0 && wanted.experiments.is_empty() {
            // Weights are relative: with what is ours together on stable the user's share stays what it is, and an
            // abort always finds its way.
            let own = destinations.iter().filter(|found| found.role != Role::Foreign).filter_map(Destination::weight);
            let own = own.fold(0, i64::saturating_add).min(i64::from(i32::MAX));
            let stable = if own > 0 { own } else { total };
            return Ok(Split { canary: 0, stable, experiments: Vec::new() });
        }
        let (object, hosts) = (place.object.clone(), hosts.join(", "));
        return Err(RouterError::NoRoom { object, place: place.to_string(), hosts, held, total });
    }
    let canary = weight.min(total - held);
    let mut left = total - held - canary;
    let mut experiments = Vec::new();
    for (service, experiment) in &wanted.experiments {
        let part = experiment.weight.clamp(0, left);
        left -= part;
        experiments.push((service.clone(), part));
    }
    Ok(Split { canary, stable: left, experiments })
}

/// A route with its weights set, and what was changed. Everything else in it stays.
pub(super) fn weigh(
    route: &Value,
    wanted: &Desired<'_>,
    place: &Place<'_>,
) -> Result<(Value, Vec<Written>), RouterError> {
    let destinations = destinations(route, wanted, place)?;
    let split = split(&destinations, wanted, place)?;
    let heads = [Role::Canary, Role::Stable].map(|role| head(&destinations, &role));
    let mut written = Vec::new();
    let mut list = Vec::new();
    for (index, found) in destinations.iter().enumerate() {
        let target = match &found.role {
            Role::Canary => Some(if heads[0] == Some(index) { split.canary } else { 0 }),
            Role::Stable => Some(if heads[1] == Some(index) { split.stable } else { 0 }),
            Role::Experiment(service) => {
                let is_first = head(&destinations, &found.role) == Some(index);
                let part = split.experiments.iter().find(|(name, _)| name == service).map_or(0, |(_, part)| *part);
                Some(if is_first { part } else { 0 })
            }
            Role::Foreign => found.weight(),
            Role::Leftover => None,
        };
        let mut entry = found.entry.clone();
        if target != found.weight() {
            written.push(place.weight(found.label(), found.weight(), target));
            if let Some(target) = target {
                entry.insert("weight".to_owned(), json!(target));
            }
        } else if target.is_none() {
            // Both none: the weight was unreadable, and the destination goes.
            written.push(place.weight(found.label(), None, None));
        }
        if target.is_some() {
            list.push(Value::Object(entry));
        }
    }
    for (service, part) in split.experiments {
        let is_there = destinations.iter().any(|found| found.role == Role::Experiment(service.clone()));
        if part > 0 && !is_there {
            written.push(place.weight(service.clone(), None, Some(part)));
            list.push(json!({"destination": {"host": service}, "weight": part}));
        }
    }
    let mut route = route.clone();
    if let Value::Object(fields) = &mut route {
        fields.insert("route".to_owned(), Value::Array(list));
    }
    Ok((route, written))
}

/// Which of several destinations of one role gets its weight: the first, one told by subset before others.
pub(super) fn head(destinations: &[Destination<'_>], role: &Role) -> Option<usize> {
    let of_role = || destinations.iter().enumerate().filter(|(_, found)| found.role == *role);
    let by_subset = of_role().find(|(_, found)| !found.subset.is_empty());
    by_subset.or_else(|| of_role().next()).map(|(index, _)| index)
}

impl Place<'_> {
    fn weight(&self, destination: String, before: Option<i64>, after: Option<i64>) -> Written {
        let place = format!("{} route {}", self.protocol.name(), self.label());
        Written::Weight { place, destination, before, after }
    }
}
