//! Weight that leads to no pod.

use super::request::Protocol;
use super::walk::Unknown;
use super::{RouteId, Upstream};
use crate::Config;
use crate::config::{Action, VirtualService, Weighted};

/// What a destination lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// There is no such Service.
    Service,
    /// The Service has no such port.
    Port,
    /// No DestinationRule has such a subset for it.
    Subset,
    /// No pod is ready.
    ReadyPods,
}

/// A destination that requests are sent to, and fail.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadEnd {
    /// The route.
    pub route: RouteId,
    /// Where it leads.
    pub upstream: Upstream,
    /// More than 0.
    pub weight: u32,
    /// Why that fails.
    pub lack: Lack,
}

impl Config {
    /// Every route with weight on a destination without ready pods, in the order of VirtualServices and routes. Empty in
    /// a healthy mesh. Copies of requests do not count: nobody waits for their answers.
    pub fn dead_ends(&self) -> Vec<DeadEnd> {
        let mut found = Vec::new();
        for one in self.virtual_services() {
            for (id, destinations) in routes(one) {
                for to in destinations.iter().filter(|to| to.weight > 0) {
                    let upstream =
                        Upstream { host: to.destination.host.clone(), subset: to.destination.subset.clone() };
                    let lack = self.lack(one, to);
                    found.extend(lack.map(|lack| DeadEnd { route: id.clone(), upstream, weight: to.weight, lack }));
                }
            }
        }
        found
    }

    fn lack(&self, one: &VirtualService, to: &Weighted) -> Option<Lack> {
        match self.pods(&to.destination, None, &one.namespace) {
            Err(Unknown::Host) => Some(Lack::Service),
            Err(Unknown::Port) => Some(Lack::Port),
            Err(Unknown::Subset) => Some(Lack::Subset),
            Ok(pods) => pods.is_empty().then_some(Lack::ReadyPods),
        }
    }
}

/// All routes that send requests on.
fn routes(one: &VirtualService) -> Vec<(RouteId, &[Weighted])> {
    let id =
        |protocol, index, name: &str| RouteId { virtual_service: one.key(), protocol, index, name: name.to_owned() };
    let http = one.http.iter().filter_map(|route| match &route.action {
        Action::Send(to) => Some((id(Protocol::Http, route.index, &route.name), to.as_slice())),
        Action::Redirect(_) | Action::Direct(_) => None,
    });
    let tls = one.tls.iter().map(|route| (id(Protocol::Tls, route.index, ""), route.destinations.as_slice()));
    let tcp = one.tcp.iter().map(|route| (id(Protocol::Tcp, route.index, ""), route.destinations.as_slice()));
    http.chain(tls).chain(tcp).collect()
}
