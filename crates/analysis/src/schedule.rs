//! When measurements are due.

use jiff::{SignedDuration, Timestamp};
use tidegate_api::analysis::{AnalysisRun, AnalysisRunStatus, Metric, MetricResult, TtlStrategy};
use tidegate_api::duration::GoDuration;
use tidegate_api::names::analysis_phase;
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::apply::find;
use crate::limits::Limits;
use crate::observed::Task;
use crate::provider::provider;

/// Time to the next try after an error, and between measurements of a metric without interval.
pub const ERROR_INTERVAL: SignedDuration = SignedDuration::from_secs(10);
/// The shortest time between measurements: times are stored in seconds, and nothing is measured without pause.
pub const LEAST_INTERVAL: SignedDuration = SignedDuration::from_secs(1);
/// How long a decided run waits for measurements that began together with the one that decided.
pub const SIBLING_GRACE: SignedDuration = SignedDuration::from_secs(2);

fn duration(text: &str) -> Option<SignedDuration> {
    let parsed = GoDuration::parse(text).ok()?;
    Some(SignedDuration::from_nanos(parsed.as_nanoseconds()).max(SignedDuration::ZERO))
}

fn instant(time: &Option<Time>) -> Option<Timestamp> {
    time.as_ref().and_then(Time::instant)
}

fn after(moment: Timestamp, wait: SignedDuration) -> Timestamp {
    moment.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// The time from the end of a measurement to the next one.
fn pause(metric: &Metric, last_phase: &str) -> SignedDuration {
    if last_phase == analysis_phase::ERROR {
        return ERROR_INTERVAL;
    }
    duration(metric.interval.text()).map_or(ERROR_INTERVAL, |interval| interval.max(LEAST_INTERVAL))
}

/// When a metric is to be looked at next, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) at: Timestamp,
    pub(crate) task: Task,
}

/// The next thing to do for a metric; `None` when it is over or something else must happen first.
pub(crate) fn next(metric: &Metric, status: &AnalysisRunStatus, is_terminating: bool, now: Timestamp) -> Option<Next> {
    let result = find(status, metric);
    if result.is_some_and(|result| analysis_phase::is_completed(result.phase.text())) {
        return None;
    }
    let last = result.and_then(|result| result.measurements.items().last());
    if let Some(in_flight) = last.filter(|last| last.finished_at.is_none()) {
        if is_terminating {
            let can_end = provider(metric).is_some_and(|provider| provider.can_terminate());
            return can_end.then_some(Next { at: now, task: Task::Terminate });
        }
        return Some(Next { at: instant(&in_flight.resume_at).unwrap_or(now), task: Task::Resume });
    }
    if is_terminating {
        return None;
    }
    let at = match last {
        None if metric.initial_delay.text().is_empty() => now,
        None => {
            let delay = duration(metric.initial_delay.text()).unwrap_or_default();
            after(instant(&status.started_at).unwrap_or(now), delay)
        }
        Some(_) if is_count_reached(metric, result) => return None,
        Some(last) => after(instant(&last.finished_at).unwrap_or(now), pause(metric, last.phase.text())),
    };
    Some(Next { at, task: Task::Start })
}

fn is_count_reached(metric: &Metric, result: Option<&MetricResult>) -> bool {
    Limits::of(metric).is_reached(result.and_then(|result| result.count).unwrap_or(0))
}

/// When a finished run is to be deleted; `None` means never. Due as soon as the time is reached.
pub(crate) fn expiry(run: &AnalysisRun, status: &AnalysisRunStatus) -> Option<Timestamp> {
    let strategy = run.spec.ttl_strategy.as_ref()?;
    let completed = instant(&status.completed_at)?;
    let seconds = ttl(strategy, status.phase.text())?;
    // A whole second more than asked for: 86400 seconds are kept at 86400 and gone at 86401.
    Some(after(completed, SignedDuration::from_secs(i64::from(seconds.max(0)) + 1)))
}

fn ttl(strategy: &TtlStrategy, phase: &str) -> Option<i32> {
    let own = match phase {
        analysis_phase::SUCCESSFUL => strategy.seconds_after_success,
        analysis_phase::FAILED => strategy.seconds_after_failure,
        _ => None,
    };
    own.or(strategy.seconds_after_completion)
}
