//! Calls to providers. Each is a task of its own: one that hangs or breaks down takes nothing with it but itself.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{AbortHandle, AbortRegistration, Abortable};
use tidegate_analysis::{Provider, Report, UnderWay, Work, provider};
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::wire::Text;
use tidegate_providers::measure;
use tidegate_runtime::Key;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::jobs;
use super::secrets::Vault;
use crate::controller::Shared;

/// Calls at once: each may hold a response of some megabytes.
const MOST_CALLS: usize = 256;
/// Calls at once for one namespace: hanging providers of one tenant leave room for others.
const MOST_CALLS_PER_NAMESPACE: usize = 64;
/// After this long a call has failed. Providers have shorter limits of their own.
const LONGEST: Duration = Duration::from_secs(150);

/// Something for a provider to do.
pub(crate) struct Call {
    run: Arc<AnalysisRun>,
    work: Work,
    number: u64,
    registration: AbortRegistration,
}

/// How many calls are made at once.
pub(super) struct Bounds {
    all: Arc<Semaphore>,
    namespaces: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(MOST_CALLS)), namespaces: Mutex::default() }
    }
}

impl Bounds {
    fn of(&self, namespace: &str) -> Arc<Semaphore> {
        let mut all = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        // Namespaces without calls are not kept.
        all.retain(|_, known| Arc::strong_count(known) > 1);
        let new = || Arc::new(Semaphore::new(MOST_CALLS_PER_NAMESPACE));
        Arc::clone(all.entry(namespace.to_owned()).or_insert_with(new))
    }
}

/// Has a provider do something; its report comes with a later look.
pub(super) fn begin(shared: &Shared, key: &Key, run: &Arc<AnalysisRun>, work: Work) {
    let (abort, registration) = AbortHandle::new_pair();
    let under_way = UnderWay { task: work.task, since: shared.executor.clock.now() };
    let number = shared.runs.states.begin(key, run.metadata.uid.text(), work.name(), under_way, abort);
    // Nobody listens any more when the controller ends, and then nothing is measured either.
    let _ = shared.runs.calls.send(Call { run: Arc::clone(run), work, number, registration });
}

/// Makes calls for as long as it is polled; with it all of them end.
pub(crate) async fn serve(shared: Arc<Shared>, mut calls: UnboundedReceiver<Call>) {
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            call = calls.recv() => match call {
                Some(call) => drop(tasks.spawn(make(Arc::clone(&shared), call))),
                None => return,
            },
            Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
        }
    }
}

async fn make(shared: Arc<Shared>, call: Call) {
    let Call { run, work, number, registration } = call;
    let Ok(report) = Abortable::new(report(&shared, &run, &work), registration).await else { return };
    let key = Key::of(&run.metadata);
    shared.runs.states.reported(&key, number, report);
    shared.runs.queue.add(key);
}

async fn report(shared: &Shared, run: &AnalysisRun, work: &Work) -> Report {
    let clock = shared.executor.clock;
    let doing = AssertUnwindSafe(bounded(shared, run, work)).catch_unwind();
    match tokio::time::timeout(LONGEST, doing).await {
        Ok(Ok(report)) => report,
        Ok(Err(_)) => work.failed("the provider broke down; this is a defect of the controller", clock.now()),
        Err(_) => work.failed(format!("the measurement took longer than {} seconds", LONGEST.as_secs()), clock.now()),
    }
}

async fn bounded(shared: &Shared, run: &AnalysisRun, work: &Work) -> Report {
    let clock = shared.executor.clock;
    let Some(analysis) = &shared.options.analysis else {
        return work.failed("this controller runs no analyses", clock.now());
    };
    let own = shared.runs.bounds.of(run.metadata.namespace.text());
    // Neither is ever closed.
    let (_own, _all) = (own.acquire().await, shared.runs.bounds.all.acquire().await);
    if provider(&work.metric.0) == Some(Provider::Job) {
        return jobs::perform(shared, analysis, run, work).await;
    }
    let vault = Vault(shared.executor.client.clone());
    measure(run, work, &*analysis.transport, &vault, &analysis.surroundings, clock).await
}
