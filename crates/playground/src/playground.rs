//! All of it, from start to end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom as _, SystemRandom};
use tidegate_apiserver::Listener;
use tidegate_dashboard::{self as dashboard, Server};

use crate::app::{App, Gateway, Mix};
use crate::cluster::{Cluster, send_load};
use crate::error::PlaygroundError;
use crate::folder::Folder;
use crate::kept::Keeper;
use crate::ports::{self, Ports, Purpose};
use crate::scenario::{NAMESPACE, Scenario, Speed, Try};

const API: Purpose = Purpose { what: "the Kubernetes API", flag: "--port-api" };
const DASHBOARD: Purpose = Purpose { what: "the dashboard", flag: "--port-dashboard" };
const APPLICATION: Purpose = Purpose { what: "the application", flag: "--port-app" };
/// Who the dashboard is in the cluster.
const DASHBOARD_USER: &str = "dashboard";

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is shown.
    pub scenario: Scenario,
    /// How fast.
    pub speed: Speed,
    /// Where.
    pub ports: Ports,
    /// Where the files for other programs are to be; the folder is made and removed.
    pub folder: PathBuf,
    /// Where the state is kept for the next time, if it is to be.
    pub dir: Option<PathBuf>,
    /// The version that the dashboard shows.
    pub version: String,
}

/// A running playground. Dropping it ends everything and removes its files.
pub struct Playground {
    scenario: Scenario,
    cluster: Cluster,
    api: Listener,
    app: App,
    dashboard: Server,
    mix: Mix,
    kubeconfig: PathBuf,
    demo: PathBuf,
    routes: PathBuf,
    keeper: Option<Keeper>,
    is_restored: bool,
    _folder: Folder,
}

/// What came of all requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// All there were.
    pub requests: u64,
    /// Those that failed.
    pub failed: u64,
}

impl Playground {
    /// Starts everything and creates the demo.
    pub async fn start(options: Options) -> Result<Self, PlaygroundError> {
        let Options { scenario, speed, ports, folder, dir, version } = options;
        let keeper = dir.map(|dir| Keeper::new(dir, scenario)).transpose()?;
        let kept = keeper.as_ref().map(Keeper::read).transpose()?.flatten();
        let mut cluster = Cluster::start(speed, kept.as_ref()).await?;
        cluster.world.add(send_load(cluster.mesh.clone(), scenario, speed));
        let token = token()?;
        let api = ports::next_free(API, ports.api, |port| {
            let (server, token) = (cluster.world.server().clone(), token.clone());
            async move { Listener::start_tls(server, port, &token).await }
        });
        let api = api.await?;
        let dashboard = ports::next_free(DASHBOARD, ports.dashboard, |port| {
            let (client, clock) = (cluster.world.client(DASHBOARD_USER), cluster.world.clock());
            Server::start(client, clock, dashboard::Options { port, ..dashboard::Options::new(NAMESPACE, &version) })
        });
        let dashboard = dashboard.await?;
        let mix = Mix::default();
        cluster.world.add(mix.clone().follow(cluster.mesh.clone()));
        let socket = ports::next_free(APPLICATION, ports.app, ports::local).await?;
        let journal = cluster.world.journal().clone();
        let gateway = Gateway::new(cluster.mesh.clone(), journal, scenario, cluster.seed);
        let listens = |source| PlaygroundError::Port {
            what: APPLICATION.what,
            flag: APPLICATION.flag,
            from: ports.app,
            to: ports.app,
            source,
        };
        let app = App::serve(socket, gateway, mix.clone()).map_err(listens)?;
        let manifests = scenario.manifests(speed);
        let folder = Folder::make(folder)?;
        let kubeconfig = folder.write("kubeconfig", &api.kubeconfig())?;
        let demo = folder.write("demo.yaml", &manifests)?;
        let routes = folder.write("routes.yaml", &scenario.routes())?;
        if kept.is_none() {
            cluster.create_all(&manifests).await?;
        }
        let is_restored = kept.is_some();
        if let Some(keeper) = &keeper {
            cluster.world.add(keeper.clone().follow(cluster.world.server().clone()));
        }
        Ok(Self {
            scenario,
            cluster,
            api,
            app,
            dashboard,
            mix,
            kubeconfig,
            demo,
            routes,
            keeper,
            is_restored,
            _folder: folder,
        })
    }

    /// Where the Kubernetes API listens.
    pub fn api(&self) -> SocketAddr {
        self.api.address()
    }

    /// Where the application listens.
    pub fn app(&self) -> SocketAddr {
        self.app.address()
    }

    /// Where the dashboard listens.
    pub fn dashboard(&self) -> SocketAddr {
        self.dashboard.address()
    }

    /// The kubeconfig for other programs.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The manifests of the demo.
    pub fn demo(&self) -> &Path {
        &self.demo
    }

    /// A client of the cluster inside.
    pub fn client(&self) -> kube::Client {
        self.cluster.world.client("user")
    }

    /// What to try, in order, with what is there: how the plugin and kubectl are called.
    pub fn tries(&self, plugin: &str, kubectl: &str) -> Vec<(&'static str, String)> {
        let app = format!("localhost:{}", self.app().port());
        let routes = self.routes.display().to_string();
        let filled = |one: &Try| {
            let command = one.command.replace("PLUGIN", plugin).replace("KUBECTL", kubectl);
            (one.says, command.replace("APP", &app).replace("ROUTES", &routes))
        };
        self.scenario.tries().iter().map(filled).collect()
    }

    /// What came of all requests so far.
    pub fn totals(&self) -> Totals {
        let answers = self.mix.totals();
        Totals { requests: answers.good + answers.failed, failed: answers.failed }
    }

    /// Whether it goes on where it was left the last time.
    pub fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// Ends it: no more connections, the state is kept if it is to be, then nothing at all.
    ///
    /// # Errors
    /// When the state cannot be kept; everything has ended all the same.
    pub async fn stop(self) -> Result<Totals, PlaygroundError> {
        let totals = self.totals();
        let server = self.cluster.world.server().clone();
        self.dashboard.stop().await;
        self.api.stop().await;
        self.keeper.map_or(Ok(()), |keeper| keeper.write(&server))?;
        Ok(totals)
    }
}

/// A word that nobody else on this machine can guess.
fn token() -> Result<String, PlaygroundError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| PlaygroundError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
