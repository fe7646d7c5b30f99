//! Configurations by namespace, as they are at this moment.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::{self, Event as Watched, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tidegate_api::ObjectMeta;
use tidegate_delivery::Scoped;
use tidegate_engine::Event;
use tidegate_notify::{CONFIG_MAP, Config, Problem, SECRET};
use tokio::sync::watch;
use tracing::warn;

use super::CONFIG_MAP_KIND;
use crate::events::Recorder;

/// Reason of the event that tells of an entry that cannot be used.
const INVALID: &str = "InvalidNotificationConfig";
/// How long a watch that fails waits: this long at first, twice as long each time, at most so long.
const FIRST_PAUSE: Duration = Duration::from_millis(800);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Events about one configuration; nobody reads further before fixing the first.
const MOST_TOLD: usize = 10;

/// The ConfigMaps and the Secrets.
const BOTH: usize = 2;

/// What is known of one namespace.
#[derive(Default)]
struct Known {
    metadata: ObjectMeta,
    entries: BTreeMap<String, String>,
    secrets: BTreeMap<String, Vec<u8>>,
    config: Option<Arc<Config>>,
    /// What people were told is wrong.
    told: BTreeSet<Problem>,
}

/// Configurations. Clones share them.
#[derive(Clone)]
pub(crate) struct Configs {
    own_namespace: String,
    self_service: bool,
    known: Arc<Mutex<BTreeMap<String, Known>>>,
    /// How many of the two first lists are in, or were refused.
    listed: Arc<watch::Sender<usize>>,
}

impl Configs {
    pub(super) fn new(own_namespace: String, self_service: bool) -> Self {
        let listed = Arc::new(watch::channel(0).0);
        Self { own_namespace, self_service, known: Arc::default(), listed }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The configurations for objects of a namespace: that of the controller, and its own where that is wanted.
    pub(crate) fn of(&self, namespace: &str) -> Vec<Scoped> {
        let known = self.known();
        let of = |namespace: &str| {
            let config = known.get(namespace).and_then(|known| known.config.clone());
            config.map(|config| (namespace.to_owned(), config))
        };
        let own = if self.self_service && namespace != self.own_namespace { of(namespace) } else { None };
        own.into_iter().chain(of(&self.own_namespace)).collect()
    }

    /// What marks say about where a configuration is from.
    pub(super) fn mark<'a>(&self, scope: &'a str) -> Option<&'a str> {
        (self.self_service && scope != self.own_namespace).then_some(scope)
    }

    /// Waits until both first lists are in, or were refused: a right that is missing keeps nobody from work.
    pub(crate) async fn wait_until_synced(&self) {
        // The sender is ours, so that it cannot be gone.
        let _ = self.listed.subscribe().wait_for(|listed| *listed >= BOTH).await;
    }

    fn change(&self, namespace: &str, change: impl FnOnce(&mut Known)) {
        let mut all = self.known();
        let known = all.entry(namespace.to_owned()).or_default();
        change(known);
        if known.entries.is_empty() && known.secrets.is_empty() {
            all.remove(namespace);
            return;
        }
        let config = Config::read(&known.entries, &known.secrets);
        // Files beside the controller are the operator's, not those of tenants.
        let config = if namespace == self.own_namespace { config.with_files() } else { config };
        known.config = Some(Arc::new(config));
    }

    /// Tells people once about every entry that cannot be used.
    pub(crate) fn tell_problems(&self, events: &Recorder) {
        // Before both are there, every key of the Secret would seem to be missing.
        if !events.is_heard() || *self.listed.borrow() < BOTH {
            return;
        }
        for known in self.known().values_mut() {
            let Some(config) = &known.config else { continue };
            let problems: BTreeSet<Problem> = config.problems.iter().cloned().collect();
            for problem in problems.difference(&known.told).take(MOST_TOLD) {
                warn!("notification configuration: {problem}");
                let event = Event::warning(INVALID, problem.to_string());
                events.tell_about(&known.metadata, CONFIG_MAP_KIND, "v1", &event);
            }
            known.told = problems;
        }
    }

    /// Follows the ConfigMaps and Secrets until it is dropped; `told` is called after every change.
    pub(crate) async fn follow(self, client: Client, told: impl Fn(&Self)) {
        let namespace = (!self.self_service).then_some(self.own_namespace.as_str());
        let maps = follow::<ConfigMap>(api(&client, namespace), CONFIG_MAP, &self.listed, |namespace, found| {
            self.change(namespace, |known| {
                known.metadata = found.map(metadata).unwrap_or_default();
                known.entries = found.and_then(|map| map.data.clone()).unwrap_or_default();
            });
            told(&self);
        });
        let secrets = follow::<Secret>(api(&client, namespace), SECRET, &self.listed, |namespace, found| {
            let data = found.and_then(|secret| secret.data.clone()).unwrap_or_default();
            let data = data.into_iter().map(|(key, value)| (key, value.0)).collect();
            self.change(namespace, |known| known.secrets = data);
            told(&self);
        });
        futures::future::join(maps, secrets).await;
    }
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

fn metadata(map: &ConfigMap) -> ObjectMeta {
    let json = serde_json::to_value(&map.metadata).unwrap_or_default();
    serde_json::from_value(json).unwrap_or_default()
}

/// Watches the objects of one name; tells of each what it is now, or that it is gone.
async fn follow<K>(api: Api<K>, name: &str, listed: &watch::Sender<usize>, tell: impl Fn(&str, Option<&K>))
where
    K: Resource + Clone + Debug + Send + DeserializeOwned + 'static,
    K::DynamicType: Clone,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = std::pin::pin!(watcher(api, config));
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut in_list: BTreeSet<String> = BTreeSet::new();
    let mut is_first = true;
    let mut answered = || {
        if std::mem::take(&mut is_first) {
            listed.send_modify(|listed| *listed += 1);
        }
    };
    let mut pause = FIRST_PAUSE;
    while let Some(event) = events.next().await {
        let place = |object: &K| object.namespace().unwrap_or_default();
        match event {
            Ok(Watched::Init) => in_list.clear(),
            Ok(Watched::InitApply(object)) => {
                in_list.insert(place(&object));
                tell(&place(&object), Some(&object));
            }
            Ok(Watched::InitDone) => {
                known.difference(&in_list).for_each(|gone| tell(gone, None));
                known = std::mem::take(&mut in_list);
                answered();
            }
            Ok(Watched::Apply(object)) => {
                known.insert(place(&object));
                tell(&place(&object), Some(&object));
            }
            Ok(Watched::Delete(object)) => {
                known.remove(&place(&object));
                tell(&place(&object), None);
            }
            Err(error) => {
                warn!("Failed to watch {name}: {error}");
                answered();
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                continue;
            }
        }
        pause = FIRST_PAUSE;
    }
}
