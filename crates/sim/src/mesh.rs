//! Requests through the cluster: the simulated mesh follows the objects of a world and is under load.
//!
//! Every proxy sees changes late, each by a delay of its own that is drawn from the seed. What it counted is asked for in
//! PromQL, as a Prometheus would be.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_mesh::promql::{Reply, answer};
use tidegate_mesh::telemetry::Limits;
use tidegate_mesh::{Config, Delays, Load, Mesh, Objects, Proxies};

use crate::journal::{Journal, Mirror};
use crate::random::Random;
use crate::world::World;

/// How often the mesh looks for changes; istiod gathers them for as long.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often a Prometheus looks at the counters, unless said otherwise.
const SAMPLED_EVERY: Duration = Duration::from_secs(5);
/// What a mesh is made of, by resource.
const RESOURCES: [&str; 6] = [
    "virtualservices.networking.istio.io",
    "destinationrules.networking.istio.io",
    "gateways.networking.istio.io",
    "services",
    "endpointslices.discovery.k8s.io",
    "pods",
];

/// The mesh of a world and what passes through it.
#[derive(Clone, Copy, Debug)]
pub struct MeshSetting {
    /// Where delays and choices come from.
    pub seed: u64,
    /// How many proxies there are.
    pub proxies: usize,
    /// How late a proxy may be, at most.
    pub most_behind: Duration,
}

/// A mesh that follows a world.
#[derive(Clone, Debug)]
pub struct LiveMesh(Arc<Mutex<Mesh>>);

impl LiveMesh {
    /// The mesh at this moment. Do not hold it while time passes.
    pub fn now(&self) -> MutexGuard<'_, Mesh> {
        // Counters are whole after every request.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers as the HTTP API of a Prometheus that scrapes this mesh.
    pub fn query(&self, path: &str, parameters: &[(String, String)]) -> Reply {
        let mesh = self.now();
        answer(mesh.store(), path, parameters, mesh.now())
    }
}

impl World {
    /// Puts a mesh over the cluster and sends load through it.
    pub fn add_mesh(&mut self, setting: MeshSetting, loads: Vec<Load>) -> LiveMesh {
        self.add_mesh_sampled(setting, loads, SAMPLED_EVERY)
    }

    /// The same with another time between two samples of its counters.
    pub fn add_mesh_sampled(&mut self, setting: MeshSetting, loads: Vec<Load>, every: Duration) -> LiveMesh {
        let mut random = Random::new(setting.seed, "mesh");
        let most = u64::try_from(setting.most_behind.as_millis()).unwrap_or(u64::MAX);
        let mut delay = || i64::try_from(random.between(0, most.max(1))).unwrap_or(i64::MAX);
        let delays: Vec<Delays> =
            (0..setting.proxies.max(1)).map(|_| Delays { routes: delay(), clusters: delay() }).collect();
        let clock = self.clock();
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
        let mut mesh = Mesh::with(Proxies::new(delays), clock.now().as_millisecond(), every, Limits::default());
        mesh.loads = loads;
        let live = LiveMesh(Arc::new(Mutex::new(mesh)));
        let (following, journal) = (live.clone(), Arc::clone(self.journal()));
        self.add(async move {
            let mut seen = None;
            loop {
                let now = clock.now().as_millisecond();
                follow(&following, now, &journal, &mut seen, &mut random);
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
        live
    }
}

/// Sends what was due until now, then takes in what has changed.
fn follow(live: &LiveMesh, now: i64, journal: &Journal, seen: &mut Option<u64>, random: &mut Random) {
    let mut mesh = live.now();
    mesh.advance(now, &mut || random.bits());
    let (writes, _) = journal.counts();
    if *seen != Some(writes) {
        *seen = Some(writes);
        mesh.publish(read(&journal.mirror()));
    }
}

fn read(mirror: &Mirror) -> Config {
    let objects = RESOURCES.iter().flat_map(|resource| mirror.of(resource));
    Config::read(&Objects::sorted(objects.map(AsRef::as_ref)))
}
