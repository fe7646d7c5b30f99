//! Runs the workload controllers: one task, one queue, one write at a time, in a fixed order.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tidegate_clock::Clock;

use crate::controllers::pods::is_controlled_by;
use crate::controllers::{deployment, endpoints, job, replica_set};
use crate::objects::{Key, Objects, key};

/// How long a failed write or watch waits before it is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// The name under which writes are recorded, that of the program we stand in for.
const MANAGER: &str = "kube-controller-manager";

/// An object to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    ReplicaSet(Key),
    Deployment(Key),
    Job(Key),
    Service(Key),
}

enum Seen {
    ReplicaSet(Box<Event<ReplicaSet>>),
    Deployment(Box<Event<Deployment>>),
    Job(Box<Event<Job>>),
    Service(Box<Event<Service>>),
    Pod(Box<Event<Pod>>),
}

/// The workload controllers of a cluster.
pub struct Manager {
    client: Client,
    clock: Clock,
    sets: Objects<ReplicaSet>,
    deployments: Objects<Deployment>,
    jobs: Objects<Job>,
    services: Objects<Service>,
    /// The slice last written per Service.
    slices: BTreeMap<Key, Value>,
    pods: Objects<Pod>,
    due: BTreeSet<Work>,
    later: BTreeMap<Work, Timestamp>,
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
            slices: BTreeMap::new(),
            pods: Objects::default(),
            due: BTreeSet::new(),
            later: BTreeMap::new(),
        }
    }

    /// Works until `stop` is done.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut events = self.watches();
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

    fn watches(&self) -> SelectAll<BoxStream<'static, Seen>> {
        let mut all = SelectAll::new();
        all.push(stream(&self.client, Seen::Deployment));
        all.push(stream(&self.client, Seen::ReplicaSet));
        all.push(stream(&self.client, Seen::Job));
        all.push(stream(&self.client, Seen::Service));
        all.push(stream(&self.client, Seen::Pod));
        all
    }

    /// Due work waits for nothing but a turn of the event loop, so that events that have arrived are taken in first.
    fn next_wake(&self) -> Duration {
        if !self.due.is_empty() {
            return Duration::ZERO;
        }
        let next = self.later.values().min();
        next.map_or(Duration::from_secs(3600), |moment| self.clock.until(*moment))
    }

    fn take_in(&mut self, seen: Seen) {
        match seen {
            Seen::ReplicaSet(event) => {
                for set in self.sets.take_in(*event) {
                    self.due.insert(Work::ReplicaSet(key(&set)));
                    self.enqueue_owner(&set.metadata, "Deployment", Work::Deployment);
                }
            }
            Seen::Deployment(event) => {
                for deployment in self.deployments.take_in(*event) {
                    self.due.insert(Work::Deployment(key(&deployment)));
                }
            }
            Seen::Job(event) => {
                for job in self.jobs.take_in(*event) {
                    self.due.insert(Work::Job(key(&job)));
                }
            }
            Seen::Service(event) => {
                for service in self.services.take_in(*event) {
                    self.due.insert(Work::Service(key(&service)));
                }
            }
            Seen::Pod(event) => {
                for pod in self.pods.take_in(*event) {
                    self.enqueue_owner(&pod.metadata, "ReplicaSet", Work::ReplicaSet);
                    self.enqueue_owner(&pod.metadata, "Job", Work::Job);
                    let namespace = pod.namespace().unwrap_or_default();
                    let services: Vec<Key> = self.services.within(&namespace).map(key).collect();
                    self.due.extend(services.into_iter().map(Work::Service));
                }
            }
        }
    }

    fn enqueue_owner(&mut self, meta: &kube::core::ObjectMeta, kind: &str, work: fn(Key) -> Work) {
        let owner =
            meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true) && owner.kind == kind);
        if let Some(owner) = owner {
            self.due.insert(work((meta.namespace.clone().unwrap_or_default(), owner.name.clone())));
        }
    }

    /// Does one piece of work.
    async fn work(&mut self) {
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
        };
        if result.is_err() {
            let at = now.saturating_add(RETRY_AFTER).unwrap_or(now);
            self.later.insert(work, at);
        }
    }

    async fn replica_set(&mut self, key: &Key) -> Result<(), kube::Error> {
        let Some(set) = self.sets.get(key).cloned() else { return Ok(()) };
        let uid = set.uid().unwrap_or_default();
        let pods: Vec<&Pod> = self.pods.within(&key.0).filter(|pod| is_controlled_by(&pod.metadata, &uid)).collect();
        let plan = replica_set::plan(&set, &pods, self.clock.now_seconds());
        self.change_pods(&key.0, plan.create, &replica_set::pod_of(&set), &plan.delete).await?;
        if let Some(status) = plan.status {
            let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), &key.0);
            let wanted = ReplicaSet { status: Some(status), ..set };
            let written = sets.replace_status(&key.1, &by(), &wanted).await?;
            self.sets.put(written.clone());
            self.enqueue_owner(&written.metadata, "Deployment", Work::Deployment);
        }
        if plan.create + plan.delete.len() > 0 {
            self.due.insert(Work::ReplicaSet(key.clone()));
        }
        if let Some(at) = plan.wake_at {
            self.later.insert(Work::ReplicaSet(key.clone()), at);
        }
        Ok(())
    }

    async fn change_pods(
        &mut self,
        namespace: &str,
        create: usize,
        pod: &Pod,
        delete: &[String],
    ) -> Result<(), kube::Error> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        for _ in 0..create {
            let created = api.create(&by(), pod).await?;
            self.pods.put(created);
        }
        for name in delete {
            let gone = (namespace.to_owned(), name.clone());
            match api.delete(name, &DeleteParams::default()).await {
                Ok(response) => match response.left() {
                    Some(pod) => drop(self.pods.put(pod)),
                    None => self.pods.remove(&gone),
                },
                Err(kube::Error::Api(status)) if status.code == 404 => self.pods.remove(&gone),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn job(&mut self, key: &Key) -> Result<(), kube::Error> {
        let Some(found) = self.jobs.get(key).cloned() else { return Ok(()) };
        let uid = found.uid().unwrap_or_default();
        let pods: Vec<&Pod> = self.pods.within(&key.0).filter(|pod| is_controlled_by(&pod.metadata, &uid)).collect();
        let plan = job::plan(&found, &pods, self.clock.now_seconds());
        self.change_pods(&key.0, plan.create, &job::pod_of(&found), &plan.delete).await?;
        if let Some(status) = plan.status {
            let jobs: Api<Job> = Api::namespaced(self.client.clone(), &key.0);
            let written = jobs.replace_status(&key.1, &by(), &Job { status: Some(status), ..found }).await?;
            self.jobs.put(written);
        }
        if plan.create > 0 {
            self.due.insert(Work::Job(key.clone()));
        }
        if let Some(at) = plan.wake_at {
            self.later.insert(Work::Job(key.clone()), at);
        }
        Ok(())
    }

    /// Keeps the EndpointSlice of a Service; garbage collection removes it with the Service.
    async fn service(&mut self, key: &Key) -> Result<(), kube::Error> {
        let Some(service) = self.services.get(key) else {
            self.slices.remove(key);
            return Ok(());
        };
        let pods: Vec<&Pod> = self.pods.within(&key.0).collect();
        let Some(wanted) = endpoints::slice_of(service, &pods) else { return Ok(()) };
        if self.slices.get(key) == Some(&wanted) {
            return Ok(());
        }
        let api: Api<EndpointSlice> = Api::namespaced(self.client.clone(), &key.0);
        let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
        let slice: EndpointSlice = serde_json::from_value(wanted.clone()).map_err(kube::Error::SerdeError)?;
        match api.patch(name, &PatchParams::default(), &Patch::Merge(&wanted)).await {
            Err(kube::Error::Api(status)) if status.code == 404 => drop(api.create(&by(), &slice).await?),
            result => drop(result?),
        }
        self.slices.insert(key.clone(), wanted);
        Ok(())
    }

    async fn deployment(&mut self, key: &Key) -> Result<(), kube::Error> {
        let Some(found) = self.deployments.get(key).cloned() else { return Ok(()) };
        let uid = found.uid().unwrap_or_default();
        let sets: Vec<&ReplicaSet> =
            self.sets.within(&key.0).filter(|set| is_controlled_by(&set.metadata, &uid)).collect();
        let plan = deployment::plan(&found, &sets, self.clock.now_seconds());
        for write in plan.writes {
            self.deployment_write(key, write).await?;
        }
        Ok(())
    }

    async fn deployment_write(&mut self, key: &Key, write: deployment::Write) -> Result<(), kube::Error> {
        let sets: Api<ReplicaSet> = Api::namespaced(self.client.clone(), &key.0);
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &key.0);
        let to = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        match write {
            deployment::Write::CreateSet(set) => {
                let created = sets.create(&by(), &set).await?;
                self.sets.put(created);
            }
            deployment::Write::UpdateSet { name, replicas, annotations } => {
                let patch =
                    Patch::Merge(json!({"metadata": {"annotations": annotations}, "spec": {"replicas": replicas}}));
                let written = sets.patch(&name, &to, &patch).await?;
                self.sets.put(written);
            }
            deployment::Write::DeleteSet(name) => {
                sets.delete(&name, &DeleteParams::background()).await?;
                self.sets.remove(&(key.0.clone(), name));
            }
            deployment::Write::Annotate(annotations) => {
                let Some(mut wanted) = self.deployments.get(key).cloned() else { return Ok(()) };
                wanted.metadata.annotations.get_or_insert_default().extend(annotations);
                // Through the status endpoint, as the real controller does: a change of annotations there leaves the
                // generation alone.
                let written = deployments.replace_status(&key.1, &by(), &wanted).await?;
                self.deployments.put(written);
            }
            deployment::Write::Status(status) => {
                let Some(found) = self.deployments.get(key).cloned() else { return Ok(()) };
                let wanted = Deployment { status: Some(*status), ..found };
                let written = deployments.replace_status(&key.1, &by(), &wanted).await?;
                self.deployments.put(written);
            }
        }
        self.due.insert(Work::Deployment(key.clone()));
        Ok(())
    }
}

fn by() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}

/// Everything that happens to one kind; errors wait a moment, and the watcher goes on by itself.
fn stream<K>(client: &Client, wrap: fn(Box<Event<K>>) -> Seen) -> BoxStream<'static, Seen>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let events = watcher(Api::<K>::all(client.clone()), watcher::Config::default());
    let patient = events.or_else(|error| async move {
        tokio::time::sleep(RETRY_AFTER).await;
        Err(error)
    });
    patient.filter_map(move |event| async move { event.ok().map(|event| wrap(Box::new(event))) }).boxed()
}
