//! Gives every pod of the cluster a process: a server on a loopback address of its own while the pod exists, and a
//! WorkloadEntry with the labels of the pod while it is ready.
//!
//! The addresses of pods themselves are only data, so the built-in endpoint controllers do not run, and WorkloadEntries,
//! which Services select as they select pods, take their place.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use futures::StreamExt;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::cluster::resource;
use crate::say;
use crate::server::{Notes, Server};

/// Follows the pods until dropped.
pub(crate) struct Pods {
    task: JoinHandle<()>,
}

impl Drop for Pods {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pods {
    /// All servers listen on `port`, each on an address of its own.
    pub(crate) fn follow(client: Client, port: u16, notes: Notes) -> Self {
        let fleet = Fleet { client: client.clone(), port, notes, pods: BTreeMap::new(), addresses: 0 };
        Self { task: tokio::spawn(follow(client, fleet)) }
    }
}

async fn follow(client: Client, mut fleet: Fleet) {
    let pods: Api<DynamicObject> = Api::all_with(client, &resource("", "Pod"));
    let mut events = std::pin::pin!(watcher(pods, watcher::Config::default()));
    while let Some(event) = events.next().await {
        let done = match event {
            Ok(Event::Apply(pod) | Event::InitApply(pod)) => fleet.applied(&pod).await,
            Ok(Event::Delete(pod)) => fleet.deleted(&pod).await,
            Ok(Event::Init | Event::InitDone) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(problem) = done {
            say(&format!("pods: {problem:#}"));
        }
    }
}

type Key = (String, String);

struct Held {
    address: SocketAddr,
    _server: Server,
    is_listed: bool,
}

struct Fleet {
    client: Client,
    port: u16,
    notes: Notes,
    pods: BTreeMap<Key, Held>,
    addresses: u16,
}

fn key_of(pod: &DynamicObject) -> Key {
    (pod.metadata.namespace.clone().unwrap_or_default(), pod.metadata.name.clone().unwrap_or_default())
}

/// Ready, and not about to go.
fn is_ready(pod: &DynamicObject) -> bool {
    let conditions = pod.data.pointer("/status/conditions").and_then(Value::as_array);
    let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    pod.metadata.deletion_timestamp.is_none() && conditions.is_some_and(|list| list.iter().any(ready))
}

impl Fleet {
    async fn applied(&mut self, pod: &DynamicObject) -> Result<()> {
        let key = key_of(pod);
        if !is_ready(pod) {
            return self.unlist(&key).await;
        }
        if !self.pods.contains_key(&key) {
            let image = pod.data.pointer("/spec/containers/0/image").and_then(Value::as_str).unwrap_or_default();
            let version = image.rsplit(':').next().unwrap_or_default();
            let address = self.next_address();
            let server = Server::start(address, version, &key.1, self.notes.clone()).await;
            let server = server.with_context(|| format!("a server for pod {} at {address}", key.1))?;
            self.pods.insert(key.clone(), Held { address, _server: server, is_listed: false });
        }
        self.list(&key, pod).await
    }

    /// 127.1.0.1, 127.1.0.2, …: each address once, so that nothing is ever sent to the wrong pod.
    fn next_address(&mut self) -> SocketAddr {
        self.addresses += 1;
        let [high, low] = self.addresses.to_be_bytes();
        (Ipv4Addr::new(127, 1, high, low), self.port).into()
    }

    fn entries(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource("networking.istio.io", "WorkloadEntry"))
    }

    /// Takes the pod into the mesh.
    async fn list(&mut self, key: &Key, pod: &DynamicObject) -> Result<()> {
        let Some(held) = self.pods.get_mut(key).filter(|held| !held.is_listed) else { return Ok(()) };
        held.is_listed = true;
        let entry = json!({"apiVersion": "networking.istio.io/v1", "kind": "WorkloadEntry",
            "metadata": {"name": key.1, "namespace": key.0},
            "spec": {"address": held.address.ip(), "labels": pod.metadata.labels}});
        let entry = serde_json::from_value(entry).context("an own WorkloadEntry")?;
        let created = self.entries(&key.0).create(&PostParams::default(), &entry).await;
        created.with_context(|| format!("creating WorkloadEntry {}", key.1)).map(drop)
    }

    /// Takes it out; its server goes on.
    async fn unlist(&mut self, key: &Key) -> Result<()> {
        let Some(held) = self.pods.get_mut(key).filter(|held| held.is_listed) else { return Ok(()) };
        held.is_listed = false;
        let deleted = self.entries(&key.0).delete(&key.1, &DeleteParams::default()).await;
        match deleted {
            // Its namespace was deleted, and it with that.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            deleted => deleted.with_context(|| format!("deleting WorkloadEntry {}", key.1)).map(drop),
        }
    }

    /// The pod is gone, and with it its process.
    async fn deleted(&mut self, pod: &DynamicObject) -> Result<()> {
        let key = key_of(pod);
        let unlisted = self.unlist(&key).await;
        self.pods.remove(&key);
        unlisted
    }
}
