//! How likely each outcome of a request is, without drawing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::plan::{Plan, PlannedWay};
use super::request::Request;
use super::{Outcome, Upstream};
use crate::Config;
use crate::config::Pod;

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
        let ways = match self.plan(request) {
            Plan::Answer(Outcome::Direct(status)) => return BTreeMap::from([(Target::Direct(status), 1.0)]),
            Plan::Answer(Outcome::Redirect(_)) => return BTreeMap::from([(Target::Redirect, 1.0)]),
            Plan::Answer(_) => return BTreeMap::from([(Target::NotFound, 1.0)]),
            Plan::Send(ways) => ways,
        };
        let total: u64 = ways.iter().map(|way| way.weight).sum();
        let mut shares = BTreeMap::new();
        for way in ways {
            let share = way.weight as f64 / total as f64;
            let targets = way.targets();
            let each = share / targets.len() as f64;
            for target in targets {
                *shares.entry(target).or_default() += each;
            }
        }
        shares
    }
}

impl PlannedWay {
    /// One for each pod, or the only one if there is none.
    fn targets(self) -> Vec<Target> {
        let Self { upstream, pods, .. } = self;
        match pods {
            None => vec![Target::UnknownCluster(upstream)],
            Some(pods) if pods.is_empty() => vec![Target::NoHealthyUpstream(upstream)],
            Some(pods) => {
                let target = |pod: &Arc<Pod>| Target::Pods {
                    upstream: upstream.clone(),
                    workload: pod.workload.clone(),
                    hash: pod.hash.clone(),
                };
                pods.iter().map(target).collect()
            }
        }
    }
}
