//! What client-go says about its work queues, said about ours.

use crate::queue::Queue;

use super::{Distribution, Page, Source};

/// A queue at one moment.
#[derive(Clone, Debug)]
pub struct QueueFigures {
    /// Keys that wait to be worked on, those that run and must run again included.
    pub depth: usize,
    /// Keys that will be due later.
    pub later: usize,
    /// Keys that failed and have not succeeded since.
    pub failing: usize,
    /// Keys that were added and were not there already.
    pub adds: u64,
    /// How often a key was put off.
    pub retries: u64,
    /// How long keys waited, in seconds.
    pub waited: Distribution,
    /// How long keys were worked on, in seconds.
    pub worked: Distribution,
    /// For how long each key that is being worked on has been, in seconds; by key.
    pub running: Vec<(String, f64)>,
}

/// A queue under the name its figures carry.
pub(crate) struct Named<T> {
    pub(crate) name: &'static str,
    pub(crate) queue: Queue<T>,
}

impl<T: Ord + Clone + std::fmt::Display + Send + Sync> Source for Named<T> {
    fn collect(&self, page: &mut Page) {
        let figures = self.queue.figures();
        let labels = [("name", self.name)];
        let labels = labels.as_slice();
        let running = figures.running.iter().map(|(_, seconds)| *seconds);
        page.gauge("workqueue_depth", "Keys that wait to be worked on.", labels, figures.depth as f64);
        page.counter("workqueue_adds_total", "Keys that were added.", labels, figures.adds as f64);
        page.counter("workqueue_retries_total", "Keys that were put off.", labels, figures.retries as f64);
        let help = "How many seconds a key waits before it is worked on.";
        page.histogram("workqueue_queue_duration_seconds", help, labels, &figures.waited);
        let help = "How many seconds a key is worked on.";
        page.histogram("workqueue_work_duration_seconds", help, labels, &figures.worked);
        let help = "Seconds of work in progress that workqueue_work_duration_seconds has not seen yet.";
        page.gauge("workqueue_unfinished_work_seconds", help, labels, running.clone().sum());
        let help = "For how many seconds the longest work in progress has been running.";
        page.gauge("workqueue_longest_running_processor_seconds", help, labels, running.fold(0.0, f64::max));
    }
}

/// From ten nanoseconds to a thousand seconds, each ten times the one before, computed as the Go client does.
pub(crate) fn bounds() -> Vec<f64> {
    let steps = std::iter::successors(Some(1e-8), |bound| Some(bound * 10.0));
    steps.take(12).collect()
}
