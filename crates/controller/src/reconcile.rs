//! One look at one Rollout.

use std::time::Duration;

use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tidegate_api::ObjectMeta;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::experiment::Experiment;
use tidegate_api::names::{condition, phase, reason};
use tidegate_api::rollout::Rollout;
use tidegate_api::values::Time;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::Text;
use tidegate_engine::{Plan, Write, plan_ahead, routing};
use tidegate_runtime::{Change, Key, Store, Stored, Undecodable};
use tracing::{debug, info};

use crate::controller::Shared;
use crate::error::{LookError, in_time};
use crate::execute::{Carried, FIELD_MANAGER};
use crate::haste::LOOK_AGAIN;
use crate::istio::IstioKind;
use crate::observe::observe;
use crate::triggers;
use crate::uncertain::Kind;

/// How long a cache that is being filled is waited for.
pub(crate) const SYNC_RETRY: Duration = Duration::from_millis(100);

/// When to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// When something changes.
    OnChange,
    /// Soon: something was written, and the next plan may go on from there. Writing over and over gets slower.
    Soon,
    /// Also after this long.
    After(Duration),
}

/// Looks at a Rollout and does what the plan says.
pub(crate) async fn reconcile(shared: &Shared, key: &Key) -> Result<Next, LookError> {
    let executor = &shared.executor;
    for (kind, object) in executor.uncertain.of(key) {
        in_time("get", kind.name(), &object, read_object(shared, kind, &object)).await?;
        executor.uncertain.remove(key, kind, &object);
    }
    let rollout = match executor.cache.rollouts.stored(key) {
        None => {
            executor.uncertain.forget(key);
            executor.route_failures.forget(key);
            executor.routers.forget(key);
            shared.aws.forget(key);
            shared.findings.forget(key);
            shared.forget_undecodable(key);
            return Ok(Next::OnChange);
        }
        Some(Stored::Bad(bad)) => {
            in_time("patch", "Rollout", key, tell_undecodable(shared, key, &bad)).await?;
            return Ok(Next::OnChange);
        }
        Some(Stored::Good(rollout)) => {
            shared.forget_undecodable(key);
            rollout
        }
    };
    let metadata = &rollout.metadata;
    info!(
        rollout = key.name.as_str(),
        namespace = key.namespace.as_str(),
        resourceVersion = metadata.resource_version.text(),
        generation = metadata.generation.unwrap_or_default(),
        "Started syncing rollout"
    );
    let mut without = Without::default();
    // What else there is to do and to say does not wait for what cannot be done now. Each is met once, so this ends.
    loop {
        match look(shared, key, &rollout, &without).await? {
            Looked::ButEvictions if without.evictions => return Ok(Next::After(SYNC_RETRY)),
            Looked::ButEvictions => without.evictions = true,
            Looked::ButRoutes(problem) => without.routes = Some(problem),
            // When the canary's pods go is noted before anybody else's turn comes.
            Looked::Routed if !without.is_routed => without.is_routed = true,
            Looked::Routed => return Ok(Next::Soon),
            Looked::Over(next) => {
                return match without.routes {
                    Some(problem) => Err(LookError::Routes { key: key.clone(), problem }),
                    None => Ok(next),
                };
            }
        }
    }
}

/// What a look leaves alone, because it was just tried.
#[derive(Default)]
struct Without {
    evictions: bool,
    /// Why routes could not be written.
    routes: Option<String>,
    /// Routes were written a moment ago.
    is_routed: bool,
}

/// What came of one look.
enum Looked {
    /// It is over.
    Over(Next),
    /// Disruption budgets kept pods that were to be restarted, so its status was not stored.
    ButEvictions,
    /// Routes could not be written; the text says why.
    ButRoutes(String),
    /// Only routes were written, among those of many others.
    Routed,
}

/// Observes, plans, executes.
async fn look(shared: &Shared, key: &Key, rollout: &Rollout, without: &Without) -> Result<Looked, LookError> {
    let executor = &shared.executor;
    let mut sight = match in_time("list", "pods of Rollout", key, observe(shared, rollout)).await {
        Err(LookError::NotSynced(_)) => return Ok(Looked::Over(Next::After(SYNC_RETRY))),
        result => result?,
    };
    sight.seen.defers_restart = without.evictions;
    sight.seen.routes.trouble.clone_from(&without.routes);
    if let Some(witness) = &shared.options.witness {
        witness.see(&sight.seen);
    }
    let (name, namespace) = (key.name.as_str(), key.namespace.as_str());
    let plan = plan_ahead(&sight.seen, executor.clock.now_seconds());
    for waiting in &plan.waiting_for {
        debug!(rollout = name, namespace, "Waiting for {waiting}");
    }
    if plan.status.is_none() {
        debug!(rollout = name, namespace, "No status changes. Skipping patch");
    }
    if !plan.findings.is_empty() && shared.findings.is_news(key, plan.findings.clone()) {
        for finding in &plan.findings {
            executor.events.tell(&rollout.metadata, finding);
        }
    }
    let carried = executor.execute(&sight.seen, &sight.pods, &plan).await;
    look_at_what_was_taken(shared, key, rollout, &plan);
    match carried? {
        Carried::Out => {}
        Carried::ButEvictions => return Ok(Looked::ButEvictions),
        Carried::ButRoutes(problem) => return Ok(Looked::ButRoutes(problem)),
        Carried::Routes => return Ok(Looked::Routed),
        Carried::Later => return Ok(Looked::Over(Next::After(LOOK_AGAIN))),
    }
    let next = if !plan.actions.is_empty() || plan.status.is_some() {
        Next::Soon
    } else {
        plan.wake_at.map_or(Next::OnChange, |at| Next::After(executor.clock.until(at)))
    };
    Ok(Looked::Over(next))
}

/// A Rollout that is deleted while a write is on its way gives its Services and its DestinationRule back before the write
/// takes them again, and of own writes no watch tells anything new.
fn look_at_what_was_taken(shared: &Shared, key: &Key, rollout: &Rollout, plan: &Plan) {
    for action in &plan.actions {
        match &action.write {
            Write::SwitchService { name, .. } => shared.services.add(Key::new(key.namespace.clone(), name.clone())),
            Write::Subsets(_) => {
                if let Some(rule) = routing::destination_rule(rollout) {
                    shared.rules.add(Key::new(key.namespace.clone(), rule.name.text()));
                }
            }
            _ => {}
        }
    }
}

/// Reads an object whose state is not known for sure.
pub(crate) async fn read_object(shared: &Shared, kind: Kind, object: &Key) -> Result<(), LookError> {
    let cache = &shared.executor.cache;
    match kind {
        Kind::Rollout => {
            // The watch will not tell of it any more: what follows from it follows now.
            let change = read_into::<Rollout>(shared, &cache.rollouts, kind, object).await?;
            if matches!(change, Change::Deleted(_)) {
                triggers::rollout_changed(shared, &change);
            }
        }
        Kind::ReplicaSet => drop(read_into::<ReplicaSet>(shared, &cache.replica_sets, kind, object).await?),
        Kind::Service => drop(read_into::<Service>(shared, &cache.services, kind, object).await?),
        Kind::AnalysisRun => {
            drop(read_into::<AnalysisRun>(shared, &cache.analysis_runs, kind, object).await?);
            shared.runs.queue.add(object.clone());
        }
        Kind::Experiment => {
            let change = read_into::<Experiment>(shared, &cache.experiments, kind, object).await?;
            triggers::experiment_changed(shared, &change);
        }
        Kind::VirtualService => {
            shared.executor.istio.read_again(IstioKind::VirtualService, object).await?;
        }
        Kind::DestinationRule => {
            shared.executor.istio.read_again(IstioKind::DestinationRule, object).await?;
        }
    }
    Ok(())
}

async fn read_into<K>(shared: &Shared, store: &Store<K>, kind: Kind, key: &Key) -> Result<Change<K>, LookError>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(shared.executor.client.clone(), &key.namespace);
    match api.get_opt(&key.name).await {
        Ok(Some(found)) => Ok(store.put_own(found)),
        Ok(None) => {
            let known = store.get(key);
            let uid = known.as_ref().and_then(|known| known.meta().uid.as_deref());
            Ok(uid.map_or(Change::None, |uid| store.remove_own(key, uid)))
        }
        // An object that is there but cannot be read will be told of by the watch.
        Err(kube::Error::SerdeError(_)) => Ok(Change::None),
        Err(error) => Err(LookError::api("get", kind.name(), key, error)),
    }
}

/// A Rollout that does not fit its type gets a condition that says so, once per generation.
async fn tell_undecodable(shared: &Shared, key: &Key, bad: &Undecodable) -> Result<(), LookError> {
    let metadata: &ObjectMeta = &bad.metadata;
    let version = (metadata.uid.text().to_owned(), metadata.generation.unwrap_or_default());
    if !shared.told_undecodable(key, version) {
        return Ok(());
    }
    let message = format!("The Rollout \"{}\" is invalid: {}", key.name, bad.problem);
    let now = Time::from(shared.executor.clock.now_seconds());
    let patch = json!({"status": {
        "phase": phase::DEGRADED,
        "message": format!("{}: {message}", condition::INVALID_SPEC),
        "observedGeneration": metadata.generation.unwrap_or_default().to_string(),
        "conditions": [{
            "type": condition::INVALID_SPEC, "status": "True", "reason": reason::INVALID_SPEC, "message": message,
            "lastUpdateTime": now, "lastTransitionTime": now,
        }],
    }});
    let api: Api<kube::core::DynamicObject> = Api::namespaced_with(
        shared.executor.client.clone(),
        &key.namespace,
        &kube::core::ApiResource::erase::<Rollout>(&()),
    );
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    shared.executor.check_leadership()?;
    match api.patch_status(&key.name, &params, &Patch::Merge(&patch)).await {
        Ok(_) => Ok(()),
        Err(error) => {
            shared.forget_undecodable(key);
            Err(LookError::api("patch", "Rollout", key, error))
        }
    }
}
