//! Requests without a pause, and what became of each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use http::Version;
use tokio::task::JoinSet;

use crate::client::{Connection, Target, ask_over_tcp, ask_over_tls};

/// Pause between two requests of one client; ten of them make 250 requests a second.
const PERIOD: Duration = Duration::from_millis(40);
/// Failures that are kept with their circumstances; all are counted.
const MOST_FAILURES: usize = 200;

/// How a client connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// One HTTP/1.1 connection, for all requests.
    Kept,
    /// One HTTP/2 connection, for all requests.
    KeptTwo,
    /// A new HTTP/1.1 connection for each request.
    New,
    /// A new HTTP/2 connection for each request.
    NewTwo,
    /// A new plain TCP connection for each question.
    Tcp,
    /// A new connection with TLS from end to end.
    Tls,
}

/// Half of the requests on connections that are kept, half on new ones.
pub(crate) const HTTP: [Kind; 10] = [
    Kind::Kept,
    Kind::Kept,
    Kind::Kept,
    Kind::KeptTwo,
    Kind::KeptTwo,
    Kind::New,
    Kind::New,
    Kind::New,
    Kind::New,
    Kind::NewTwo,
];

/// A request that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Since the load began.
    pub(crate) at: Duration,
    pub(crate) step: String,
    pub(crate) kind: Kind,
    pub(crate) problem: String,
}

#[derive(Default)]
struct Count {
    step: String,
    requests: u64,
    failed: u64,
    failures: Vec<Failure>,
    /// By version, since the last look.
    versions: BTreeMap<String, u64>,
}

/// What became of all requests.
struct Ledger {
    begun: Instant,
    count: Mutex<Count>,
}

impl Ledger {
    fn count(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, kind: Kind, outcome: Result<String>) {
        let mut count = self.count();
        count.requests += 1;
        match outcome {
            Ok(version) => *count.versions.entry(version).or_default() += 1,
            Err(problem) => {
                count.failed += 1;
                if count.failures.len() < MOST_FAILURES {
                    let (at, step) = (self.begun.elapsed(), count.step.clone());
                    count.failures.push(Failure { at, step, kind, problem: format!("{problem:#}") });
                }
            }
        }
    }
}

/// What came of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) failures: Vec<Failure>,
    pub(crate) per_second: f64,
}

/// Running clients; they end when it is dropped.
pub(crate) struct Load {
    ledger: Arc<Ledger>,
    _clients: JoinSet<()>,
}

impl Load {
    /// One client of each of these kinds.
    pub(crate) fn start(target: &Target, kinds: &[Kind]) -> Self {
        let ledger = Arc::new(Ledger { begun: Instant::now(), count: Mutex::default() });
        let mut clients = JoinSet::new();
        for (number, kind) in kinds.iter().enumerate() {
            clients.spawn(client(*kind, target.clone(), Arc::clone(&ledger), PERIOD * number as u32 / 10));
        }
        Self { ledger, _clients: clients }
    }

    /// Names what is going on, for failures from now on.
    pub(crate) fn step(&self, name: &str) {
        self.ledger.count().step = name.to_owned();
    }

    /// Versions of the next so many requests that are answered.
    pub(crate) async fn sample(&self, requests: u64) -> Result<BTreeMap<String, u64>> {
        self.ledger.count().versions.clear();
        let begun = Instant::now();
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let versions = self.ledger.count().versions.clone();
            if versions.values().sum::<u64>() >= requests {
                return Ok(versions);
            }
            if begun.elapsed() > Duration::from_secs(60) {
                bail!("{requests} requests were not answered within a minute: {versions:?}");
            }
        }
    }

    /// What came of it so far.
    pub(crate) fn totals(&self) -> Totals {
        let count = self.ledger.count();
        let per_second = count.requests as f64 / self.ledger.begun.elapsed().as_secs_f64();
        Totals { requests: count.requests, failed: count.failed, failures: count.failures.clone(), per_second }
    }
}

/// Sends one request after the other, never two at once; makes up for the time a slow one took.
async fn client(kind: Kind, target: Target, ledger: Arc<Ledger>, offset: Duration) {
    tokio::time::sleep(offset).await;
    let mut ticks = tokio::time::interval(PERIOD);
    let mut kept = None;
    loop {
        ticks.tick().await;
        let outcome = match kind {
            Kind::Tcp => ask_over_tcp(target.address).await,
            Kind::Tls => ask_over_tls(target.address, &target.host).await,
            _ => ask_over_http(kind, &target, &mut kept).await,
        };
        ledger.add(kind, outcome);
    }
}

async fn ask_over_http(kind: Kind, target: &Target, kept: &mut Option<Connection>) -> Result<String> {
    let version = if matches!(kind, Kind::KeptTwo | Kind::NewTwo) { Version::HTTP_2 } else { Version::HTTP_11 };
    let open = match kept.take() {
        Some(connection) if !connection.is_closed() => Ok(connection),
        // A connection that was closed between two requests is no failed request; a new one must work.
        _ => Connection::open(target.address, version).await,
    };
    let mut connection = open?;
    let answer = connection.get(&target.host, "/", &[]).await?;
    if matches!(kind, Kind::Kept | Kind::KeptTwo) {
        *kept = Some(connection);
    }
    match answer.version {
        Some(version) => Ok(version),
        None => bail!("status {}", answer.status),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_testbed::free_ports;

    use super::*;
    use crate::istio::at;
    use crate::server::{Notes, Server};

    #[tokio::test]
    async fn every_answer_is_counted_by_version_and_a_server_that_goes_away_is_a_failure() {
        // Given a server and clients of all kinds that it understands
        let _already = rustls::crypto::ring::default_provider().install_default();
        let [port] = free_ports().unwrap();
        let server = Server::start(at(port), "7", "pod", Notes::default()).await.unwrap();
        let target = Target { address: at(port), host: "shop.shops.example".to_owned() };
        let load = Load::start(&target, &[Kind::Kept, Kind::New, Kind::Tcp, Kind::Tls]);

        // When it answers
        let versions = load.sample(40).await.unwrap();
        assert_eq!(versions.keys().collect::<Vec<_>>(), ["7"]);
        assert_eq!(load.totals().failed, 0);

        // And then does not
        load.step("gone");
        drop(server);
        tokio::time::sleep(PERIOD * 5).await;
        let totals = load.totals();
        for kind in [Kind::Kept, Kind::New, Kind::Tcp, Kind::Tls] {
            assert!(totals.failures.iter().any(|failure| failure.kind == kind && failure.step == "gone"), "{kind:?}");
        }
        assert_eq!(totals.failed, totals.failures.len() as u64);
    }
}
