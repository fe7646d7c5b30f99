//! Puts the parts together and runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tidegate_api::names::labels;
use tidegate_clock::Clock;
use tidegate_engine::{Event, Router};
use tidegate_runtime::lease::Leadership;
use tidegate_runtime::{Backoff, Change, Guarded, Key, Queue, Store, Watch, watch};
use tokio::task::JoinSet;

use crate::cache::Cache;
use crate::error::{LookError, in_time};
use crate::events::Recorder;
use crate::execute::Executor;
use crate::reconcile::{Next, reconcile};
use crate::uncertain::Uncertain;
use crate::workloads::{WorkloadChange, Workloads};
use crate::{services, triggers};

/// Reason of the event that tells of a write which the API server refuses.
const REFUSED: &str = "WriteRefused";

/// How the controller is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The one namespace to look at; all when absent.
    pub namespace: Option<String>,
    /// The instance whose objects are ours; those without any when absent.
    pub instance_id: Option<String>,
    /// Rollouts that are worked on at once.
    pub workers: usize,
    /// After this long everything is listed and looked at again.
    pub resync: Duration,
    /// Routers that can be driven.
    pub drives: BTreeSet<Router>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: None,
            instance_id: None,
            workers: 10,
            resync: Duration::from_secs(900),
            drives: BTreeSet::new(),
        }
    }
}

/// What all parts share.
pub(crate) struct Shared {
    pub executor: Executor,
    pub options: Options,
    pub queue: Queue<Key>,
    pub services: Queue<Key>,
    pub workloads: Workloads,
    pub workload_changed: Arc<dyn Fn(WorkloadChange) + Send + Sync>,
    /// The last refusal of each Rollout.
    refused: Told<String>,
    /// The last refusal that people were told of: the first of its kind may be a moment's, and is not told.
    told_refused: Told<String>,
    undecodable: Told<(String, i64)>,
}

/// What was last told about each Rollout, so that nobody is told twice in a row.
struct Told<T>(Mutex<BTreeMap<Key, T>>);

impl<T: PartialEq + Clone> Told<T> {
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Notes what is being told; says whether that is news.
    fn is_news(&self, key: &Key, what: T) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(key.clone(), what.clone()) != Some(what)
    }

    fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl Shared {
    /// Notes that an undecodable Rollout is being told about; says whether that is news.
    pub(crate) fn told_undecodable(&self, key: &Key, version: (String, i64)) -> bool {
        self.undecodable.is_news(key, version)
    }

    pub(crate) fn forget_undecodable(&self, key: &Key) {
        self.undecodable.forget(key);
    }

    fn forget_refusal(&self, key: &Key) {
        self.refused.forget(key);
        self.told_refused.forget(key);
    }

    /// Tells people once what the API server refuses, and what they can do about it.
    fn tell_refusal(&self, key: &Key, error: &LookError) {
        let Some(message) = error.refusal() else { return };
        let is_lasting = !self.refused.is_news(key, message.clone());
        if let Some(rollout) = self.executor.cache.rollouts.get(key)
            && is_lasting
            && self.told_refused.is_news(key, message.clone())
        {
            self.executor.events.tell(&rollout.metadata, &Event::warning(REFUSED, message));
        }
    }
}

/// Runs the controller until `stop` is done; running looks are finished first.
///
/// Caches are kept warm at all times; nothing is written before and after we lead.
pub async fn run(
    client: Client,
    clock: Clock,
    options: Options,
    mut leadership: Leadership,
    stop: impl Future<Output = ()>,
) {
    let cache = Cache::new();
    let (events, send_events) = Recorder::new(client.clone(), clock);
    let executor =
        Executor { client, clock, cache, events, uncertain: Uncertain::default(), leadership: leadership.clone() };
    let queue = Queue::new(Backoff::default());
    let (changes, mut changed) = tokio::sync::mpsc::unbounded_channel::<WorkloadChange>();
    let shared = Arc::new(Shared {
        executor,
        options,
        queue,
        services: Queue::new(Backoff::default()),
        workloads: Workloads::new(),
        workload_changed: Arc::new(move |change| {
            // The receiver lives as long as the controller does.
            let _ = changes.send(change);
        }),
        refused: Told::new(),
        told_refused: Told::new(),
        undecodable: Told::new(),
    });
    let mut background = JoinSet::new();
    background.spawn(send_events);
    for task in watches(&shared) {
        background.spawn(task);
    }
    let for_changes = Arc::clone(&shared);
    background.spawn(async move {
        while let Some((kind, key)) = changed.recv().await {
            triggers::workload_changed(&for_changes, kind, &key);
        }
    });
    let with_cluster_templates = shared.options.namespace.is_none();
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        biased;
        () = &mut stop => return,
        () = shared.executor.cache.wait_until_synced(with_cluster_templates) => {}
    }
    tokio::select! {
        biased;
        () = &mut stop => return,
        () = leadership.wait() => {}
    }
    let mut workers = JoinSet::new();
    for _ in 0..shared.options.workers.max(1) {
        workers.spawn(work(Arc::clone(&shared)));
    }
    workers.spawn(give_services_back(Arc::clone(&shared)));
    tokio::select! {
        biased;
        () = stop => {}
        () = leadership.lost() => {}
    }
    shared.queue.close();
    shared.services.close();
    while workers.join_next().await.is_some() {}
}

async fn work(shared: Arc<Shared>) {
    while let Some(key) = shared.queue.next().await {
        match reconcile(&shared, &key).await {
            Ok(Next::Soon) => {
                shared.queue.again(key.clone());
            }
            Ok(Next::OnChange) => {
                shared.forget_refusal(&key);
                shared.queue.forget(&key);
            }
            Ok(Next::After(delay)) => {
                shared.forget_refusal(&key);
                shared.queue.forget(&key);
                shared.queue.add_after(key.clone(), delay);
            }
            Err(LookError::Conflict { .. }) => {
                shared.queue.retry(key.clone());
            }
            Err(error) => {
                shared.tell_refusal(&key, &error);
                shared.queue.retry(key.clone());
            }
        }
        shared.queue.done(&key);
    }
}

async fn give_services_back(shared: Arc<Shared>) {
    while let Some(key) = shared.services.next().await {
        match in_time("give back", &key, services::look_at(&shared, &key)).await {
            Ok(()) => shared.services.forget(&key),
            Err(_) => {
                shared.services.retry(key.clone());
            }
        }
        shared.services.done(&key);
    }
}

type Task = BoxFuture<'static, ()>;

/// One watch per kind.
fn watches(shared: &Arc<Shared>) -> Vec<Task> {
    let cache = &shared.executor.cache;
    let ours = match &shared.options.instance_id {
        Some(id) => format!("{}={id}", labels::INSTANCE_ID),
        None => format!("!{}", labels::INSTANCE_ID),
    };
    let ours = Some(ours.as_str());
    let hashed = Some(labels::POD_TEMPLATE_HASH);
    let mut tasks: Vec<Task> = vec![
        one(shared, ours, &cache.rollouts, |shared, change| triggers::rollout_changed(shared, &change)),
        one(shared, hashed, &cache.replica_sets, |shared, change| triggers::replica_set_changed(shared, &change)),
        one(shared, None, &cache.services, |shared, change| triggers::service_changed(shared, &change)),
        one(shared, ours, &cache.analysis_runs, |shared, change| triggers::run_changed(shared, &change)),
        one(shared, ours, &cache.experiments, |shared, change| triggers::child_changed(shared, &change)),
        one(shared, ours, &cache.templates, |shared, change| triggers::template_changed(shared, &change)),
    ];
    if shared.options.namespace.is_none() {
        let api = Api::<Guarded<tidegate_api::analysis::ClusterAnalysisTemplate>>::all(shared.executor.client.clone());
        let for_changes = Arc::clone(shared);
        let how = Watch { labels: ours.map(str::to_owned), relist_after: shared.options.resync };
        let tell = move |change| triggers::template_changed(&for_changes, &change);
        tasks.push(Box::pin(watch(api, how, cache.cluster_templates.clone(), tell)));
    }
    tasks
}

fn one<K>(
    shared: &Arc<Shared>,
    selector: Option<&str>,
    store: &Store<K>,
    tell: impl Fn(&Shared, Change<K>) + Send + 'static,
) -> Task
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + Debug
        + Send
        + Sync
        + DeserializeOwned
        + 'static,
{
    let client = shared.executor.client.clone();
    let api: Api<Guarded<K>> = match &shared.options.namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let how = Watch { labels: selector.map(str::to_owned), relist_after: shared.options.resync };
    let for_changes = Arc::clone(shared);
    Box::pin(watch(api, how, store.clone(), move |change| tell(&for_changes, change)))
}
