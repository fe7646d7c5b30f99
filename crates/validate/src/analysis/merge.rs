//! From several templates and a caller's wishes to the spec of one run.

use std::collections::BTreeSet;

use tidegate_api::analysis::{AnalysisRunSpec, AnalysisTemplateSpec, Argument};
use tidegate_api::rollout::{DryRun, MeasurementRetention};
use tidegate_api::wire::{Items, Text};

/// Why templates cannot be run together; the texts are wire contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// Two metrics of one name.
    #[error("two metrics have the same name '{0}'")]
    Metric(String),
    /// Two dry-run rules of one name.
    #[error("two Dry-Run metric rules have the same name '{0}'")]
    DryRun(String),
    /// Two retention rules of one name.
    #[error("two Measurement Retention metric rules have the same name '{0}'")]
    Retention(String),
    /// Two values for one argument.
    #[error("Argument `{name}` specified multiple times with different values: '{first}', '{second}'")]
    Argument {
        /// The argument.
        name: String,
        /// The value met first.
        first: String,
        /// The other value.
        second: String,
    },
    /// No value for an argument.
    #[error("args.{0} was not resolved")]
    Unresolved(String),
}

/// What the caller gives beside the templates.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Values for arguments.
    pub args: Vec<Argument>,
    /// Metrics that decide nothing.
    pub dry_run: Vec<DryRun>,
    /// How many measurements to keep.
    pub measurement_retention: Vec<MeasurementRetention>,
}

/// Merges templates in the given order (namespaced ones first) with what the caller gives.
pub fn merge(templates: &[&AnalysisTemplateSpec], given: &Given) -> Result<AnalysisRunSpec, MergeError> {
    let metrics: Vec<_> = templates.iter().flat_map(|template| template.metrics.items()).cloned().collect();
    unique(metrics.iter().map(|metric| metric.name.text())).map_err(MergeError::Metric)?;
    let rules: Vec<_> = templates.iter().flat_map(|template| template.dry_run.items()).cloned().collect();
    unique(rules.iter().map(|rule| rule.metric_name.text())).map_err(MergeError::DryRun)?;
    let kept: Vec<_> = templates.iter().flat_map(|template| template.measurement_retention.items()).cloned().collect();
    unique(kept.iter().map(|rule| rule.metric_name.text())).map_err(MergeError::Retention)?;
    let args = give(flatten_args(templates)?, &given.args)?;
    let dry_run: Vec<_> = given.dry_run.iter().cloned().chain(rules).collect();
    unique(dry_run.iter().map(|rule| rule.metric_name.text())).map_err(MergeError::DryRun)?;
    let retention: Vec<_> = given.measurement_retention.iter().cloned().chain(kept).collect();
    unique(retention.iter().map(|rule| rule.metric_name.text())).map_err(MergeError::Retention)?;
    Ok(AnalysisRunSpec {
        metrics: Some(metrics),
        args: (!args.is_empty()).then_some(args),
        dry_run: (!dry_run.is_empty()).then_some(dry_run),
        measurement_retention: (!retention.is_empty()).then_some(retention),
        ..AnalysisRunSpec::default()
    })
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(name.to_owned());
        }
    }
    Ok(())
}

fn flatten_args(templates: &[&AnalysisTemplateSpec]) -> Result<Vec<Argument>, MergeError> {
    let mut all: Vec<Argument> = Vec::new();
    for arg in templates.iter().flat_map(|template| template.args.items()) {
        let Some(earlier) = all.iter_mut().find(|earlier| earlier.name.text() == arg.name.text()) else {
            all.push(arg.clone());
            continue;
        };
        match (&earlier.value, &arg.value) {
            (Some(first), Some(second)) if first != second => {
                let (name, first, second) = (arg.name.text().to_owned(), first.clone(), second.clone());
                return Err(MergeError::Argument { name, first, second });
            }
            (Some(_), _) => {}
            // A later entry replaces one without value, but an origin is never lost to a bare name.
            (None, None) if arg.value_from.is_none() => {}
            (None, _) => *earlier = arg.clone(),
        }
    }
    Ok(all)
}

/// Puts the caller's values over the defaults. Arguments that no template declares are ignored.
fn give(mut declared: Vec<Argument>, given: &[Argument]) -> Result<Vec<Argument>, MergeError> {
    for arg in &mut declared {
        if let Some(caller) = given.iter().find(|caller| caller.name.text() == arg.name.text()) {
            if caller.value.is_some() {
                arg.value.clone_from(&caller.value);
            } else if caller.value_from.is_some() {
                arg.value_from.clone_from(&caller.value_from);
            }
        }
        if arg.value.is_none() && arg.value_from.is_none() {
            return Err(MergeError::Unresolved(arg.name.text().to_owned()));
        }
    }
    Ok(declared)
}
