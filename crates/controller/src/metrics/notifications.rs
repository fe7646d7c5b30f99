//! Figures of notifications.

use std::time::Duration;

use tidegate_delivery::{About, Observer};
use tidegate_runtime::Key;
use tidegate_runtime::metrics::{Counters, Histograms, Registry};

use super::{AFTER_DELETION, LOOK_BOUNDS};

/// What is counted about notifications.
#[derive(Clone)]
pub(crate) struct Notified {
    successes: Counters,
    errors: Counters,
    times: Histograms,
    deliveries: Counters,
    evaluations: Counters,
    dropped: Counters,
}

impl Default for Notified {
    fn default() -> Self {
        let event = &["namespace", "name", "type", "reason"];
        Self {
            successes: Counters::new("notification_send_success", "Notification send success.", event),
            errors: Counters::new("notification_send_error", "Error sending the notification", event),
            times: Histograms::new(
                "notification_send",
                "Notification send performance.",
                &["namespace", "name"],
                LOOK_BOUNDS,
            ),
            deliveries: Counters::new(
                "notifications_deliveries_total",
                "Notifications that were delivered, or finally not.",
                &["trigger", "service", "succeeded"],
            ),
            evaluations: Counters::new(
                "notifications_trigger_eval_total",
                "How often triggers were evaluated for the state of a Rollout.",
                &["name", "triggered"],
            ),
            dropped: Counters::new(
                "notifications_dropped_total",
                "Notifications that found the queue full.",
                &["queue"],
            ),
        }
    }
}

impl Notified {
    pub(super) fn register(&self, registry: &Registry) {
        registry.add(self.successes.clone());
        registry.add(self.errors.clone());
        registry.add(self.times.clone());
        registry.add(self.deliveries.clone());
        registry.add(self.evaluations.clone());
        registry.add(self.dropped.clone());
    }

    /// An object is there, perhaps again.
    pub(super) fn keep(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.successes.keep(&object);
        self.errors.keep(&object);
        self.times.keep(&object);
    }

    /// An object is gone.
    pub(super) fn forget(&self, key: &Key) {
        let object = [key.namespace.as_str(), key.name.as_str()];
        self.successes.forget_after(&object, AFTER_DELETION);
        self.errors.forget_after(&object, AFTER_DELETION);
        self.times.forget_after(&object, AFTER_DELETION);
    }
}

fn word(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

impl Observer for Notified {
    fn sent(&self, about: &About, succeeded: bool) {
        let counter = if succeeded { &self.successes } else { &self.errors };
        counter.increment(&[&about.namespace, &about.name, about.severity, &about.reason]);
    }

    fn took(&self, about: &About, time: Duration) {
        self.times.observe(&[&about.namespace, &about.name], time.as_secs_f64());
    }

    fn delivered(&self, trigger: &str, service: &str, succeeded: bool) {
        self.deliveries.increment(&[trigger, service, word(succeeded)]);
    }

    fn evaluated(&self, trigger: &str, triggered: bool) {
        self.evaluations.increment(&[trigger, word(triggered)]);
    }

    fn dropped(&self) {
        self.dropped.increment(&["notifications"]);
    }
}
