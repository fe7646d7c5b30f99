//! Which VirtualService and which of its routes decide about a request.

use super::RouteId;
use super::matching::{http_fits, place_fits};
use super::request::{Protocol, Request, Via};
use crate::Config;
use crate::config::{
    Action, Destination, Headers, HttpRoute, Mirror, VirtualService, Weighted, bare_host, service_names,
};

/// One way a request may go.
#[derive(Clone, Debug)]
pub(super) struct Way<'a> {
    pub(super) destination: Destination,
    pub(super) weight: u64,
    pub(super) headers: Option<&'a Headers>,
}

/// What a proxy does with a request before any die is cast.
#[derive(Clone, Debug)]
pub(super) struct Decision<'a> {
    pub(super) route: Option<RouteId>,
    pub(super) verdict: Verdict<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum Verdict<'a> {
    /// No route fits.
    NotFound,
    /// An HTTP route that answers or redirects.
    Answer(&'a HttpRoute),
    /// Never empty, and some weight is more than 0.
    Send { ways: Vec<Way<'a>>, headers: Option<&'a Headers>, mirrors: &'a [Mirror] },
}

impl Config {
    pub(super) fn decide(&self, request: &Request) -> Decision<'_> {
        let gateway = request.gateway();
        let found = match request.protocol {
            // A name of the registry is only served on the ports of its Service.
            _ if self.lacks_port(request) => None,
            Protocol::Http => self.decide_http(request, &gateway),
            Protocol::Tls => self.decide_tls(request, &gateway),
            Protocol::Tcp => self.decide_tcp(request, &gateway),
        };
        match found {
            Some(decision) => decision,
            None => Decision { route: None, verdict: self.plain(request) },
        }
    }

    /// Without a VirtualService a sidecar sends to the Service; a gateway knows nothing.
    fn plain(&self, request: &Request) -> Verdict<'static> {
        let service = self.called_service(request).filter(|_| request.via == Via::Mesh);
        let Some(host) = service else { return Verdict::NotFound };
        let destination = Destination { host, subset: None, port: Some(request.port) };
        Verdict::Send { ways: vec![Way { destination, weight: 1, headers: None }], headers: None, mirrors: &[] }
    }

    /// The full name of the Service that a client calls, if it has the port.
    fn called_service(&self, request: &Request) -> Option<String> {
        let mut names = service_names(&request.host, request.client_namespace()).into_iter();
        names.find(|name| self.clusters.service(name).is_some_and(|service| service.ports.contains(&request.port)))
    }

    /// Whether a client calls a Service at a port that it does not have.
    fn lacks_port(&self, request: &Request) -> bool {
        let names = service_names(&request.host, request.client_namespace());
        let is_known = names.iter().any(|name| self.clusters.service(name).is_some());
        request.via == Via::Mesh && is_known && self.called_service(request).is_none()
    }

    /// VirtualServices that a proxy gets, whose hosts fit a request; those that fit best come first, then the oldest.
    fn fitting(&self, request: &Request, gateway: &str) -> Vec<(usize, &VirtualService)> {
        let names = match request.via {
            Via::Mesh => service_names(&request.host, request.client_namespace()),
            Via::Gateway { .. } => vec![bare_host(&request.host)],
        };
        let fit = |one: &VirtualService| names.iter().filter_map(|name| one.fit(name)).max();
        let mut known: Vec<_> =
            self.attached(request, gateway).into_iter().filter_map(|one| Some((fit(one)?, one))).collect();
        known.sort_by_key(|(fit, _)| std::cmp::Reverse(*fit));
        known
    }

    /// VirtualServices that a proxy gets, oldest first.
    fn attached(&self, request: &Request, gateway: &str) -> Vec<&VirtualService> {
        if request.via != Via::Mesh && !self.routes.gateways.contains(gateway) {
            return Vec::new();
        }
        let bound = self.routes.virtual_services.iter().filter(|one| one.gateways.iter().any(|name| name == gateway));
        bound.filter(|one| one.is_visible_in(request.client_namespace())).collect()
    }

    fn decide_http(&self, request: &Request, gateway: &str) -> Option<Decision<'_>> {
        let mesh = request.via == Via::Mesh;
        let mut given: Vec<(&VirtualService, &HttpRoute)> = Vec::new();
        let fitting = self.fitting(request, gateway);
        let best = fitting.first().map(|(fit, _)| *fit);
        for (_, one) in fitting.into_iter().filter(|(fit, _)| Some(*fit) == best) {
            for route in one.http.iter().filter(|route| is_given(route, request, gateway)) {
                given.push((one, route));
                // istiod leaves out what stands behind a route that takes everything.
                if takes_all(route, request, gateway) {
                    break;
                }
            }
            // A sidecar takes the first that says anything about HTTP; a gateway takes all together.
            if mesh && !given.is_empty() {
                break;
            }
        }
        if given.is_empty() {
            return None;
        }
        // Merged by a gateway, a route that takes everything must not hide those of the next VirtualService.
        given.sort_by_key(|(_, route)| takes_all(route, request, gateway));
        let taken = given.into_iter().find(|(_, route)| takes(route, request, gateway));
        Some(taken.map_or(Decision { route: None, verdict: Verdict::NotFound }, |(one, route)| Decision {
            route: Some(id(one, Protocol::Http, route.index, &route.name)),
            verdict: match &route.action {
                Action::Send(to) => {
                    Verdict::Send { ways: ways(to), headers: Some(&route.headers), mirrors: &route.mirrors }
                }
                Action::Redirect(_) | Action::Direct(_) => Verdict::Answer(route),
            },
        }))
    }

    /// The longest SNI host wins, as filter chains do, not the first route.
    fn decide_tls(&self, request: &Request, gateway: &str) -> Option<Decision<'_>> {
        let sni = bare_host(&request.host);
        let mut best = None;
        for (_, one) in self.fitting(request, gateway) {
            for route in &one.tls {
                let places = route.matches.iter().filter(|condition| place_fits(&condition.place, request, gateway));
                let fit = places.flat_map(|condition| &condition.sni_hosts).filter_map(|host| host.fit(&sni)).max();
                if fit.is_some() && best.as_ref().is_none_or(|(known, _, _)| fit > *known) {
                    best = Some((fit, one, route));
                }
            }
        }
        best.map(|(_, one, route)| Decision {
            route: Some(id(one, Protocol::Tls, route.index, "")),
            verdict: Verdict::Send { ways: ways(&route.destinations), headers: None, mirrors: &[] },
        })
    }

    /// A connection has no host: at a gateway any VirtualService may take it, at a sidecar those of the Service called.
    fn decide_tcp(&self, request: &Request, gateway: &str) -> Option<Decision<'_>> {
        let candidates = match request.via {
            Via::Mesh => self.fitting(request, gateway).into_iter().map(|(_, one)| one).collect(),
            Via::Gateway { .. } => self.attached(request, gateway),
        };
        let mut routes = candidates.into_iter().flat_map(|one| one.tcp.iter().map(move |route| (one, route)));
        let (one, route) = routes.find(|(_, route)| {
            route.matches.is_empty() || route.matches.iter().any(|place| place_fits(place, request, gateway))
        })?;
        Some(Decision {
            route: Some(id(one, Protocol::Tcp, route.index, "")),
            verdict: Verdict::Send { ways: ways(&route.destinations), headers: None, mirrors: &[] },
        })
    }
}

fn id(one: &VirtualService, protocol: Protocol, index: usize, name: &str) -> RouteId {
    RouteId { virtual_service: one.key(), protocol, index, name: name.to_owned() }
}

fn ways(destinations: &[Weighted]) -> Vec<Way<'_>> {
    destinations.iter().filter(|one| one.weight > 0).map(way).collect()
}

fn way(one: &Weighted) -> Way<'_> {
    Way { destination: one.destination.clone(), weight: u64::from(one.weight), headers: Some(&one.headers) }
}

/// Whether istiod gives a route to the proxy at all.
fn is_given(route: &HttpRoute, request: &Request, gateway: &str) -> bool {
    route.matches.is_empty() || route.matches.iter().any(|one| place_fits(&one.place, request, gateway))
}

fn takes(route: &HttpRoute, request: &Request, gateway: &str) -> bool {
    let mut placed = route.matches.iter().filter(|one| place_fits(&one.place, request, gateway));
    route.matches.is_empty() || placed.any(|one| http_fits(one, request))
}

fn takes_all(route: &HttpRoute, request: &Request, gateway: &str) -> bool {
    let mut placed = route.matches.iter().filter(|one| place_fits(&one.place, request, gateway));
    route.matches.is_empty() || placed.any(|one| one.takes_all())
}
