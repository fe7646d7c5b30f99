//! Puts what providers brought into the status.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tidegate_api::analysis::{AnalysisRunStatus, Measurement, Metric, MetricResult};
use tidegate_api::names::analysis_phase;
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::observed::{Report, Task};
use crate::redact::Redactor;
use crate::retention::MAX_TEXT;
use crate::schedule::ERROR_INTERVAL;

/// Entries of metadata a provider may bring.
const MAX_METADATA: usize = 32;
/// What is said of a measurement that was ended early.
const TERMINATED: &str = "Metric Terminated";

/// Takes in one report. Reports about metrics that are over, or that nobody knows, change nothing.
pub(crate) fn apply(
    status: &mut AnalysisRunStatus,
    metrics: &[Metric],
    is_dry: impl Fn(&str) -> bool,
    redactor: &Redactor,
    report: &Report,
    now: Timestamp,
) {
    if !metrics.iter().any(|metric| metric.name.text() == report.metric) {
        return;
    }
    let result = result_of(status, metrics, &report.metric, || MetricResult {
        name: Some(report.metric.clone()),
        phase: Some(analysis_phase::RUNNING.to_owned()),
        dry_run: is_dry(&report.metric).then_some(true),
        metadata: bounded(&report.metadata, redactor),
        ..MetricResult::default()
    });
    if analysis_phase::is_completed(result.phase.text()) {
        return;
    }
    let measurement = cleaned(report, redactor, now);
    let measurements = result.measurements.get_or_insert_default();
    let in_flight = measurements.last().is_some_and(|last| last.finished_at.is_none());
    match (report.task, in_flight) {
        // A start whose first report was lost is found again in the status; it is the same measurement.
        (_, true) => {
            measurements.pop();
        }
        (Task::Start, false) => {}
        // Nothing of it is left to look after.
        (Task::Resume | Task::Terminate, false) => return,
    }
    measurements.push(measurement.clone());
    count(result, measurement.phase.text());
}

/// The result of a metric, made in the order of the spec when there is none.
fn result_of<'a>(
    status: &'a mut AnalysisRunStatus,
    metrics: &[Metric],
    name: &str,
    make: impl FnOnce() -> MetricResult,
) -> &'a mut MetricResult {
    let results = status.metric_results.get_or_insert_default();
    let index = results.iter().position(|result| result.name.text() == name).unwrap_or_else(|| {
        let place = |name: &str| metrics.iter().position(|metric| metric.name.text() == name);
        let own = place(name);
        let index = results.iter().take_while(|result| place(result.name.text()) <= own).count();
        results.insert(index, make());
        index
    });
    &mut results[index]
}

/// A measurement without secrets, of bounded size, with an end if it is over.
fn cleaned(report: &Report, redactor: &Redactor, now: Timestamp) -> Measurement {
    let mut measurement = report.measurement.clone();
    let is_over = analysis_phase::is_completed(measurement.phase.text());
    if is_over {
        measurement.finished_at.get_or_insert_with(|| Time::from(now));
        measurement.resume_at = None;
    } else {
        measurement.finished_at = None;
        measurement.phase = Some(analysis_phase::RUNNING.to_owned());
        // Somebody must look after it, even if its provider does not say when.
        let soon = now.checked_add(ERROR_INTERVAL).unwrap_or(now);
        measurement.resume_at.get_or_insert_with(|| Time::from(soon));
    }
    measurement.started_at.get_or_insert_with(|| Time::from(now));
    let ended_early = report.task == Task::Terminate
        && matches!(measurement.phase.text(), analysis_phase::SUCCESSFUL | analysis_phase::INCONCLUSIVE);
    if ended_early {
        measurement.message = Some(TERMINATED.to_owned());
    }
    let text = |text: &Option<String>, shorten: fn(&str, usize) -> String| {
        let text = shorten(&redactor.clean(text.text()), MAX_TEXT);
        (!text.is_empty()).then_some(text)
    };
    measurement.message = text(&measurement.message, shortened_inside);
    measurement.value = text(&measurement.value, shortened);
    measurement.metadata = bounded(&measurement.metadata.clone().unwrap_or_default(), redactor);
    measurement
}

fn bounded(metadata: &BTreeMap<String, String>, redactor: &Redactor) -> Option<BTreeMap<String, String>> {
    let entries = metadata.iter().take(MAX_METADATA);
    let entries: BTreeMap<String, String> =
        entries.map(|(name, value)| (shortened(name, 256), shortened(&redactor.clean(value), MAX_TEXT))).collect();
    (!entries.is_empty()).then_some(entries)
}

/// At most so many bytes, and a sign that something is missing.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    const SIGN: &str = "...";
    let end = (0..=limit.saturating_sub(SIGN.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}{SIGN}", &text[..end])
}

/// At most so many bytes, of which the last quarter is the end: messages quote first and give the reason last.
pub(crate) fn shortened_inside(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let start = text.len() - limit / 4;
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    shortened(text, limit - limit / 4) + &text[start..]
}

/// Counts one measurement that is over.
fn count(result: &mut MetricResult, phase: &str) {
    let add = |counter: &mut Option<i32>| *counter = Some(counter.unwrap_or(0).saturating_add(1));
    match phase {
        analysis_phase::SUCCESSFUL => {
            add(&mut result.successful);
            add(&mut result.consecutive_success);
        }
        analysis_phase::FAILED => add(&mut result.failed),
        analysis_phase::INCONCLUSIVE => add(&mut result.inconclusive),
        analysis_phase::ERROR => {
            add(&mut result.error);
            add(&mut result.consecutive_error);
        }
        _ => return,
    }
    if phase != analysis_phase::ERROR {
        add(&mut result.count);
        result.consecutive_error = None;
    }
    if phase != analysis_phase::SUCCESSFUL {
        result.consecutive_success = None;
    }
}

/// The result of a metric, if there is one.
pub(crate) fn find<'a>(status: &'a AnalysisRunStatus, metric: &Metric) -> Option<&'a MetricResult> {
    status.metric_results.items().iter().find(|result| result.name == metric.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened_inside("short", 20), "short");
        let long = format!("could not read \"{}\": too long", "ä".repeat(5_000));
        let shown = shortened_inside(&long, 100);
        assert!(shown.len() <= 100 && shown.starts_with("could not read \"ä"), "{shown}");
        assert!(shown.contains("...") && shown.ends_with("ä\": too long"), "{shown}");
    }
}
