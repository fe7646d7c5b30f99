//! One request on its way through a [`Config`](crate::Config), as Envoy under istiod would send it.

mod dead_ends;
mod decision;
mod headers;
mod matching;
mod plan;
mod request;
mod shares;
mod walk;

use std::sync::Arc;

use crate::config::{Pod, Redirect};

pub use dead_ends::{DeadEnd, Lack};
pub(crate) use plan::{Choice, Plan};
pub use request::{HeaderMap, Protocol, Request, Via};
pub use shares::Target;
pub(crate) use walk::fraction;

/// A Service or subset that a request was sent to, whether or not anything is behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Upstream {
    /// The full name of the host.
    pub host: String,
    /// The subset, or nothing.
    pub subset: Option<String>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A pod gets it.
    Served {
        /// The pod.
        pod: Arc<Pod>,
        /// As part of what.
        upstream: Upstream,
    },
    /// Status 503 with the flag `UH`: there is nothing ready behind the destination.
    NoHealthyUpstream(Upstream),
    /// Status 503 with the flag `NC`: the host, port or subset is not known.
    UnknownCluster(Upstream),
    /// Status 404 with the flag `NR`, or a closed connection: no route fits.
    NotFound,
    /// The client is told to go elsewhere.
    Redirect(Redirect),
    /// The proxy answers itself with this status.
    Direct(u16),
}

/// Which route took a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteId {
    /// `namespace/name`.
    pub virtual_service: String,
    /// Its list.
    pub protocol: Protocol,
    /// Its place in that list.
    pub index: usize,
    /// Its name, or nothing.
    pub name: String,
}

/// A request and all that happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    /// What became of it.
    pub outcome: Outcome,
    /// The route; nothing if no VirtualService had a say.
    pub route: Option<RouteId>,
    /// Headers as the pod sees them.
    pub request_headers: HeaderMap,
    /// Headers that the proxies add to the answer.
    pub response_headers: HeaderMap,
    /// What became of its copies.
    pub mirrored: Vec<Outcome>,
}
