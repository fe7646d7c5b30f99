//! Rollouts and what they are asked for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tidegate_api::rollout::{CanaryStatus, CanaryStrategy, WeightDestination};

use tidegate_traffic::router::{
    Change, Event, ManagedRoute, Owner, Read, Router, RouterError, Seen, Span, Versions, Wanted, Written, read_back,
    routers,
};

use crate::world::World;

pub(crate) const UID: &str = "0f6c";

/// The canary strategy of the Rollout `shop` in `prod` and what it is asked for.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) canary: CanaryStrategy,
    pub(crate) status: CanaryStatus,
    pub(crate) versions: Versions,
    pub(crate) weight: i32,
    pub(crate) experiments: Vec<WeightDestination>,
    pub(crate) former: BTreeSet<String>,
    pub(crate) routes: Option<BTreeMap<String, ManagedRoute>>,
    pub(crate) hashes: (Option<&'static str>, Option<&'static str>),
    pub(crate) now: i64,
}

impl Setup {
    /// Services `shop-stable` and `shop-canary` with this `trafficRouting`.
    pub(crate) fn of(routing: Value) -> Self {
        let canary = json!({"stableService": "shop-stable", "canaryService": "shop-canary", "trafficRouting": routing});
        Self {
            canary: serde_json::from_value(canary).unwrap(),
            status: CanaryStatus::default(),
            versions: Versions::default(),
            weight: 0,
            experiments: Vec::new(),
            former: BTreeSet::new(),
            routes: None,
            hashes: (Some(""), Some("")),
            now: 1000,
        }
    }

    pub(crate) fn weight(mut self, weight: i32) -> Self {
        self.weight = weight;
        self
    }

    pub(crate) fn experiment(mut self, service: &str, weight: i32) -> Self {
        let found = json!({"serviceName": service, "podTemplateHash": "hash", "weight": weight});
        self.experiments.push(serde_json::from_value(found).unwrap());
        self
    }

    pub(crate) fn header(self, name: &str, matches: Value) -> Self {
        let step = json!({"name": name, "match": matches});
        self.route(name, ManagedRoute::Header(serde_json::from_value(step).unwrap()))
    }

    pub(crate) fn mirror(self, name: &str) -> Self {
        let step = json!({"name": name, "match": [{"method": {"exact": "GET"}}]});
        self.route(name, ManagedRoute::Mirror(serde_json::from_value(step).unwrap()))
    }

    fn route(mut self, name: &str, route: ManagedRoute) -> Self {
        self.routes.get_or_insert_default().insert(name.to_owned(), route);
        self
    }

    pub(crate) fn router(&self) -> Box<dyn Router + '_> {
        let mut all = routers(&self.canary, &self.versions);
        assert_eq!(all.len(), 1);
        all.pop().unwrap()
    }

    pub(crate) fn wanted(&self) -> Wanted<'_> {
        let rollout = Owner { name: "shop", namespace: "prod", uid: UID };
        let mut wanted = Wanted::idle(&self.canary, Some(&self.status), rollout, self.now)
            .with_weight(self.weight)
            .with_experiments(&self.experiments);
        wanted.former.clone_from(&self.former);
        wanted.routes.clone_from(&self.routes);
        (wanted.stable_hash, wanted.canary_hash) = self.hashes;
        wanted
    }

    /// Reads all that the router asks for, step by step.
    pub(crate) fn look(&self, world: &World) -> Seen {
        let mut seen = Seen::default();
        for _ in 0..4 {
            for need in self.router().needs(&seen, &self.wanted()).unwrap_or_default() {
                if !seen.has(&need) {
                    world.meet(&mut seen, need);
                }
            }
        }
        seen
    }

    pub(crate) fn edit(&self, world: &World) -> Result<Vec<Change>, RouterError> {
        let router = self.router();
        router.needs(&self.look(world), &self.wanted())?;
        router.edit(&self.look(world), &self.wanted())
    }

    pub(crate) fn read(&self, world: &World) -> Read {
        read_back(self.router().as_ref(), &self.look(world), &self.wanted())
    }

    /// The world after the edit, which a second edit must leave alone.
    pub(crate) fn after(&self, world: &World) -> World {
        let mut after = world.clone();
        after.apply(&self.edit(world).unwrap(), self.now);
        assert_eq!(self.edit(&after).unwrap(), [], "{after:?}");
        after
    }

    pub(crate) fn error(&self, world: &World) -> String {
        self.edit(world).unwrap_err().to_string()
    }

    pub(crate) fn hint(&self, world: &World) -> String {
        self.edit(world).unwrap_err().hint().unwrap()
    }

    pub(crate) fn events(&self, world: &World) -> Vec<(String, String)> {
        let all = self.edit(world).unwrap().into_iter().flat_map(|change| change.events);
        all.map(told).collect()
    }

    pub(crate) fn written(&self, world: &World) -> Vec<String> {
        let all = self.edit(world).unwrap();
        all.iter().flat_map(|change| &change.written).map(Written::to_string).collect()
    }
}

pub(crate) fn told(event: Event) -> (String, String) {
    let kind = if event.is_warning { "Warning " } else { "" };
    (format!("{kind}{}", event.reason), event.message)
}

pub(crate) fn owned(text: &[(&str, &str)]) -> Vec<(String, String)> {
    text.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

pub(crate) fn span(weight: i64) -> Option<Span> {
    Some(Span { lowest: weight, highest: weight })
}

/// The owner reference of what the Rollout makes.
pub(crate) fn owner() -> Value {
    json!([{
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "shop", "uid": UID,
        "controller": true, "blockOwnerDeletion": true,
    }])
}

/// One exact header.
pub(crate) fn exact(header: &str, value: &str) -> Value {
    json!([{"headerName": header, "headerValue": {"exact": value}}])
}
