//! Whether Istio is served, and in which version.
//!
//! One small question every few seconds while some Rollout needs an answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::{Api, Client};
use tidegate_runtime::{Guarded, Watch, watch};
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::primary::{self, Place};
use super::{GROUP, IstioKind, Presence};
use crate::controller::Shared;
use crate::error::REQUEST_TIMEOUT;
use crate::{discovery, triggers};

/// How often to ask while a Rollout needs Istio: what comes or goes is noticed within ten seconds.
const NEEDED: Duration = Duration::from_secs(5);
/// How often to ask when none does; where there is no Istio, nobody asks until one does.
const IDLE: Duration = Duration::from_secs(60);
/// How soon to ask again after no answer.
const FAILED: Duration = Duration::from_secs(2);

/// Versions we know, the one of the contract first, then the newest.
const VERSIONS: [&str; 3] = ["v1alpha3", "v1", "v1beta1"];

/// Follows the place and the presence of Istio for as long as it is polled.
pub(crate) async fn follow(shared: Arc<Shared>) {
    let istio = &shared.executor.istio;
    let mut background = JoinSet::new();
    let (local, scope) = (shared.executor.client.clone(), shared.options.namespace.clone());
    background.spawn(primary::follow(istio.clone(), local, scope, Arc::clone(&shared.options.connect)));
    let mut watches = JoinSet::new();
    loop {
        let pause = look(&shared, &mut watches).await;
        tokio::select! {
            biased;
            () = istio.needed.notified() => {}
            () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => {}
        }
    }
}

/// Asks once; says when to ask again.
async fn look(shared: &Arc<Shared>, watches: &mut JoinSet<()>) -> Option<Duration> {
    let istio = &shared.executor.istio;
    let has_moved = istio.moved.swap(false, Ordering::Relaxed);
    let place = istio.lock_place().clone();
    let client = match place {
        Place::Unknown => return None,
        Place::Nowhere(problem) => {
            take_in(shared, Presence::Nowhere(problem), has_moved, watches);
            return None;
        }
        Place::At(client, _) => client,
    };
    if has_moved {
        // Whatever is found there, it is not what was known before.
        take_in(shared, Presence::Unknown, has_moved, watches);
    }
    let only = shared.options.istio_api_version.as_deref();
    match tokio::time::timeout(REQUEST_TIMEOUT, ask(&client, only)).await {
        Ok(Ok(found)) => {
            let is_there = found != Presence::Absent;
            take_in(shared, found, false, watches);
            match istio.is_needed.load(Ordering::Relaxed) {
                true => Some(NEEDED),
                false => is_there.then_some(IDLE),
            }
        }
        Ok(Err(problem)) => {
            warn!("Failed to ask for {GROUP}: {problem}");
            Some(FAILED)
        }
        Err(_) => Some(FAILED),
    }
}

/// Takes note of a change: watches begin or end, and every Rollout that names Istio is looked at.
fn take_in(shared: &Arc<Shared>, found: Presence, has_moved: bool, watches: &mut JoinSet<()>) {
    let istio = &shared.executor.istio;
    let before = {
        let mut known = istio.presence.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::replace(&mut *known, found.clone())
    };
    if before == found && !has_moved {
        return;
    }
    watches.abort_all();
    for kind in IstioKind::ALL {
        istio.store(kind).clear();
    }
    match &found {
        Presence::Served { version, kinds } => {
            info!("Istio detected: {GROUP}/{version}");
            for kind in kinds {
                if let Some(client) = istio.client() {
                    watches.spawn(watch_kind(Arc::clone(shared), client, *kind, version));
                }
            }
        }
        Presence::Absent if matches!(before, Presence::Served { .. }) => info!("Istio is no longer served"),
        _ => {}
    }
    triggers::istio_changed(shared);
}

fn watch_kind(shared: Arc<Shared>, client: Client, kind: IstioKind, version: &str) -> impl Future<Output = ()> + use<> {
    let resource = kind.resource(version);
    let api: Api<Guarded<super::WholeObject>> = match &shared.options.namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let store = shared.executor.istio.store(kind).clone();
    let how = Watch { labels: None, relist_after: shared.options.resync };
    watch(api, how, store, move |change| triggers::istio_object_changed(&shared, kind, &change))
}

/// Asks the API server.
async fn ask(client: &Client, only: Option<&str>) -> kube::Result<Presence> {
    let wanted: Vec<&str> = match only {
        Some(version) => vec![version],
        None => VERSIONS.to_vec(),
    };
    // The usual answer takes one question.
    if let Some(first) = wanted.first()
        && let Some(kinds) = kinds_of(client, first).await?
    {
        return Ok(Presence::Served { version: (*first).to_owned(), kinds });
    }
    let Some(group) = discovery::ask(client, &format!("/apis/{GROUP}")).await? else { return Ok(Presence::Absent) };
    let served: Vec<&str> =
        group["versions"].as_array().into_iter().flatten().filter_map(|version| version["version"].as_str()).collect();
    for version in wanted.iter().skip(1).filter(|version| served.contains(version)) {
        if let Some(kinds) = kinds_of(client, version).await? {
            return Ok(Presence::Served { version: (*version).to_owned(), kinds });
        }
    }
    Ok(Presence::Absent)
}

/// The kinds that a version serves; none without VirtualServices.
async fn kinds_of(client: &Client, version: &str) -> kube::Result<Option<Vec<IstioKind>>> {
    let Some(list) = discovery::ask(client, &format!("/apis/{GROUP}/{version}")).await? else { return Ok(None) };
    let names: Vec<&str> =
        list["resources"].as_array().into_iter().flatten().filter_map(|found| found["name"].as_str()).collect();
    let kinds: Vec<IstioKind> = IstioKind::ALL.into_iter().filter(|kind| names.contains(&kind.plural())).collect();
    Ok(Some(kinds).filter(|kinds| kinds.contains(&IstioKind::VirtualService)))
}
