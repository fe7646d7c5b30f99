//! The router of `trafficRouting.ambassador`.

use serde_json::Value;
use tidegate_api::rollout::AmbassadorTrafficRouting;
use tidegate_api::wire::Items;

use super::canary_mapping::{CanaryMapping, name, weight};
use crate::router::fields::{at, text};
use crate::router::reach::Known;
use crate::router::weighted::seen_route;
use crate::router::{
    Change, Event, Need, ObjectRef, Router, RouterError, Seen, SeenRoute, ServicePorts, Versions, Wanted, Wording,
};

/// The weight that means all traffic.
const TOTAL: i64 = 100;

/// The router of `trafficRouting.ambassador`.
pub(crate) struct Ambassador<'a> {
    pub(crate) spec: &'a AmbassadorTrafficRouting,
    pub(crate) versions: &'a Versions,
}

/// A Mapping and the one beside it.
struct Pair {
    base: ObjectRef,
    canary: ObjectRef,
}

impl Ambassador<'_> {
    fn pairs(&self, wanted: &Wanted<'_>) -> Result<Vec<Pair>, RouterError> {
        let mut pairs: Vec<Pair> = Vec::new();
        for mapping in self.spec.mappings.items().iter().filter(|mapping| !mapping.is_empty()) {
            let named = |name: &str| self.versions.mapping().named(wanted.rollout.namespace, name);
            let pair = Pair { base: named(mapping), canary: named(&name(mapping)) };
            if !pairs.iter().any(|other| other.base == pair.base) {
                pairs.push(pair);
            }
        }
        if pairs.is_empty() {
            let hint = "spec.strategy.canary.trafficRouting.ambassador.mappings: name one".to_owned();
            return Err(Wording::AmbassadorMappings.hint(hint));
        }
        Ok(pairs)
    }

    fn edit_one(&self, pair: &Pair, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        let field = "spec.strategy.canary.trafficRouting.ambassador.mappings";
        let base = seen.get(&pair.base, || format!("create it, or correct {field}"))?;
        if !at(base, &["spec", "weight"]).is_null() {
            let hint = format!("{}: remove spec.weight; it takes what the canary leaves", pair.base);
            return Err(Wording::AmbassadorWeight(pair.base.name.clone()).hint(hint));
        }
        let weight = wanted.part_of(TOTAL, i64::from(wanted.weight));
        let canary = CanaryMapping { name: &pair.canary, weight, wanted };
        match seen.find(&pair.canary)? {
            None => Ok(canary.create(&pair.base, base)?.into_iter().collect()),
            Some(found) => canary.follow(found, &pair.base, base),
        }
    }

    fn read_one(pair: &Pair, seen: &Seen) -> Result<SeenRoute, RouterError> {
        let canary = match seen.find(&pair.canary)? {
            None => 0,
            Some(found) => weight(found).ok_or_else(|| {
                let (object, field) = (pair.canary.to_string(), "spec.weight".to_owned());
                RouterError::Shape { object, field, wanted: "a whole number from 0 to 2147483647" }
            })?,
        };
        let canary = canary.min(TOTAL);
        let route = seen_route(&pair.base.to_string(), &pair.canary.to_string());
        Ok(SeenRoute { canary, stable: TOTAL - canary, total: TOTAL, ..route })
    }
}

impl Router for Ambassador<'_> {
    fn name(&self) -> &'static str {
        "ambassador"
    }

    fn needs(&self, _: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        let pairs = self.pairs(wanted)?.into_iter();
        Ok(pairs.flat_map(|pair| [Need::Object(pair.base), Need::Object(pair.canary)]).collect())
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        wanted.check_routes(self.name(), &[])?;
        wanted.services.check_differ()?;
        let (mut changes, mut errors) = (Vec::new(), Vec::new());
        for pair in self.pairs(wanted)? {
            match self.edit_one(&pair, seen, wanted) {
                Ok(more) => changes.extend(more),
                Err(error) => errors.push(error),
            }
        }
        RouterError::joined(errors)?;
        let weight = wanted.part_of(TOTAL, i64::from(wanted.weight));
        if let Some(first) = changes.iter_mut().find(|change| change.body().is_some()) {
            let message = format!("Set canary mapping weight to {weight}");
            first.events.push(Event::normal("CanaryMappingWeightUpdate", message));
        }
        Ok(changes)
    }

    /// The canary is reached by the port of the user's Mapping.
    fn reach(&self, seen: &Seen, wanted: &Wanted<'_>, services: &ServicePorts<'_>) -> Result<(), RouterError> {
        for Pair { base, .. } in self.pairs(wanted)? {
            let Some(found) = seen.find(&base)? else { continue };
            // Such as `shop:80`, `https://shop.prod:443`; without a port the scheme says which.
            let port = text(found, &["spec", "service"]).rsplit_once(':').map(|(_, port)| port);
            let Some(port) = port.filter(|port| port.parse::<u16>().is_ok()) else { continue };
            let place = (base.to_string(), "the port of spec.service".to_owned());
            services.check(wanted.services.canary, &Value::String(port.to_owned()), Known::PodPorts, place)?;
        }
        Ok(())
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        match self.pairs(wanted) {
            Ok(pairs) => pairs.iter().map(|pair| Self::read_one(pair, seen)).collect(),
            Err(error) => vec![Err(error)],
        }
    }
}
