//! Rollouts and VirtualServices to edit.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tidegate_api::rollout::{CanaryStatus, CanaryStrategy, IstioVirtualService, WeightDestination};
use tidegate_traffic::istio::{Desired, Edit, RouterError, Routing, edit_virtual_service};
use tidegate_traffic::router::ManagedRoute;

/// The canary strategy of a Rollout and what it is asked for.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) canary: CanaryStrategy,
    pub(crate) status: CanaryStatus,
    pub(crate) weight: i32,
    pub(crate) total: i32,
    pub(crate) experiments: Vec<WeightDestination>,
    pub(crate) former: Vec<String>,
    pub(crate) routes: Option<BTreeMap<String, ManagedRoute>>,
}

impl Setup {
    /// From `spec.strategy.canary`.
    pub(crate) fn of(canary: Value) -> Self {
        Self {
            canary: serde_json::from_value(canary).unwrap(),
            status: CanaryStatus::default(),
            weight: 0,
            total: 100,
            experiments: Vec::new(),
            former: Vec::new(),
            routes: None,
        }
    }

    /// Services `shop-stable` and `shop-canary`, one VirtualService with these selectors.
    pub(crate) fn hosts(selectors: Value) -> Self {
        Self::of(json!({
            "stableService": "shop-stable", "canaryService": "shop-canary",
            "trafficRouting": {"istio": {"virtualService": with_name(selectors)}},
        }))
    }

    /// Subsets `stable` and `canary` of the DestinationRule `shop`.
    pub(crate) fn subsets(selectors: Value) -> Self {
        Self::of(json!({"trafficRouting": {"istio": {
            "virtualService": with_name(selectors),
            "destinationRule": {"name": "shop", "canarySubsetName": "canary", "stableSubsetName": "stable"},
        }}}))
    }

    pub(crate) fn weight(mut self, weight: i32) -> Self {
        self.weight = weight;
        self
    }

    pub(crate) fn managed(mut self, names: &[&str]) -> Self {
        let names: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let routing = self.canary.traffic_routing.as_mut().unwrap();
        routing.managed_routes = serde_json::from_value(json!(names)).unwrap();
        self
    }

    pub(crate) fn header(self, name: &str, step: Value) -> Self {
        self.route(name, ManagedRoute::Header(serde_json::from_value(step).unwrap()))
    }

    pub(crate) fn mirror(self, name: &str, step: Value) -> Self {
        self.route(name, ManagedRoute::Mirror(serde_json::from_value(step).unwrap()))
    }

    fn route(mut self, name: &str, route: ManagedRoute) -> Self {
        self.routes.get_or_insert_default().insert(name.to_owned(), route);
        self
    }

    pub(crate) fn experiment(mut self, service: &str, hash: &str, weight: i32) -> Self {
        let found = json!({"serviceName": service, "podTemplateHash": hash, "weight": weight});
        self.experiments.push(serde_json::from_value(found).unwrap());
        self
    }

    pub(crate) fn former(mut self, service: &str) -> Self {
        self.former.push(service.to_owned());
        self
    }

    pub(crate) fn reference(&self) -> &IstioVirtualService {
        let istio = self.canary.traffic_routing.as_ref().unwrap().istio.as_ref().unwrap();
        istio.virtual_service.as_ref().unwrap()
    }

    pub(crate) fn wanted(&self) -> Desired<'_> {
        let mut wanted = Desired::idle(Routing::of(&self.canary, Some(&self.status)), self.total)
            .with_weight(self.weight)
            .with_experiments(&self.experiments);
        wanted.former = self.former.iter().cloned().collect();
        wanted.routes.clone_from(&self.routes);
        wanted
    }

    pub(crate) fn edit(&self, object: &Value) -> Result<Edit, RouterError> {
        edit_virtual_service(object, self.reference(), &self.wanted())
    }

    /// The spec after the edit, which must be one, and which a second edit must leave alone.
    pub(crate) fn after(&self, spec: Value) -> Value {
        let object = virtual_service(spec);
        let edit = self.edit(&object).unwrap();
        let change = edit.changed().expect("nothing was changed");
        assert_eq!(self.edit(&change.object).unwrap(), Edit::Unchanged, "{}", change.object);
        change.object["spec"].clone()
    }

    pub(crate) fn error(&self, spec: Value) -> String {
        self.edit(&virtual_service(spec)).unwrap_err().to_string()
    }

    pub(crate) fn hint(&self, spec: Value) -> String {
        self.edit(&virtual_service(spec)).unwrap_err().hint().unwrap().to_owned()
    }

    pub(crate) fn is_unchanged(&self, spec: Value) -> bool {
        self.edit(&virtual_service(spec)).unwrap() == Edit::Unchanged
    }
}

fn with_name(mut selectors: Value) -> Value {
    selectors.as_object_mut().unwrap().insert("name".to_owned(), json!("shop"));
    selectors
}

pub(crate) fn virtual_service(spec: Value) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
        "metadata": {"name": "shop", "namespace": "default", "resourceVersion": "7"}, "spec": spec,
    })
}

/// A host with a weight, as an entry of `route`.
pub(crate) fn to(host: &str, weight: i64) -> Value {
    json!({"destination": {"host": host}, "weight": weight})
}

/// A subset of the host `shop` with a weight.
pub(crate) fn subset(name: &str, weight: i64) -> Value {
    json!({"destination": {"host": "shop", "subset": name}, "weight": weight})
}

/// Destinations `shop-stable` and `shop-canary`.
pub(crate) fn pair(stable: i64, canary: i64) -> Value {
    json!([to("shop-stable", stable), to("shop-canary", canary)])
}

/// Subsets `stable` and `canary`.
pub(crate) fn subset_pair(stable: i64, canary: i64) -> Value {
    json!([subset("stable", stable), subset("canary", canary)])
}
