//! The AnalysisRun controller: `tidegate_analysis::step` decides, providers measure, this writes.
//!
//! ```text
//!   look.rs      one look at one run: what is known ──▶ step ──▶ status, work, events
//!   states.rs    what is known of runs beside what is stored: reports, calls under way
//!   calls.rs     calls to providers, each for itself, bounded
//!   jobs.rs      measurements that are Jobs
//!   secrets.rs   Secrets, read when they are needed
//!   finished.rs  what is kept of runs that are over
//!   templates.rs templates that cannot work
//!   status.rs    the one place that writes a run
//! ```

mod calls;
mod finished;
mod jobs;
mod look;
mod secrets;
mod states;
mod status;
mod templates;

pub(crate) use calls::serve;
pub(crate) use finished::{is_settled, keep_what_is_needed};
pub(crate) use jobs::{SeenJob, watch_jobs};
pub(crate) use look::work;
pub(crate) use templates::{Template, template_written};

use std::sync::Arc;

use kube::Client;
use tidegate_providers::job::Place;
use tidegate_providers::{Surroundings, Transport};
use tidegate_runtime::{Backoff, Index, Key, Queue, Store};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub(crate) use self::calls::Call;

use self::calls::Bounds;
use self::states::States;
use crate::controller::Told;

/// How AnalysisRuns are run.
#[derive(Clone)]
pub struct Analysis {
    /// Runs that are worked on at once; measurements do not count, nobody waits for them.
    pub workers: usize,
    /// What carries the requests of providers.
    pub transport: Arc<dyn Transport>,
    /// What providers may know of their surroundings.
    pub surroundings: Surroundings,
    /// Where Jobs are made.
    pub jobs: Place,
    /// The way to the cluster of the Jobs, when it is another one.
    pub job_client: Option<Client>,
}

impl Analysis {
    /// Runs them over this transport, with nothing set.
    pub fn over(transport: Arc<dyn Transport>) -> Self {
        let (surroundings, jobs) = (Surroundings::default(), Place::default());
        Self { workers: 30, transport, surroundings, jobs, job_client: None }
    }
}

/// Jobs by the uid of their run.
const BY_RUN: &str = "run";

/// What the parts of the AnalysisRun controller share.
pub(crate) struct Runs {
    pub queue: Queue<Key>,
    states: States,
    jobs: Store<SeenJob>,
    bounds: Bounds,
    calls: UnboundedSender<Call>,
    undecodable: Told<(String, String)>,
}

impl Runs {
    /// The parts, and what takes the calls that [`serve`] makes.
    pub(crate) fn new() -> (Self, UnboundedReceiver<Call>) {
        // One call per metric of a run at most: runs bound it.
        let (calls, to_make) = unbounded_channel();
        let runs = Self {
            queue: Queue::new(Backoff::default()),
            states: States::default(),
            jobs: Store::new(&[Index { name: BY_RUN, of: SeenJob::run_uid }]),
            bounds: Bounds::default(),
            calls,
            undecodable: Told::new(),
        };
        (runs, to_make)
    }
}
