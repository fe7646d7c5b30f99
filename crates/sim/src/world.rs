//! A cluster in this process: the API, pods that live as their annotations say, and a history of everything.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tidegate_apiserver::{ApiServer, Faults, NoFaults};
use tidegate_clock::Clock;
use tidegate_node_agent::{Agent, Defaults};
use tokio::task::JoinHandle;

use crate::client;
use crate::journal::Journal;
use crate::manager::Manager;

/// The name under which the node agent acts.
pub const NODE_AGENT: &str = "node-agent";
/// The name under which the workload controllers act, unless they are the client under test.
pub const MANAGER: &str = "manager";

/// How many changes the API remembers. Further back only a watch would ask that was away for very long, and it learns
/// from 410 to start over; all that memory would have to be touched first.
const LOG_LIMIT: usize = 2_000;

/// Kinds that the API keeps and that nothing here acts on.
pub const IDLE: [&str; 4] =
    ["daemonsets.apps", "ingresses.networking.k8s.io", "persistentvolumeclaims", "statefulsets.apps"];

/// How a world starts.
#[derive(Clone)]
pub struct Setting {
    /// Where uids and names come from.
    pub seed: u64,
    /// The time at the start.
    pub epoch: Timestamp,
    /// Whether the event log is kept.
    pub keeps_log: bool,
    /// A server whose objects there are from the start.
    pub like: Option<ApiServer>,
    /// Who interferes.
    pub faults: Arc<dyn Faults>,
}

impl Setting {
    /// A calm world that starts with the year 2026.
    pub fn new(seed: u64) -> Self {
        let epoch = Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH);
        Self { seed, epoch, keeps_log: false, like: None, faults: Arc::new(NoFaults) }
    }
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").field("seed", &self.seed).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// A cluster; everything in it stops when it is dropped.
#[derive(Debug)]
pub struct World {
    server: ApiServer,
    clock: Clock,
    journal: Arc<Journal>,
    tasks: Vec<JoinHandle<()>>,
}

impl World {
    /// An API without anything that acts on it. Must be called inside a runtime, whose clock it follows: virtual time
    /// needs a current-thread runtime with its clock paused.
    pub fn empty(setting: Setting) -> Self {
        let clock = Clock::simulated(setting.epoch);
        let journal = Arc::new(Journal::new(setting.keeps_log));
        let options = tidegate_apiserver::Options {
            seed: setting.seed,
            log_limit: LOG_LIMIT,
            like: setting.like,
            faults: setting.faults,
            observer: Arc::clone(&journal) as Arc<dyn tidegate_apiserver::Observer>,
            ..tidegate_apiserver::Options::new(clock)
        };
        Self { server: ApiServer::new(options), clock, journal, tasks: Vec::new() }
    }

    /// A cluster with nodes and workload controllers.
    pub fn start(setting: Setting) -> Self {
        let mut world = Self::empty(setting);
        world.add_nodes();
        world.add_manager();
        world
    }

    /// Lets pods run.
    pub fn add_nodes(&mut self) {
        self.add_nodes_with(Defaults::default());
    }

    /// Lets pods run that start and stop like this where nothing else is said.
    pub fn add_nodes_with(&mut self, defaults: Defaults) {
        let options = tidegate_node_agent::Options {
            defaults: Defaults { processes: false, ..defaults },
            ..tidegate_node_agent::Options::default()
        };
        let agent = Agent::new(self.client(NODE_AGENT), self.clock, options);
        self.add(async move { agent.run(std::future::pending()).await });
    }

    /// Lets the workload controllers run.
    pub fn add_manager(&mut self) {
        let manager = Manager::new(self.client(MANAGER), self.clock);
        self.add(manager.run(std::future::pending()));
    }

    /// Runs something until the world is dropped.
    pub fn add(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.push(tokio::spawn(task));
    }

    /// A client under a name.
    pub fn client(&self, name: &str) -> Client {
        client::named(&self.server, name)
    }

    /// The API itself.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Lets the API tell people what is not there and what nothing acts on, where they would otherwise wait for it.
    pub fn tell_what_is_missing(&self) {
        self.server.tell_what_is_missing(&IDLE);
    }

    /// What everything in the world tells time by.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// What happened so far.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// Lets time pass.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Lets time pass until nothing has been written for `quiet`; false if that does not come within `limit`.
    pub async fn settle(&self, quiet: Duration, limit: Duration) -> bool {
        let ends = self.journal.elapsed() + limit;
        let mut revision = self.server.revision();
        while self.journal.elapsed() < ends {
            self.pass(quiet).await;
            let now = self.server.revision();
            if now == revision {
                return true;
            }
            revision = now;
        }
        false
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
