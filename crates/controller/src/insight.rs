//! What those who run the controller may see of it.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_runtime::metrics::{QueueFigures, Registry};
use tidegate_runtime::{Key, Queue};

use crate::controller::Shared;
use crate::metrics::Computed;

/// A look inside a running controller. Clones look at the same one.
#[derive(Clone)]
pub struct Insight(pub(crate) Arc<Shared>);

impl Insight {
    /// Caches that have not been filled yet; none when the controller is ready.
    pub fn missing(&self) -> Vec<&'static str> {
        self.0.executor.cache.missing(self.0.options.namespace.is_none())
    }

    /// From now on Prometheus is told.
    pub fn register(&self, registry: &Registry) {
        let executor = &self.0.executor;
        executor.metrics.register(registry);
        registry.add(Computed { cache: executor.cache.clone(), leadership: executor.leadership.clone() });
        self.0.queue.register("Rollouts", registry);
        self.0.services.register("Services", registry);
        self.0.runs.queue.register("AnalysisRuns", registry);
        self.0.experiments.queue.register("Experiments", registry);
    }

    /// Queues, caches and leadership at this moment.
    pub fn diagnostics(&self) -> Value {
        let cache = &self.0.executor.cache;
        json!({
            "isLeading": self.0.executor.leadership.is_held(),
            "notSynced": self.missing(),
            "queues": {"Rollouts": queue(&self.0.queue), "Services": queue(&self.0.services),
                "AnalysisRuns": queue(&self.0.runs.queue), "Experiments": queue(&self.0.experiments.queue)},
            "cached": {
                "rollouts": cache.rollouts.len(), "replicaSets": cache.replica_sets.len(),
                "services": cache.services.len(), "analysisRuns": cache.analysis_runs.len(),
                "experiments": cache.experiments.len(), "analysisTemplates": cache.templates.len(),
                "clusterAnalysisTemplates": cache.cluster_templates.len(),
            },
        })
    }
}

fn queue(queue: &Queue<Key>) -> Value {
    let QueueFigures { depth, later, failing, adds, retries, running, .. } = queue.figures();
    let running: Vec<Value> =
        running.into_iter().map(|(key, seconds)| json!({"key": key, "seconds": seconds})).collect();
    json!({"depth": depth, "later": later, "failing": failing, "adds": adds, "retries": retries, "running": running})
}
