//! The router of `trafficRouting.nginx`.

use serde_json::Value;
use tidegate_api::rollout::NginxTrafficRouting;
use tidegate_api::wire::{Items, Text};

use super::canary_ingress::{CanaryIngress, Keys, name};
use crate::ingress::{annotation, one_or_many, paths, port, rules, service};
use crate::router::reach::Known;
use crate::router::weighted::seen_route;
use crate::router::{
    Change, Event, Need, ObjectRef, Router, RouterError, Seen, SeenRoute, ServicePorts, Versions, Wanted, Wording,
};

/// The router of `trafficRouting.nginx`.
pub(crate) struct Nginx<'a> {
    pub(crate) spec: &'a NginxTrafficRouting,
    pub(crate) versions: &'a Versions,
}

/// A stable Ingress and the one beside it.
struct Pair {
    stable: ObjectRef,
    canary: ObjectRef,
}

impl Nginx<'_> {
    fn pairs(&self, wanted: &Wanted<'_>) -> Result<Vec<Pair>, RouterError> {
        let texts = (Wording::NginxBoth, Wording::NginxNeither);
        let fields = "spec.strategy.canary.trafficRouting.nginx.stableIngress and stableIngresses";
        let names = one_or_many(self.spec.stable_ingress.text(), self.spec.stable_ingresses.items(), texts, fields)?;
        let (ingress, rollout) = (self.versions.ingress(), &wanted.rollout);
        let pair = |stable: &str| Pair {
            stable: ingress.named(rollout.namespace, stable),
            canary: ingress.named(rollout.namespace, &name(rollout.name, stable)),
        };
        Ok(names.into_iter().map(pair).collect())
    }

    /// The canary Ingress, when there is one and it is the Rollout's.
    fn own<'s>(seen: &'s Seen, name: &ObjectRef, wanted: &Wanted<'_>) -> Result<Option<&'s Value>, RouterError> {
        let Some(found) = seen.find(name)? else { return Ok(None) };
        if wanted.rollout.controls(found) {
            return Ok(Some(found));
        }
        let hint = format!("{name}: delete it, so that the Rollout can make its own");
        Err(Wording::NginxOwner(name.name.clone()).hint(hint))
    }

    fn edit_one(&self, pair: &Pair, seen: &Seen, wanted: &Wanted<'_>) -> Result<Option<Change>, RouterError> {
        let field = if self.spec.stable_ingress.text().is_empty() { "stableIngresses" } else { "stableIngress" };
        let missing = || format!("create it, or correct spec.strategy.canary.trafficRouting.nginx.{field}");
        let stable = seen.get(&pair.stable, missing)?;
        let desired = CanaryIngress::of(self.spec, &pair.stable, stable, wanted)?;
        let (name, weight) = (&pair.canary.name, i64::from(wanted.weight).clamp(0, wanted.whole()));
        let Some(found) = Self::own(seen, &pair.canary, wanted)? else {
            let message = format!("Creating canary ingress `{name}` with weight `{weight}`");
            let change = Change::create(&pair.canary, desired.body(&pair.canary, wanted));
            return Ok(Some(change.telling(Event::normal("CreatingCanaryIngress", message))));
        };
        let (body, written) = desired.merged(&pair.canary, found)?;
        let message = format!("Updating Ingress `{name}` to desiredWeight '{weight}'");
        let change = Change::update(&pair.canary, body, written);
        Ok(change.map(|change| change.telling(Event::normal("PatchingCanaryIngress", message))))
    }

    fn read_one(&self, pair: &Pair, seen: &Seen, wanted: &Wanted<'_>) -> Result<SeenRoute, RouterError> {
        let keys = Keys::of(self.spec);
        let found = Self::own(seen, &pair.canary, wanted)?;
        let number = |key: &str, absent: i64| {
            let Some(text) = found.and_then(|found| annotation(found, key)) else { return Ok(absent) };
            let number = text.parse().ok().filter(|number| (0..=i64::from(i32::MAX)).contains(number));
            let (object, field) = (pair.canary.to_string(), format!("annotation {key}"));
            number.ok_or(RouterError::Shape { object, field, wanted: "a whole number from 0 to 2147483647" })
        };
        let is_canary = found.and_then(|found| annotation(found, &keys.canary)) == Some("true");
        let total = number(&keys.total, 100)?;
        let canary = if is_canary { number(&keys.weight, 0)?.min(total) } else { 0 };
        let seen = seen_route(&pair.stable.to_string(), &pair.canary.to_string());
        Ok(SeenRoute { canary, stable: total - canary, total, ..seen })
    }
}

impl Router for Nginx<'_> {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn needs(&self, _: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        let pairs = self.pairs(wanted)?.into_iter();
        Ok(pairs.flat_map(|pair| [Need::Object(pair.stable), Need::Object(pair.canary)]).collect())
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        wanted.check_routes(self.name(), &[])?;
        wanted.services.check_differ()?;
        let mut changes = Vec::new();
        for pair in self.pairs(wanted)? {
            changes.extend(self.edit_one(&pair, seen, wanted)?);
        }
        Ok(changes)
    }

    /// The canary is reached by the ports of the stable Ingress.
    fn reach(&self, seen: &Seen, wanted: &Wanted<'_>, services: &ServicePorts<'_>) -> Result<(), RouterError> {
        for Pair { stable, .. } in self.pairs(wanted)? {
            let Some(found) = seen.find(&stable)? else { continue };
            for (index, rule) in rules(found).iter().enumerate() {
                for (at, path) in
                    paths(rule).iter().enumerate().filter(|(_, path)| service(path) == wanted.services.stable)
                {
                    let place = format!("spec.rules[{index}].http.paths[{at}].backend.service.port");
                    services.check(wanted.services.canary, port(path), Known::PodPorts, (stable.to_string(), place))?;
                }
            }
        }
        Ok(())
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        match self.pairs(wanted) {
            Ok(pairs) => pairs.iter().map(|pair| self.read_one(pair, seen, wanted)).collect(),
            Err(error) => vec![Err(error)],
        }
    }
}
