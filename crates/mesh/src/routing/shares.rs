//! How likely each outcome of a request is, without drawing.

use std::collections::BTreeMap;

use super::Upstream;
use super::decision::Verdict;
use super::request::Request;
use crate::Config;
use crate::config::Action;

/// What requests can end at, told apart by version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Pods of one template.
    Pods {
        /// As part of what.
        upstream: Upstream,
        /// Their owner.
        workload: String,
        /// The hash of their template; empty without one.
        hash: String,
    },
    /// A destination without ready pods.
    NoHealthyUpstream(Upstream),
    /// A destination that is not known.
    UnknownCluster(Upstream),
    /// No route.
    NotFound,
    /// A redirect.
    Redirect,
    /// An answer of the proxy.
    Direct(u16),
}

impl Config {
    /// The exact probability of each outcome; they sum to 1.
    pub fn shares(&self, request: &Request) -> BTreeMap<Target, f64> {
        let mut shares = BTreeMap::new();
        let ways = match self.decide(request).verdict {
            Verdict::NotFound => return BTreeMap::from([(Target::NotFound, 1.0)]),
            Verdict::Answer(route) => {
                let target = match &route.action {
                    Action::Direct(status) => Target::Direct(*status),
                    Action::Redirect(_) | Action::Send(_) => Target::Redirect,
                };
                return BTreeMap::from([(target, 1.0)]);
            }
            Verdict::Send { ways, .. } => ways,
        };
        let total: u64 = ways.iter().map(|way| way.weight).sum();
        for way in ways {
            let share = way.weight as f64 / total as f64;
            let upstream = Upstream { host: way.destination.host.clone(), subset: way.destination.subset.clone() };
            match self.pods(&way.destination, Some(request.port), request.client_namespace()) {
                Err(_) => *shares.entry(Target::UnknownCluster(upstream)).or_default() += share,
                Ok(pods) if pods.is_empty() => {
                    *shares.entry(Target::NoHealthyUpstream(upstream)).or_default() += share;
                }
                Ok(pods) => {
                    let each = share / pods.len() as f64;
                    for pod in pods {
                        let target = Target::Pods {
                            upstream: upstream.clone(),
                            workload: pod.workload.clone(),
                            hash: pod.hash.clone(),
                        };
                        *shares.entry(target).or_default() += each;
                    }
                }
            }
        }
        shares
    }
}
