//! Sending one request: the weighted pick, the pod, headers and copies.

use std::sync::Arc;

use super::decision::Verdict;
use super::headers::apply;
use super::request::{HeaderMap, Request};
use super::{Outcome, Routed, Upstream};
use crate::Config;
use crate::config::{Destination, Pod};

/// Further numbers out of the one the caller passes (splitmix64).
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn new(random: u64) -> Self {
        Self(random)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit; 0 when there is none.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
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
        let mut draws = Draws::new(random);
        let decision = self.decide(request);
        let plan = self.plan_of(&decision, request);
        let choice = plan.draw(&mut draws);
        let mut routed = Routed {
            outcome: plan.outcome(choice),
            route: decision.route,
            request_headers: request.headers.clone(),
            response_headers: HeaderMap::new(),
            mirrored: Vec::new(),
        };
        match decision.verdict {
            Verdict::NotFound => {}
            Verdict::Answer(route) => apply(&route.headers.response, &mut routed.response_headers),
            Verdict::Send { ways, headers, mirrors } => {
                // The narrower level first: Envoy lets the wider one have the last word.
                for headers in [ways.get(choice.way).and_then(|way| way.headers), headers].into_iter().flatten() {
                    apply(&headers.request, &mut routed.request_headers);
                    apply(&headers.response, &mut routed.response_headers);
                }
                for mirror in mirrors {
                    let copied = fraction(draws.next()) * 100.0 < mirror.percentage;
                    let outcome = self.copy(&mirror.destination, request, &mut draws);
                    routed.mirrored.extend(copied.then_some(outcome));
                }
            }
        }
        routed
    }

    fn copy(&self, destination: &Destination, request: &Request, draws: &mut Draws) -> Outcome {
        let upstream = Upstream { host: destination.host.clone(), subset: destination.subset.clone() };
        let Ok(pods) = self.pods(destination, Some(request.port), request.client_namespace()) else {
            return Outcome::UnknownCluster(upstream);
        };
        let index = draws.below(u64::try_from(pods.len()).unwrap_or(u64::MAX));
        match usize::try_from(index).ok().and_then(|index| pods.get(index)) {
            Some(pod) => Outcome::Served { pod: Arc::clone(pod), upstream },
            None => Outcome::NoHealthyUpstream(upstream),
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

/// A number from 0 up to but not including 1.
pub(crate) fn fraction(random: u64) -> f64 {
    // 53 bits are all that a float holds exactly.
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
