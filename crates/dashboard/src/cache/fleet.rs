//! One cache for the whole cluster, or, where that may not be read, one for each namespace that is looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Request;
use kube::Client;
use tidegate_clock::Clock;
use tidegate_cluster::ROLLOUTS;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Cache, Running};

/// How often the cluster is asked whether it is there.
const LOOK: Duration = Duration::from_secs(3);
/// How long an answer to that may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// How long the first list may take before a request is answered without it.
const SYNCED_WITHIN: Duration = Duration::from_secs(10);
/// How long kinds other than Rollouts are waited for: they may be forbidden.
pub(super) const OTHERS_WITHIN: Duration = Duration::from_secs(2);
/// A cache that nobody has looked at for this long is let go.
const KEPT: Duration = Duration::from_secs(300);
/// Namespaces watched at once, where all together may not be.
const MOST_NAMESPACES: usize = 64;

/// What may be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Not known yet: the cluster has not answered.
    Unknown,
    /// Everything.
    All,
    /// Single namespaces.
    Namespaces,
}

struct Kept {
    running: Running,
    used: Instant,
}

/// The caches.
pub(crate) struct Fleet {
    client: Client,
    clock: Clock,
    /// The namespace to begin with.
    pub(crate) namespace: String,
    caches: Mutex<BTreeMap<String, Kept>>,
    scope: watch::Sender<Scope>,
    /// Why the cluster does not answer as it should; none when it does.
    problem: watch::Sender<Option<String>>,
    looking: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if let Some(task) = self.looking.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl Fleet {
    pub(crate) fn start(client: Client, clock: Clock, namespace: &str) -> Arc<Self> {
        let fleet = Arc::new(Self {
            client,
            clock,
            namespace: namespace.to_owned(),
            caches: Mutex::default(),
            scope: watch::Sender::new(Scope::Unknown),
            problem: watch::Sender::new(None),
            looking: Mutex::new(None),
        });
        let looked_after = Arc::downgrade(&fleet);
        let task = tokio::spawn(async move {
            while let Some(fleet) = looked_after.upgrade() {
                fleet.look().await;
                fleet.let_go();
                drop(fleet);
                tokio::time::sleep(LOOK).await;
            }
        });
        *fleet.looking.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        fleet
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the cluster whether it is there, and at first what may be read.
    async fn look(&self) {
        let scope = *self.scope.borrow();
        let everywhere = self.ask(None).await;
        let (found, problem) = match (scope, everywhere) {
            (Scope::Unknown | Scope::All, Ok(())) => (Scope::All, None),
            (Scope::Unknown | Scope::Namespaces, Err(Refused::Forbidden(_))) => {
                match self.ask(Some(&self.namespace)).await {
                    Ok(()) => (Scope::Namespaces, None),
                    Err(error) => (Scope::Namespaces, Some(error.text())),
                }
            }
            (scope, Ok(())) => (scope, None),
            (scope, Err(error)) => (scope, Some(error.text())),
        };
        self.scope.send_if_modified(|known| std::mem::replace(known, found) != found);
        self.problem.send_if_modified(|known| {
            if *known == problem {
                return false;
            }
            match &problem {
                Some(text) => tracing::warn!("The cluster does not answer: {text}"),
                None => tracing::info!("The cluster answers again"),
            }
            *known = problem;
            true
        });
    }

    async fn ask(&self, namespace: Option<&str>) -> Result<(), Refused> {
        let path = format!("{}?limit=1", ROLLOUTS.collection(namespace));
        let request = Request::get(path).body(Vec::new()).map_err(|error| Refused::Other(error.to_string()))?;
        match tokio::time::timeout(ANSWERS_WITHIN, self.client.request_text(request)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => Err(Refused::Forbidden(status.message)),
            Ok(Err(kube::Error::Api(status))) => Err(Refused::Other(status.message)),
            Ok(Err(error)) => Err(Refused::Other(tidegate_cluster::cause(&error, "the API server"))),
            Err(_) => Err(Refused::Other(format!("no answer within {} s", ANSWERS_WITHIN.as_secs()))),
        }
    }

    /// Lets go of what nobody looks at.
    fn let_go(&self) {
        self.lock().retain(|_, kept| kept.running.cache.hub.viewers() > 0 || kept.used.elapsed() < KEPT);
    }

    /// What may be watched, once that is known.
    pub(crate) async fn scope(&self) -> Scope {
        let mut scope = self.scope.subscribe();
        let known = tokio::time::timeout(SYNCED_WITHIN, scope.wait_for(|scope| *scope != Scope::Unknown)).await;
        match known {
            Ok(Ok(scope)) => *scope,
            _ => Scope::Unknown,
        }
    }

    /// Why the cluster does not answer, as it changes.
    pub(crate) fn problem(&self) -> watch::Receiver<Option<String>> {
        self.problem.subscribe()
    }

    /// The cache that holds a namespace, or everything that may be read when it is empty.
    ///
    /// # Errors
    /// When the cluster has not answered, in words.
    pub(crate) async fn cache(&self, namespace: &str) -> Result<Arc<Cache>, String> {
        let name = match self.scope().await {
            Scope::Unknown => return Err(self.why("the cluster has not answered yet")),
            Scope::All => "",
            Scope::Namespaces if namespace.is_empty() => &self.namespace,
            Scope::Namespaces => namespace,
        };
        let cache = self.kept(name)?;
        match tokio::time::timeout(SYNCED_WITHIN, cache.wait_until_synced()).await {
            Ok(()) => Ok(cache),
            Err(_) => Err(self.why("the cluster has not listed its Rollouts yet")),
        }
    }

    fn why(&self, otherwise: &str) -> String {
        self.problem.borrow().clone().unwrap_or_else(|| otherwise.to_owned())
    }

    fn kept(&self, name: &str) -> Result<Arc<Cache>, String> {
        let mut caches = self.lock();
        if !caches.contains_key(name) && caches.len() >= MOST_NAMESPACES {
            return Err(format!("more than {MOST_NAMESPACES} namespaces are looked at already; try again later"));
        }
        let kept = caches
            .entry(name.to_owned())
            .or_insert_with(|| Kept { running: Cache::start(&self.client, self.clock, name), used: Instant::now() });
        kept.used = Instant::now();
        Ok(Arc::clone(&kept.running.cache))
    }
}

enum Refused {
    Forbidden(String),
    Other(String),
}

impl Refused {
    fn text(self) -> String {
        match self {
            Self::Forbidden(text) | Self::Other(text) => text,
        }
    }
}
