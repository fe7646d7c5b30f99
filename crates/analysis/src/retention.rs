//! Keeps the history of a run bounded.

use tidegate_api::analysis::{AnalysisRunSpec, AnalysisRunStatus, Measurement, Metric, MetricResult};
use tidegate_api::wire::{Items, Text};
use tidegate_validate::analysis::name_rule;

use crate::apply::shortened;

/// Bytes a message or value may have in a status.
pub const MAX_TEXT: usize = 4 * 1024;
/// Bytes all measurements of a run may have together; etcd takes objects of about 1.5 MB.
pub const MAX_HISTORY_BYTES: usize = 384 * 1024;
/// Measurements kept per metric when no rule says otherwise.
const DEFAULT_LIMIT: usize = 10;
/// What is left of texts when dropping measurements is not enough.
const SHORT_TEXT: usize = 128;

/// How many measurements of a metric to keep: the last rule that matches, or 10.
pub(crate) fn limit(spec: &AnalysisRunSpec, metric: &str) -> usize {
    let mut rules = spec.measurement_retention.items().iter().rev();
    let last = rules.find(|rule| name_rule(rule.metric_name.text()).is_some_and(|regex| regex.is_match(metric)));
    let limit = last.and_then(|rule| rule.limit).unwrap_or(0);
    usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT)
}

/// Drops the oldest measurements beyond the limits. Returns the metrics that lost some.
pub(crate) fn trim(status: &mut AnalysisRunStatus, spec: &AnalysisRunSpec, metrics: &[Metric]) -> Vec<(String, usize)> {
    let mut trimmed = Vec::new();
    for result in status.metric_results.iter_mut().flatten() {
        let name = result.name.text().to_owned();
        if !metrics.iter().any(|metric| metric.name.text() == name) {
            continue;
        }
        let limit = limit(spec, &name);
        let measurements = result.measurements.get_or_insert_default();
        if measurements.len() > limit {
            measurements.drain(..measurements.len() - limit);
            trimmed.push((name, limit));
        }
    }
    hold_to_size(status);
    trimmed
}

fn size(measurement: &Measurement) -> usize {
    let metadata = measurement.metadata.iter().flatten();
    let metadata: usize = metadata.map(|(name, value)| name.len() + value.len() + 6).sum();
    // Names of fields, times and quotes take about this much; a text may double when it is escaped.
    200 + 2 * (measurement.message.text().len() + measurement.value.text().len() + metadata)
}

fn weight(result: &MetricResult) -> usize {
    result.measurements.items().iter().map(size).sum()
}

/// Whatever rules say, all together stays small enough to be stored.
fn hold_to_size(status: &mut AnalysisRunStatus) {
    let Some(results) = status.metric_results.as_mut() else { return };
    let mut weights: Vec<usize> = results.iter().map(weight).collect();
    let mut total: usize = weights.iter().sum();
    while total > MAX_HISTORY_BYTES {
        let heaviest = (0..results.len())
            .filter(|index| results[*index].measurements.items().len() > 1)
            .max_by_key(|index| weights[*index]);
        let Some(index) = heaviest else { break };
        let measurements = results[index].measurements.get_or_insert_default();
        // A good part at once, so that long histories are not walked for every single one.
        let dropped: Vec<Measurement> = measurements.drain(..(measurements.len() / 8).max(1)).collect();
        let freed: usize = dropped.iter().map(size).sum();
        weights[index] -= freed;
        total -= freed;
    }
    if total <= MAX_HISTORY_BYTES {
        return;
    }
    for measurement in results.iter_mut().flat_map(|result| result.measurements.iter_mut().flatten()) {
        for text in [&mut measurement.message, &mut measurement.value].into_iter().flatten() {
            *text = shortened(text, SHORT_TEXT);
        }
        // What is under way needs its metadata to be found again.
        if measurement.finished_at.is_some() {
            measurement.metadata = None;
        }
    }
}
