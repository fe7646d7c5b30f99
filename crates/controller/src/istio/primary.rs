//! Where the objects of Istio live: in this cluster, or in the primary one that a labelled Secret leads to.
//!
//! A Secret that leads nowhere is no reason to write somewhere else: whoever needs Istio is told and waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Config};
use tidegate_api::names::labels;
use tidegate_runtime::Key;
use tracing::{info, warn};

use super::Istio;

/// Makes a client for a configuration; whoever runs the controller says how requests are to be sent.
pub type Connect = Arc<dyn Fn(Config) -> BoxFuture<'static, Result<Client, String>> + Send + Sync>;

/// How soon Secrets are asked for again after a failure.
const FAILED: Duration = Duration::from_secs(10);

/// How long a Secret may be gone, as when it is made anew, before this cluster is taken for Istio's.
const GRACE: Duration = Duration::from_secs(60);

/// Where the objects of Istio are.
#[derive(Clone)]
pub(super) enum Place {
    /// Nobody knows yet.
    Unknown,
    /// In a cluster that is reached like this; with its name, if it is another one.
    At(Client, Option<String>),
    /// Somewhere that cannot be reached; the text says why and what to do.
    Nowhere(String),
}

/// Connects with kube's own client.
pub(crate) fn plainly() -> Connect {
    Arc::new(|config| Box::pin(async move { Client::try_from(config).map_err(|error| error.to_string()) }))
}

/// Follows the Secrets for as long as it is polled.
pub(super) async fn follow(istio: Istio, local: Client, scope: Option<String>, connect: Connect) {
    let api: Api<Secret> = match &scope {
        Some(namespace) => Api::namespaced(local.clone(), namespace),
        None => Api::all(local.clone()),
    };
    let config = watcher::Config::default().labels(&format!("{}=true", labels::ISTIO_PRIMARY_CLUSTER));
    let mut events = std::pin::pin!(watcher(api, config));
    let mut known: BTreeMap<Key, Secret> = BTreeMap::new();
    let mut listed: BTreeMap<Key, Secret> = BTreeMap::new();
    let mut has_led_away = false;
    loop {
        let is_gone = has_led_away && known.is_empty();
        let event = tokio::select! {
            biased;
            event = events.next() => event,
            () = tokio::time::sleep(GRACE), if is_gone => {
                has_led_away = false;
                istio.move_to(Place::At(local.clone(), None));
                continue;
            }
        };
        let Some(event) = event else { return };
        match event {
            Ok(Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(Event::InitApply(secret)) => {
                listed.insert(Key::of(&secret.metadata), secret);
                continue;
            }
            Ok(Event::InitDone) => known = std::mem::take(&mut listed),
            Ok(Event::Apply(secret)) => {
                known.insert(Key::of(&secret.metadata), secret);
            }
            Ok(Event::Delete(secret)) => {
                known.remove(&Key::of(&secret.metadata));
            }
            Err(error) => {
                warn!("Failed to watch Secrets of Istio's primary cluster: {error}");
                if istio.place_is_unknown() {
                    // Whoever may not read Secrets cannot have one for us.
                    istio.move_to(Place::At(local.clone(), None));
                }
                tokio::time::sleep(FAILED).await;
                continue;
            }
        }
        if !listed.is_empty() {
            continue;
        }
        let place = if has_led_away && known.is_empty() {
            nowhere(format!(
                "the Secret that leads to Istio's primary cluster is gone; unless it comes back within {} s, Istio is looked \
                 for in this cluster",
                GRACE.as_secs()
            ))
        } else {
            place(&known, &local, &connect).await
        };
        has_led_away |= !known.is_empty();
        istio.move_to(place);
    }
}

async fn place(secrets: &BTreeMap<Key, Secret>, local: &Client, connect: &Connect) -> Place {
    let mut all = secrets.iter();
    match (all.next(), all.next()) {
        (None, _) => Place::At(local.clone(), None),
        (Some((key, secret)), None) => match client(secret, connect).await {
            Ok((id, client)) => {
                info!("Istio primary/config cluster is {id}");
                Place::At(client, Some(id))
            }
            Err(problem) => nowhere(format!(
                "Secret {key} does not lead to Istio's primary cluster: {problem}; make it anew, as istioctl \
                 create-remote-secret does, with one kubeconfig under the name of the cluster"
            )),
        },
        (Some(_), Some(_)) => {
            let names: Vec<String> = secrets.keys().map(ToString::to_string).collect();
            let (label, names) = (labels::ISTIO_PRIMARY_CLUSTER, names.join(", "));
            nowhere(format!("Secrets {names} all carry the label {label}=true; leave it on one of them"))
        }
    }
}

fn nowhere(problem: String) -> Place {
    warn!("{problem}");
    Place::Nowhere(problem)
}

/// The name of the cluster and the way there.
async fn client(secret: &Secret, connect: &Connect) -> Result<(String, Client), String> {
    let data = secret.data.as_ref().filter(|data| !data.is_empty()).ok_or("it holds nothing")?;
    let mut entries = data.iter();
    let (Some((id, content)), None) = (entries.next(), entries.next()) else {
        return Err(format!("it holds {} entries", data.len()));
    };
    let text = std::str::from_utf8(&content.0).map_err(|_| format!("entry {id} is no text"))?;
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|error| format!("entry {id} is no kubeconfig: {error}"))?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options);
    let mut config = config.await.map_err(|error| format!("entry {id} is no usable kubeconfig: {error}"))?;
    config.default_retry = false;
    Ok((id.clone(), connect(config).await?))
}

impl Istio {
    fn place_is_unknown(&self) -> bool {
        matches!(*self.lock_place(), Place::Unknown)
    }

    /// Everything known of the place before is forgotten, and the new one is asked at once.
    fn move_to(&self, place: Place) {
        *self.lock_place() = place;
        self.moved.store(true, Ordering::Relaxed);
        self.needed.notify_one();
    }
}
