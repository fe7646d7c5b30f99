//! Sending one request: the weighted pick, the pod, the copies.

use std::sync::Arc;

use super::decision::{Decision, Verdict, Way};
use super::headers::apply;
use super::request::{HeaderMap, Request};
use super::{Outcome, Routed, Upstream};
use crate::Config;
use crate::config::{Action, Destination, Pod};

/// Further numbers out of the one the caller passes (splitmix64).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn pick<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(things.len()).ok().filter(|count| *count > 0)?;
        things.get(usize::try_from(self.next() % count).ok()?)
    }
}

/// Why a destination has no pods to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Host,
    Port,
    Subset,
}

impl Config {
    /// Sends a request. The same request and number give the same answer; numbers should be spread over all 64 bits.
    pub fn route(&self, request: &Request, random: u64) -> Routed {
        let mut draws = Draws(random);
        let Decision { route, verdict } = self.decide(request);
        let mut routed = Routed {
            outcome: Outcome::NotFound,
            route,
            request_headers: request.headers.clone(),
            response_headers: HeaderMap::new(),
            mirrored: Vec::new(),
        };
        match verdict {
            Verdict::NotFound => {}
            Verdict::Answer(route) => {
                routed.outcome = match &route.action {
                    Action::Redirect(redirect) => Outcome::Redirect(redirect.clone()),
                    Action::Direct(status) => Outcome::Direct(*status),
                    Action::Send(_) => Outcome::NotFound,
                };
                apply(&route.headers.response, &mut routed.response_headers);
            }
            Verdict::Send { ways, headers, mirrors } => {
                let Some(way) = pick_way(&ways, draws.next()) else { return routed };
                routed.outcome = self.send(&way.destination, request, &mut draws);
                // The narrower level first: Envoy lets the wider one have the last word.
                for headers in [way.headers, headers].into_iter().flatten() {
                    apply(&headers.request, &mut routed.request_headers);
                    apply(&headers.response, &mut routed.response_headers);
                }
                for mirror in mirrors {
                    let copied = fraction(draws.next()) * 100.0 < mirror.percentage;
                    let outcome = self.send(&mirror.destination, request, &mut draws);
                    routed.mirrored.extend(copied.then_some(outcome));
                }
            }
        }
        routed
    }

    fn send(&self, destination: &Destination, request: &Request, draws: &mut Draws) -> Outcome {
        let upstream = Upstream { host: destination.host.clone(), subset: destination.subset.clone() };
        match self.pods(destination, Some(request.port), request.client_namespace()) {
            Err(_) => Outcome::UnknownCluster(upstream),
            Ok(pods) => match draws.pick(&pods) {
                Some(pod) => Outcome::Served { pod: Arc::clone(pod), upstream },
                None => Outcome::NoHealthyUpstream(upstream),
            },
        }
    }

    /// The ready pods of a destination. Without a port that was called, a Service of several ports has any of them.
    pub(super) fn pods(
        &self,
        destination: &Destination,
        called: Option<u16>,
        client: &str,
    ) -> Result<Vec<&Arc<Pod>>, Unknown> {
        let service = self.clusters.service(&destination.host).ok_or(Unknown::Host)?;
        let only = <[u16; 1]>::try_from(service.ports.as_slice()).ok().map(|[port]| port);
        if destination.port.or(only).or(called).is_some_and(|port| !service.ports.contains(&port)) {
            return Err(Unknown::Port);
        }
        let endpoints = self.clusters.endpoints(&destination.host).iter();
        match &destination.subset {
            None => Ok(endpoints.collect()),
            Some(name) => {
                let subset = self.clusters.subset(&destination.host, name, client).ok_or(Unknown::Subset)?;
                Ok(endpoints.filter(|pod| pod.has_labels(&subset.labels)).collect())
            }
        }
    }
}

/// Envoy takes the remainder by the sum of the weights, whatever that sum is.
fn pick_way<'a, 'b>(ways: &'b [Way<'a>], random: u64) -> Option<&'b Way<'a>> {
    let total: u64 = ways.iter().map(|way| way.weight).sum();
    let mut left = random.checked_rem(total)?;
    ways.iter().find(|way| {
        let is_it = left < way.weight;
        left = left.saturating_sub(way.weight);
        is_it
    })
}

/// A number from 0 up to but not including 1.
pub(crate) fn fraction(random: u64) -> f64 {
    // 53 bits are all that a float holds exactly.
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
