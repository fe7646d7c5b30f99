//! Analysis templates a Rollout names.

use std::collections::BTreeSet;

use tidegate_api::analysis::{AnalysisTemplateSpec, Argument};
use tidegate_api::rollout::{
    AnalysisRunArgument, AnalysisTemplateRef, DryRun, MeasurementRetention, Rollout, RolloutAnalysis,
};
use tidegate_api::wire::{Items, Text};

use super::{Found, Lookup};
use crate::analysis::{Given, effective_count, merge, substitute};
use crate::error::FieldError;

/// Stands for values that are known only when the run is made.
const PLACEHOLDER: &str = "dummy-value";

/// How deep templates may name each other.
const MAX_DEPTH: usize = 100;

/// One analysis of a Rollout.
struct Analysis<'a> {
    path: String,
    templates: &'a [AnalysisTemplateRef],
    args: &'a [AnalysisRunArgument],
    dry_run: &'a [DryRun],
    retention: &'a [MeasurementRetention],
    is_background: bool,
}

fn once(path: String, analysis: &RolloutAnalysis) -> Analysis<'_> {
    Analysis {
        path,
        templates: analysis.templates.items(),
        args: analysis.args.items(),
        dry_run: analysis.dry_run.items(),
        retention: analysis.measurement_retention.items(),
        is_background: false,
    }
}

/// The analyses of a Rollout in the order their templates are looked for.
fn analyses(rollout: &Rollout) -> Vec<Analysis<'_>> {
    let mut all = Vec::new();
    if let Some(blue_green) = rollout.spec.blue_green() {
        let base = "spec.strategy.blueGreen";
        let before = blue_green.pre_promotion_analysis.iter();
        all.extend(before.map(|analysis| once(format!("{base}.prePromotionAnalysis.templates"), analysis)));
        let after = blue_green.post_promotion_analysis.iter();
        all.extend(after.map(|analysis| once(format!("{base}.postPromotionAnalysis.templates"), analysis)));
    }
    if let Some(canary) = rollout.spec.canary() {
        for (index, step) in canary.steps.items().iter().enumerate() {
            let path = format!("spec.strategy.canary.steps[{index}].analysis.templates");
            all.extend(step.analysis.iter().map(|analysis| once(path.clone(), analysis)));
        }
        all.extend(canary.analysis.iter().map(|analysis| Analysis {
            path: "spec.strategy.canary.analysis.templates".to_owned(),
            templates: analysis.templates.items(),
            args: analysis.args.items(),
            dry_run: analysis.dry_run.items(),
            retention: analysis.measurement_retention.items(),
            is_background: true,
        }));
    }
    all
}

/// Every list of templates that a Rollout names.
pub fn template_references(rollout: &Rollout) -> Vec<&[AnalysisTemplateRef]> {
    analyses(rollout).into_iter().map(|analysis| analysis.templates).collect()
}

/// A template that was found, with its name.
type Named<'a> = (&'a str, &'a AnalysisTemplateSpec);

/// Templates reached from references: namespaced ones, cluster ones, and what went wrong.
#[derive(Default)]
struct Collected<'a> {
    namespaced: Vec<Named<'a>>,
    cluster: Vec<Named<'a>>,
    /// Those that were followed: one that is reached on many ways is followed once.
    followed: BTreeSet<(bool, &'a str)>,
    errors: Vec<FieldError>,
}

impl<'a> Collected<'a> {
    /// Follows references; `above` are the templates being followed, by scope and name.
    fn follow(
        &mut self,
        path: &str,
        references: &'a [AnalysisTemplateRef],
        found: &'a Found,
        above: &mut Vec<(bool, &'a str)>,
    ) {
        for reference in references {
            let name = reference.template_name.text();
            let is_cluster = reference.cluster_scope == Some(true);
            let (kind, looked) = if is_cluster {
                ("ClusterAnalysisTemplate", &found.cluster_templates)
            } else {
                ("AnalysisTemplate", &found.templates)
            };
            if above.contains(&(is_cluster, name)) {
                let way: Vec<&str> = above.iter().map(|(_, name)| *name).chain([name]).collect();
                let detail = format!("{kind} '{name}' includes itself: {}", way.join(" -> "));
                self.errors.push(FieldError::invalid("spec.templates", name, detail));
                continue;
            }
            match looked.get(name) {
                None => {}
                Some(Lookup::Missing(_)) => {
                    self.errors.push(FieldError::invalid(path, name, format!("{kind} '{name}' not found")));
                }
                Some(Lookup::Found(spec)) => {
                    if !self.followed.insert((is_cluster, name)) {
                        continue;
                    }
                    if above.len() >= MAX_DEPTH {
                        let detail = format!("{kind} '{name}' is named by more than {MAX_DEPTH} templates in a row");
                        self.errors.push(FieldError::invalid("spec.templates", name, detail));
                        continue;
                    }
                    let list = if is_cluster { &mut self.cluster } else { &mut self.namespaced };
                    list.push((name, spec));
                    above.push((is_cluster, name));
                    self.follow("spec.templates", spec.templates.items(), found, above);
                    above.pop();
                }
            }
        }
    }

    fn of(analysis: &Analysis<'a>, found: &'a Found) -> Self {
        let mut collected = Self::default();
        collected.follow(&analysis.path, analysis.templates, found, &mut Vec::new());
        collected
    }

    fn all(&self) -> impl Iterator<Item = &Named<'a>> {
        self.namespaced.iter().chain(&self.cluster)
    }
}

/// The templates that references lead to, nested ones too, namespaced ones first: what a run is merged from.
///
/// # Errors
/// A template that is missing or includes itself.
pub fn templates<'a>(
    references: &'a [AnalysisTemplateRef],
    found: &'a Found,
) -> Result<Vec<&'a AnalysisTemplateSpec>, FieldError> {
    let mut collected = Collected::default();
    collected.follow("spec.templates", references, found, &mut Vec::new());
    match collected.errors.first() {
        Some(error) => Err(error.clone()),
        None => Ok(collected.all().map(|(_, spec)| *spec).collect()),
    }
}

/// Templates that are missing, or that include themselves.
pub fn missing_templates(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    analyses(rollout).iter().flat_map(|analysis| Collected::of(analysis, found).errors).collect()
}

pub(super) fn unfitting(rollout: &Rollout, found: &Found) -> Vec<FieldError> {
    analyses(rollout).iter().flat_map(|analysis| check(analysis, found)).collect()
}

fn check(analysis: &Analysis<'_>, found: &Found) -> Vec<FieldError> {
    let collected = Collected::of(analysis, found);
    // A template nobody looked for: nothing can be said about the whole.
    let looked_for = |reference: &AnalysisTemplateRef| {
        let looked = if reference.cluster_scope == Some(true) { &found.cluster_templates } else { &found.templates };
        looked.contains_key(reference.template_name.text())
    };
    if !analysis.templates.iter().all(looked_for) {
        return Vec::new();
    }
    let given = Given {
        args: analysis.args.iter().map(given_argument).collect(),
        dry_run: analysis.dry_run.to_vec(),
        measurement_retention: analysis.retention.to_vec(),
    };
    let specs: Vec<&AnalysisTemplateSpec> = collected.all().map(|(_, spec)| *spec).collect();
    let mut errors = Vec::new();
    if let Err(error) = merge(&specs, &given) {
        let names: Vec<&str> = collected.all().map(|(name, _)| *name).collect();
        let value = format!("templateNames: [{}]", names.join(" "));
        errors.push(FieldError::invalid(&analysis.path, value, error.to_string()));
    }
    for (name, spec) in collected.all() {
        errors.extend(check_template(analysis, &given, name, spec));
    }
    errors
}

/// What a caller's argument amounts to before the run is made: its value, or something that will be known then.
fn given_argument(arg: &AnalysisRunArgument) -> Argument {
    let value = match arg.value_from {
        Some(_) => PLACEHOLDER.to_owned(),
        None => arg.value.text().to_owned(),
    };
    Argument { name: arg.name.clone(), value: Some(value), ..Argument::default() }
}

/// One template of an analysis that must come to an end.
fn check_template(
    analysis: &Analysis<'_>,
    given: &Given,
    name: &str,
    spec: &AnalysisTemplateSpec,
) -> Option<FieldError> {
    if analysis.is_background {
        return None;
    }
    let refuse = |detail: String| Some(FieldError::invalid(&analysis.path, name, detail));
    if let Some(arg) = spec.args.items().iter().find(|arg| arg.value.is_some() && arg.value_from.is_some()) {
        return refuse(format!(
            "AnalysisTemplate {name}: arg '{}' has both Value and ValueFrom fields",
            arg.name.text()
        ));
    }
    let args: Vec<Argument> = spec.args.items().iter().map(|arg| argument_in_force(arg, given)).collect();
    for metric in spec.metrics.items() {
        match substitute(metric, &args) {
            Err(error) => return refuse(format!("AnalysisTemplate {name}: {error}")),
            Ok(resolved) if effective_count(&resolved).is_none() => {
                let count = resolved.count.as_ref().map_or_else(|| "<nil>".to_owned(), ToString::to_string);
                return refuse(format!(
                    "AnalysisTemplate {name} has metric {} which runs indefinitely. Invalid value for count: {count}",
                    resolved.name.text()
                ));
            }
            Ok(_) => {}
        }
    }
    None
}

fn argument_in_force(arg: &Argument, given: &Given) -> Argument {
    let caller = given.args.iter().find(|caller| caller.name.text() == arg.name.text());
    let value = caller.and_then(|caller| caller.value.clone()).or_else(|| arg.value.clone());
    Argument { name: arg.name.clone(), value: value.or_else(|| Some(PLACEHOLDER.to_owned())), ..Argument::default() }
}
