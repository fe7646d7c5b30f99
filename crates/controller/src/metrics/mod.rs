//! Figures under the names that dashboards and alerts of the project we stand in for use.
//!
//! ```text
//!   mod.rs        what is counted as it happens
//!   rollouts.rs   what is computed from the caches: Rollouts
//!   analysis.rs   and AnalysisRuns, templates and Experiments
//!   notifications.rs   what was sent
//! ```

mod analysis;
mod notifications;
mod rollouts;

pub(crate) use notifications::Notified;

use std::sync::Arc;
use std::time::Duration;

use tidegate_engine::{Event, Severity};
use tidegate_runtime::metrics::{Counters, Histograms, Page, Registry, Source};
use tidegate_runtime::{Census, Key};

use crate::cache::Cache;
use crate::lifecycle::Finished;

/// Long enough for one more scrape.
const AFTER_DELETION: Duration = Duration::from_secs(65);
/// Seconds of one look.
const LOOK_BOUNDS: &[f64] = &[0.01, 0.15, 0.25, 0.5, 1.0];

/// What is counted.
#[derive(Clone)]
pub(crate) struct Metrics {
    events: Counters,
    totals: Histograms,
    progressions: Histograms,
    pauses: Histograms,
    /// Looks at Rollouts.
    pub rollouts: Looks,
    /// Looks at AnalysisRuns.
    pub runs: Looks,
    /// Looks at Experiments.
    pub experiments: Looks,
    pub(crate) notified: Notified,
}

/// How long looks at the objects of one kind take, and which of them fail; and, for as long as they are there, what was sent
/// about them.
#[derive(Clone)]
pub(crate) struct Looks {
    took: Histograms,
    errors: Counters,
    notified: Notified,
}

impl Looks {
    /// Name and text of both.
    fn new(took: [&'static str; 2], errors: [&'static str; 2], notified: &Notified) -> Self {
        let object = &["namespace", "name"];
        Self {
            took: Histograms::new(took[0], took[1], object, LOOK_BOUNDS),
            errors: Counters::new(errors[0], errors[1], object),
            notified: notified.clone(),
        }
    }

    fn register(&self, registry: &Registry) {
        registry.add(self.took.clone());
        registry.add(self.errors.clone());
    }

    pub(crate) fn looked(&self, key: &Key, took: Duration) {
        self.took.observe(&[&key.namespace, &key.name], took.as_secs_f64());
    }

    pub(crate) fn failed(&self, key: &Key) {
        self.errors.increment(&[&key.namespace, &key.name]);
    }

    /// For the store of these objects.
    pub(crate) fn census(&self) -> Census {
        let looks = self.clone();
        Arc::new(move |key, is_there| if is_there { looks.keep(key) } else { looks.forget(key) })
    }

    /// An object is there, perhaps again.
    fn keep(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.took.keep(&object);
        self.errors.keep(&object);
        self.notified.keep(key);
    }

    /// An object is gone.
    fn forget(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.took.forget_after(&object, AFTER_DELETION);
        self.errors.forget_after(&object, AFTER_DELETION);
        self.notified.forget(key);
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let notified = Notified::default();
        Self {
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
            rollouts: Looks::new(
                ["rollout_reconcile", "Rollout reconciliation performance."],
                ["rollout_reconcile_error", "Error occurring during the rollout"],
                &notified,
            ),
            runs: Looks::new(
                ["analysis_run_reconcile", "Analysis Run reconciliation performance."],
                ["analysis_run_reconcile_error", "Error occurring during the analysis run"],
                &notified,
            ),
            experiments: Looks::new(
                ["experiment_reconcile", "Experiments reconciliation performance."],
                ["experiment_reconcile_error", "Error occurring during the experiment"],
                &notified,
            ),
            notified,
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
        self.rollouts.register(registry);
        registry.add(self.events.clone());
        registry.add(self.totals.clone());
        registry.add(self.progressions.clone());
        registry.add(self.pauses.clone());
        self.runs.register(registry);
        self.experiments.register(registry);
        self.notified.register(registry);
    }

    /// An update is over.
    pub(crate) fn finished(&self, finished: &Finished) {
        let status = [finished.status.as_str()];
        self.totals.observe(&status, finished.total as f64);
        self.progressions.observe(&status, finished.progression() as f64);
        self.pauses.observe(&status, finished.pause as f64);
    }

    pub(crate) fn told(&self, key: &Key, event: &Event) {
        self.events.increment(&[&key.namespace, &key.name, severity(event), &event.reason]);
    }

    /// For the store of Rollouts: of them events are counted too.
    pub(crate) fn census_of_rollouts(&self) -> Census {
        let (looks, events) = (self.rollouts.census(), self.events.clone());
        Arc::new(move |key, is_there| {
            looks(key, is_there);
            let object = [key.namespace.as_str(), key.name.as_str()];
            match is_there {
                true => events.keep(&object),
                false => events.forget_after(&object, AFTER_DELETION),
            }
        })
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

#[cfg(test)]
mod tests {
    use tidegate_delivery::{About, Observer as _};

    use super::*;

    /// Runs and Experiments come and go by the thousand: what was sent about them must not stay for ever.
    #[tokio::test(start_paused = true)]
    async fn what_was_sent_about_an_object_of_any_kind_goes_with_it() {
        let (metrics, registry) = (Metrics::default(), Registry::default());
        metrics.register(&registry);
        for (looks, name) in [(&metrics.rollouts, "a"), (&metrics.runs, "b"), (&metrics.experiments, "c")] {
            let about = About {
                namespace: "default".to_owned(),
                name: name.to_owned(),
                severity: "Normal",
                reason: "Any".to_owned(),
            };
            metrics.notified.sent(&about, true);
            metrics.notified.took(&about, Duration::from_secs(1));
            assert!(registry.text().contains(&format!("{{name=\"{name}\"")), "{}", registry.text());
            looks.forget(&Key::new("default", name));
        }
        tokio::time::sleep(AFTER_DELETION + Duration::from_secs(1)).await;
        assert!(!registry.text().contains("{name="), "{}", registry.text());
    }
}
