//! Everything about a request that does not depend on chance, so that many like it can be sent at little cost.

use std::sync::Arc;

use super::decision::{Decision, Verdict};
use super::request::Request;
use super::walk::Draws;
use super::{Outcome, Upstream};
use crate::Config;
use crate::config::{Action, Pod};

/// What may become of a request.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// The proxy answers itself, always the same.
    Answer(Outcome),
    /// Never empty, and some weight is more than 0.
    Send(Vec<PlannedWay>),
}

/// A destination and the pods behind it.
#[derive(Clone, Debug)]
pub(crate) struct PlannedWay {
    pub(super) weight: u64,
    pub(super) upstream: Upstream,
    /// None if the destination is not known.
    pub(super) pods: Option<Vec<Arc<Pod>>>,
}

/// Which way and which pod of it, as places in their lists; 0 where there is nothing to choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Choice {
    pub(super) way: usize,
    pod: usize,
}

impl Config {
    /// The plan for all requests like this one.
    pub(crate) fn plan(&self, request: &Request) -> Plan {
        self.plan_of(&self.decide(request), request)
    }

    pub(super) fn plan_of(&self, decision: &Decision<'_>, request: &Request) -> Plan {
        let ways = match &decision.verdict {
            Verdict::NotFound => return Plan::Answer(Outcome::NotFound),
            Verdict::Answer(route) => {
                return Plan::Answer(match &route.action {
                    Action::Redirect(redirect) => Outcome::Redirect(redirect.clone()),
                    Action::Direct(status) => Outcome::Direct(*status),
                    Action::Send(_) => Outcome::NotFound,
                });
            }
            Verdict::Send { ways, .. } => ways,
        };
        let planned = ways.iter().map(|way| {
            let pods = self.pods(&way.destination, Some(request.port), request.client_namespace());
            PlannedWay {
                weight: way.weight,
                upstream: Upstream { host: way.destination.host.clone(), subset: way.destination.subset.clone() },
                pods: pods.ok().map(|pods| pods.into_iter().cloned().collect()),
            }
        });
        Plan::Send(planned.collect())
    }
}

impl Plan {
    /// Casts the dice.
    pub(crate) fn choose(&self, random: u64) -> Choice {
        self.draw(&mut Draws::new(random))
    }

    pub(super) fn draw(&self, draws: &mut Draws) -> Choice {
        let Self::Send(ways) = self else { return Choice::default() };
        // Envoy takes the remainder by the sum of the weights, whatever that sum is.
        let total: u64 = ways.iter().map(|way| way.weight).sum();
        let mut left = draws.below(total);
        let found = ways.iter().position(|way| {
            let is_it = left < way.weight;
            left = left.saturating_sub(way.weight);
            is_it
        });
        let way = found.unwrap_or_default();
        let pods = ways.get(way).and_then(|way| way.pods.as_ref()).map_or(0, Vec::len);
        let pod = draws.below(u64::try_from(pods).unwrap_or(u64::MAX));
        Choice { way, pod: usize::try_from(pod).unwrap_or_default() }
    }

    /// What becomes of a request.
    pub(crate) fn outcome(&self, choice: Choice) -> Outcome {
        let ways = match self {
            Self::Answer(outcome) => return outcome.clone(),
            Self::Send(ways) => ways,
        };
        let Some(way) = ways.get(choice.way) else { return Outcome::NotFound };
        way.outcome(choice.pod)
    }

    /// The pod that serves a request, if one does.
    pub(crate) fn pod(&self, choice: Choice) -> Option<&Pod> {
        let Self::Send(ways) = self else { return None };
        ways.get(choice.way)?.pods.as_ref()?.get(choice.pod).map(AsRef::as_ref)
    }
}

impl PlannedWay {
    fn outcome(&self, pod: usize) -> Outcome {
        let upstream = self.upstream.clone();
        match &self.pods {
            None => Outcome::UnknownCluster(upstream),
            Some(pods) => match pods.get(pod) {
                Some(pod) => Outcome::Served { pod: Arc::clone(pod), upstream },
                None => Outcome::NoHealthyUpstream(upstream),
            },
        }
    }
}
