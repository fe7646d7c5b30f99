//! (I12) Experiments come to an end, and nothing is left of them but what they have found out.

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::journal::{Change, Mirror};

use super::SUBJECT;
use super::cast::TEMPLATES;
use super::objects::{ROLLOUTS, SERVICES, SETS, name, owner, size, text};
use super::routes::VIRTUAL_SERVICES;

pub(super) const EXPERIMENTS: &str = "experiments.argoproj.io";

/// Whether a name is that of a Service or subset of an Experiment.
pub(super) fn is_tried(name: &str) -> bool {
    TEMPLATES.iter().any(|template| name.ends_with(&format!("-{template}")))
}

/// Whether a destination of a route is an Experiment's.
pub(super) fn is_of_experiment(destination: &Value) -> bool {
    is_tried(text(&destination["host"])) || is_tried(text(&destination["subset"]))
}

fn is_over(phase: &Value) -> bool {
    matches!(text(phase), "Successful" | "Failed" | "Error" | "Inconclusive")
}

/// Looks at phases, and at what is left at the end.
pub(super) struct Tries;

impl Invariant for Tries {
    fn name(&self) -> &'static str {
        "I12: every experiment ends, stays ended, and leaves no pods, Services or weights"
    }

    fn on_change(&mut self, change: &Change, _: &Mirror) -> Result<(), String> {
        let Some(old) = change.old.as_ref().filter(|_| change.client == SUBJECT && !change.removed) else {
            return Ok(());
        };
        if change.key.0 != EXPERIMENTS {
            return Ok(());
        }
        let phase = |object: &Value| object["status"]["phase"].clone();
        if is_over(&phase(old)) && phase(old) != phase(&change.new) {
            return Err(format!("{} was {} and is {}", change.key.2, phase(old), phase(&change.new)));
        }
        Ok(())
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        if let Some(found) = mirror.of(EXPERIMENTS).find(|found| !is_over(&found["status"]["phase"])) {
            return Err(format!("{} never ends: {}", name(found), found["status"]));
        }
        let is_theirs = |object: &&std::sync::Arc<Value>| matches!(owner(object), Some(("Experiment", _)));
        if let Some(set) = mirror.of(SETS).filter(is_theirs).find(|set| size(set) > 0) {
            return Err(format!("{} keeps {} pods", name(set), size(set)));
        }
        if let Some(service) = mirror.of(SERVICES).find(is_theirs) {
            return Err(format!("Service {} is left", name(service)));
        }
        // Routes of a Rollout that is gone stay as they were.
        let is_led = |object: &&std::sync::Arc<Value>| {
            mirror.of(ROLLOUTS).any(|rollout| name(object).starts_with(&format!("{}-", name(rollout))))
        };
        for object in mirror.of(VIRTUAL_SERVICES).filter(is_led) {
            let text = object["spec"].to_string();
            if TEMPLATES.iter().any(|template| text.contains(&format!("-{template}\""))) {
                return Err(format!("{} still names an experiment: {text}", name(object)));
            }
        }
        Ok(())
    }
}
