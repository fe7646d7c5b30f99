//! What is known of the cluster, watched once for all viewers.

mod fleet;
mod hub;
mod kinds;
mod weights;

use std::sync::Arc;

use bytes::Bytes;
use kube::api::Api;
use kube::core::ObjectMeta;
use kube::{Client, Resource};
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::rollout::Rollout;
use tidegate_api::view::{Deployment, ReplicaSet};
use tidegate_api::wire::Text;
use tidegate_clock::Clock;
use tidegate_runtime::{Change, Index, Key, Store, Stored, Watch, watch};
use tidegate_view::{Objects, RolloutInfo};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

pub(crate) use fleet::{Fleet, Scope};
pub(crate) use hub::{Batch, Hub, PACE};
use kinds::{OWNER, SeenPod, by_owner, owners};
use weights::Weights;

use crate::summary;

/// Rollouts by the Deployment that lends them its template.
const WORKLOAD: &str = "workload";

/// All that is watched in a namespace, or in all.
pub(crate) struct Cache {
    rollouts: Store<Rollout>,
    sets: Store<ReplicaSet>,
    pods: Store<SeenPod>,
    experiments: Store<Experiment>,
    runs: Store<AnalysisRun>,
    deployments: Store<Deployment>,
    /// Who is told.
    pub(crate) hub: Hub,
    weights: Weights,
    /// Set once the other kinds were waited for.
    others: OnceCell<()>,
    clock: Clock,
}

/// A cache that is kept up to date until this is dropped.
pub(crate) struct Running {
    pub(crate) cache: Arc<Cache>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Cache {
    fn new(clock: Clock) -> Self {
        let by_workload = Index {
            name: WORKLOAD,
            of: |rollout: &Rollout| {
                let reference = rollout.spec.workload_ref.as_ref().filter(|found| found.kind.text() == "Deployment");
                reference.map(|found| found.name.text().to_owned()).into_iter().collect()
            },
        };
        Self {
            rollouts: Store::new(&[by_workload]),
            sets: Store::new(&[by_owner()]),
            pods: Store::new(&[by_owner()]),
            experiments: Store::new(&[by_owner()]),
            runs: Store::new(&[by_owner()]),
            deployments: Store::new(&[]),
            hub: Hub::new(),
            weights: Weights::default(),
            others: OnceCell::new(),
            clock,
        }
    }

    /// Watches a namespace, or all when it is empty.
    pub(crate) fn start(client: &Client, clock: Clock, namespace: &str) -> Running {
        let cache = Arc::new(Self::new(clock));
        let mut tasks = vec![
            follow(client, namespace, &cache, |cache| &cache.rollouts, |_, rollout| Some(Key::of(&rollout.metadata))),
            follow(client, namespace, &cache, |cache| &cache.sets, |cache, set| cache.rollout_of(&set.metadata)),
            follow(client, namespace, &cache, |cache| &cache.pods, |cache, pod| cache.rollout_of(&pod.0.metadata)),
            follow(client, namespace, &cache, |cache| &cache.experiments, |cache, one| cache.rollout_of(&one.metadata)),
            follow(client, namespace, &cache, |cache| &cache.runs, |cache, run| cache.rollout_of(&run.metadata)),
            follow(
                client,
                namespace,
                &cache,
                |cache| &cache.deployments,
                |cache, deployment| {
                    cache.lent(&deployment.metadata);
                    None
                },
            ),
        ];
        let telling = Arc::clone(&cache);
        tasks.push(tokio::spawn(async move {
            // Nothing is told before Rollouts and ReplicaSets are known: weights would be those of no pods.
            telling.rollouts.wait_until_synced().await;
            let _ = tokio::time::timeout(fleet::OTHERS_WITHIN, telling.sets.wait_until_synced()).await;
            telling.hub.run(|key| telling.summary(key)).await;
        }));
        Running { cache, tasks }
    }

    /// Waits until there is something to show. Kinds that may not be read are waited for once, and not for long.
    pub(crate) async fn wait_until_synced(&self) {
        self.rollouts.wait_until_synced().await;
        let others = async {
            let all = async {
                self.sets.wait_until_synced().await;
                self.pods.wait_until_synced().await;
                self.runs.wait_until_synced().await;
                self.experiments.wait_until_synced().await;
                self.deployments.wait_until_synced().await;
            };
            let _ = tokio::time::timeout(fleet::OTHERS_WITHIN, all).await;
        };
        self.others.get_or_init(|| others).await;
        self.hub.wait_until_ready().await;
    }

    /// The Rollout an object belongs to, through ReplicaSets and Experiments.
    fn rollout_of(&self, metadata: &ObjectMeta) -> Option<Key> {
        let namespace = metadata.namespace.clone().unwrap_or_default();
        owners(metadata).find_map(|owner| {
            let key = Key::new(namespace.clone(), owner.name.clone());
            match owner.kind.as_str() {
                "Rollout" => Some(key),
                "ReplicaSet" => self.rollout_of(&self.sets.get(&key)?.metadata),
                "Experiment" => {
                    let experiment = self.experiments.get(&key)?;
                    // Experiments belong to Rollouts or to nobody, so this ends here.
                    let owner = owners(&experiment.metadata).find(|owner| owner.kind == "Rollout")?;
                    Some(Key::new(namespace.clone(), owner.name.clone()))
                }
                _ => None,
            }
        })
    }

    /// A workload has changed: so have the Rollouts that borrow its template.
    fn lent(&self, metadata: &ObjectMeta) {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        for rollout in self.rollouts.find(WORKLOAD, metadata.name.as_deref().unwrap_or_default()) {
            if rollout.metadata.namespace.as_deref() == Some(namespace) {
                self.hub.touch(Key::of(&rollout.metadata));
            }
        }
    }

    /// Keys of all Rollouts of a namespace, or of all.
    pub(crate) fn keys(&self, namespace: &str) -> Vec<Key> {
        self.rollouts.within(namespace).iter().map(|rollout| Key::of(&rollout.metadata)).collect()
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        self.rollouts.get(key).is_some()
    }

    /// A Rollout and what belongs to it; without runs and Experiments if only the outside is asked for.
    fn objects(&self, key: &Key, is_whole: bool) -> Option<Objects> {
        let rollout = self.rollouts.get(key)?;
        let uid = rollout.metadata.uid.text();
        let mut sets = self.sets.find(OWNER, uid);
        let (mut experiments, mut runs) = (Vec::new(), Vec::new());
        if is_whole {
            experiments = self.experiments.find(OWNER, uid);
            runs = self.runs.find(OWNER, uid);
            for experiment in &experiments {
                let uid = experiment.metadata.uid.text();
                sets.extend(self.sets.find(OWNER, uid));
                runs.extend(self.runs.find(OWNER, uid));
            }
        }
        let pods = sets.iter().flat_map(|set| self.pods.find(OWNER, set.metadata.uid.text()));
        let reference = rollout.spec.workload_ref.as_ref().filter(|found| found.kind.text() == "Deployment");
        let workload = reference.and_then(|found| {
            self.deployments
                .get(&Key::new(key.namespace.clone(), found.name.text()))
                .and_then(|it| it.spec.template.clone())
        });
        Some(Objects {
            pods: pods.map(|pod| pod.0.clone()).collect(),
            replica_sets: sets.iter().map(|set| ReplicaSet::clone(set)).collect(),
            experiments: experiments.iter().map(|one| Experiment::clone(one)).collect(),
            analysis_runs: runs.iter().map(|run| AnalysisRun::clone(run)).collect(),
            workload_template: workload,
            rollout: Rollout::clone(&rollout),
        })
    }

    /// The whole view of a Rollout.
    pub(crate) fn info(&self, key: &Key) -> Option<RolloutInfo> {
        self.objects(key, true).map(|objects| RolloutInfo::new(&objects))
    }

    /// The view without analyses and Experiments, as lists have it.
    pub(crate) fn shallow(&self, key: &Key) -> Option<RolloutInfo> {
        self.objects(key, false).map(|objects| RolloutInfo::new(&objects))
    }

    /// The whole view as JSON; made once for all who ask.
    pub(crate) fn info_json(&self, key: &Key) -> Option<Bytes> {
        self.hub.view(key, || self.info(key).and_then(|info| serde_json::to_vec(&info).ok()).map(Bytes::from))
    }

    fn summary(&self, key: &Key) -> Option<String> {
        let info = self.shallow(key);
        self.weights.note(key, info.as_ref(), self.clock.now().as_millisecond());
        info.map(|info| summary::text(&info))
    }

    /// The weights a Rollout has had: when, what was asked for, what there was.
    pub(crate) fn weights(&self, key: &Key) -> Vec<weights::Point> {
        self.weights.of(key)
    }
}

/// Watches one kind and notes which Rollout each change is about.
fn follow<K>(
    client: &Client,
    namespace: &str,
    cache: &Arc<Cache>,
    store: fn(&Cache) -> &Store<K>,
    about: fn(&Cache, &K) -> Option<Key>,
) -> JoinHandle<()>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + Send
        + Sync
        + serde::de::DeserializeOwned
        + 'static,
{
    let api = if namespace.is_empty() { Api::all(client.clone()) } else { Api::namespaced(client.clone(), namespace) };
    let cache = Arc::clone(cache);
    tokio::spawn(async move {
        let telling = Arc::clone(&cache);
        let tell = move |change: Change<K>| {
            let (first, second) = match change {
                Change::Applied { old, new } => (old, Some(new)),
                Change::Deleted(old) => (Some(old), None),
                Change::None => (None, None),
            };
            for stored in [first, second].into_iter().flatten() {
                let key = match &stored {
                    Stored::Good(object) => about(&telling, object),
                    Stored::Bad(_) => None,
                };
                if let Some(key) = key {
                    telling.hub.touch(key);
                }
            }
        };
        watch(api, Watch::default(), store(&cache).clone(), tell).await;
    })
}
