//! The driver: watches pods, asks [`step`] what to do, does it.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use futures::{FutureExt, Stream};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tidegate_bare::Bare;
use tidegate_clock::Clock;

use crate::behaviour::{self, Defaults};
use crate::fleet::{Entry, Fleet, Key, address_text, key_of};
use crate::jobs::{Ended, Job, Warden, signal_group};
use crate::lifecycle::{Action, PodView, step};
use crate::timeline::{Exit, Process, ProcessState, plus};
use crate::writes::{self, Outcome};

/// Pause before a failed request or watch is tried again. Fixed, because jitter would differ from run to run.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Most local processes at once; further pods wait in `ContainerCreating`.
const MOST_JOBS: usize = 64;

/// Takes one line about something that went wrong and will be tried again.
pub type Reporter = Arc<dyn Fn(&str) + Send + Sync>;

/// How the agent behaves where pods do not say.
#[derive(Clone)]
pub struct Options {
    /// Delays for pods without annotations.
    pub defaults: Defaults,
    /// Names of the nodes to create and fill; at least one.
    pub nodes: Vec<String>,
    /// Most requests in flight at once.
    pub concurrency: usize,
    /// Where to say what went wrong.
    pub report: Option<Reporter>,
}

impl Default for Options {
    fn default() -> Self {
        Self { defaults: Defaults::default(), nodes: vec!["node-1".to_owned()], concurrency: 16, report: None }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("defaults", &self.defaults)
            .field("nodes", &self.nodes)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

type Work = FuturesUnordered<BoxFuture<'static, (Key, Option<String>, Outcome)>>;
type Jobs = FuturesUnordered<BoxFuture<'static, (Key, Option<String>, String, Ended)>>;

/// Scheduler and kubelet of a cluster without nodes.
pub struct Agent {
    client: Client,
    clock: Clock,
    options: Options,
    fleet: Fleet,
    work: Work,
    jobs: Jobs,
    warden: Warden,
}

impl Agent {
    /// An agent that does everything through `client` and reads time from `clock`.
    pub fn new(client: Client, clock: Clock, mut options: Options) -> Self {
        if options.nodes.is_empty() {
            options.nodes.push("node-1".to_owned());
        }
        options.concurrency = options.concurrency.max(1);
        let (work, jobs) = (Work::new(), Jobs::new());
        Self { client, clock, options, fleet: Fleet::default(), work, jobs, warden: Warden::default() }
    }

    /// Runs until `shutdown` completes; then all processes of pods are killed and requests in flight are dropped.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        tokio::select! {
            biased;
            () = &mut shutdown => return,
            () = self.ensure_nodes() => {}
        }
        let mut pods = std::pin::pin!(watch_pods(self.client.clone()));
        loop {
            self.dispatch();
            let due = self.fleet.first_due().map(|at| self.clock.until(at));
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some((key, uid, outcome)) = self.work.next(), if !self.work.is_empty() => {
                    self.finish(&key, uid.as_deref(), outcome);
                }
                Some((key, uid, container, ended)) = self.jobs.next(), if !self.jobs.is_empty() => {
                    self.job_ended(&key, uid.as_deref(), container, ended);
                }
                event = pods.next() => match event {
                    Some(event) => self.observe(event),
                    None => break,
                },
                () = tokio::time::sleep(due.unwrap_or_default()), if due.is_some() => {
                    self.fleet.queue_due(self.clock.now());
                }
            }
        }
        for entry in self.fleet.drain() {
            kill(&entry);
        }
        self.jobs.clear();
        self.warden.dismiss();
    }

    fn report(&self, line: &str) {
        if let Some(report) = &self.options.report {
            report(line);
        }
    }

    /// Takes `&mut self` although it changes nothing: a shared borrow held across an await would keep the whole agent
    /// from being spawned.
    async fn ensure_nodes(&mut self) {
        for (index, name) in self.options.nodes.clone().iter().enumerate() {
            let address = host_address(index);
            while let Err(error) = writes::ensure_node(&self.client, name, &address, self.clock.now()).await {
                self.report(&error);
                tokio::time::sleep(RETRY_AFTER).await;
            }
        }
    }

    fn observe(&mut self, event: watcher::Result<Event<Bare<Pod>>>) {
        match event {
            Ok(Event::Apply(Bare(pod)) | Event::InitApply(Bare(pod))) => self.apply(pod),
            Ok(Event::Delete(Bare(pod))) => {
                if let Some(gone) = self.fleet.remove(&key_of(&pod), pod.metadata.uid.as_deref()) {
                    kill(&gone);
                }
            }
            Ok(Event::Init) => self.fleet.begin_list(),
            Ok(Event::InitDone) => self.fleet.end_list().iter().for_each(kill),
            Err(error) => self.report(&format!("watching pods: {error}")),
        }
    }

    fn apply(&mut self, pod: Pod) {
        let node = pod.spec.as_ref().and_then(|s| s.node_name.as_deref()).unwrap_or_default();
        if !node.is_empty() && !self.options.nodes.iter().any(|ours| ours == node) {
            // Someone else has placed it, perhaps after it was seen here without a node.
            if let Some(foreign) = self.fleet.remove(&key_of(&pod), None) {
                kill(&foreign);
            }
            return;
        }
        let key = key_of(&pod);
        if let Some(replaced) = self.fleet.apply(pod, self.clock.now()) {
            kill(&replaced);
        }
        if let Some(entry) = self.fleet.get_mut(&key)
            && entry.pod.metadata.deletion_timestamp.is_some()
        {
            // Asked to stop, as a kubelet would; the kill comes when the stop delay is over.
            entry.groups.values().for_each(|group| signal_group(*group, "TERM"));
        }
    }

    /// Looks at queued pods while there is room for requests.
    fn dispatch(&mut self) {
        while self.work.len() < self.options.concurrency {
            let Some(key) = self.fleet.next() else { return };
            self.look_at(&key);
        }
    }

    fn look_at(&mut self, key: &Key) {
        let now = self.clock.now();
        let Some(entry) = self.fleet.get_mut(key) else { return };
        let behaviour = behaviour::read(&entry.pod, &self.options.defaults);
        let node = entry.pod.spec.as_ref().and_then(|s| s.node_name.as_deref());
        let index = self.options.nodes.iter().position(|ours| Some(ours.as_str()) == node).unwrap_or(0);
        let view = PodView {
            pod: &entry.pod,
            placed_at: entry.placed_at,
            deleted_at: entry.deleted_at,
            pod_ip: &address_text(entry.address),
            host_ip: &host_address(index),
            processes: &entry.processes,
        };
        let next = step(&view, &behaviour, now);
        self.fleet.wake(key, next.wake_at);
        match next.action {
            Some(Action::StartProcess { container }) => self.start_process(key, &container),
            Some(action) => self.request(key, action),
            None => {}
        }
    }

    fn request(&mut self, key: &Key, action: Action) {
        let now = self.clock.now();
        let Some(entry) = self.fleet.get_mut(key) else { return };
        let (client, pod) = (self.client.clone(), Arc::clone(&entry.pod));
        let request = match action {
            Action::Bind => match choose_node(&pod, &self.options.nodes) {
                Some(node) => writes::bind(client, pod, node).boxed(),
                None => return,
            },
            Action::WriteStatus { status, warning } => {
                if entry.deleted_at.is_some() {
                    kill(entry);
                }
                writes::write_status(client, pod, *status, warning, now).boxed()
            }
            Action::Delete => writes::delete(client, pod).boxed(),
            Action::StartProcess { .. } => return,
        };
        entry.busy = true;
        let (key, uid) = (key.clone(), entry.pod.metadata.uid.clone());
        self.work.push(request.map(move |outcome| (key, uid, outcome)).boxed());
    }

    fn finish(&mut self, key: &Key, uid: Option<&str>, outcome: Outcome) {
        let now = self.clock.now();
        let Some(entry) = self.fleet.get_mut(key).filter(|e| e.pod.metadata.uid.as_deref() == uid) else { return };
        entry.busy = false;
        let touched = std::mem::take(&mut entry.touched);
        let retry_at = Some(plus(now, RETRY_AFTER));
        match outcome {
            // A server that drops a field would otherwise be asked for it again and again.
            Outcome::Written(pod) if pod.metadata.resource_version == entry.pod.metadata.resource_version => {}
            Outcome::Written(pod) => self.apply(*pod),
            // The watch shows the effect; the wake-up is for the case that it never does.
            Outcome::Done | Outcome::Overtaken => self.fleet.wake(key, retry_at),
            Outcome::Failed(error) => {
                self.report(&format!("pod {}/{}: {error}", key.0, key.1));
                self.fleet.wake(key, retry_at);
                return;
            }
        }
        if touched {
            self.fleet.enqueue(key);
        }
    }

    fn start_process(&mut self, key: &Key, name: &str) {
        let now = self.clock.now();
        if self.jobs.len() >= MOST_JOBS {
            self.fleet.wake(key, Some(plus(now, RETRY_AFTER)));
            return;
        }
        let warden = self.warden.clone();
        let Some(entry) = self.fleet.get_mut(key) else { return };
        let containers = entry.pod.spec.as_ref().map(|s| s.containers.as_slice()).unwrap_or_default();
        let Some(container) = containers.iter().find(|c| c.name == name) else { return };
        let (restarts, last) = match entry.processes.remove(name) {
            Some(Process { restarts, state: ProcessState::Exited(exit), .. }) => (restarts + 1, Some(exit)),
            _ => (0, None),
        };
        let state = match Job::start(&entry.pod, container, &warden) {
            Ok(job) => {
                entry.groups.insert(name.to_owned(), job.group());
                let (key, uid, container) = (key.clone(), entry.pod.metadata.uid.clone(), name.to_owned());
                self.jobs.push(job.wait().map(move |ended| (key, uid, container, ended)).boxed());
                ProcessState::Running(now)
            }
            Err(message) => {
                ProcessState::Exited(Exit { started_at: now, finished_at: now, code: 128, message: Some(message) })
            }
        };
        entry.processes.insert(name.to_owned(), Process { restarts, last, state });
        self.fleet.enqueue(key);
    }

    fn job_ended(&mut self, key: &Key, uid: Option<&str>, container: String, ended: Ended) {
        let now = self.clock.now();
        let Some(entry) = self.fleet.get_mut(key).filter(|e| e.pod.metadata.uid.as_deref() == uid) else { return };
        entry.groups.remove(&container);
        if let Some(process) = entry.processes.get_mut(&container) {
            let started_at = match process.state {
                ProcessState::Running(since) => since,
                ProcessState::Exited(_) => now,
            };
            let exit = Exit { started_at, finished_at: now, code: ended.code, message: ended.message };
            process.state = ProcessState::Exited(exit);
        }
        self.fleet.enqueue(key);
    }
}

/// Kills the processes of a pod; their futures then see the end.
fn kill(entry: &Entry) {
    entry.groups.values().for_each(|group| signal_group(*group, "KILL"));
}

/// Addresses of nodes, apart from those of pods and services.
fn host_address(index: usize) -> String {
    format!("10.0.{}.{}", (index / 254) % 256, 1 + index % 254)
}

/// The pods of all namespaces; a failed watch pauses before it goes on.
fn watch_pods(client: Client) -> impl Stream<Item = watcher::Result<Event<Bare<Pod>>>> {
    watcher(Api::<Bare<Pod>>::all(client), watcher::Config::default()).then(|event| async move {
        if event.is_err() {
            tokio::time::sleep(RETRY_AFTER).await;
        }
        event
    })
}

/// A node for the pod: one that it insists on (as pods of a DaemonSet do), else one given by its name.
fn choose_node(pod: &Pod, nodes: &[String]) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let affinity = spec.affinity.as_ref().and_then(|a| a.node_affinity.as_ref());
    let required = affinity.and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
    let wanted: BTreeSet<&str> = required
        .iter()
        .flat_map(|selector| &selector.node_selector_terms)
        .flat_map(|term| term.match_fields.iter().flatten())
        .filter(|field| field.key == "metadata.name" && field.operator == "In")
        .flat_map(|field| field.values.iter().flatten().map(String::as_str))
        .collect();
    if !wanted.is_empty() {
        return nodes.iter().find(|name| wanted.contains(name.as_str())).cloned();
    }
    let (namespace, name) = key_of(pod);
    let count = u64::try_from(nodes.len()).ok().filter(|count| *count > 0)?;
    let index = crate::fnv1a(format!("{namespace}/{name}").as_bytes()) % count;
    nodes.get(usize::try_from(index).ok()?).cloned()
}
