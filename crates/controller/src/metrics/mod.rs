//! Figures under the names that dashboards and alerts of the project we stand in for use.
//!
//! ```text
//!   mod.rs        what is counted as it happens
//!   rollouts.rs   what is computed from the caches: Rollouts
//!   analysis.rs   and AnalysisRuns, templates and Experiments
//! ```

mod analysis;
mod rollouts;

use std::time::Duration;

use tidegate_engine::{Event, Severity};
use tidegate_runtime::Key;
use tidegate_runtime::metrics::{Counters, Histograms, Page, Registry, Source};

use crate::cache::Cache;
use crate::lifecycle::Finished;

/// Long enough for one more scrape.
const AFTER_DELETION: Duration = Duration::from_secs(65);
/// Seconds of one look.
const LOOK_BOUNDS: &[f64] = &[0.01, 0.15, 0.25, 0.5, 1.0];

/// What is counted.
#[derive(Clone)]
pub(crate) struct Metrics {
    looks: Histograms,
    errors: Counters,
    events: Counters,
    totals: Histograms,
    progressions: Histograms,
    pauses: Histograms,
    run_looks: Histograms,
    run_errors: Counters,
    experiment_looks: Histograms,
    experiment_errors: Counters,
}

impl Default for Metrics {
    fn default() -> Self {
        let object = &["namespace", "name"];
        Self {
            looks: Histograms::new("rollout_reconcile", "Rollout reconciliation performance.", object, LOOK_BOUNDS),
            errors: Counters::new("rollout_reconcile_error", "Error occurring during the rollout", object),
            events: Counters::new(
                "rollout_events_total",
                "Count of rollout events",
                &["namespace", "name", "type", "reason"],
            ),
            totals: Histograms::new(
                "rollout_duration_seconds",
                "How many seconds updates took.",
                &["status"],
                &[30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0],
            ),
            progressions: Histograms::new(
                "rollout_progression_duration_seconds",
                "How many seconds updates took without waiting for people.",
                &["status"],
                &[30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0],
            ),
            pauses: Histograms::new(
                "rollout_manual_pause_duration_seconds",
                "How many seconds updates waited for people.",
                &["status"],
                &[0.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0],
            ),
            run_looks: Histograms::new(
                "analysis_run_reconcile",
                "Analysis Run reconciliation performance.",
                object,
                LOOK_BOUNDS,
            ),
            run_errors: Counters::new(
                "analysis_run_reconcile_error",
                "Error occurring during the analysis run",
                object,
            ),
            experiment_looks: Histograms::new(
                "experiment_reconcile",
                "Experiments reconciliation performance.",
                object,
                LOOK_BOUNDS,
            ),
            experiment_errors: Counters::new(
                "experiment_reconcile_error",
                "Error occurring during the experiment",
                object,
            ),
        }
    }
}

/// How urgent an event is, as it is written.
pub(crate) fn severity(event: &Event) -> &'static str {
    match event.severity {
        Severity::Normal => "Normal",
        Severity::Warning => "Warning",
    }
}

impl Metrics {
    pub(crate) fn register(&self, registry: &Registry) {
        registry.add(self.looks.clone());
        registry.add(self.errors.clone());
        registry.add(self.events.clone());
        registry.add(self.totals.clone());
        registry.add(self.progressions.clone());
        registry.add(self.pauses.clone());
        registry.add(self.run_looks.clone());
        registry.add(self.run_errors.clone());
        registry.add(self.experiment_looks.clone());
        registry.add(self.experiment_errors.clone());
    }

    /// An update is over.
    pub(crate) fn finished(&self, finished: &Finished) {
        let status = [finished.status.as_str()];
        self.totals.observe(&status, finished.total as f64);
        self.progressions.observe(&status, finished.progression() as f64);
        self.pauses.observe(&status, finished.pause as f64);
    }

    pub(crate) fn looked(&self, key: &Key, took: Duration) {
        self.looks.observe(&[&key.namespace, &key.name], took.as_secs_f64());
    }

    pub(crate) fn failed(&self, key: &Key) {
        self.errors.increment(&[&key.namespace, &key.name]);
    }

    pub(crate) fn run_looked(&self, key: &Key, took: Duration) {
        self.run_looks.observe(&[&key.namespace, &key.name], took.as_secs_f64());
    }

    pub(crate) fn run_failed(&self, key: &Key) {
        self.run_errors.increment(&[&key.namespace, &key.name]);
    }

    /// An AnalysisRun is there, perhaps again.
    pub(crate) fn keep_run(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.run_looks.keep(&object);
        self.run_errors.keep(&object);
    }

    /// An AnalysisRun is gone.
    pub(crate) fn forget_run(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.run_looks.forget_after(&object, AFTER_DELETION);
        self.run_errors.forget_after(&object, AFTER_DELETION);
    }

    pub(crate) fn experiment_looked(&self, key: &Key, took: Duration) {
        self.experiment_looks.observe(&[&key.namespace, &key.name], took.as_secs_f64());
    }

    pub(crate) fn experiment_failed(&self, key: &Key) {
        self.experiment_errors.increment(&[&key.namespace, &key.name]);
    }

    /// An Experiment is there, perhaps again.
    pub(crate) fn keep_experiment(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.experiment_looks.keep(&object);
        self.experiment_errors.keep(&object);
    }

    /// An Experiment is gone.
    pub(crate) fn forget_experiment(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.experiment_looks.forget_after(&object, AFTER_DELETION);
        self.experiment_errors.forget_after(&object, AFTER_DELETION);
    }

    pub(crate) fn told(&self, key: &Key, event: &Event) {
        self.events.increment(&[&key.namespace, &key.name, severity(event), &event.reason]);
    }

    /// A Rollout is there, perhaps again.
    pub(crate) fn keep(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.looks.keep(&object);
        self.errors.keep(&object);
        self.events.keep(&object);
    }

    /// A Rollout is gone.
    pub(crate) fn forget(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.looks.forget_after(&object, AFTER_DELETION);
        self.errors.forget_after(&object, AFTER_DELETION);
        self.events.forget_after(&object, AFTER_DELETION);
    }
}

/// What is computed when somebody asks. Only whoever leads says it: sums over all replicas must not count twice.
pub(crate) struct Computed {
    pub cache: Cache,
    pub leadership: tidegate_runtime::lease::Leadership,
}

impl Source for Computed {
    fn collect(&self, page: &mut Page) {
        if !self.leadership.is_held() {
            return;
        }
        for rollout in self.cache.rollouts.within("") {
            rollouts::write(page, &rollout);
        }
        for run in self.cache.analysis_runs.within("") {
            analysis::write_run(page, &run);
        }
        for template in self.cache.templates.within("") {
            analysis::write_template(page, &template.metadata, &template.spec);
        }
        for template in self.cache.cluster_templates.within("") {
            analysis::write_template(page, &template.metadata, &template.spec);
        }
        for experiment in self.cache.experiments.within("") {
            analysis::write_experiment(page, &experiment);
        }
    }
}
