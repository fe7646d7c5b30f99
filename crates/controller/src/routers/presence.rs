//! Which kinds are served.
//!
//! As with Istio, discovery is asked: a CRD that comes or goes is noticed within ten seconds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::{Api, Client, Resource as _};
use serde_json::Value;
use tidegate_runtime::{Change, Guarded, Key, Stored, Watch, watch};
use tidegate_traffic::router::Resource;
use tokio::task::{AbortHandle, JoinSet};
use tracing::{info, warn};

use super::{Presence, is_watched, resource_of};
use crate::controller::Shared;
use crate::discovery;
use crate::error::REQUEST_TIMEOUT;
use crate::whole::WholeObject;

/// How often to ask.
const EVERY: Duration = Duration::from_secs(5);
/// How soon to ask again after no answer.
const FAILED: Duration = Duration::from_secs(2);

/// Follows the presence of all kinds that are needed, for as long as it is polled.
pub(crate) async fn follow(shared: Arc<Shared>) {
    let routers = &shared.executor.routers;
    let mut tasks = JoinSet::new();
    let mut watches: BTreeMap<Resource, AbortHandle> = BTreeMap::new();
    loop {
        let needed: Vec<Resource> = routers.lock().kinds.keys().filter(|kind| is_watched(kind)).cloned().collect();
        let mut pause = (!needed.is_empty()).then_some(EVERY);
        let mut answers = Answers { client: &routers.client, known: BTreeMap::new() };
        for kind in &needed {
            match tokio::time::timeout(REQUEST_TIMEOUT, answers.presence(kind)).await {
                Ok(Ok(presence)) => take_in(&shared, kind, presence, &mut watches, &mut tasks),
                Ok(Err(problem)) => {
                    warn!("Failed to ask for {}: {problem}", kind.api_version());
                    pause = Some(FAILED);
                }
                Err(_) => pause = Some(FAILED),
            }
        }
        tokio::select! {
            biased;
            () = routers.needed.notified() => {}
            () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
        }
    }
}

/// Takes note of a change: a watch begins or ends, and every Rollout that needs the kind is looked at.
fn take_in(
    shared: &Arc<Shared>,
    kind: &Resource,
    presence: Presence,
    watches: &mut BTreeMap<Resource, AbortHandle>,
    tasks: &mut JoinSet<()>,
) {
    let routers = &shared.executor.routers;
    let store = {
        let mut inner = routers.lock();
        let Some(known) = inner.kinds.get_mut(kind) else { return };
        if std::mem::replace(&mut known.presence, presence.clone()) == presence {
            return;
        }
        known.store.clone()
    };
    if let Some(watch) = watches.remove(kind) {
        watch.abort();
    }
    store.clear();
    if let Presence::Served(version) = &presence {
        let resource = resource_of(kind, version);
        info!("{} of {} are served", kind.plural, resource.api_version);
        let api: Api<Guarded<WholeObject>> = match &shared.options.namespace {
            Some(namespace) => Api::namespaced_with(routers.client.clone(), namespace, &resource),
            None => Api::all_with(routers.client.clone(), &resource),
        };
        let how = Watch { labels: None, relist_after: shared.options.resync };
        let (for_changes, of) = (Arc::clone(shared), kind.clone());
        let watching = watch(api, how, store, move |change| object_changed(&for_changes, &of, &change));
        watches.insert(kind.clone(), tasks.spawn(watching));
    } else {
        info!("{} of {} are not served", kind.plural, kind.api_version());
    }
    for rollout in shared.executor.cache.rollouts.within("") {
        if tidegate_engine::routing::is_routed(&rollout) {
            shared.queue.add(Key::of(&rollout.metadata));
        }
    }
}

/// Looks at once at every Rollout that needs this object: whatever somebody else did to it is set right.
fn object_changed(shared: &Shared, kind: &Resource, change: &Change<WholeObject>) {
    let parts = |object: &WholeObject| {
        let whole = &object.whole;
        let metadata = |name: &str| whole.get("metadata").and_then(|metadata| metadata.get(name)).cloned();
        (whole.get("spec").cloned(), metadata("annotations"), metadata("labels"), metadata("ownerReferences"))
    };
    let object = match change {
        Change::Applied { old: Some(Stored::Good(old)), new: Stored::Good(new) } if parts(old) == parts(new) => return,
        Change::Applied { new: object, .. } | Change::Deleted(object) => object,
        Change::None => return,
    };
    let key = match object {
        Stored::Good(object) => Key::of(object.meta()),
        Stored::Bad(bad) => Key::of(&bad.metadata),
    };
    for rollout in shared.executor.routers.concerned(kind, Some(&key)) {
        shared.queue.add(rollout);
    }
}

/// What discovery has said in this round, each question once.
struct Answers<'a> {
    client: &'a Client,
    known: BTreeMap<String, Option<Value>>,
}

impl Answers<'_> {
    /// In which version a kind is served.
    async fn presence(&mut self, kind: &Resource) -> kube::Result<Presence> {
        for version in kind.versions() {
            if self.serves(kind, version).await? {
                return Ok(Presence::Served(version.to_owned()));
            }
        }
        Ok(Presence::Absent)
    }

    async fn serves(&mut self, kind: &Resource, version: &str) -> kube::Result<bool> {
        let Some(list) = self.ask(&format!("{}/{version}", kind.group)).await? else { return Ok(false) };
        let mut names = list["resources"].as_array().into_iter().flatten().filter_map(|found| found["name"].as_str());
        Ok(names.any(|name| name == kind.plural))
    }

    async fn ask(&mut self, path: &str) -> kube::Result<Option<Value>> {
        if let Some(known) = self.known.get(path) {
            return Ok(known.clone());
        }
        let answer = discovery::ask(self.client, &format!("/apis/{path}")).await?;
        self.known.insert(path.to_owned(), answer.clone());
        Ok(answer)
    }
}
