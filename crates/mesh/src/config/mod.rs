//! An immutable snapshot of what istiod would know.

mod clusters;
mod destination_rule;
mod hosts;
mod matches;
mod parts;
mod pod;
mod routes;
mod virtual_service;

use std::sync::Arc;

use serde_json::Value;

pub use clusters::Service;
pub use destination_rule::Subset;
pub use matches::{HttpMatch, Place, StringMatch};
pub use pod::{ERROR_RATE_ANNOTATION, LATENCY_ANNOTATION, Latency, Pod, VERSION_ANNOTATION};
pub use routes::{
    Action, Destination, HeaderEdits, Headers, HttpRoute, Mirror, Redirect, TcpRoute, TlsRoute, Weighted,
};
pub use virtual_service::VirtualService;

pub(crate) use clusters::Clusters;
pub(crate) use hosts::{bare_host, service_names};
pub(crate) use matches::whole_pattern;
pub(crate) use parts::key;

/// Something that could not be read and is therefore not part of the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{object}: {what}")]
pub struct Problem {
    /// Kind, namespace and name.
    pub object: String,
    /// The field and what is wrong with it.
    pub what: String,
}

/// The objects to read, as a list from the API would give them.
#[derive(Clone, Debug, Default)]
pub struct Objects<'a> {
    /// `networking.istio.io` VirtualServices.
    pub virtual_services: Vec<&'a Value>,
    /// `networking.istio.io` DestinationRules.
    pub destination_rules: Vec<&'a Value>,
    /// `networking.istio.io` Gateways; only their names count.
    pub gateways: Vec<&'a Value>,
    /// Services.
    pub services: Vec<&'a Value>,
    /// EndpointSlices. Without them (`None`) the selectors of the Services are applied to the pods at once, as if no
    /// endpoint controller stood in between.
    pub endpoint_slices: Option<Vec<&'a Value>>,
    /// Pods.
    pub pods: Vec<&'a Value>,
}

impl<'a> Objects<'a> {
    /// Sorts objects that name their own kind; kinds that a mesh does not look at are left out.
    pub fn sorted(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut sorted = Self::default();
        for object in objects {
            match object.get("kind").and_then(Value::as_str).unwrap_or_default() {
                "VirtualService" => sorted.virtual_services.push(object),
                "DestinationRule" => sorted.destination_rules.push(object),
                "Gateway" => sorted.gateways.push(object),
                "Service" => sorted.services.push(object),
                "EndpointSlice" => sorted.endpoint_slices.get_or_insert_default().push(object),
                "Pod" => sorted.pods.push(object),
                _ => {}
            }
        }
        sorted
    }
}

/// What the mesh is told to do, as of one moment. Cheap to clone.
///
/// It has two halves because they reach a proxy apart from each other: routes (VirtualServices and Gateways), and what
/// they lead to (Services, DestinationRules and endpoints). DestinationRules are in the second half because istiod sends
/// the endpoints of each subset, already selected by its labels, so a changed label arrives as changed endpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    pub(crate) routes: Arc<RouteTable>,
    pub(crate) clusters: Arc<Clusters>,
}

/// The half of a [`Config`] that says where requests are sent.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RouteTable {
    /// Oldest first, which is the order istiod prefers them in.
    pub(crate) virtual_services: Vec<VirtualService>,
    /// `namespace/name`.
    pub(crate) gateways: std::collections::BTreeSet<String>,
    pub(crate) problems: Vec<Problem>,
}

impl Config {
    /// Reads a snapshot. What cannot be read is left out and listed in [`Config::problems`].
    pub fn read(objects: &Objects<'_>) -> Self {
        Self { routes: Arc::new(RouteTable::read(objects)), clusters: Arc::new(Clusters::read(objects)) }
    }

    /// What was left out, in the order it was met: VirtualServices first.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.routes.problems.iter().chain(&self.clusters.problems)
    }

    /// The VirtualServices, oldest first.
    pub fn virtual_services(&self) -> &[VirtualService] {
        &self.routes.virtual_services
    }

    /// The ready pods behind a Service by its full name (`name.namespace.svc.cluster.local`).
    pub fn endpoints(&self, host: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.clusters.endpoints(host).iter()
    }

    /// The routes of one snapshot with the Services and endpoints of another: what a proxy sees between two updates.
    pub(crate) fn mixed(routes: &Self, clusters: &Self) -> Self {
        Self { routes: Arc::clone(&routes.routes), clusters: Arc::clone(&clusters.clusters) }
    }
}

impl RouteTable {
    fn read(objects: &Objects<'_>) -> Self {
        let mut table = Self::default();
        for object in &objects.virtual_services {
            table.virtual_services.extend(VirtualService::read(object, &mut table.problems));
        }
        table.virtual_services.sort_by(|one, other| one.age().cmp(&other.age()));
        table.gateways = objects.gateways.iter().map(|object| key(object)).collect();
        table
    }
}
