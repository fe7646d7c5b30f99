//! A running testbed and what tests do with it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::PostParams;
use kube::{Api, Client};
use tidegate_clock::Clock;
use tidegate_node_agent::Agent;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::assets::{self, Binaries};
use crate::control_plane::{ControlPlane, Layout, client_from, config_from};
use crate::credentials::random_hex;
use crate::error::TestbedError;
use crate::process::{Part, Sweeper, tail};

/// How often a start is tried when a port was taken meanwhile.
const ATTEMPTS: u32 = 3;
/// Lines of the node agent's log; it repeats itself when something is wrong.
const MOST_AGENT_LINES: u32 = 10_000;

/// What kind of testbed to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Write an audit log (every request, without bodies); see [`Testbed::audit_log`].
    pub audit: bool,
    /// Whose requests are in the audit log; everybody's when empty.
    pub audited: Vec<String>,
    /// Further flags of kube-apiserver.
    pub apiserver_args: Vec<String>,
    /// Built-in controllers that are not to run, such as `endpointslice-controller`.
    pub without_controllers: Vec<String>,
    /// The node agent: default delays, nodes, whether Job commands are run.
    pub agent: tidegate_node_agent::Options,
    /// How long the control plane may take to become ready, without building it.
    pub ready_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            audit: false,
            audited: Vec::new(),
            apiserver_args: Vec::new(),
            without_controllers: Vec::new(),
            agent: tidegate_node_agent::Options::default(),
            ready_timeout: Duration::from_secs(90),
        }
    }
}

/// A control plane of its own with a node agent. Dropping it ends all of it.
pub struct Testbed {
    // Dropped in this order: the agent stops before the API goes, the folder goes last.
    _agent: AgentThread,
    control_plane: ControlPlane,
    _sweeper: Sweeper,
    layout: Layout,
    binaries: Binaries,
    namespaces: AtomicU32,
}

impl Testbed {
    /// Starts a testbed and waits until pods can be created. The first start on a machine builds the programs.
    ///
    /// # Errors
    /// With the end of the log of the part that failed.
    pub async fn start(options: Options) -> Result<Self, TestbedError> {
        install_crypto();
        let binaries = tokio::task::spawn_blocking(assets::prepare)
            .await
            .map_err(|error| setup("looking for the programs", std::io::Error::other(error)))??;
        let mut attempt = 1;
        loop {
            match Self::attempt(&binaries, &options).await {
                Err(error) if error.is_port_taken() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn attempt(binaries: &Binaries, options: &Options) -> Result<Self, TestbedError> {
        let root = tempfile::Builder::new()
            .prefix("tidegate-testbed-")
            .tempdir()
            .map_err(|source| setup("temporary folder", source))?
            .keep();
        let sweeper = Sweeper::over(&root).map_err(|source| setup("/bin/sh", source))?;
        let layout = Layout { root };
        let control_plane = ControlPlane::start(binaries, &layout, options).await?;
        let log = layout.logs().join("node-agent.log");
        let kubeconfig = control_plane.credentials.kubeconfig("node-agent");
        let agent = AgentThread::start(kubeconfig, options.agent.clone(), &log)?;
        let testbed = Self {
            _agent: agent,
            control_plane,
            _sweeper: sweeper,
            layout,
            binaries: binaries.clone(),
            namespaces: AtomicU32::new(0),
        };
        testbed.wait_for_nodes(options, &log).await?;
        Ok(testbed)
    }

    async fn wait_for_nodes(&self, options: &Options, log: &Path) -> Result<(), TestbedError> {
        let nodes: Api<Node> = Api::all(self.client().await?);
        let deadline = Instant::now() + options.ready_timeout;
        let is_ready = |node: &Node| {
            let conditions = node.status.as_ref().and_then(|s| s.conditions.as_ref());
            conditions.is_some_and(|list| list.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
        };
        loop {
            let list = nodes.list(&Default::default()).await;
            if list.is_ok_and(|list| list.items.len() >= options.agent.nodes.len() && list.items.iter().all(is_ready)) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let seconds = options.ready_timeout.as_secs();
                return Err(TestbedError::NodeAgent { seconds, log: tail(log, 25) });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The kubeconfig of the administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.control_plane.credentials.kubeconfig("admin")
    }

    /// The kubeconfig of one of the [users](Self::users) with a token.
    pub fn kubeconfig_of(&self, user: &str) -> Option<PathBuf> {
        self.users().any(|known| known == user).then(|| self.control_plane.credentials.kubeconfig(user))
    }

    /// Users with a token: `admin`, `controller-manager` and `node-agent` may do everything, the others
    /// (`rollouts-controller`, `alice`, `bob`, `carol`, `dave`) nothing until a test grants it.
    pub fn users(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.control_plane.credentials.users()
    }

    /// A client of the administrator. Lives on the runtime it is made in, so ask for one per test.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read.
    pub async fn client(&self) -> Result<Client, TestbedError> {
        client_from(&self.kubeconfig()).await
    }

    /// A client of `user`: by its token if it has one, otherwise by impersonation.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read.
    pub async fn client_as(&self, user: &str) -> Result<Client, TestbedError> {
        if let Some(kubeconfig) = self.kubeconfig_of(user) {
            return client_from(&kubeconfig).await;
        }
        let mut config = config_from(&self.kubeconfig()).await?;
        config.auth_info.impersonate = Some(user.to_owned());
        Client::try_from(config).map_err(TestbedError::Client)
    }

    /// Runs kubectl as the administrator.
    ///
    /// # Errors
    /// When it cannot be started; a failing command is in the output.
    pub async fn kubectl(&self, args: &[&str]) -> Result<Output, TestbedError> {
        let mut command = Command::new(&self.binaries.kubectl);
        command.args(args).env("KUBECONFIG", self.kubeconfig()).env("KUBECACHEDIR", self.layout.root.join("kubectl"));
        command.stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output())
            .await
            .map_err(std::io::Error::other)
            .flatten()
            .map_err(|source| setup(&self.binaries.kubectl.display().to_string(), source))
    }

    /// Starts a program that lives no longer than this process, with its output in `NAME.log` of
    /// [the logs](Self::logs_dir). A second start under the same name begins the log anew.
    ///
    /// # Errors
    /// When it cannot be started; a program that does not exist only ends at once, with a line in its log.
    pub fn program(
        &self,
        name: &'static str,
        program: &Path,
        args: &[String],
        environment: &[(&str, &str)],
    ) -> Result<Part, TestbedError> {
        let failed = |source| setup(&format!("{name} ({})", program.display()), source);
        Part::start_with(name, program, args, environment, &self.logs_dir()).map_err(failed)
    }

    /// Makes a namespace that no other test has; its name begins with `prefix`.
    ///
    /// # Errors
    /// When the API refuses it, for instance because of the prefix.
    pub async fn namespace(&self, prefix: &str) -> Result<String, TestbedError> {
        let number = self.namespaces.fetch_add(1, Ordering::Relaxed);
        let random = random_hex(3).map_err(|source| setup("random bytes", source))?;
        let name = format!("{prefix}-{number}-{random}");
        let api: Api<Namespace> = Api::all(self.client().await?);
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.clone());
        let failed = |source| TestbedError::Request { what: format!("creating namespace {name}"), source };
        api.create(&PostParams::default(), &namespace).await.map_err(failed)?;
        Ok(name)
    }

    /// The folder with one log per part.
    pub fn logs_dir(&self) -> PathBuf {
        self.layout.logs()
    }

    /// The audit log, one JSON object per line; empty unless [`Options::audit`] was set.
    pub fn audit_log(&self) -> PathBuf {
        self.layout.audit_log()
    }

    /// Names and process numbers of the parts.
    pub fn pids(&self) -> Vec<(&'static str, u32)> {
        self.control_plane.pids()
    }

    /// The folder with everything, removed at the end.
    pub fn dir(&self) -> &Path {
        &self.layout.root
    }

    /// The programs in use.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Ends everything. The same as dropping it, off the async workers.
    pub async fn stop(self) {
        let _ended = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

fn setup(what: &str, source: std::io::Error) -> TestbedError {
    TestbedError::Setup { what: what.to_owned(), source }
}

/// One crypto provider for the process; a second installation is refused, and that is fine.
fn install_crypto() {
    let _already = rustls::crypto::ring::default_provider().install_default();
}

/// The node agent on a thread with its own runtime: the runtime of the test that happened to start the testbed ends
/// with that test, while others still use it.
struct AgentThread {
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl AgentThread {
    fn start(kubeconfig: PathBuf, mut options: tidegate_node_agent::Options, log: &Path) -> Result<Self, TestbedError> {
        let file = std::fs::File::create(log).map_err(|source| setup(&log.display().to_string(), source))?;
        let written = Mutex::new((file, 0_u32));
        options.report.get_or_insert_with(|| {
            Arc::new(move |line: &str| {
                if let Ok(mut held) = written.lock()
                    && held.1 < MOST_AGENT_LINES
                {
                    held.1 += 1;
                    let _best_effort = writeln!(held.0, "{} {line}", Clock::system().now_seconds());
                }
            })
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| setup("runtime of the node agent", source))?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("node-agent".to_owned()).spawn(move || {
            runtime.block_on(async {
                match client_from(&kubeconfig).await {
                    Ok(client) => Agent::new(client, Clock::system(), options).run(stopped.cancelled_owned()).await,
                    Err(error) => options.report.iter().for_each(|report| report(&error.to_string())),
                }
            });
        });
        let thread = thread.map_err(|source| setup("thread of the node agent", source))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for AgentThread {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}
