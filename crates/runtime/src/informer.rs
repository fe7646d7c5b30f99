//! Keeps a store up to date by watching, and tells of every change.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::guarded::Guarded;
use crate::store::{Store, Stored};

/// What happened to an object.
#[derive(Clone, Debug)]
pub enum Change<K> {
    /// It is new or different.
    Applied {
        /// What it was.
        old: Option<Stored<K>>,
        /// What it is.
        new: Stored<K>,
    },
    /// It is gone; this is what it was.
    Deleted(Stored<K>),
    /// Nothing.
    None,
}

/// How to watch.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Restricts by label.
    pub labels: Option<String>,
    /// After this long everything is listed anew, so that news that was lost is found in the end.
    pub relist_after: Duration,
}

impl Default for Watch {
    fn default() -> Self {
        Self { labels: None, relist_after: Duration::from_secs(900) }
    }
}

/// How long a watch that fails waits: this long at first, twice as long each time, at most so long. No jitter: the same
/// run must give the same history, and the API server spreads load by itself.
const FIRST_PAUSE: Duration = Duration::from_millis(800);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Watches until it is dropped. Every change is told once the store holds it.
pub async fn watch<K>(api: Api<Guarded<K>>, how: Watch, store: Store<K>, mut tell: impl FnMut(Change<K>))
where
    K: Resource + Clone + Debug + Send + DeserializeOwned + 'static,
    K::DynamicType: Clone,
{
    let mut told = None;
    loop {
        store.lists_anew();
        // Lists ask for the latest state, not for what a server has at hand: nothing that was written before is missing.
        let config = watcher::Config { label_selector: how.labels.clone(), ..watcher::Config::default() };
        let events = watcher(api.clone(), config);
        let mut pause = FIRST_PAUSE;
        let mut events = std::pin::pin!(events);
        let end = tokio::time::sleep(how.relist_after);
        let mut end = std::pin::pin!(end);
        loop {
            let event = tokio::select! {
                biased;
                event = events.next() => event,
                () = store.asked_to_list() => break,
                () = &mut end => break,
            };
            match event {
                Some(Ok(event)) => {
                    // That a list is begun does not mean that it may be read.
                    if !matches!(event, Event::Init) {
                        pause = FIRST_PAUSE;
                        told = None;
                    }
                    take_in(&store, event, &mut tell);
                }
                // Errors are temporary by contract: the stream goes on when it is asked again.
                problem => {
                    if let Some(Err(error)) = problem {
                        let kind = std::any::type_name::<K>().rsplit("::").next().unwrap_or_default();
                        complain(&mut told, format!("Failed to watch {kind}: {}", plainly(&error)));
                    }
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}

/// Says what is wrong once: a right that is missing stays missing, and nobody reads the same line every half minute.
fn complain(told: &mut Option<String>, problem: String) {
    if told.as_ref() != Some(&problem) {
        tracing::warn!("{problem}");
        *told = Some(problem);
    }
}

/// What the API server says, in its own words alone.
fn plainly(error: &watcher::Error) -> String {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(kube::Error::Api(status))
        | WatchStartFailed(kube::Error::Api(status))
        | WatchFailed(kube::Error::Api(status))
        | WatchError(status) => status.message.clone(),
        other => other.to_string(),
    }
}

fn take_in<K: Resource>(store: &Store<K>, event: Event<Guarded<K>>, tell: &mut impl FnMut(Change<K>)) {
    match event {
        Event::Init => store.begin_list(),
        Event::InitApply(object) | Event::Apply(object) => {
            if let Some(change) = store.apply(object) {
                tell(change);
            }
        }
        Event::InitDone => store.end_list().into_iter().for_each(tell),
        Event::Delete(object) => {
            if let Some(change) = store.delete(&object) {
                tell(change);
            }
        }
    }
}
