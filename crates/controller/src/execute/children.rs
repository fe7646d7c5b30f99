//! Writes of AnalysisRuns and Experiments.

use std::fmt::Debug;

use kube::Resource;
use kube::api::{DeleteParams, Patch};
use kube::core::{NamespaceResourceScope, ObjectMeta};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::names::analysis_phase;
use tidegate_api::wire::Text;
use tidegate_runtime::Store;

use super::{Execution, patch_params, post_params};
use crate::cache::{Cache, controller_of};
use crate::error::LookError;
use crate::uncertain::Kind;

/// What a step makes beside ReplicaSets.
pub(super) trait Child:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
    const KIND: Kind;
    fn store(cache: &Cache) -> &Store<Self>;
    fn phase(&self) -> &str;
    /// Whether this, found in the cluster, was made from the same words.
    fn is_like(&self, wanted: &Self) -> bool;
}

impl Child for AnalysisRun {
    const KIND: Kind = Kind::AnalysisRun;

    fn store(cache: &Cache) -> &Store<Self> {
        &cache.analysis_runs
    }

    fn phase(&self) -> &str {
        self.status.as_ref().map_or("", |status| status.phase.text())
    }

    fn is_like(&self, wanted: &Self) -> bool {
        let (found, wanted) = (&self.spec, &wanted.spec);
        (&found.metrics, &found.args, &found.dry_run) == (&wanted.metrics, &wanted.args, &wanted.dry_run)
            && found.measurement_retention == wanted.measurement_retention
    }
}

impl Child for Experiment {
    const KIND: Kind = Kind::Experiment;

    fn store(cache: &Cache) -> &Store<Self> {
        &cache.experiments
    }

    fn phase(&self) -> &str {
        self.status.as_ref().map_or("", |status| status.phase.text())
    }

    fn is_like(&self, wanted: &Self) -> bool {
        let mut found = self.spec.clone();
        found.terminate.clone_from(&wanted.spec.terminate);
        found == wanted.spec
    }
}

fn is_exists(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_already_exists())
}

fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found())
}

impl Execution<'_> {
    /// A run or an Experiment of ours was written: whoever runs it looks at it.
    fn wake<C: Child>(&self, name: &str) {
        match C::KIND {
            Kind::AnalysisRun => self.executor.runs.add(self.key_of(name)),
            Kind::Experiment => self.executor.experiments.iter().for_each(|queue| queue.add(self.key_of(name))),
            _ => {}
        }
    }

    fn is_own(&self, metadata: &ObjectMeta) -> bool {
        controller_of(metadata).is_some_and(|owner| Some(&owner.uid) == self.seen.rollout.metadata.uid.as_ref())
    }

    /// Makes a child. One of that name, unfinished, ours and alike, is the very one: the cache was late.
    pub(super) async fn create_child<C: Child>(&self, child: &C) -> Result<(), LookError> {
        let name = child.meta().name.text();
        let store = C::store(&self.executor.cache);
        let error = match self.api::<C>().create(&post_params(), child).await {
            Ok(made) => {
                store.put_own(made);
                self.wake::<C>(name);
                return Ok(());
            }
            Err(error) => error,
        };
        if is_exists(&error)
            && let Ok(existing) = self.api::<C>().get(name).await
        {
            let is_unfinished = !analysis_phase::is_completed(existing.phase());
            let is_it = is_unfinished && existing.is_like(child) && self.is_own(existing.meta());
            store.put_own(existing);
            self.wake::<C>(name);
            if is_it {
                return Ok(());
            }
        }
        Err(self.failed("create", C::KIND, name, error))
    }

    /// Asks a child to end.
    pub(super) async fn terminate_child<C: Child>(&self, name: &str) -> Result<(), LookError> {
        let patch = json!({"spec": {"terminate": true}});
        match self.api::<C>().patch(name, &patch_params(), &Patch::Merge(&patch)).await {
            Ok(child) => {
                C::store(&self.executor.cache).put_own(child);
                self.wake::<C>(name);
                Ok(())
            }
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => Err(self.failed("patch", C::KIND, name, error)),
        }
    }

    /// Deletes a child and what it owns.
    pub(super) async fn delete_child<C: Child>(&self, name: &str) -> Result<(), LookError> {
        match self.api::<C>().delete(name, &DeleteParams::background()).await {
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(self.failed("delete", C::KIND, name, error)),
        }
        let store = C::store(&self.executor.cache);
        let uid = store.get(&self.key_of(name)).and_then(|child| child.meta().uid.clone());
        store.remove_own(&self.key_of(name), uid.text());
        self.wake::<C>(name);
        Ok(())
    }
}
