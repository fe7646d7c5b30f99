//! One look at one run.

use std::sync::Arc;
use std::time::Duration;

use tidegate_analysis::{Observed, Secrets, Step, step};
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::kind::API_VERSION;
use tidegate_api::names::analysis_phase;
use tidegate_api::wire::Text;
use tidegate_engine::Event;
use tidegate_runtime::{Key, Queue, Stored, Undecodable};
use tracing::{debug, error, info};

use super::secrets::Vault;
use super::states::Known;
use super::{calls, jobs, status};
use crate::controller::Shared;
use crate::error::LookError;
use crate::lane::{self, Lane};
use crate::reconcile::Next;

/// How long a status that only says that the run has begun waits for the first measurements.
const FIRST_ANSWERS: Duration = Duration::from_secs(1);

/// Works on runs until the queue is closed.
pub(crate) async fn work(shared: Arc<Shared>) {
    lane::work(&RunLane(&shared)).await;
    shared.runs.states.clear();
}

struct RunLane<'a>(&'a Shared);

impl Lane for RunLane<'_> {
    fn queue(&self) -> &Queue<Key> {
        &self.0.runs.queue
    }

    fn look(&self, key: &Key) -> impl Future<Output = Result<Next, LookError>> + Send {
        look(self.0, key)
    }

    fn looked(&self, key: &Key, took: Duration) {
        // A look at what is gone must not bring its figures back.
        if self.0.executor.cache.analysis_runs.stored(key).is_some() {
            self.0.executor.metrics.runs.looked(key, took);
        }
    }

    fn postponed(&self, key: &Key, delay: Duration) {
        debug!(analysisrun = key.name.as_str(), "Enqueueing analysis after {delay:?}");
    }

    fn failed(&self, key: &Key, problem: &LookError) {
        let (analysisrun, namespace) = (key.name.as_str(), key.namespace.as_str());
        match problem {
            LookError::Conflict { .. } | LookError::NotLeading => {
                info!(analysisrun, namespace, "{problem}; the next look starts from what is there");
            }
            _ => {
                self.0.executor.metrics.runs.failed(key);
                error!(analysisrun, namespace, "analysisrun syncHandler error: {problem}");
            }
        }
    }
}

async fn look(shared: &Shared, key: &Key) -> Result<Next, LookError> {
    if shared.runs.states.is_unsure(key) {
        status::read_again(shared, key).await?;
    }
    let run = match shared.executor.cache.analysis_runs.stored(key) {
        None => {
            shared.runs.states.forget(key);
            shared.runs.undecodable.forget(key);
            return Ok(Next::OnChange);
        }
        Some(Stored::Bad(bad)) => {
            tell_undecodable(shared, key, &bad);
            return Ok(Next::OnChange);
        }
        Some(Stored::Good(run)) => run,
    };
    let known = shared.runs.states.of(key, run.metadata.uid.text());
    let outcome = decide(shared, &run, &known).await;
    if outcome.delete {
        status::delete(shared, key, &run).await?;
        return Ok(Next::OnChange);
    }
    carry_out(shared, key, run, outcome, &known).await
}

/// What is to be done; Secrets are read if that depends on them.
async fn decide(shared: &Shared, run: &AnalysisRun, known: &Known) -> Step {
    let ask = |secrets: &Secrets| {
        let Known { reports, under_way, nudged } = known;
        step(&Observed { run, secrets, reports, under_way, nudged, now: shared.executor.clock.now() })
    };
    let outcome = ask(&Secrets::new());
    if outcome.secrets.is_empty() {
        return outcome;
    }
    let vault = Vault(shared.executor.client.clone());
    let secrets = vault.read_all(run.metadata.namespace.text(), &outcome.secrets).await;
    ask(&secrets)
}

async fn carry_out(
    shared: &Shared,
    key: &Key,
    run: Arc<AnalysisRun>,
    outcome: Step,
    known: &Known,
) -> Result<Next, LookError> {
    let clock = shared.executor.clock;
    let waits = outcome.can_wait && !outcome.work.is_empty();
    let mut run = run;
    if let Some(status) = outcome.status.as_ref().filter(|_| !waits) {
        run = status::write(shared, key, &run, status, known.reports.len()).await?;
        tell(shared, key, &run, &outcome.events);
        jobs::collect(shared, &run, &outcome.collect).await;
    }
    let (analysisrun, namespace) = (key.name.as_str(), key.namespace.as_str());
    if !outcome.work.is_empty() {
        info!(analysisrun, namespace, "Taking {} Measurement(s)...", outcome.work.len());
    }
    for work in outcome.work {
        calls::begin(shared, key, &run, work);
    }
    if run.status.as_ref().is_some_and(|status| analysis_phase::is_completed(status.phase.text())) {
        shared.runs.states.forget(key);
    }
    let wake = outcome.wake_at.map(|at| clock.until(at));
    let wake = if waits { Some(wake.map_or(FIRST_ANSWERS, |wake| wake.min(FIRST_ANSWERS))) } else { wake };
    Ok(wake.map_or(Next::OnChange, Next::After))
}

fn tell(shared: &Shared, key: &Key, run: &AnalysisRun, events: &[tidegate_analysis::Event]) {
    for event in events {
        let (analysisrun, namespace) = (key.name.as_str(), key.namespace.as_str());
        info!(analysisrun, namespace, event_reason = event.reason, "{}", event.message);
        let event = if event.is_warning {
            Event::warning(&event.reason, event.message.clone())
        } else {
            Event::normal(&event.reason, event.message.clone())
        };
        shared.executor.events.tell_about(&run.metadata, "AnalysisRun", API_VERSION, &event);
    }
}

/// A run that does not fit its type is told about once, and left alone: what its status says nobody knows.
fn tell_undecodable(shared: &Shared, key: &Key, bad: &Undecodable) {
    let metadata = &bad.metadata;
    let version = (metadata.uid.text().to_owned(), metadata.resource_version.text().to_owned());
    if shared.runs.undecodable.is_news(key, version) {
        let message = format!("The AnalysisRun \"{}\" is invalid: {}", key.name, bad.problem);
        error!(analysisrun = key.name.as_str(), namespace = key.namespace.as_str(), "{message}");
        let event = Event::warning("InvalidSpec", message);
        shared.executor.events.tell_about(metadata, "AnalysisRun", API_VERSION, &event);
    }
}
