//! What all metrics together say about the run.

use tidegate_api::analysis::{AnalysisRunStatus, Metric, RunSummary};
use tidegate_api::names::analysis_phase;
use tidegate_api::wire::{Items, Text};

use crate::apply::find;
use crate::metric_verdict;

/// A phase for the run and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) phase: &'static str,
    pub(crate) message: String,
}

/// How bad a phase is; the worst metric decides.
fn badness(phase: &str) -> usize {
    let order = [
        analysis_phase::SUCCESSFUL,
        analysis_phase::RUNNING,
        analysis_phase::PENDING,
        analysis_phase::INCONCLUSIVE,
        analysis_phase::ERROR,
        analysis_phase::FAILED,
    ];
    order.iter().position(|known| *known == phase).unwrap_or(0)
}

fn known(phase: &str) -> &'static str {
    match phase {
        analysis_phase::FAILED => analysis_phase::FAILED,
        analysis_phase::ERROR => analysis_phase::ERROR,
        analysis_phase::INCONCLUSIVE => analysis_phase::INCONCLUSIVE,
        _ => analysis_phase::SUCCESSFUL,
    }
}

/// Whether a metric that counts has already decided against the run.
pub(crate) fn has_decided(status: &AnalysisRunStatus) -> bool {
    status.metric_results.items().iter().any(|result| {
        result.dry_run != Some(true)
            && matches!(
                result.phase.text(),
                analysis_phase::FAILED | analysis_phase::ERROR | analysis_phase::INCONCLUSIVE
            )
    })
}

/// The verdict. `is_asked_to_end` is the spec's wish, `is_terminating` that or a decision of an earlier step.
pub(crate) fn verdict(
    status: &AnalysisRunStatus,
    metrics: &[Metric],
    is_asked_to_end: bool,
    is_terminating: bool,
) -> Verdict {
    let mut worst: Option<&'static str> = None;
    let mut message = if is_asked_to_end { "Run Terminated".to_owned() } else { String::new() };
    let mut all_over = true;
    for metric in metrics {
        let Some(result) = find(status, metric).filter(|result| analysis_phase::is_completed(result.phase.text()))
        else {
            all_over = false;
            continue;
        };
        if result.dry_run == Some(true) {
            continue;
        }
        let phase = known(result.phase.text());
        if worst.is_some_and(|worst| badness(phase) <= badness(worst)) {
            continue;
        }
        worst = Some(phase);
        let reason = metric_verdict::reason(metric, result);
        if !reason.is_empty() {
            message = format!("Metric \"{}\" assessed {phase} due to {reason}", metric.name.text());
            if !result.message.text().is_empty() {
                message = format!("{message}: \"Error Message: {}\"", result.message.text());
            }
        }
    }
    if !is_terminating && !all_over {
        return Verdict { phase: analysis_phase::RUNNING, message: String::new() };
    }
    Verdict { phase: worst.unwrap_or(analysis_phase::SUCCESSFUL), message }
}

/// How many metrics there are and how they ended: those that count, and those that are only tried.
pub(crate) fn summaries(
    status: &AnalysisRunStatus,
    metrics: &[Metric],
    is_dry: impl Fn(&str) -> bool,
) -> (RunSummary, RunSummary) {
    let (mut run, mut dry) = (RunSummary::default(), RunSummary::default());
    for metric in metrics {
        let summary = if is_dry(metric.name.text()) { &mut dry } else { &mut run };
        let add = |counter: &mut Option<i32>| *counter = Some(counter.unwrap_or(0) + 1);
        add(&mut summary.count);
        match find(status, metric).map(|result| result.phase.text()) {
            Some(analysis_phase::SUCCESSFUL) => add(&mut summary.successful),
            Some(analysis_phase::FAILED) => add(&mut summary.failed),
            Some(analysis_phase::INCONCLUSIVE) => add(&mut summary.inconclusive),
            Some(analysis_phase::ERROR) => add(&mut summary.error),
            _ => {}
        }
    }
    (run, dry)
}
