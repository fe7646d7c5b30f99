//! One look at one Experiment.

use std::sync::Arc;
use std::time::Duration;

use tidegate_api::experiment::Experiment;
use tidegate_api::kind::API_VERSION;
use tidegate_api::names::condition;
use tidegate_api::wire::{Items, Text};
use tidegate_engine::Event;
use tidegate_experiment::{Refused, Step, step};
use tidegate_runtime::{Key, Queue, Stored, Undecodable};
use tracing::{debug, error, info};

use super::observe::observe;
use super::write::{self, Written};
use crate::cache::controller_of;
use crate::controller::Shared;
use crate::error::{LookError, in_time};
use crate::lane::{self, Lane};
use crate::reconcile::{Next, SYNC_RETRY, read_object};

const KIND: &str = "Experiment";

/// Works on Experiments until the queue is closed.
pub(crate) async fn work(shared: Arc<Shared>) {
    lane::work(&ExperimentLane(&shared)).await;
}

struct ExperimentLane<'a>(&'a Shared);

impl Lane for ExperimentLane<'_> {
    fn queue(&self) -> &Queue<Key> {
        &self.0.experiments.queue
    }

    fn look(&self, key: &Key) -> impl Future<Output = Result<Next, LookError>> + Send {
        look(self.0, key)
    }

    fn looked(&self, key: &Key, took: Duration) {
        // A look at what is gone must not bring its figures back.
        if self.0.executor.cache.experiments.stored(key).is_some() {
            self.0.executor.metrics.experiments.looked(key, took);
        }
    }

    fn postponed(&self, key: &Key, delay: Duration) {
        debug!(experiment = key.name.as_str(), "Enqueueing experiment after {delay:?}");
    }

    fn failed(&self, key: &Key, problem: &LookError) {
        let (experiment, namespace) = (key.name.as_str(), key.namespace.as_str());
        match problem {
            LookError::Conflict { .. } | LookError::NotLeading => {
                info!(experiment, namespace, "{problem}; the next look starts from what is there");
            }
            _ => {
                self.0.executor.metrics.experiments.failed(key);
                error!(experiment, namespace, "experiment syncHandler error: {problem}");
            }
        }
    }
}

async fn look(shared: &Shared, key: &Key) -> Result<Next, LookError> {
    let own = &shared.experiments;
    for (kind, object) in own.uncertain.of(key) {
        in_time("get", kind.name(), &object, read_object(shared, kind, &object)).await?;
        own.uncertain.remove(key, kind, &object);
    }
    let mut refused = Refused::new();
    // Every refusal is met once, so this ends.
    loop {
        let experiment = match shared.executor.cache.experiments.stored(key) {
            None => {
                own.uncertain.forget(key);
                own.forget_refusals(key);
                own.undecodable.forget(key);
                return Ok(Next::OnChange);
            }
            Some(Stored::Bad(bad)) => {
                tell_undecodable(shared, key, &bad);
                return Ok(Next::OnChange);
            }
            Some(Stored::Good(experiment)) => experiment,
        };
        if experiment.metadata.deletion_timestamp.is_some() {
            debug!(experiment = key.name.as_str(), "No reconciliation as experiment marked for deletion");
            return Ok(Next::OnChange);
        }
        let sight = match in_time("get", "templates and runs of Experiment", key, observe(shared, &experiment)).await {
            Err(LookError::NotSynced(_)) => return Ok(Next::After(SYNC_RETRY)),
            sight => sight?,
        };
        let now = shared.executor.clock.now_seconds();
        if let Some(witness) = &shared.options.witness {
            witness.see_all(&experiment.metadata, &sight.replica_sets, &sight.services);
        }
        let outcome = step(&sight.observed(&experiment, &refused, now));
        match write::carry_out(shared, key, &experiment, &sight, &outcome).await? {
            Written::All(stored) => return over(shared, key, &stored, outcome, &refused),
            Written::Refused { part, problem } => {
                info!(experiment = key.name.as_str(), namespace = key.namespace.as_str(), "{part:?}: {problem}");
                let is_for_good = own.is_refused_for_good(key, &part);
                if !is_for_good || refused.insert(part, problem.clone()).is_some() {
                    return Err(LookError::Refused { kind: KIND, key: key.clone(), problem });
                }
            }
        }
    }
}

/// Tells what there is to tell, and says when to look again.
fn over(
    shared: &Shared,
    key: &Key,
    experiment: &Experiment,
    outcome: Step,
    refused: &Refused,
) -> Result<Next, LookError> {
    if refused.is_empty() {
        shared.experiments.forget_refusals(key);
    }
    tell(shared, experiment, &outcome.events);
    if let Some(status) = &outcome.status {
        if status.conditions.items().iter().any(|found| found.kind.text() == condition::INVALID_SPEC) {
            error!(experiment = key.name.as_str(), namespace = key.namespace.as_str(), "Spec submitted is invalid");
        }
    } else {
        debug!(experiment = key.name.as_str(), "No status changes. Skipping patch");
        // What is refused and changes nothing is tried again: pods must not stay because of it.
        if let Some(problem) = refused.values().next() {
            return Err(LookError::Refused { kind: KIND, key: key.clone(), problem: problem.clone() });
        }
    }
    if !outcome.actions.is_empty() || outcome.status.is_some() {
        return Ok(Next::Soon);
    }
    let clock = shared.executor.clock;
    Ok(outcome.wake_at.map_or(Next::OnChange, |at| Next::After(clock.until(at))))
}

/// Tells people, and those who watch the Rollout what concerns it.
pub(super) fn tell(shared: &Shared, about: &Experiment, events: &[tidegate_experiment::Event]) {
    let metadata = &about.metadata;
    for event in events {
        let (experiment, namespace) = (metadata.name.text(), metadata.namespace.text());
        info!(experiment, namespace, event_reason = event.reason, "{}", event.message);
        let told = if event.is_warning {
            Event::warning(&event.reason, event.message.clone())
        } else {
            Event::normal(&event.reason, event.message.clone())
        };
        shared.executor.events.tell_about(metadata, KIND, API_VERSION, &told);
        let owner = controller_of(metadata).filter(|owner| event.for_rollout && owner.kind == "Rollout");
        let rollout = owner.and_then(|owner| shared.executor.cache.rollouts.get(&Key::new(namespace, &*owner.name)));
        if let Some(rollout) = rollout {
            shared.executor.events.tell(&rollout.metadata, &told);
        }
    }
}

/// An Experiment that does not fit its type is told about once, and left alone: what its status says nobody knows.
fn tell_undecodable(shared: &Shared, key: &Key, bad: &Undecodable) {
    let metadata = &bad.metadata;
    let version = (metadata.uid.text().to_owned(), metadata.resource_version.text().to_owned());
    if shared.experiments.undecodable.is_news(key, version) {
        let message = format!("The Experiment \"{}\" is invalid: {}", key.name, bad.problem);
        error!(experiment = key.name.as_str(), namespace = key.namespace.as_str(), "{message}");
        let event = Event::warning("InvalidSpec", message);
        shared.executor.events.tell_about(metadata, KIND, API_VERSION, &event);
    }
}
