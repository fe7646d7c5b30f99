//! Objects of the routers besides Istio: whether their kinds are served, what is known of them, and who needs them.
//!
//! ```text
//!   presence.rs   asks every few seconds which of the kinds that Rollouts need are served, and watches those
//!   selected.rs   objects by label
//!   ingresses.rs  weights that a Rollout has left behind
//! ```
//!
//! Nothing is asked for a kind that no Rollout needs.

pub(crate) mod ingresses;
mod presence;
mod selected;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use kube::api::{Api, ApiResource, ListParams};
use kube::{Client, Resource as _};
use serde_json::Value;
use tidegate_engine::routing;
use tidegate_runtime::{Key, Store, Stored};
use tidegate_traffic::router::{Need, ObjectRef, Resource, Seen, Selection};
use tokio::sync::Notify;

pub(crate) use self::presence::follow;
use crate::error::LookError;
use crate::execute::FIELD_MANAGER;
use crate::whole::WholeObject;

/// Whether a kind can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Presence {
    /// Nobody has asked yet.
    Unknown,
    /// In this version, which may be another than the one that was asked for.
    Served(String),
    Absent,
}

/// What is known of one kind.
#[derive(Clone)]
struct Known {
    store: Store<WholeObject>,
    presence: Presence,
}

#[derive(Default)]
struct Inner {
    kinds: BTreeMap<Resource, Known>,
    /// What each Rollout needs.
    needs: BTreeMap<Key, BTreeSet<Need>>,
    /// Objects that may not be what we think they are: they are read before they are used.
    doubted: BTreeSet<ObjectRef>,
}

/// What is known of all of them. Clones share it.
#[derive(Clone)]
pub(crate) struct Routers {
    client: Client,
    inner: Arc<Mutex<Inner>>,
    needed: Arc<Notify>,
    /// How often the API was asked for an object.
    asked: Arc<AtomicU64>,
}

fn resource_of(resource: &Resource, version: &str) -> ApiResource {
    let served = Resource { version: version.to_owned(), ..resource.clone() };
    let api_version = served.api_version();
    ApiResource { group: served.group, version: served.version, api_version, kind: served.kind, plural: served.plural }
}

/// Of ConfigMaps there are too many to keep them all for the few that matter; they are read when they are needed.
fn is_watched(resource: &Resource) -> bool {
    !resource.group.is_empty()
}

impl Routers {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, inner: Arc::default(), needed: Arc::default(), asked: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Single insertions and removals: nothing can be left half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn api(&self, object: &ObjectRef) -> Api<WholeObject> {
        self.api_in(&object.resource, &object.namespace)
    }

    fn api_in(&self, resource: &Resource, namespace: &str) -> Api<WholeObject> {
        let version = match self.known(resource).presence {
            Presence::Served(version) => version,
            Presence::Unknown | Presence::Absent => resource.version.clone(),
        };
        Api::namespaced_with(self.client.clone(), namespace, &resource_of(resource, &version))
    }

    /// What is known of a kind that somebody needs from now on.
    fn known(&self, resource: &Resource) -> Known {
        let mut inner = self.lock();
        if let Some(known) = inner.kinds.get(resource) {
            return known.clone();
        }
        let presence =
            if is_watched(resource) { Presence::Unknown } else { Presence::Served(resource.version.clone()) };
        let known = Known { store: Store::new(&[]), presence };
        inner.kinds.insert(resource.clone(), known.clone());
        drop(inner);
        self.needed.notify_one();
        known
    }

    /// How often the API was asked: whoever sees another number than before has waited, or may have.
    pub(crate) fn times_asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// All that the routers of a Rollout have to see, and when we last wrote any of it.
    pub(crate) async fn see(
        &self,
        rollout: &Key,
        others: &routing::Routers<'_>,
    ) -> Result<(Seen, Option<Timestamp>), LookError> {
        let (mut seen, mut all, mut written) = (Seen::default(), BTreeSet::new(), None);
        loop {
            // What is found may lead to more, so often as there are kinds of objects that name others.
            let needs = others.needs(&seen);
            if needs.is_empty() {
                break;
            }
            for need in needs {
                let resource = match &need {
                    Need::Object(name) => &name.resource,
                    Need::Selected(selection) => &selection.resource,
                };
                match self.known(resource).presence {
                    Presence::Unknown => return Err(LookError::NotSynced("objects of routers")),
                    Presence::Absent => {
                        seen.put_unserved(resource);
                        all.insert(need);
                        continue;
                    }
                    Presence::Served(_) => {}
                }
                match &need {
                    Need::Object(name) => {
                        let found = self.look_up(name).await?;
                        written = written.max(found.as_ref().and_then(|found| found.written_at(FIELD_MANAGER)));
                        seen.put(name.clone(), found.map(|found| found.whole.clone()));
                    }
                    Need::Selected(selection) => {
                        let found = self.select(selection).await?;
                        written = written.max(found.iter().filter_map(|found| found.written_at(FIELD_MANAGER)).max());
                        let named = found
                            .iter()
                            .map(|found| (found.meta().name.clone().unwrap_or_default(), found.whole.clone()));
                        seen.put_selected(selection.clone(), named.collect::<Vec<(String, Value)>>());
                    }
                }
                all.insert(need);
            }
        }
        self.lock().needs.insert(rollout.clone(), all);
        Ok((seen, written))
    }

    /// Looks for an object. As long as the watch has not listed everything, the API is asked.
    async fn look_up(&self, name: &ObjectRef) -> Result<Option<Arc<WholeObject>>, LookError> {
        let known = self.known(&name.resource);
        let key = Key::new(name.namespace.clone(), name.name.clone());
        let is_doubted = self.lock().doubted.contains(name);
        if known.store.is_synced() && !is_doubted {
            return Ok(match known.store.stored(&key) {
                Some(Stored::Good(object)) => Some(object),
                Some(Stored::Bad(_)) | None => None,
            });
        }
        self.read_again(name).await
    }

    async fn select(&self, selection: &Selection) -> Result<Vec<Arc<WholeObject>>, LookError> {
        let known = self.known(&selection.resource);
        if known.store.is_synced() {
            let all = known.store.within(&selection.namespace);
            let none = BTreeMap::new();
            let is_selected = |object: &Arc<WholeObject>| {
                selected::selects(&selection.labels, object.meta().labels.as_ref().unwrap_or(&none))
            };
            return Ok(all.into_iter().filter(is_selected).collect());
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        let api = self.api_in(&selection.resource, &selection.namespace);
        let list = api.list(&ListParams::default().labels(&selection.labels)).await;
        let key = Key::new(selection.namespace.clone(), String::new());
        let list = list.map_err(|error| LookError::api("list", "objects of a router", &key, error))?;
        Ok(list.items.into_iter().map(Arc::new).collect())
    }

    /// Reads an object that may not be what we think it is.
    pub(crate) async fn read_again(&self, name: &ObjectRef) -> Result<Option<Arc<WholeObject>>, LookError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let store = self.known(&name.resource).store;
        let key = Key::new(name.namespace.clone(), name.name.clone());
        let found = match self.api(name).get_opt(&name.name).await {
            Ok(Some(object)) => {
                store.put_own(object.clone());
                Some(Arc::new(object))
            }
            Ok(None) => {
                self.gone(name);
                None
            }
            Err(error) => return Err(LookError::api("get", "object of a router", &key, error)),
        };
        self.lock().doubted.remove(name);
        Ok(found)
    }

    /// An object as it is known.
    pub(crate) fn stored(&self, name: &ObjectRef) -> Option<Arc<WholeObject>> {
        self.known(&name.resource).store.get(&Key::new(name.namespace.clone(), name.name.clone()))
    }

    /// An object was written.
    pub(crate) fn put(&self, name: &ObjectRef, object: WholeObject) {
        self.known(&name.resource).store.put_own(object);
    }

    /// An object is gone.
    pub(crate) fn gone(&self, name: &ObjectRef) {
        let store = self.known(&name.resource).store;
        let key = Key::new(name.namespace.clone(), name.name.clone());
        if let Some(uid) = store.get(&key).and_then(|known| known.meta().uid.clone()) {
            store.remove_own(&key, &uid);
        }
    }

    /// A write of this object has ended without an answer.
    pub(crate) fn doubt(&self, name: &ObjectRef) {
        self.lock().doubted.insert(name.clone());
    }

    /// The Rollout is gone.
    pub(crate) fn forget(&self, rollout: &Key) {
        self.lock().needs.remove(rollout);
    }

    /// Rollouts that need something of a kind, or one object of it.
    fn concerned(&self, resource: &Resource, object: Option<&Key>) -> Vec<Key> {
        let is_meant = |need: &Need| match (need, object) {
            (Need::Object(name), Some(key)) => {
                name.resource == *resource && name.namespace == key.namespace && name.name == key.name
            }
            (Need::Selected(selection), Some(key)) => {
                selection.resource == *resource && selection.namespace == key.namespace
            }
            (Need::Object(name), None) => name.resource == *resource,
            (Need::Selected(selection), None) => selection.resource == *resource,
        };
        let inner = self.lock();
        inner.needs.iter().filter(|(_, needs)| needs.iter().any(is_meant)).map(|(rollout, _)| rollout.clone()).collect()
    }

    /// Has everything listed again that is watched.
    pub(crate) fn list_again(&self) {
        for known in self.lock().kinds.values().filter(|known| known.store.is_synced()) {
            known.store.list_again();
        }
    }
}
