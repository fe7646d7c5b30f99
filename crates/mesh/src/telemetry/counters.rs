//! Counters by flow.

use std::collections::BTreeMap;

use super::series::Count;
use super::store::Store;
use crate::Millis;
use crate::config::Pod;
use crate::routing::Upstream;

/// Requests with an answer, or connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Request,
    Connection,
}

/// What one proxy reports under one set of labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    pub(crate) kind: Kind,
    /// `source` or `destination`.
    pub(crate) reporter: &'static str,
    pub(crate) code: u16,
    /// `-` if nothing is wrong.
    pub(crate) flags: &'static str,
    pub(crate) service: String,
    pub(crate) service_name: String,
    pub(crate) service_namespace: String,
    pub(crate) workload: String,
    pub(crate) workload_namespace: String,
    pub(crate) version: String,
    pub(crate) revision: String,
}

/// A value nobody knows, as Istio writes it.
const UNKNOWN: &str = "unknown";

impl Flow {
    /// Reported by the client's proxy, which knows nothing of a destination yet.
    pub(crate) fn failed(kind: Kind, code: u16, flags: &'static str) -> Self {
        let unknown = || UNKNOWN.to_owned();
        Self {
            kind,
            reporter: "source",
            code,
            flags,
            service: unknown(),
            service_name: unknown(),
            service_namespace: unknown(),
            workload: unknown(),
            workload_namespace: unknown(),
            version: unknown(),
            revision: unknown(),
        }
    }

    /// With the Service that was meant.
    pub(crate) fn meant_for(mut self, upstream: &Upstream) -> Self {
        let mut parts = upstream.host.split('.');
        self.service_name = parts.next().unwrap_or(UNKNOWN).to_owned();
        self.service_namespace = parts.next().unwrap_or(UNKNOWN).to_owned();
        self.service.clone_from(&upstream.host);
        self
    }

    /// With the pod that answered.
    pub(crate) fn answered_by(mut self, pod: &Pod) -> Self {
        self.workload.clone_from(&pod.workload);
        self.workload_namespace.clone_from(&pod.namespace);
        self.version.clone_from(&pod.version);
        self.revision.clone_from(&pod.revision);
        self
    }
}

/// A version of a workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionKey {
    /// Namespace and name; `unknown` for requests that reached no pod.
    pub namespace: String,
    /// The Rollout.
    pub workload: String,
    /// `destination_version`.
    pub version: String,
}

/// What clients saw of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests answered below 500, and connections that were opened.
    pub successes: u64,
    /// Requests answered with 500 or more, and connections that came to nothing.
    pub errors: u64,
    /// All latencies together, in milliseconds.
    pub latency: f64,
}

/// The counters of all proxies together.
#[derive(Clone, Debug)]
pub struct Telemetry {
    flows: BTreeMap<Flow, Count>,
    limit: usize,
    refused: u64,
}

impl Telemetry {
    /// At most so many flows (a flow of requests is 23 series); further ones are not counted.
    pub fn new(limit: usize) -> Self {
        Self { flows: BTreeMap::new(), limit, refused: 0 }
    }

    /// Counts requests of one flow.
    pub(crate) fn count(&mut self, flow: Flow, count: &Count) {
        if self.flows.len() >= self.limit && !self.flows.contains_key(&flow) {
            self.refused = self.refused.saturating_add(count.total);
            return;
        }
        self.flows.entry(flow).or_default().join(count);
    }

    /// Writes a sample of everything. Flows without anything new for as long as samples are kept are forgotten.
    pub fn scrape(&mut self, at: Millis, store: &mut Store) {
        let oldest = at.saturating_sub(store.limits().retention);
        self.flows.retain(|_, count| {
            let is_used = count.changed >= oldest;
            if !is_used {
                count.ids.iter().flatten().for_each(|id| store.remove(*id));
            }
            is_used
        });
        for (flow, count) in &mut self.flows {
            count.scrape(flow, at, store);
        }
    }

    /// What clients saw, by version. Flows that were forgotten do not count any more.
    pub fn totals(&self) -> BTreeMap<VersionKey, Totals> {
        let mut totals = BTreeMap::<VersionKey, Totals>::new();
        for (flow, count) in self.flows.iter().filter(|(flow, _)| flow.reporter == "source") {
            let key = VersionKey {
                namespace: flow.workload_namespace.clone(),
                workload: flow.workload.clone(),
                version: flow.version.clone(),
            };
            let total = totals.entry(key).or_default();
            let failed = flow.code >= 500 || (flow.kind == Kind::Connection && flow.flags != "-");
            *(if failed { &mut total.errors } else { &mut total.successes }) += count.total;
            total.latency += count.sum;
        }
        totals
    }

    /// Requests that were not counted because there were too many flows.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
