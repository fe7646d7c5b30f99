//! The router of `trafficRouting.apisix`.

use serde_json::Value;
use tidegate_api::rollout::ApisixTrafficRouting;
use tidegate_api::wire::{Items, Text};

use super::header_route::{body, rules};
use super::rules::{positions, weighted};
use crate::router::fields::{list, put, text};
use crate::router::reach::Known;
use crate::router::{
    Change, Failure, ManagedKind, Need, ObjectRef, Router, RouterError, Seen, SeenRoute, ServicePorts, Versions,
    Wanted, Wording, Written,
};

/// The router of `trafficRouting.apisix`.
pub(crate) struct Apisix<'a> {
    pub(crate) spec: &'a ApisixTrafficRouting,
    pub(crate) versions: &'a Versions,
}

impl Apisix<'_> {
    fn route(&self) -> &str {
        self.spec.route.as_ref().map(|route| route.name.text()).unwrap_or_default()
    }

    /// Names of the rules to write, by default the one that is called like the route.
    fn rules(&self) -> Vec<&str> {
        match self.spec.route.as_ref().map(|route| route.rules.items()).unwrap_or_default() {
            [] => vec![self.route()],
            rules => rules.iter().map(String::as_str).collect(),
        }
    }

    fn object(&self, name: &str, wanted: &Wanted<'_>) -> ObjectRef {
        self.versions.apisix_route().named(wanted.rollout.namespace, name)
    }

    fn base<'s>(&self, seen: &'s Seen, wanted: &Wanted<'_>) -> Result<(ObjectRef, &'s Value), RouterError> {
        wanted.services.check_differ()?;
        let name = self.object(self.route(), wanted);
        let field = "spec.strategy.canary.trafficRouting.apisix.route.name";
        let found = seen.get(&name, || format!("create it, or correct {field}"))?;
        Ok((name, found))
    }

    fn weigh(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Option<Change>, RouterError> {
        let (name, found) = self.base(seen, wanted)?;
        let mut all = list(found, &["spec", "http"]).cloned().unwrap_or_default();
        let mut written = Vec::new();
        for index in positions(&self.rules(), &name, found)? {
            let Some(rule) = all.get_mut(index) else { continue };
            let before = rule.clone();
            let (backends, weighted) = weighted(&name, index, &before, wanted)?;
            let mut backends = backends.clone();
            written.extend(weighted.weigh(&mut backends, |_| None)?);
            put(rule, &[], "backends", Value::Array(backends));
        }
        let mut body = found.clone();
        put(&mut body, &["spec"], "http", Value::Array(all));
        Ok(Change::update(&name, body, written).map(|change| change.or_telling(failed(&name))))
    }

    /// The route of its own for a header step: made, followed or taken away.
    fn manage(&self, route: &str, seen: &Seen, wanted: &Wanted<'_>) -> Result<Option<Change>, RouterError> {
        let name = self.object(route, wanted);
        let found = seen.find(&name)?;
        let is_own = found.is_some_and(|found| wanted.rollout.controls(found));
        let step = wanted.headers().into_iter().find(|(other, _)| *other == route).map(|(_, step)| step);
        let Some(step) = step else {
            let gone = found.filter(|_| is_own).map(|found| Change::delete(&name, found, None));
            return Ok(gone.map(|change| change.or_telling(failed(&name))));
        };
        let (base_name, base) = self.base(seen, wanted)?;
        let is_foreign = found.is_some() && !is_own;
        if is_foreign || name == base_name {
            let hint = format!("{name}: rename or delete it, or rename the managed route");
            return Err(Wording::ApisixOwner(route.to_owned()).hint(hint));
        }
        let rules = rules(route, step, &base_name, base, &positions(&self.rules(), &base_name, base)?, wanted)?;
        let change = match found {
            None => Some(Change::create(&name, body(&name, base, rules, wanted))),
            Some(found) if list(found, &["spec", "http"]) == Some(&rules) => None,
            Some(found) => {
                let mut body = found.clone();
                put(&mut body, &["spec"], "http", Value::Array(rules.clone()));
                if list(&body, &["spec", "http"]) != Some(&rules) {
                    let (object, field) = (name.to_string(), "spec".to_owned());
                    return Err(RouterError::Shape { object, field, wanted: "an object" });
                }
                Change::update(&name, body, vec![Written::Put(ManagedKind::Header, route.to_owned())])
            }
        };
        Ok(change.map(|change| change.or_telling(failed(&name))))
    }
}

fn failed(name: &ObjectRef) -> Failure {
    Failure::warning("ApisixRouteUpdateError", format!("Error updating apisix route \"{}\"", name.name))
}

impl Router for Apisix<'_> {
    fn name(&self) -> &'static str {
        "apisix"
    }

    fn needs(&self, _: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        let names = [self.route()].into_iter().chain(wanted.owned_routes());
        Ok(names.map(|name| Need::Object(self.object(name, wanted))).collect())
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        wanted.check_routes(self.name(), &[ManagedKind::Header])?;
        let mut changes = Vec::new();
        for route in wanted.owned_routes() {
            changes.extend(self.manage(route, seen, wanted)?);
        }
        changes.extend(self.weigh(seen, wanted)?);
        Ok(changes)
    }

    fn reach(&self, seen: &Seen, wanted: &Wanted<'_>, services: &ServicePorts<'_>) -> Result<(), RouterError> {
        let (name, found) = self.base(seen, wanted)?;
        for index in positions(&self.rules(), &name, found)? {
            let backends = list(found, &["spec", "http"]).and_then(|rules| list(rules.get(index)?, &["backends"]));
            for (at, backend) in backends.into_iter().flatten().enumerate() {
                if text(backend, &["serviceName"]) == wanted.services.canary {
                    let place = (name.to_string(), format!("spec.http[{index}].backends[{at}].servicePort"));
                    let port = backend.get("servicePort").unwrap_or(&Value::Null);
                    services.check(wanted.services.canary, port, Known::PodPorts, place)?;
                }
            }
        }
        Ok(())
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        let read = || {
            let (name, found) = self.base(seen, wanted)?;
            let all = list(found, &["spec", "http"]).map(Vec::as_slice).unwrap_or_default();
            let rules = positions(&self.rules(), &name, found)?;
            let rules = rules.into_iter().filter_map(|index| Some((index, all.get(index)?)));
            Ok(rules
                .map(|(index, rule)| {
                    let (backends, weighted) = weighted(&name, index, rule, wanted)?;
                    weighted.read(backends)
                })
                .collect())
        };
        read().unwrap_or_else(|error| vec![Err(error)])
    }
}
