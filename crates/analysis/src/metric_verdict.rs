//! What the measurements of one metric say.

use tidegate_api::analysis::{Metric, MetricResult};
use tidegate_api::names::analysis_phase;
use tidegate_api::wire::{Items, Text};

use crate::limits::Limits;

/// The phase of a metric by its counters and its last measurement.
pub(crate) fn phase(metric: &Metric, result: &MetricResult, is_terminating: bool) -> &'static str {
    let limits = Limits::of(metric);
    let Some(last) = result.measurements.items().last() else {
        return if is_terminating { analysis_phase::SUCCESSFUL } else { analysis_phase::PENDING };
    };
    if !analysis_phase::is_completed(last.phase.text()) {
        return analysis_phase::RUNNING;
    }
    if let Some((phase, _)) = exceeded(&limits, result) {
        return phase;
    }
    if limits.consecutive_success > 0 && result.consecutive_success.unwrap_or(0) >= limits.consecutive_success {
        return analysis_phase::SUCCESSFUL;
    }
    if limits.is_reached(result.count.unwrap_or(0)) {
        return match (limits.failure >= 0, limits.consecutive_success > 0) {
            (true, true) => analysis_phase::INCONCLUSIVE,
            (false, true) => analysis_phase::FAILED,
            (_, false) => analysis_phase::SUCCESSFUL,
        };
    }
    if is_terminating { analysis_phase::SUCCESSFUL } else { analysis_phase::RUNNING }
}

/// The limit that is exceeded, with the phase it means; of several, errors win over inconclusive over failed.
fn exceeded(limits: &Limits, result: &MetricResult) -> Option<(&'static str, String)> {
    let [failed, inconclusive, errors] =
        [result.failed, result.inconclusive, result.consecutive_error].map(|number| number.unwrap_or(0));
    if errors > limits.consecutive_error {
        let text = format!("consecutiveErrors ({errors}) > consecutiveErrorLimit ({})", limits.consecutive_error);
        return Some((analysis_phase::ERROR, text));
    }
    if inconclusive > limits.inconclusive {
        let text = format!("inconclusive ({inconclusive}) > inconclusiveLimit ({})", limits.inconclusive);
        return Some((analysis_phase::INCONCLUSIVE, text));
    }
    if limits.failure >= 0 && failed > limits.failure {
        return Some((analysis_phase::FAILED, format!("failed ({failed}) > failureLimit ({})", limits.failure)));
    }
    None
}

/// Why a metric that is over is not a success; empty when no limit says so.
pub(crate) fn reason(metric: &Metric, result: &MetricResult) -> String {
    let limits = Limits::of(metric);
    if let Some((_, text)) = exceeded(&limits, result) {
        return text;
    }
    let is_bad = matches!(result.phase.text(), analysis_phase::FAILED | analysis_phase::INCONCLUSIVE);
    let successes = result.consecutive_success.unwrap_or(0);
    if is_bad && limits.consecutive_success > successes {
        return format!("consecutiveSuccess ({successes}) < consecutiveSuccessLimit ({})", limits.consecutive_success);
    }
    String::new()
}
