//! Carries out plans. The only code that writes.

mod children;
mod pods;
mod replica_sets;
mod rollout;
mod routers;
mod routes;

pub(crate) use pods::views;
pub(crate) use routes::RouteFailures;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kube::api::{Api, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::Value;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::rollout::Rollout;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;
use tidegate_clock::Clock;
use tidegate_engine::mutation::{self, Mutation};
use tidegate_engine::{Event, Observed, Plan, Write};
use tidegate_runtime::lease::Leadership;
use tidegate_runtime::{Key, Queue, Stored};

use crate::cache::Cache;
use crate::error::{LookError, in_time};
use crate::events::Recorder;
use crate::haste::{Haste, is_urgent};
use crate::istio::Istio;
use crate::metrics::Metrics;
use crate::routers::Routers;
use crate::uncertain::{Kind, Uncertain};

/// The name under which all writes are recorded; drift rules of GitOps tools know it.
pub(crate) const FIELD_MANAGER: &str = "rollouts-controller";

/// Writes for one controller.
#[derive(Clone)]
pub(crate) struct Executor {
    pub client: Client,
    pub clock: Clock,
    pub cache: Cache,
    /// AnalysisRuns to look at: of own writes no watch tells anything new.
    pub runs: Queue<Key>,
    /// Experiments to look at, likewise; none where nobody runs them.
    pub experiments: Option<Queue<Key>>,
    pub events: Recorder,
    pub uncertain: Uncertain,
    pub leadership: Leadership,
    pub metrics: Metrics,
    pub istio: Istio,
    pub routers: Routers,
    pub route_failures: RouteFailures,
    pub haste: Haste,
}

/// One plan being carried out.
pub(super) struct Execution<'a> {
    executor: &'a Executor,
    seen: &'a Observed,
    /// The pods the plan was made from, whole.
    pods: &'a [Value],
    key: Key,
    own: Own,
}

/// What this plan has written so far. A write replaces what the plan was made from, or what the plan itself has made of
/// it, and never what somebody else wrote since: that must be looked at first, so it meets a conflict.
#[derive(Default)]
struct Own {
    rollout: Mutex<Option<Rollout>>,
    sets: Mutex<BTreeMap<String, ReplicaSet>>,
}

pub(crate) fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

pub(crate) fn post_params() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// What came of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// It was done.
    Done,
    /// A disruption budget does not let this pod go.
    Refused,
    /// Routes could not be written; the text says why.
    NotRouted(String),
}

/// What came of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// All of it was done.
    Out,
    /// Disruption budgets kept some pods; the status, which says that they went, was not stored.
    ButEvictions,
    /// Routes could not be written, and nothing that comes after them was done.
    ButRoutes(String),
    /// Only routes were written, among those of many others; what else is urgent comes next.
    Routes,
    /// The rest waits until the routes of others are written.
    Later,
}

impl Executor {
    /// Whoever has lost the lease writes nothing more, not even the rest of a plan. Asked right before every write.
    pub(crate) fn check_leadership(&self) -> Result<(), LookError> {
        if self.leadership.is_held() { Ok(()) } else { Err(LookError::NotLeading) }
    }

    /// Carries out a plan, write by write; the first failure ends it.
    pub(crate) async fn execute(&self, seen: &Observed, pods: &[Value], plan: &Plan) -> Result<Carried, LookError> {
        let key = Key::of(&seen.rollout.metadata);
        let execution = Execution { executor: self, seen, pods, key, own: Own::default() };
        let holds = self.haste.holds(seen, plan);
        let mut refused = false;
        for action in &plan.actions {
            if holds && !is_urgent(&action.write) {
                continue;
            }
            let written = execution.write_in_time(&action.write).await;
            if written.is_err() && mutation::is(Mutation::GoesOnAfterAFailure) {
                continue;
            }
            match written? {
                Outcome::Done => {
                    execution.tell(&action.events);
                    if matches!(action.write, Write::Routes(_)) && self.haste.follows(seen) {
                        return Ok(Carried::Routes);
                    }
                }
                Outcome::Refused => refused = true,
                Outcome::NotRouted(problem) => return Ok(Carried::ButRoutes(problem)),
            }
        }
        if refused {
            return Ok(Carried::ButEvictions);
        }
        if holds {
            return Ok(Carried::Later);
        }
        if let Some(change) = &plan.status {
            let written = in_time("patch", "Rollout", &execution.key, execution.write_status(&change.status)).await;
            if written.is_err() {
                self.uncertain.add(&execution.key, Kind::Rollout, &execution.key);
                execution.tell(&plan.if_not_stored);
            }
            written?;
            execution.tell(&change.events);
        }
        Ok(Carried::Out)
    }
}

/// The object that a write changes, where it is one that we keep.
fn target<'a>(write: &'a Write, rollout: &'a str) -> Option<(Kind, &'a str)> {
    Some(match write {
        Write::Adopt(set) | Write::Release(set) | Write::DeleteSet(set) => (Kind::ReplicaSet, &set.name),
        Write::CreateSet(set) => (Kind::ReplicaSet, set.metadata.name.text()),
        Write::EditSet { name, .. } | Write::SetDeadline { name, .. } => (Kind::ReplicaSet, name),
        Write::SetRevision(_) | Write::SetDefaultReplicas(_) | Write::SetWorkloadGeneration(_) => {
            (Kind::Rollout, rollout)
        }
        Write::SwitchService { name, .. } => (Kind::Service, name),
        Write::CreateAnalysisRun(run) => (Kind::AnalysisRun, run.metadata.name.text()),
        Write::TerminateAnalysisRun(name) | Write::DeleteAnalysisRun(name) => (Kind::AnalysisRun, name),
        Write::CreateExperiment(experiment) => (Kind::Experiment, experiment.metadata.name.text()),
        Write::TerminateExperiment(name) | Write::DeleteExperiment(name) => (Kind::Experiment, name),
        Write::Evict { .. }
        | Write::EditPod { .. }
        | Write::ScaleWorkload { .. }
        | Write::Routes(_)
        | Write::Subsets(_) => return None,
    })
}

impl Execution<'_> {
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.executor.client.clone(), &self.key.namespace)
    }

    fn key_of(&self, name: &str) -> Key {
        Key::new(self.key.namespace.clone(), name)
    }

    fn tell(&self, events: &[Event]) {
        for event in events {
            self.executor.events.tell_of(self.seen, event);
        }
    }

    /// The Rollout to base a write on.
    fn base_rollout(&self) -> Rollout {
        let own = self.own.rollout.lock().unwrap_or_else(PoisonError::into_inner);
        own.clone().unwrap_or_else(|| self.seen.rollout.clone())
    }

    fn keep_rollout(&self, rollout: Rollout) {
        *self.own.rollout.lock().unwrap_or_else(PoisonError::into_inner) = Some(rollout.clone());
        self.executor.cache.rollouts.put_own(rollout);
        // Our own writes are no news to the watches, but states have changed by them.
        self.executor.events.changed(&self.key);
    }

    /// The ReplicaSet to base a write on.
    fn base_set(&self, name: &str) -> Option<ReplicaSet> {
        let own = self.own.sets.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        own.or_else(|| self.seen.replica_sets.iter().find(|set| set.metadata.name.text() == name).cloned())
    }

    fn keep_set(&self, set: ReplicaSet) {
        let name = set.metadata.name.text().to_owned();
        self.own.sets.lock().unwrap_or_else(PoisonError::into_inner).insert(name, set.clone());
        if !mutation::is(Mutation::ForgetsOwnWrites) {
            self.executor.cache.replica_sets.put_own(set);
        }
    }

    /// Nothing is written for a Rollout that is known to be gone: what it had is given back meanwhile. Asked right before every
    /// write, as leadership is.
    fn check_right(&self) -> Result<(), LookError> {
        self.executor.check_leadership()?;
        let wanted = self.seen.rollout.metadata.uid.text();
        let found = match self.executor.cache.rollouts.stored(&self.key) {
            Some(Stored::Good(found)) => found.metadata.uid.text().to_owned(),
            // Whose it is cannot be read; it is there.
            Some(Stored::Bad(_)) => return Ok(()),
            None => String::new(),
        };
        if found == wanted {
            return Ok(());
        }
        Err(LookError::Gone { key: self.key.clone(), found, wanted: wanted.to_owned() })
    }

    /// A write without an answer may have had its effect: the object is read again before the next plan.
    async fn write_in_time(&self, write: &Write) -> Result<Outcome, LookError> {
        self.check_right()?;
        let kept = target(write, &self.key.name);
        let (kind, key) = match kept {
            Some((kind, name)) => (kind.name(), self.key_of(name)),
            None => ("pods, workload or routes of Rollout", self.key.clone()),
        };
        let result = in_time("write", kind, &key, self.write(write)).await;
        if matches!(result, Err(LookError::TimedOut { .. }))
            && let Some((kind, name)) = kept
        {
            self.executor.uncertain.add(&self.key, kind, &self.key_of(name));
        }
        result
    }

    /// Remembers that a write may or may not have had its effect, and passes the error on.
    fn failed(&self, verb: &'static str, kind: Kind, name: &str, error: kube::Error) -> LookError {
        let object = self.key_of(name);
        self.executor.uncertain.add(&self.key, kind, &object);
        LookError::api(verb, kind.name(), &object, error)
    }

    async fn write(&self, write: &Write) -> Result<Outcome, LookError> {
        match write {
            Write::Adopt(set) => self.adopt(set).await?,
            Write::Release(set) => self.release(set).await?,
            Write::CreateSet(set) => self.create_set(set).await?,
            Write::EditSet { name, edit } => self.edit_set(name, edit).await?,
            Write::SetDeadline { name, deadline } => self.set_deadline(name, *deadline).await?,
            Write::DeleteSet(set) => self.delete_set(set).await?,
            Write::SetRevision(revision) => self.set_revision(*revision).await?,
            Write::SetDefaultReplicas(replicas) => self.set_replicas(*replicas).await?,
            Write::SetWorkloadGeneration(generation) => self.set_workload_generation(generation).await?,
            Write::SwitchService { name, hash, marks } => self.switch_service(name, hash, *marks).await?,
            Write::ScaleWorkload { name, replicas } => self.scale_workload(name, *replicas).await?,
            Write::Evict { pod } => return self.evict(pod).await,
            Write::EditPod { pod, edit } => self.edit_pod(pod, edit).await?,
            Write::CreateAnalysisRun(run) => self.create_child(run.as_ref()).await?,
            Write::CreateExperiment(experiment) => self.create_child(experiment.as_ref()).await?,
            Write::TerminateAnalysisRun(name) => self.terminate_child::<AnalysisRun>(name).await?,
            Write::TerminateExperiment(name) => self.terminate_child::<Experiment>(name).await?,
            Write::DeleteAnalysisRun(name) => self.delete_child::<AnalysisRun>(name).await?,
            Write::DeleteExperiment(name) => self.delete_child::<Experiment>(name).await?,
            Write::Routes(traffic) => return self.write_routes(traffic).await,
            Write::Subsets(subsets) => return self.write_subsets(subsets).await,
        }
        Ok(Outcome::Done)
    }
}
