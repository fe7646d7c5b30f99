//! Notifications: what happens to objects, told to those who subscribed. `tidegate_notify` decides, `tidegate_delivery` sends.
//!
//! ```text
//!   configs.rs   the ConfigMap and the Secret, of the controller and, if wanted, of every namespace
//!   seen.rs      objects as conditions and templates see them
//!   states.rs    the state path: conditions that hold are told once, and marked
//! ```
//!
//! The event path begins in `events/`: whatever is told there is offered here, and nobody waits for it.

mod configs;
mod seen;
mod states;

pub(crate) use seen::with_workload;
pub(crate) use states::{look_again, work};

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value as Json;
use tidegate_api::ObjectMeta;
use tidegate_api::wire::Text;
use tidegate_clock::Clock;
use tidegate_delivery::{About, Carrier, Occurrence, Sender};
use tidegate_engine::Event;
use tidegate_notify::trigger_of;
use tidegate_runtime::{Backoff, Key, Queue};

use self::configs::Configs;
use self::states::Unwritten;
use crate::cache::Cache;
use crate::metrics::{Notified, severity};

/// The kind of the objects that hold configurations; what is told about them is not told on.
const CONFIG_MAP_KIND: &str = "ConfigMap";

/// How notifications are sent.
#[derive(Clone)]
pub struct Notifications {
    /// Who carries them.
    pub carrier: Arc<dyn Carrier>,
    /// The controller's own namespace, where the configuration lies.
    pub namespace: String,
    /// Whether a configuration in the namespace of an object counts as well.
    pub self_service: bool,
}

/// What the parts of notifications share. Clones share all of it.
#[derive(Clone)]
pub(crate) struct Notifier {
    pub configs: Configs,
    pub sender: Sender,
    /// Rollouts whose state is to be looked at.
    pub queue: Queue<Key>,
    notified: Notified,
    unwritten: Unwritten,
    cache: Cache,
}

impl Notifier {
    /// The parts, and the task that sends.
    pub(crate) fn new(
        settings: &Notifications,
        cache: Cache,
        notified: Notified,
        clock: Clock,
    ) -> (Self, BoxFuture<'static, ()>) {
        let (sender, sending) = Sender::new(Arc::clone(&settings.carrier), Arc::new(notified.clone()), clock);
        let configs = Configs::new(settings.namespace.clone(), settings.self_service);
        let (queue, unwritten) = (Queue::new(Backoff::default()), Unwritten::default());
        (Self { configs, sender, queue, notified, unwritten, cache }, Box::pin(sending))
    }

    /// Takes an event about an object. Most are of no interest to anybody, which is found out first.
    pub(crate) fn occurred(
        &self,
        kind: &'static str,
        about: &ObjectMeta,
        event: &Event,
        object: Option<impl FnOnce() -> Json>,
    ) {
        if kind == CONFIG_MAP_KIND {
            return;
        }
        let key = Key::of(about);
        let trigger = trigger_of(&event.reason);
        let mut configs = self.configs.of(&key.namespace);
        configs.retain(|(_, config)| config.triggers.contains_key(&trigger));
        if configs.is_empty() {
            return;
        }
        let object = match object {
            Some(object) => object(),
            None => seen::object(&self.cache, kind, about),
        };
        let analysis_runs = (kind == "Rollout").then(|| seen::runs(&self.cache, about.uid.text(), &object));
        self.sender.occurred(Occurrence {
            about: About {
                namespace: key.namespace,
                name: key.name,
                severity: severity(event),
                reason: event.reason.clone(),
            },
            configs,
            object: Arc::new(object),
            analysis_runs,
        });
    }
}
