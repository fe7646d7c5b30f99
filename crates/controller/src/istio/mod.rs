//! VirtualServices and DestinationRules: whether there are any, where they live, and what is known of them.
//!
//! ```text
//!   left.rs       weights that a deleted Rollout leaves behind
//!   presence.rs   asks every few seconds whether Istio is served and in which version, and watches while it is
//!   primary.rs    this cluster or the primary one that a Secret leads to
//!   rivals.rs     Rollouts that write the same routes
//!   rules.rs      DestinationRules that no Rollout names any more are given back
//! ```

pub(crate) mod left;
mod presence;
mod primary;
pub(crate) mod rivals;
pub(crate) mod rules;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::{Api, ApiResource};
use kube::{Client, Resource};
use tidegate_runtime::{Key, Store, Stored};
use tidegate_validate::references::Lookup;
use tokio::sync::Notify;

pub(crate) use self::presence::follow;
pub use self::primary::Connect;
use self::primary::Place;
pub(crate) use self::primary::plainly;
use crate::error::LookError;
use crate::whole::WholeObject;

const GROUP: &str = "networking.istio.io";

/// One of the two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IstioKind {
    VirtualService,
    DestinationRule,
}

impl IstioKind {
    pub(crate) const ALL: [Self; 2] = [Self::VirtualService, Self::DestinationRule];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::VirtualService => "VirtualService",
            Self::DestinationRule => "DestinationRule",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::VirtualService => "virtualservices",
            Self::DestinationRule => "destinationrules",
        }
    }

    fn resource(self, version: &str) -> ApiResource {
        ApiResource {
            group: GROUP.to_owned(),
            version: version.to_owned(),
            api_version: format!("{GROUP}/{version}"),
            kind: self.name().to_owned(),
            plural: self.plural().to_owned(),
        }
    }
}

/// Whether the objects can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Presence {
    /// Nobody has asked yet.
    Unknown,
    /// They are served in this version; the kinds that are not are none.
    Served { version: String, kinds: Vec<IstioKind> },
    /// They are not served.
    Absent,
    /// Where they live cannot be reached; the text says why.
    Nowhere(String),
}

/// What is known of Istio. Clones share it.
#[derive(Clone)]
pub(crate) struct Istio {
    pub virtual_services: Store<WholeObject>,
    pub destination_rules: Store<WholeObject>,
    place: Arc<Mutex<Place>>,
    /// Whether what is known is known from another place.
    moved: Arc<AtomicBool>,
    presence: Arc<Mutex<Presence>>,
    /// Whether any Rollout has asked for one of them so far.
    is_needed: Arc<AtomicBool>,
    needed: Arc<Notify>,
}

impl Istio {
    pub(crate) fn new() -> Self {
        Self {
            virtual_services: Store::new(&[]),
            destination_rules: Store::new(&[]),
            place: Arc::new(Mutex::new(Place::Unknown)),
            moved: Arc::default(),
            presence: Arc::new(Mutex::new(Presence::Unknown)),
            is_needed: Arc::default(),
            needed: Arc::default(),
        }
    }

    pub(crate) fn store(&self, kind: IstioKind) -> &Store<WholeObject> {
        match kind {
            IstioKind::VirtualService => &self.virtual_services,
            IstioKind::DestinationRule => &self.destination_rules,
        }
    }

    fn lock_place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to where the objects are, while there is one.
    fn client(&self) -> Option<Client> {
        match &*self.lock_place() {
            Place::At(client, _) => Some(client.clone()),
            Place::Unknown | Place::Nowhere(_) => None,
        }
    }

    /// Whether the objects are in the cluster of the Rollouts, where events about them are found.
    pub(crate) fn is_local(&self) -> bool {
        matches!(*self.lock_place(), Place::At(_, None))
    }

    fn presence(&self) -> Presence {
        self.presence.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How a kind is reached; none while it is not served.
    pub(crate) fn api(&self, kind: IstioKind, namespace: &str) -> Option<Api<WholeObject>> {
        if self.moved.load(Ordering::Relaxed) {
            // What was found out holds for another place.
            return None;
        }
        match self.presence() {
            Presence::Served { version, kinds } if kinds.contains(&kind) => {
                Some(Api::namespaced_with(self.client()?, namespace, &kind.resource(&version)))
            }
            _ => None,
        }
    }

    /// The version that is served; empty when none is.
    pub(crate) fn api_version(&self) -> String {
        match self.presence() {
            Presence::Served { version, .. } => format!("{GROUP}/{version}"),
            _ => String::new(),
        }
    }

    /// Looks for an object. As long as the watch has not listed everything, the API is asked.
    pub(crate) async fn look_up(&self, kind: IstioKind, key: &Key) -> Result<Lookup<Arc<WholeObject>>, LookError> {
        if !self.is_needed.swap(true, Ordering::Relaxed) {
            self.needed.notify_one();
        }
        let not_found = || format!("{}.{GROUP} \"{}\" not found", kind.plural(), key.name);
        if self.moved.load(Ordering::Relaxed) {
            return Err(LookError::NotSynced("VirtualServices"));
        }
        match self.presence() {
            Presence::Unknown => return Err(LookError::NotSynced("VirtualServices")),
            Presence::Nowhere(problem) => return Ok(Lookup::Missing(problem)),
            Presence::Served { .. } | Presence::Absent => {}
        }
        let Some(api) = self.api(kind, &key.namespace) else {
            return Ok(Lookup::Missing("the server could not find the requested resource".to_owned()));
        };
        let store = self.store(kind);
        if store.is_synced() {
            return match store.stored(key) {
                Some(Stored::Good(object)) => Ok(Lookup::Found(object)),
                Some(Stored::Bad(bad)) => Ok(Lookup::Missing(bad.problem.clone())),
                None => Ok(Lookup::Missing(not_found())),
            };
        }
        match api.get_opt(&key.name).await {
            Ok(Some(object)) => {
                store.put_own(object);
                Ok(store.get(key).map_or_else(|| Lookup::Missing(not_found()), Lookup::Found))
            }
            Ok(None) => Ok(Lookup::Missing(not_found())),
            Err(error) => Err(LookError::api("get", kind.name(), key, error)),
        }
    }

    /// Reads an object that may not be what we think it is.
    pub(crate) async fn read_again(&self, kind: IstioKind, key: &Key) -> Result<Option<Arc<WholeObject>>, LookError> {
        let Some(api) = self.api(kind, &key.namespace) else { return Ok(None) };
        let store = self.store(kind);
        match api.get_opt(&key.name).await {
            Ok(Some(object)) => {
                store.put_own(object);
            }
            Ok(None) => {
                if let Some(uid) = store.get(key).and_then(|known| known.meta().uid.clone()) {
                    store.remove_own(key, &uid);
                }
            }
            Err(kube::Error::SerdeError(_)) => {}
            Err(error) => return Err(LookError::api("get", kind.name(), key, error)),
        }
        Ok(store.get(key))
    }

    /// Has everything listed again, if it is watched.
    pub(crate) fn list_again(&self) {
        for kind in IstioKind::ALL {
            if self.store(kind).is_synced() {
                self.store(kind).list_again();
            }
        }
    }
}
