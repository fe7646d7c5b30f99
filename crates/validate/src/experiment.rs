//! An Experiment by itself.

use std::collections::BTreeSet;

use tidegate_api::duration::GoDuration;
use tidegate_api::experiment::Experiment;
use tidegate_api::wire::{Items, Text};

/// All broken rules in the contract's order; the controller shows the first.
pub fn check(experiment: &Experiment) -> Vec<String> {
    let mut problems = Vec::new();
    let name = experiment.metadata.name.as_deref().unwrap_or_default();
    let deadline = experiment.spec.progress_deadline_seconds_or_default();
    let mut names = BTreeSet::new();
    for (index, template) in experiment.spec.templates.items().iter().enumerate() {
        match &template.selector {
            None => problems.push(format!("Rollout has missing field '.Spec.Templates[{index}].Selector'")),
            Some(selector)
                if selector.match_labels.iter().flatten().next().is_none()
                    && selector.match_expressions.items().is_empty() =>
            {
                problems.push(format!(
                    "This experiment is selecting all pods at index {index}. A non-empty selector is required."
                ));
            }
            Some(_) => {}
        }
        if template.min_ready_seconds.unwrap_or_default() > deadline {
            problems.push(format!(
                "MinReadySeconds cannot be longer than ProgressDeadlineSeconds. Check template index {index}"
            ));
        }
        let template_name = template.name.text();
        if template_name.is_empty() {
            problems.push(format!("Experiment {name} has empty template name at index {index}"));
        } else if !names.insert(template_name) {
            problems.push(format!("Experiment {name} has repeated template name '{template_name}' in templates"));
        }
    }
    let duration = experiment.spec.duration.text();
    if !duration.is_empty()
        && let Err(error) = GoDuration::parse(duration)
    {
        problems.push(format!("Experiment {name} has invalid duration: {error}"));
    }
    let mut analyses = BTreeSet::new();
    for analysis in experiment.spec.analyses.items() {
        if !analyses.insert(analysis.name.text()) {
            problems
                .push(format!("Experiment {name} has repeated analysis name '{}' in analyses", analysis.name.text()));
        }
    }
    problems
}
