//! What is known of the Rollouts while they are measured: a watch that keeps of each only what is waited for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::StreamExt;
use kube::core::ObjectMeta;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::objects::NAMESPACE;
use crate::say;
use crate::subject::Running;

/// How often progress is told of.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// How long a watch that fails waits.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// A Rollout, as little of it as is needed: reading it must cost less than writing it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Seen {
    metadata: ObjectMeta,
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    phase: String,
    /// Text in some versions, a number in others.
    observed_generation: Value,
    pause_conditions: Option<Vec<Value>>,
    aborted_at: Option<Value>,
}

impl Seen {
    /// Whether the status belongs to the spec.
    fn is_current(&self) -> bool {
        let generation = self.metadata.generation.unwrap_or_default();
        match &self.status.observed_generation {
            Value::String(text) => *text == generation.to_string(),
            other => other.as_i64() == Some(generation),
        }
    }

    pub(crate) fn is_healthy(&self) -> bool {
        self.is_current() && self.status.phase == "Healthy"
    }

    pub(crate) fn is_paused(&self) -> bool {
        let waits = self.status.pause_conditions.as_ref().is_some_and(|conditions| !conditions.is_empty());
        self.is_current() && self.status.phase == "Paused" && waits
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.status.aborted_at.is_some()
    }
}

impl kube::Resource for Seen {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Rollout".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "argoproj.io".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1alpha1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "rollouts".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

type Known = Arc<Mutex<BTreeMap<String, Seen>>>;

/// All Rollouts of the fleet.
pub(crate) struct Fleet {
    known: Known,
    changed: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

fn lock(known: &Known) -> MutexGuard<'_, BTreeMap<String, Seen>> {
    // Single insertions: nothing can be left half done.
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet {
    /// Begins to watch.
    pub(crate) fn watch(client: Client) -> Self {
        let known = Known::default();
        let (tell, changed) = watch::channel(0);
        let task = tokio::spawn(follow(client, Arc::clone(&known), tell));
        Self { known, changed, task }
    }

    /// Waits until so many are as wanted; fails when patience or the controller ends.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        count: usize,
        patience: Duration,
        running: &mut Running,
        is_it: impl Fn(&Seen) -> bool,
    ) -> Result<Duration> {
        let begun = Instant::now();
        let mut told = begun;
        loop {
            self.changed.mark_unchanged();
            let (there, total) = {
                let known = lock(&self.known);
                (known.values().filter(|seen| is_it(seen)).count(), known.len())
            };
            if there >= count {
                return Ok(begun.elapsed());
            }
            running.check()?;
            if begun.elapsed() > patience {
                let seconds = patience.as_secs();
                bail!("after {seconds} s only {there} of {count} Rollouts ({total} seen) are {what}; see --patience");
            }
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                say(&format!("  {there} of {count} {what} after {:.0} s", begun.elapsed().as_secs_f64()));
            }
            // Counting thousands after every single change would cost what is being measured.
            tokio::time::sleep(Duration::from_millis(if count > 1 { 20 } else { 0 })).await;
            let _timed_out = tokio::time::timeout(TELL_EVERY, self.changed.changed()).await;
        }
    }

    /// Waits until one Rollout is as wanted.
    pub(crate) async fn until_one(
        &mut self,
        name: &str,
        what: &str,
        patience: Duration,
        running: &mut Running,
        is_it: impl Fn(&Seen) -> bool,
    ) -> Result<Duration> {
        let named = |seen: &Seen| seen.metadata.name.as_deref() == Some(name) && is_it(seen);
        self.until(what, 1, patience, running, named).await
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(client: Client, known: Known, tell: watch::Sender<u64>) {
    let api: Api<Seen> = Api::namespaced(client, NAMESPACE);
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(mut seen) | Event::InitApply(mut seen)) => {
                seen.metadata.managed_fields = None;
                lock(&known).insert(seen.metadata.name.clone().unwrap_or_default(), seen);
            }
            Ok(Event::Delete(seen)) => {
                lock(&known).remove(seen.metadata.name.as_deref().unwrap_or_default());
            }
            Ok(Event::Init | Event::InitDone) => {}
            Err(_) => tokio::time::sleep(RETRY_AFTER).await,
        }
        tell.send_modify(|number| *number += 1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(status: Value) -> Seen {
        serde_json::from_value(json!({"metadata": {"name": "a", "generation": 2}, "status": status})).unwrap()
    }

    #[test]
    fn a_status_counts_only_when_it_belongs_to_the_spec() {
        assert!(seen(json!({"phase": "Healthy", "observedGeneration": "2"})).is_healthy());
        assert!(seen(json!({"phase": "Healthy", "observedGeneration": 2})).is_healthy());
        assert!(!seen(json!({"phase": "Healthy", "observedGeneration": "1"})).is_healthy());
        assert!(!seen(json!({"phase": "Healthy"})).is_healthy());
    }

    #[test]
    fn a_pause_that_was_lifted_is_no_pause() {
        let pause = json!([{"reason": "CanaryPauseStep"}]);
        assert!(seen(json!({"phase": "Paused", "observedGeneration": "2", "pauseConditions": pause})).is_paused());
        assert!(!seen(json!({"phase": "Paused", "observedGeneration": "2"})).is_paused());
    }
}
