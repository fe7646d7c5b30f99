//! What analyses mean for a forecast: how long they take at least, and which of them guard nothing.

use std::slice;

use tidegate_analysis::warnings;
use tidegate_api::analysis::{AnalysisTemplateSpec, Metric};
use tidegate_api::duration::GoDuration;
use tidegate_api::rollout::{AnalysisTemplateRef, Rollout};
use tidegate_api::values::IntOrString;
use tidegate_api::wire::{Items, Text};
use tidegate_validate::analysis::effective_count;
use tidegate_validate::references::{Found, Lookup, analysis_templates, template_references};

/// Seconds until the measurements of these templates are taken, as far as the templates are at hand.
pub(crate) fn seconds(references: &[AnalysisTemplateRef], found: &Found) -> i64 {
    let templates = analysis_templates(references, found).unwrap_or_default();
    let metrics = templates.into_iter().flat_map(|template| template.metrics.items());
    metrics.map(metric_seconds).max().unwrap_or_default()
}

fn metric_seconds(metric: &Metric) -> i64 {
    let lasts = |text: &Option<String>| GoDuration::parse(text.text()).map_or(0, GoDuration::as_seconds);
    let further = i64::from(effective_count(metric).unwrap_or(1)).saturating_sub(1).max(0);
    lasts(&metric.initial_delay).saturating_add(further.saturating_mul(lasts(&metric.interval)))
}

/// Metrics that pass whatever is measured, of the templates that a Rollout names, nested ones too.
pub fn harmless_metrics(rollout: &Rollout, found: &Found) -> Vec<String> {
    let mut told = Vec::new();
    for (references, looked) in [(false, &found.templates), (true, &found.cluster_templates)] {
        for (name, template) in looked {
            if let Lookup::Found(spec) = template
                && is_reached(rollout, found, references, name)
            {
                told.extend(harmless(name, spec));
            }
        }
    }
    told
}

/// Whether references of the Rollout lead to a template.
fn is_reached(rollout: &Rollout, found: &Found, is_cluster: bool, name: &str) -> bool {
    let looked = if is_cluster { &found.cluster_templates } else { &found.templates };
    let Some(Lookup::Found(wanted)) = looked.get(name) else { return false };
    template_references(rollout).into_iter().any(|references| {
        let reached = analysis_templates(references, found).unwrap_or_default();
        reached.into_iter().any(|spec| std::ptr::eq(spec, wanted))
    })
}

fn harmless(template: &str, spec: &AnalysisTemplateSpec) -> Vec<String> {
    let told = |metric: &Metric| {
        let known = warnings(slice::from_ref(metric)).into_iter().next();
        known.or_else(|| {
            let accepts_all = metric.failure_limit.as_ref().is_some_and(|limit: &IntOrString| limit.int_value() < 0);
            let text = format!("Metric '{}' can never fail: its failureLimit accepts any number", metric.name.text());
            accepts_all.then_some(text)
        })
    };
    let all = spec.metrics.items().iter().filter_map(told);
    all.map(|sentence| format!("template {template}: {sentence}")).collect()
}
