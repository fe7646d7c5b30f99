//! Objects that lend their pod template. They are watched from the first time a Rollout names one of their kind.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use kube::Client;
use serde::Deserialize;
use tidegate_api::ObjectMeta;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::WorkloadRef;
use tidegate_api::view::{Deployment, ReplicaSet};
use tidegate_api::wire::Text;
use tidegate_engine::{SeenWorkload, Workload};
use tidegate_runtime::{Change, Guarded, Key, Store, Stored, Watch, watch};
use tidegate_validate::references::workload::WorkloadKind;

use crate::error::LookError;

/// A PodTemplate.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodTemplate {
    metadata: ObjectMeta,
    template: Option<Raw>,
}

impl kube::Resource for PodTemplate {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind(_: &()) -> std::borrow::Cow<'_, str> {
        "PodTemplate".into()
    }

    fn group(_: &()) -> std::borrow::Cow<'_, str> {
        "".into()
    }

    fn version(_: &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> std::borrow::Cow<'_, str> {
        "podtemplates".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Caches of the kinds that lend templates.
#[derive(Clone)]
pub(crate) struct Workloads {
    deployments: Store<Deployment>,
    replica_sets: Store<ReplicaSet>,
    pod_templates: Store<PodTemplate>,
    started: Arc<Mutex<BTreeSet<&'static str>>>,
    tasks: Arc<Mutex<tokio::task::JoinSet<()>>>,
}

/// What changed: a kind and a key.
pub(crate) type WorkloadChange = (&'static str, Key);

impl Workloads {
    pub(crate) fn new() -> Self {
        Self {
            deployments: Store::new(&[]),
            replica_sets: Store::new(&[]),
            pod_templates: Store::new(&[]),
            started: Arc::default(),
            tasks: Arc::default(),
        }
    }

    /// Looks a reference up; the first time for its kind the cache is still to be filled.
    pub(crate) fn look_up(
        &self,
        client: &Client,
        scope: Option<&str>,
        namespace: &str,
        reference: &WorkloadRef,
        tell: &Arc<dyn Fn(WorkloadChange) + Send + Sync>,
    ) -> Result<SeenWorkload, LookError> {
        let key = Key::new(namespace, reference.name.text());
        let Ok(kind) = WorkloadKind::of(reference) else { return Ok(SeenWorkload::None) };
        match kind {
            WorkloadKind::Deployment => {
                self.start("Deployment", client, scope, &self.deployments, tell);
                seen("Deployments", "deployments.apps", &self.deployments, &key, |found| {
                    (found.spec.template.clone(), found.spec.selector.clone(), found.spec.replicas.or(Some(1)))
                })
            }
            WorkloadKind::ReplicaSet => {
                self.start("ReplicaSet", client, scope, &self.replica_sets, tell);
                seen("ReplicaSets", "replicasets.apps", &self.replica_sets, &key, |found| {
                    (found.spec.template.clone(), found.spec.selector.clone(), None)
                })
            }
            WorkloadKind::PodTemplate => {
                self.start("PodTemplate", client, scope, &self.pod_templates, tell);
                seen("PodTemplates", "podtemplates", &self.pod_templates, &key, |found| {
                    (found.template.clone(), None, None)
                })
            }
        }
    }

    fn start<K>(
        &self,
        kind: &'static str,
        client: &Client,
        scope: Option<&str>,
        store: &Store<K>,
        tell: &Arc<dyn Fn(WorkloadChange) + Send + Sync>,
    ) where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + Send
            + Sync
            + serde::de::DeserializeOwned
            + 'static,
    {
        if !self.started.lock().unwrap_or_else(PoisonError::into_inner).insert(kind) {
            return;
        }
        let api = match scope {
            Some(namespace) => kube::Api::<Guarded<K>>::namespaced(client.clone(), namespace),
            None => kube::Api::all(client.clone()),
        };
        let tell = Arc::clone(tell);
        let told = move |change: Change<K>| {
            let object = match change {
                Change::Applied { new, .. } => new,
                Change::Deleted(old) => old,
                Change::None => return,
            };
            let metadata = match &object {
                Stored::Good(object) => object.meta().clone(),
                Stored::Bad(bad) => bad.metadata.clone(),
            };
            tell((kind, Key::of(&metadata)));
        };
        let task = watch(api, Watch::default(), store.clone(), told);
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).spawn(task);
    }
}

type Parts = (Option<Raw>, Option<tidegate_api::values::LabelSelector>, Option<i32>);

fn seen<K: kube::Resource>(
    what: &'static str,
    resource: &str,
    store: &Store<K>,
    key: &Key,
    parts: impl FnOnce(&K) -> Parts,
) -> Result<SeenWorkload, LookError> {
    if !store.is_synced() {
        return Err(LookError::NotSynced(what));
    }
    let Some(found) = store.get(key) else {
        return Ok(SeenWorkload::Missing(format!("{resource} \"{key}\" not found")));
    };
    let (template, selector, replicas) = parts(&found);
    let Some(template) = template else {
        return Ok(SeenWorkload::Missing(format!("{resource} \"{key}\" has no pod template")));
    };
    let generation = found.meta().generation.unwrap_or_default();
    Ok(SeenWorkload::Found(Workload { template, selector, generation, replicas }))
}
