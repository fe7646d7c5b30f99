//! Why a run ended badly, for people: which run, what was measured, and what it was held against.

use tidegate_api::analysis::{AnalysisRun, Metric, MetricResult};
use tidegate_api::names::analysis_phase;
use tidegate_api::wire::{Items, Text};
use tidegate_validate::analysis::substitute;

/// Longer values and conditions are cut: the run has them whole.
const LONGEST: usize = 160;

/// What to say behind the run's own message, such as ` (run shop-abc-2: value 80, successCondition result <= 5)`.
pub(super) fn details(run: &AnalysisRun) -> String {
    let mut parts = Vec::new();
    if let Some((metric, result)) = decisive(run) {
        let value = result.measurements.items().last().map_or("", |last| last.value.text());
        if !value.is_empty() {
            parts.push(format!("value {}", cut(value)));
        }
        let conditions =
            [("successCondition", &metric.success_condition), ("failureCondition", &metric.failure_condition)];
        for (name, condition) in conditions {
            if !value.is_empty() && !condition.text().is_empty() {
                parts.push(format!("{name} {}", cut(condition.text())));
            }
        }
    }
    let name = run.metadata.name.text();
    if parts.is_empty() { format!(" (run {name})") } else { format!(" (run {name}: {})", parts.join(", ")) }
}

/// The first metric with the phase of the run, and what came of it.
fn decisive(run: &AnalysisRun) -> Option<(Metric, &MetricResult)> {
    let status = run.status.as_ref()?;
    let phase = status.phase.text();
    let is_bad = matches!(phase, analysis_phase::FAILED | analysis_phase::ERROR);
    let mut results = status.metric_results.items().iter();
    let result = results.find(|result| is_bad && result.phase.text() == phase && result.dry_run != Some(true))?;
    let args = run.spec.args.items();
    let metric = run.spec.metrics.items().iter().find_map(|metric| {
        // Where a Secret is needed the text stays as it was written.
        let filled = substitute(metric, args).unwrap_or_else(|_| metric.clone());
        (filled.name == result.name || metric.name == result.name).then_some(filled)
    })?;
    Some((metric, result))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(metrics: Value, results: Value) -> String {
        let run: AnalysisRun = serde_json::from_value(json!({"metadata": {"name": "run"},
            "spec": {"metrics": metrics, "args": [{"name": "most", "value": "5"}]},
            "status": {"phase": "Failed", "metricResults": results}}))
        .unwrap();
        details(&run)
    }

    #[test]
    fn the_metric_that_decided_is_told_with_its_last_value_and_its_conditions() {
        let metrics = json!([
            {"name": "dry", "successCondition": "false"},
            {"name": "errors", "successCondition": "result <= {{args.most}}", "failureCondition": "result > 50"},
            {"name": "job"},
        ]);
        let results = json!([
            {"name": "dry", "phase": "Failed", "dryRun": true, "measurements": [{"value": "1"}]},
            {"name": "errors", "phase": "Failed", "measurements": [{"value": "7"}, {"value": "80"}]},
        ]);
        let wanted = " (run run: value 80, successCondition result <= 5, failureCondition result > 50)";
        assert_eq!(told(metrics.clone(), results), wanted);
        assert_eq!(
            told(metrics.clone(), json!([{"name": "job", "phase": "Failed", "measurements": [{}]}])),
            " (run run)"
        );
        assert_eq!(told(metrics, json!([])), " (run run)");
    }

    #[test]
    fn a_long_value_is_cut() {
        let results = json!([{"name": "m", "phase": "Failed", "measurements": [{"value": "ä".repeat(5000)}]}]);
        let told = told(json!([{"name": "m"}]), results);
        assert_eq!(told.chars().count(), " (run run: value )".len() + LONGEST + 3);
    }
}
