//! What the controllers watch.

use std::time::Duration;

use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tidegate_bare::Bare;

use crate::controllers::pods::Pod;

/// How long a failed watch waits before it goes on.
const PAUSE: Duration = Duration::from_millis(200);

/// Something that happened to an object.
pub(super) enum Seen {
    ReplicaSet(Box<Event<ReplicaSet>>),
    Deployment(Box<Event<Deployment>>),
    Job(Box<Event<Job>>),
    Service(Box<Event<Service>>),
    Slice(Box<Event<EndpointSlice>>),
    Endpoints(Box<Event<Endpoints>>),
    Budget(Box<Event<PodDisruptionBudget>>),
    Autoscaler(Box<Event<HorizontalPodAutoscaler>>),
    Pod(Box<Event<Pod>>),
}

/// Everything that happens, kind by kind in order.
pub(super) fn all(client: &Client) -> SelectAll<BoxStream<'static, Seen>> {
    let mut all = SelectAll::new();
    all.push(stream(client, Seen::Deployment));
    all.push(stream(client, Seen::ReplicaSet));
    all.push(stream(client, Seen::Job));
    all.push(stream(client, Seen::Service));
    all.push(stream(client, Seen::Slice));
    all.push(stream(client, Seen::Endpoints));
    all.push(stream(client, Seen::Budget));
    all.push(stream(client, Seen::Autoscaler));
    all.push(stream(client, Seen::Pod));
    all
}

/// Everything that happens to one kind; errors wait a moment, and the watcher goes on by itself.
fn stream<K>(client: &Client, wrap: fn(Box<Event<K>>) -> Seen) -> BoxStream<'static, Seen>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let events = watcher(Api::<Bare<K>>::all(client.clone()), watcher::Config::default());
    let patient = events.or_else(|error| async move {
        tokio::time::sleep(PAUSE).await;
        Err(error)
    });
    patient.filter_map(move |event| async move { event.ok().map(|event| wrap(Box::new(bared(event)))) }).boxed()
}

/// An event without the wrapper that its object was read through.
fn bared<K>(event: Event<Bare<K>>) -> Event<K> {
    match event {
        Event::Init => Event::Init,
        Event::InitApply(Bare(object)) => Event::InitApply(object),
        Event::InitDone => Event::InitDone,
        Event::Apply(Bare(object)) => Event::Apply(object),
        Event::Delete(Bare(object)) => Event::Delete(object),
    }
}
