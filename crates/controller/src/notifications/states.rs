//! The state path: a condition that holds is told once, for as long as it holds. What was told is marked in an annotation
//! of the Rollout, so that whoever leads next knows.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use kube::Api;
use kube::api::Patch;
use serde_json::{Value as Json, json};
use tidegate_api::names::annotations;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Text;
use tidegate_delivery::{Job, Observer as _, Scoped};
use tidegate_engine::SeenWorkload;
use tidegate_notify::{Failure, Marks, Subject, on_state};
use tidegate_runtime::Key;
use tracing::error;

use super::{Notifier, seen};
use crate::controller::{Shared, said};
use crate::error::{LookError, in_time};
use crate::execute::patch_params;

/// Marks of what was told, while they could not be written: being told twice is worse than a longer memory.
#[derive(Clone, Default)]
pub(super) struct Unwritten(Arc<Mutex<BTreeMap<Key, BTreeSet<String>>>>);

impl Unwritten {
    fn of(&self, key: &Key) -> BTreeSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned().unwrap_or_default()
    }

    fn set(&self, key: &Key, marks: BTreeSet<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if marks.is_empty() {
            all.remove(key)
        } else {
            all.insert(key.clone(), marks)
        };
    }
}

/// Looks at Rollouts as they change, one at a time each.
pub(crate) async fn work(shared: Arc<Shared>, notifier: Notifier) {
    while let Some(key) = notifier.queue.next().await {
        let looked = AssertUnwindSafe(look(&shared, &notifier, &key)).catch_unwind().await;
        let resource = key.to_string();
        match looked.unwrap_or_else(|panic| Err(LookError::Panicked(said(&*panic)))) {
            Ok(()) => notifier.queue.forget(&key),
            Err(LookError::NotLeading) => {}
            Err(problem) => {
                error!(resource, "notifications: {problem}");
                notifier.queue.retry(key.clone());
            }
        }
        notifier.queue.done(&key);
    }
}

/// Has every Rollout looked at again from time to time: conditions may speak of time, and what was not delivered is due.
pub(crate) async fn look_again(shared: Arc<Shared>, notifier: Notifier) {
    loop {
        tokio::time::sleep(shared.options.resync).await;
        for rollout in shared.executor.cache.rollouts.within("") {
            notifier.queue.add(Key::of(&rollout.metadata));
        }
    }
}

async fn look(shared: &Shared, notifier: &Notifier, key: &Key) -> Result<(), LookError> {
    let Some(rollout) = shared.executor.cache.rollouts.get(key) else {
        notifier.unwritten.set(key, BTreeSet::new());
        return Ok(());
    };
    let configs = notifier.configs.of(&key.namespace);
    let has_conditions =
        |(_, config): &Scoped| config.triggers.values().flatten().any(|condition| !condition.is_unconditional());
    if !configs.iter().any(has_conditions) {
        return Ok(());
    }
    let object = with_its_workload(shared, &rollout)?;
    let none = BTreeMap::new();
    let subject = Subject {
        labels: rollout.metadata.labels.as_ref().unwrap_or(&none),
        annotations: rollout.metadata.annotations.as_ref().unwrap_or(&none),
    };
    let before = subject.annotations.get(annotations::NOTIFIED).cloned();
    let now = shared.executor.clock.now_seconds();
    let mut marks = Marks::read(before.as_deref());
    let mut told = notifier.unwritten.of(key);
    told.iter().for_each(|mark| marks.set(mark, now));
    for config in &configs {
        marks = tell(shared, notifier, key, config, &object, subject, marks, &mut told).await?;
    }
    if marks.annotation() != before {
        notifier.unwritten.set(key, told);
        write(shared, key, marks.annotation()).await?;
    }
    notifier.unwritten.set(key, BTreeSet::new());
    Ok(())
}

fn with_its_workload(shared: &Shared, rollout: &Rollout) -> Result<Json, LookError> {
    let workload = match &rollout.spec.workload_ref {
        Some(reference) => shared.workloads.look_up(
            &shared.executor.client,
            shared.options.namespace.as_deref(),
            rollout.metadata.namespace.text(),
            reference,
            &shared.workload_changed,
        )?,
        None => SeenWorkload::None,
    };
    Ok(seen::with_workload(rollout, &workload))
}

/// Sends what a configuration says and gives the marks after it.
#[expect(clippy::too_many_arguments, reason = "one step of a look, with all that the look knows")]
async fn tell(
    shared: &Shared,
    notifier: &Notifier,
    key: &Key,
    config: &Scoped,
    object: &Json,
    subject: Subject<'_>,
    marks: Marks,
    told: &mut BTreeSet<String>,
) -> Result<Marks, LookError> {
    let now = shared.executor.clock.now_seconds();
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let runs = seen::runs(&shared.executor.cache, uid, object);
    let variables = Arc::new(tidegate_notify::variables(object, Some(runs), &config.1.secrets));
    let plan = on_state(&config.1, notifier.configs.mark(&config.0), subject, &marks, &variables, now);
    for (trigger, holds) in &plan.evaluated {
        notifier.notified.evaluated(trigger, *holds);
    }
    let mut marks = plan.marks;
    let mut receipts = Vec::new();
    for one in plan.send {
        shared.executor.check_leadership()?;
        let (config, variables, resource) = (config.clone(), Arc::clone(&variables), key.to_string());
        let job = Job { config, sending: one.sending, variables, resource };
        receipts.push((one.mark, notifier.sender.send(job)));
    }
    for (mark, receipt) in receipts {
        let Some(receipt) = receipt else { continue };
        let is_over =
            |outcome: &Result<(), Failure>| outcome.as_ref().map_or_else(|failure| failure.is_final, |()| true);
        if receipt.await.is_ok_and(|outcome| is_over(&outcome)) {
            marks.set(&mark, shared.executor.clock.now_seconds());
            told.insert(mark);
        }
    }
    Ok(marks)
}

/// Writes the marks.
async fn write(shared: &Shared, key: &Key, annotation: Option<String>) -> Result<(), LookError> {
    shared.executor.check_leadership()?;
    let api: Api<Rollout> = Api::namespaced(shared.executor.client.clone(), &key.namespace);
    let patch = json!({"metadata": {"annotations": {annotations::NOTIFIED: annotation}}});
    let patched = in_time("patch", "Rollout", key, async {
        let patched = api.patch(&key.name, &patch_params(), &Patch::Merge(&patch)).await;
        patched.map_err(|error| LookError::api("patch", "Rollout", key, error))
    });
    shared.executor.cache.rollouts.put_own(patched.await?);
    Ok(())
}
