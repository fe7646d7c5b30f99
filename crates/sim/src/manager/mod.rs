//! Runs the workload controllers: one task, one queue, one write at a time, in a fixed order.
//!
//! It is also a client that must live with whatever an API server does to its clients: it acts only on complete
//! lists, guards what it decides from old knowledge by resource versions, gives up on answers that do not come, and
//! tries again what failed, less and less often.

mod disruption;
mod requests;
mod scaling;
mod services;
mod watches;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ApiResource;
use kube::core::ObjectMeta;
use kube::{Client, ResourceExt};
use tidegate_clock::Clock;

use crate::controllers::{disruption::covers_labels, endpoints::selects, pods::Pod};
use crate::objects::{Key, Objects, key};
use watches::Seen;

/// How long the first retry of failed work waits; each further one waits twice as long.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// The longest wait before a retry.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// An object to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    ReplicaSet(Key),
    Deployment(Key),
    Job(Key),
    Service(Key),
    Budget(Key),
    Autoscaler(Key),
}

/// The workload controllers of a cluster.
pub struct Manager {
    client: Client,
    clock: Clock,
    sets: Objects<ReplicaSet>,
    deployments: Objects<Deployment>,
    jobs: Objects<Job>,
    services: Objects<Service>,
    slices: Objects<EndpointSlice>,
    endpoints: Objects<Endpoints>,
    budgets: Objects<PodDisruptionBudget>,
    autoscalers: Objects<HorizontalPodAutoscaler>,
    pods: Objects<Pod>,
    /// Where kinds that autoscalers name are served, by version and kind.
    places: BTreeMap<(String, String), ApiResource>,
    due: BTreeSet<Work>,
    later: BTreeMap<Work, Timestamp>,
    failures: BTreeMap<Work, u32>,
    /// When something was last made for an object.
    made: BTreeMap<Work, Timestamp>,
}

impl Manager {
    /// Controllers that write through `client` and tell time by `clock`.
    pub fn new(client: Client, clock: Clock) -> Self {
        Self {
            client,
            clock,
            sets: Objects::default(),
            deployments: Objects::default(),
            jobs: Objects::default(),
            services: Objects::default(),
            slices: Objects::default(),
            endpoints: Objects::default(),
            budgets: Objects::default(),
            autoscalers: Objects::default(),
            pods: Objects::default(),
            places: BTreeMap::new(),
            due: BTreeSet::new(),
            later: BTreeMap::new(),
            failures: BTreeMap::new(),
            made: BTreeMap::new(),
        }
    }

    /// Works until `stop` is done.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut events = watches::all(&self.client);
        loop {
            let wake = self.next_wake();
            tokio::select! {
                biased;
                () = &mut stop => return,
                event = events.next() => match event {
                    Some(seen) => self.take_in(seen),
                    None => return,
                },
                () = tokio::time::sleep(wake) => self.work().await,
            }
        }
    }

    fn has_seen_everything(&self) -> bool {
        self.sets.is_complete()
            && self.deployments.is_complete()
            && self.jobs.is_complete()
            && self.services.is_complete()
            && self.slices.is_complete()
            && self.endpoints.is_complete()
            && self.budgets.is_complete()
            && self.autoscalers.is_complete()
            && self.pods.is_complete()
    }

    /// Due work waits for nothing but a turn of the event loop, so that events that have arrived are taken in first.
    fn next_wake(&self) -> Duration {
        const IDLE: Duration = Duration::from_secs(3600);
        if !self.has_seen_everything() {
            return IDLE;
        }
        if !self.due.is_empty() {
            return Duration::ZERO;
        }
        let next = self.later.values().min();
        next.map_or(IDLE, |moment| self.clock.until(*moment))
    }

    fn take_in(&mut self, seen: Seen) {
        match seen {
            Seen::ReplicaSet(event) => {
                for set in self.sets.take_in(*event) {
                    self.due.insert(Work::ReplicaSet(key(&*set)));
                    self.enqueue_owner(&set.metadata, "Deployment", Work::Deployment);
                    let template = set.spec.template.as_ref().and_then(|template| template.metadata.as_ref());
                    self.enqueue_budgets(&set.metadata, template);
                }
            }
            Seen::Deployment(event) => {
                for deployment in self.deployments.take_in(*event) {
                    self.due.insert(Work::Deployment(key(&*deployment)));
                    self.enqueue_budgets(&deployment.metadata, deployment.spec.template.metadata.as_ref());
                }
            }
            Seen::Job(event) => self.due.extend(self.jobs.take_in(*event).iter().map(|o| Work::Job(key(&**o)))),
            Seen::Service(event) => {
                self.due.extend(self.services.take_in(*event).iter().map(|o| Work::Service(key(&**o))));
            }
            Seen::Slice(event) => {
                for slice in self.slices.take_in(*event) {
                    self.enqueue_owner(&slice.metadata, "Service", Work::Service);
                }
            }
            // An Endpoints object has the name of its Service.
            Seen::Endpoints(event) => {
                self.due.extend(self.endpoints.take_in(*event).iter().map(|o| Work::Service(key(&**o))));
            }
            Seen::Budget(event) => {
                self.due.extend(self.budgets.take_in(*event).iter().map(|o| Work::Budget(key(&**o))));
            }
            Seen::Autoscaler(event) => {
                self.due.extend(self.autoscalers.take_in(*event).iter().map(|o| Work::Autoscaler(key(&**o))));
            }
            Seen::Pod(event) => {
                for pod in self.pods.take_in(*event) {
                    self.pod_changed(&pod);
                }
            }
        }
    }

    fn pod_changed(&mut self, pod: &Arc<Pod>) {
        self.enqueue_owner(&pod.metadata, "ReplicaSet", Work::ReplicaSet);
        self.enqueue_owner(&pod.metadata, "Job", Work::Job);
        self.enqueue_budgets(&pod.metadata, Some(&pod.metadata));
        let namespace = pod.namespace().unwrap_or_default();
        let concerned = self.services.within(&namespace).filter(|service| {
            let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
            selector.is_some_and(|selector| selects(selector, pod))
        });
        self.due.extend(concerned.map(|service| Work::Service(key(service))));
    }

    fn enqueue_owner(&mut self, meta: &ObjectMeta, kind: &str, work: fn(Key) -> Work) {
        let owner =
            meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true) && owner.kind == kind);
        if let Some(owner) = owner {
            self.due.insert(work((meta.namespace.clone().unwrap_or_default(), owner.name.clone())));
        }
    }

    /// Looks at the budgets over pods with the labels of `pod`.
    fn enqueue_budgets(&mut self, meta: &ObjectMeta, pod: Option<&ObjectMeta>) {
        let namespace = meta.namespace.clone().unwrap_or_default();
        let labels = pod.and_then(|pod| pod.labels.clone()).unwrap_or_default();
        let concerned = self.budgets.within(&namespace).filter(|budget| covers_labels(budget, &labels));
        self.due.extend(concerned.map(|budget| Work::Budget(key(budget))));
    }

    /// Does one piece of work.
    async fn work(&mut self) {
        if !self.has_seen_everything() {
            return;
        }
        let now = self.clock.now();
        let ripe: Vec<Work> = self.later.iter().filter(|(_, at)| **at <= now).map(|(work, _)| work.clone()).collect();
        for work in ripe {
            self.later.remove(&work);
            self.due.insert(work);
        }
        let Some(work) = self.due.pop_first() else { return };
        let result = match &work {
            Work::ReplicaSet(key) => self.replica_set(key).await,
            Work::Deployment(key) => self.deployment(key).await,
            Work::Job(key) => self.job(key).await,
            Work::Service(key) => self.service(key).await,
            Work::Budget(key) => self.budget(key).await,
            Work::Autoscaler(key) => self.autoscaler(key).await,
        };
        match result {
            Ok(()) => drop(self.failures.remove(&work)),
            Err(_) => {
                let failed = self.failures.entry(work.clone()).or_default();
                *failed = failed.saturating_add(1);
                let pause = RETRY_AFTER.saturating_mul(1 << (*failed - 1).min(16)).min(LONGEST_RETRY);
                self.wake(work, self.clock.now().saturating_add(pause).unwrap_or(now));
            }
        }
    }

    /// Whether dependents may be made for an object now. Not twice in a moment: an owner that is gone, which we have not
    /// heard yet, would otherwise get them as fast as they are collected.
    fn may_make(&mut self, work: Work) -> bool {
        let now = self.clock.now();
        let next = self.made.get(&work).map(|last| last.saturating_add(RETRY_AFTER).unwrap_or(*last));
        match next.filter(|next| *next > now) {
            Some(next) => {
                self.wake(work, next);
                false
            }
            None => {
                self.made.insert(work, now);
                true
            }
        }
    }

    /// Looks at an object again at a time, or earlier if that was agreed before.
    fn wake(&mut self, work: Work, at: Timestamp) {
        let agreed = self.later.entry(work).or_insert(at);
        *agreed = at.min(*agreed);
    }
}
