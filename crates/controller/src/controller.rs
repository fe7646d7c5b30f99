//! Puts the parts together and runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tidegate_api::names::labels;
use tidegate_clock::Clock;
use tidegate_engine::{Event, Router};
use tidegate_providers::elb::LoadBalancers;
use tidegate_runtime::lease::Leadership;
use tidegate_runtime::{Backoff, Change, Guarded, Key, Queue, Store, Watch, watch};
use tidegate_traffic::router::Versions;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{error, info};

use crate::analysis_runs::{self, Analysis, Call, Runs};
use crate::aws::Aws;
use crate::cache::Cache;
use crate::error::{LookError, in_time};
use crate::events::Recorder;
use crate::execute::{Executor, RouteFailures};
use crate::experiments::{self, Experiments};
use crate::haste::Haste;
use crate::insight::Insight;
use crate::istio::{self, Connect, Istio};
use crate::metrics::Metrics;
use crate::notifications::{self, Notifications, Notifier};
use crate::reconcile::{Next, reconcile};
use crate::routers::{self, Routers};
use crate::uncertain::Uncertain;
use crate::witness::Witness;
use crate::workloads::{WorkloadChange, Workloads};
use crate::{services, triggers};

/// Reason of the event that tells of a write which the API server refuses.
const REFUSED: &str = "WriteRefused";

/// How the controller is run.
#[derive(Clone)]
pub struct Options {
    /// The one namespace to look at; all when absent.
    pub namespace: Option<String>,
    /// The instance whose objects are ours; those without any when absent.
    pub instance_id: Option<String>,
    /// Rollouts that are worked on at once.
    pub workers: usize,
    /// After this long everything is listed and looked at again.
    pub resync: Duration,
    /// The version of Istio's API to use; without it, the one of the contract or the newest that is served.
    pub istio_api_version: Option<String>,
    /// How another cluster is reached, should Istio's objects live in one.
    pub connect: Connect,
    /// Routers that can be driven.
    pub drives: BTreeSet<Router>,
    /// In which versions their objects are served.
    pub versions: Versions,
    /// Nobody else runs AnalysisRuns and Experiments in this cluster: Rollouts that ask for what we do not run either
    /// are held.
    pub lacks_analysis: bool,
    /// Who asks AWS whether load balancers follow; nobody when absent, and then they are trusted.
    pub aws: Option<LoadBalancers>,
    /// How AnalysisRuns are run; not at all when absent.
    pub analysis: Option<Analysis>,
    /// How many Experiments are worked on at once; none are when absent.
    pub experiments: Option<usize>,
    /// Only AnalysisRuns and Experiments are worked on, where they are at all, and no Rollouts.
    pub without_rollouts: bool,
    /// How notifications are sent; none when absent.
    pub notifications: Option<Notifications>,
    /// Who is told from what every plan is made; nobody in real life.
    pub witness: Option<Witness>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: None,
            instance_id: None,
            workers: 10,
            resync: Duration::from_secs(900),
            istio_api_version: None,
            connect: istio::plainly(),
            drives: BTreeSet::from(Router::DRIVEN),
            versions: Versions::default(),
            lacks_analysis: true,
            aws: None,
            analysis: None,
            experiments: None,
            without_rollouts: false,
            notifications: None,
            witness: None,
        }
    }
}

/// What all parts share.
pub(crate) struct Shared {
    pub executor: Executor,
    pub options: Options,
    pub queue: Queue<Key>,
    pub services: Queue<Key>,
    /// DestinationRules to be given back, perhaps.
    pub rules: Queue<Key>,
    /// Ingresses that may hold weights of nobody.
    pub ingresses: Queue<Key>,
    pub aws: Aws,
    /// What people were last told that AWS says of each Rollout.
    pub findings: Told<Vec<Event>>,
    pub workloads: Workloads,
    pub runs: Runs,
    pub experiments: Experiments,
    pub notifier: Option<Notifier>,
    pub workload_changed: Arc<dyn Fn(WorkloadChange) + Send + Sync>,
    /// The last refusal of each Rollout.
    refused: Told<String>,
    /// The last refusal that people were told of: the first of its kind may be a moment's, and is not told.
    told_refused: Told<String>,
    undecodable: Told<(String, i64)>,
}

/// What was last told about each Rollout, so that nobody is told twice in a row.
pub(crate) struct Told<T>(Mutex<BTreeMap<Key, T>>);

impl<T: PartialEq + Clone> Told<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Notes what is being told; says whether that is news.
    pub(crate) fn is_news(&self, key: &Key, what: T) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(key.clone(), what.clone()) != Some(what)
    }

    pub(crate) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl Options {
    /// The label selector of the objects that are ours.
    pub fn our_label(&self) -> String {
        match &self.instance_id {
            Some(id) => format!("{}={id}", labels::INSTANCE_ID),
            None => format!("!{}", labels::INSTANCE_ID),
        }
    }

    /// Whether nothing but AnalysisRuns is needed.
    fn needs_only_runs(&self) -> bool {
        self.without_rollouts && self.experiments.is_none()
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

/// How long events that were told may take to be sent at the end.
const FLUSH: Duration = Duration::from_millis(500);
/// How long notifications may take at the end: they are not written down anywhere else.
const FLUSH_NOTIFICATIONS: Duration = Duration::from_secs(3);
/// How long the configuration of notifications is waited for at the beginning: what happens before it is there is told to
/// nobody, but a right that is missing must not keep Rollouts from being worked on.
const FOR_NOTIFICATIONS: Duration = Duration::from_secs(5);
/// How long the lease is waited for before caches are filled all the same.
const HEAD_START: Duration = Duration::from_millis(300);

/// A controller that is ready to run.
pub struct Controller {
    shared: Arc<Shared>,
    send_events: BoxFuture<'static, ()>,
    send_notifications: BoxFuture<'static, ()>,
    changed: UnboundedReceiver<WorkloadChange>,
    calls: UnboundedReceiver<Call>,
    leadership: Leadership,
}

impl Controller {
    /// Puts the parts together; nothing is asked or written before [`Self::run`].
    pub fn new(client: Client, clock: Clock, options: Options, leadership: Leadership) -> Self {
        let metrics = Metrics::default();
        let queue = Queue::new(Backoff::default());
        let (events, send_events) =
            Recorder::new(client.clone(), clock, leadership.clone(), metrics.clone(), queue.clone());
        let (runs, calls) = Runs::new();
        let experiments = Experiments::new();
        let cache = Cache::new(options.needs_only_runs(), &metrics);
        let (notifier, send_notifications) = options
            .notifications
            .as_ref()
            .map(|settings| Notifier::new(settings, cache.clone(), metrics.notified.clone(), clock))
            .unzip();
        let events = events.with_notifier(notifier.clone());
        let executor = Executor {
            istio: Istio::new(),
            routers: Routers::new(client.clone()),
            route_failures: RouteFailures::default(),
            haste: Haste::default(),
            client,
            clock,
            cache,
            runs: runs.queue.clone(),
            experiments: options.experiments.map(|_| experiments.queue.clone()),
            events,
            uncertain: Uncertain::default(),
            leadership: leadership.clone(),
            metrics,
        };
        let aws = Aws::new(
            options.aws.clone(),
            executor.client.clone(),
            clock,
            queue.clone(),
            &options.versions.target_group_binding,
        );
        let (changes, changed) = unbounded_channel::<WorkloadChange>();
        let shared = Arc::new(Shared {
            executor,
            options,
            queue,
            services: Queue::new(Backoff::default()),
            rules: Queue::new(Backoff::default()),
            ingresses: Queue::new(Backoff::default()),
            aws,
            findings: Told::new(),
            workloads: Workloads::new(),
            runs,
            experiments,
            notifier,
            workload_changed: Arc::new(move |change| {
                // The receiver lives as long as the controller does.
                let _ = changes.send(change);
            }),
            refused: Told::new(),
            told_refused: Told::new(),
            undecodable: Told::new(),
        });
        let send_notifications = send_notifications.unwrap_or_else(|| Box::pin(std::future::ready(())));
        Self { shared, send_events: Box::pin(send_events), send_notifications, changed, calls, leadership }
    }

    /// What may be seen of it.
    pub fn insight(&self) -> Insight {
        Insight(Arc::clone(&self.shared))
    }

    /// Runs until `stop` is done or we no longer lead; running looks are finished first.
    ///
    /// Caches are kept warm at all times; nothing is written before and after we lead.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { shared, send_events, send_notifications, mut changed, calls, mut leadership } = self;
        let mut background = JoinSet::new();
        background.spawn(send_events);
        background.spawn(send_notifications);
        if let Some(notifier) = &shared.notifier {
            let (configs, for_changes) = (notifier.configs.clone(), Arc::clone(&shared));
            let client = shared.executor.client.clone();
            background
                .spawn(configs.follow(client, move |configs| configs.tell_problems(&for_changes.executor.events)));
        }
        let mut stop = std::pin::pin!(stop);
        // Whoever leads before it lists needs one list only.
        tokio::select! {
            biased;
            () = &mut stop => return,
            _ = tokio::time::timeout(HEAD_START, leadership.wait()) => {}
        }
        let follows = !leadership.is_held();
        for task in watches(&shared) {
            background.spawn(task);
        }
        if !shared.options.needs_only_runs() {
            background.spawn(istio::follow(Arc::clone(&shared)));
            background.spawn(routers::follow(Arc::clone(&shared)));
        }
        background.spawn(analysis_runs::watch_jobs(Arc::clone(&shared)));
        background.spawn(analysis_runs::serve(Arc::clone(&shared), calls));
        let for_changes = Arc::clone(&shared);
        background.spawn(async move {
            while let Some((kind, key)) = changed.recv().await {
                triggers::workload_changed(&for_changes, kind, &key);
            }
        });
        let with_cluster_templates = shared.options.namespace.is_none();
        tokio::select! {
            biased;
            () = &mut stop => return,
            () = shared.executor.cache.wait_until_synced(with_cluster_templates) => {}
        }
        info!("All caches are synced");
        tokio::select! {
            biased;
            () = &mut stop => return,
            () = leadership.wait() => {}
        }
        if follows {
            // What the one before us wrote last may not have reached our watches yet.
            shared.executor.cache.list_again();
            shared.executor.istio.list_again();
            shared.executor.routers.list_again();
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = shared.executor.cache.wait_until_synced(with_cluster_templates) => {}
            }
        }
        let mut workers = JoinSet::new();
        let mut tellers = JoinSet::new();
        if let Some(notifier) = &shared.notifier {
            tokio::select! {
                biased;
                () = &mut stop => return,
                _ = tokio::time::timeout(FOR_NOTIFICATIONS, notifier.configs.wait_until_synced()) => {}
            }
            notifier.configs.tell_problems(&shared.executor.events);
            background.spawn(notifications::look_again(Arc::clone(&shared), notifier.clone()));
            for _ in 0..shared.options.workers.max(1) {
                tellers.spawn(notifications::work(Arc::clone(&shared), notifier.clone()));
            }
        }
        if !shared.options.without_rollouts {
            for _ in 0..shared.options.workers.max(1) {
                workers.spawn(work(Arc::clone(&shared)));
            }
            workers.spawn(give_services_back(Arc::clone(&shared)));
            workers.spawn(give_rules_back(Arc::clone(&shared)));
            workers.spawn(give_ingresses_back(Arc::clone(&shared)));
        }
        for _ in 0..shared.options.analysis.as_ref().map_or(0, |analysis| analysis.workers.max(1)) {
            workers.spawn(analysis_runs::work(Arc::clone(&shared)));
        }
        for _ in 0..shared.options.experiments.map_or(0, |workers| workers.max(1)) {
            workers.spawn(experiments::work(Arc::clone(&shared)));
        }
        info!("Started controller");
        tokio::select! {
            biased;
            () = stop => {}
            () = leadership.lost() => {}
        }
        shared.queue.close();
        shared.services.close();
        shared.rules.close();
        shared.ingresses.close();
        shared.runs.queue.close();
        shared.experiments.queue.close();
        if let Some(notifier) = &shared.notifier {
            notifier.queue.close();
        }
        while workers.join_next().await.is_some() {}
        // Telling is never worth waiting for, not even at the end.
        let _ = tokio::time::timeout(FLUSH, shared.executor.events.flush()).await;
        if let Some(notifier) = &shared.notifier {
            let told = async {
                notifier.sender.flush().await;
                // Then marks are written of what was told.
                while tellers.join_next().await.is_some() {}
            };
            let _ = tokio::time::timeout(FLUSH_NOTIFICATIONS, told).await;
        }
    }
}

/// Runs a controller until `stop` is done; see [`Controller::run`].
pub async fn run(
    client: Client,
    clock: Clock,
    options: Options,
    leadership: Leadership,
    stop: impl Future<Output = ()>,
) {
    Controller::new(client, clock, options, leadership).run(stop).await;
}

async fn work(shared: Arc<Shared>) {
    while let Some(key) = shared.queue.next().await {
        let (rollout, namespace) = (key.name.as_str(), key.namespace.as_str());
        let begun = Instant::now();
        // One Rollout that breaks a rule of ours must not take the others down with it.
        let result = std::panic::AssertUnwindSafe(reconcile(&shared, &key)).catch_unwind().await;
        let took = begun.elapsed();
        // A look at what is gone must not bring its figures back.
        if shared.executor.cache.rollouts.stored(&key).is_some() {
            shared.executor.metrics.rollouts.looked(&key, took);
        }
        let next = result.unwrap_or_else(|panic| Err(LookError::Panicked(said(&*panic))));
        come_again(&shared, &key, next);
        info!(rollout, namespace, time_ms = took.as_secs_f64() * 1000.0, "Reconciliation completed");
        shared.queue.done(&key);
    }
}

pub(crate) fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

fn come_again(shared: &Shared, key: &Key, next: Result<Next, LookError>) {
    let (rollout, namespace) = (key.name.as_str(), key.namespace.as_str());
    let problem = match next {
        Ok(Next::Soon) => {
            shared.queue.again(key.clone());
            return;
        }
        Ok(Next::OnChange) => {
            shared.forget_refusal(key);
            return shared.queue.forget(key);
        }
        Ok(Next::After(delay)) => {
            shared.forget_refusal(key);
            shared.queue.forget(key);
            return shared.queue.add_after(key.clone(), delay);
        }
        Err(problem) => problem,
    };
    match &problem {
        LookError::Conflict { .. } | LookError::NotLeading => {
            info!(rollout, namespace, "{problem}; the next look starts from what is there");
        }
        _ => {
            shared.executor.metrics.rollouts.failed(key);
            shared.tell_refusal(key, &problem);
            error!(rollout, namespace, "rollout syncHandler error: {problem}");
        }
    }
    shared.queue.retry(key.clone());
    let retries = shared.queue.failures(key);
    info!(rollout, namespace, "rollout syncHandler queue retries: {retries} : key \"{key}\"");
}

async fn give_services_back(shared: Arc<Shared>) {
    while let Some(key) = shared.services.next().await {
        match in_time("give back", "Service", &key, services::look_at(&shared, &key)).await {
            Ok(()) => shared.services.forget(&key),
            Err(problem) => {
                let (service, namespace) = (key.name.as_str(), key.namespace.as_str());
                error!(service, namespace, "service syncHandler error: {problem}");
                shared.services.retry(key.clone());
            }
        }
        shared.services.done(&key);
    }
}

async fn give_rules_back(shared: Arc<Shared>) {
    while let Some(key) = shared.rules.next().await {
        match in_time("give back", "DestinationRule", &key, istio::rules::look_at(&shared, &key)).await {
            Ok(()) => shared.rules.forget(&key),
            Err(problem) => {
                let (rule, namespace) = (key.name.as_str(), key.namespace.as_str());
                error!(rule, namespace, "destinationrule syncHandler error: {problem}");
                shared.rules.retry(key.clone());
            }
        }
        shared.rules.done(&key);
    }
}

async fn give_ingresses_back(shared: Arc<Shared>) {
    while let Some(key) = shared.ingresses.next().await {
        match in_time("give back", "Ingress", &key, routers::ingresses::look_at(&shared, &key)).await {
            Ok(()) => shared.ingresses.forget(&key),
            Err(problem) => {
                let (ingress, namespace) = (key.name.as_str(), key.namespace.as_str());
                error!(ingress, namespace, "ingress syncHandler error: {problem}");
                shared.ingresses.retry(key.clone());
            }
        }
        shared.ingresses.done(&key);
    }
}

type Task = BoxFuture<'static, ()>;

/// One watch per kind.
fn watches(shared: &Arc<Shared>) -> Vec<Task> {
    let cache = &shared.executor.cache;
    let ours = shared.options.our_label();
    let ours = Some(ours.as_str());
    let hashed = Some(labels::POD_TEMPLATE_HASH);
    let runs = one(shared, ours, &cache.analysis_runs, |shared, change| triggers::run_changed(shared, &change));
    if shared.options.needs_only_runs() {
        return vec![runs];
    }
    let mut tasks: Vec<Task> = vec![
        runs,
        one(shared, ours, &cache.rollouts, |shared, change| triggers::rollout_changed(shared, &change)),
        one(shared, hashed, &cache.replica_sets, |shared, change| triggers::replica_set_changed(shared, &change)),
        one(shared, None, &cache.services, |shared, change| triggers::service_changed(shared, &change)),
        one(shared, ours, &cache.experiments, |shared, change| triggers::experiment_changed(shared, &change)),
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
