//! The routers of a Rollout behind their common form: what is wanted of them, and what their objects say.

use jiff::Timestamp;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
use tidegate_traffic::istio::ISTIO;
use tidegate_traffic::router::{
    Action, Change, Need, Owner, Router, RouterError, Seen, SeenRoute, ServicePorts, Versions, Wanted, read_back,
    routers,
};
use tidegate_validate::references::{Found, Lookup};

use crate::observed::Observed;
use crate::plan::Traffic;

/// Routers, in the order in which they are written.
pub struct Routers<'a> {
    /// The routers.
    pub routers: Vec<Box<dyn Router + 'a>>,
    /// What is wanted of each.
    pub wanted: Wanted<'a>,
}

impl<'a> Routers<'a> {
    /// All that a Rollout names but Istio, for this traffic; none without any. Istio's objects may be in another cluster, several
    /// of them change in stages, and proxies get time in between: what a plan asks of it is more than an edit.
    pub fn besides_istio(
        rollout: &'a Rollout,
        versions: &'a Versions,
        traffic: &'a Traffic,
        now: Timestamp,
    ) -> Option<Self> {
        Self::of(rollout, versions, traffic, now, |router| router.name() != ISTIO)
    }

    /// All that a Rollout names, for this traffic; none without any.
    pub fn all(rollout: &'a Rollout, versions: &'a Versions, traffic: &'a Traffic, now: Timestamp) -> Option<Self> {
        Self::of(rollout, versions, traffic, now, |_| true)
    }

    fn of(
        rollout: &'a Rollout,
        versions: &'a Versions,
        traffic: &'a Traffic,
        now: Timestamp,
        is_meant: impl Fn(&dyn Router) -> bool,
    ) -> Option<Self> {
        let canary = rollout.spec.canary()?;
        let mut routers = routers(canary, versions);
        routers.retain(|router| is_meant(&**router));
        if routers.is_empty() {
            return None;
        }
        let metadata = &rollout.metadata;
        let owner =
            Owner { name: metadata.name.text(), namespace: metadata.namespace.text(), uid: metadata.uid.text() };
        let status = rollout.status.as_ref().and_then(|status| status.canary.as_ref());
        let mut wanted = Wanted::idle(canary, status, owner, now.as_second())
            .with_weight(traffic.canary_weight)
            .with_experiments(&traffic.additional);
        wanted.former.clone_from(&traffic.former);
        wanted.routes.clone_from(&traffic.routes);
        wanted.canary_hash = traffic.canary_hash.as_deref();
        wanted.stable_hash = traffic.stable_hash.as_deref();
        Some(Self { routers, wanted })
    }

    /// What has to be read that was not yet. What was found may lead to more.
    pub fn needs(&self, seen: &Seen) -> Vec<Need> {
        let all = self.routers.iter().filter_map(|router| router.needs(seen, &self.wanted).ok()).flatten();
        all.filter(|need| !seen.has(need)).collect()
    }

    /// What is to be written now by each.
    pub(crate) fn changes(&self, seen: &Seen) -> Result<Vec<Change>, RouterError> {
        let mut all = Vec::new();
        for router in &self.routers {
            all.extend(router.edit(seen, &self.wanted)?);
        }
        Ok(all)
    }

    /// Whether requests arrive where weight is to go.
    pub fn reach(&self, seen: &Seen, services: &ServicePorts<'_>) -> Result<(), RouterError> {
        self.routers.iter().try_for_each(|router| router.reach(seen, &self.wanted, services))
    }

    /// What all of them say.
    pub(crate) fn read(&self, seen: &Seen) -> Vec<SeenRoute> {
        self.routers.iter().flat_map(|router| read_back(&**router, seen, &self.wanted).routes).collect()
    }
}

/// Whether a change has to wait, and until when.
pub fn not_before(change: &Change, now: Timestamp) -> Option<Timestamp> {
    match change.action {
        Action::Delete { not_before: Some(second), .. } => {
            Timestamp::from_second(second).ok().filter(|moment| *moment > now)
        }
        _ => None,
    }
}

/// Puts changes into what was seen.
pub(crate) fn apply(seen: &mut Seen, changes: &[Change]) {
    for change in changes {
        seen.put(change.object.clone(), change.body().cloned());
    }
}

/// Why the objects of a router cannot be used.
pub(crate) fn problem(seen: &Observed) -> Option<RouterError> {
    // What is wanted does not matter for that.
    let traffic = Traffic::default();
    let others = Routers::besides_istio(&seen.rollout, &seen.routes.versions, &traffic, Timestamp::UNIX_EPOCH)?;
    others.changes(&seen.routes.routers).err()
}

/// The ports of the Services that were found.
pub fn service_ports(found: &Found) -> ServicePorts<'_> {
    let there = found.services.iter().filter_map(|(name, looked)| match looked {
        Lookup::Found(service) => Some((name.as_str(), service.spec.ports.as_slice())),
        Lookup::Missing(_) => None,
    });
    there.collect()
}

/// Hands on what validation looks at too.
pub fn put_found(rollout: &Rollout, seen: &Seen, found: &mut Found) {
    let mappings = rollout.spec.canary().and_then(|canary| canary.traffic_routing.as_ref()?.ambassador.as_ref());
    let is_mapping = |name: &String| mappings.is_some_and(|named| named.mappings.items().contains(name));
    for (name, object) in seen.objects() {
        let looked = match object {
            Some(object) => Lookup::Found(object.clone()),
            None => Lookup::Missing(seen.absence(name)),
        };
        match name.resource.plural.as_str() {
            "ingresses" => found.ingresses.insert(name.name.clone(), looked),
            // Those that the controller makes have a weight, as those of users must not.
            "mappings" | "ambassadormappings" if is_mapping(&name.name) => {
                found.mappings.insert(name.name.clone(), looked)
            }
            _ => None,
        };
    }
}
