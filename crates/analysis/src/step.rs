//! One step in the life of a run.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tidegate_api::analysis::{AnalysisRunStatus, Measurement, Metric};
use tidegate_api::names::analysis_phase;
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};
use tidegate_validate::analysis::{check_run, name_rule, substitute};

use crate::apply::{self, find};
use crate::judge::{NoData, no_data_policy};
use crate::observed::{Observed, Report, Task};
use crate::redact::Redactor;
use crate::resolve::{self, Availability, Resolved};
use crate::schedule::{self, ERROR_INTERVAL, SIBLING_GRACE};
use crate::{metric_verdict, retention, run_verdict, warnings};

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The new status; `None` when it is as stored.
    pub status: Option<AnalysisRunStatus>,
    /// Whether the status says no more than that the run has begun, so that it may be written with the first reports.
    pub can_wait: bool,
    /// Secrets and keys to read before measurements can be taken; ask again with them.
    pub secrets: BTreeSet<(String, String)>,
    /// What providers should do, in the order of the spec.
    pub work: Vec<Work>,
    /// Metrics whose history was cut, for providers that keep things of their own (Jobs).
    pub collect: Vec<Collect>,
    /// When to look again, if nothing else happens. May be in the past: then at once.
    pub wake_at: Option<Timestamp>,
    /// What to tell people.
    pub events: Vec<Event>,
    /// Whether the run is to be deleted because its time is over.
    pub delete: bool,
}

/// A call to a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The metric with all arguments in place.
    pub metric: Resolved,
    /// What to do.
    pub task: Task,
    /// The measurement to resume or end.
    pub measurement: Option<Measurement>,
    /// Which measurement of the metric this is, from 1; names of Jobs carry it.
    pub number: i32,
    /// What no data means.
    pub no_data: Option<NoData>,
    /// Cleans texts of secrets; also for log lines.
    pub redactor: Redactor,
}

impl Work {
    /// The metric's name.
    pub fn name(&self) -> &str {
        self.metric.0.name.text()
    }

    /// What came of it, cleaned of secrets.
    pub fn report(&self, measurement: Measurement, metadata: std::collections::BTreeMap<String, String>) -> Report {
        let clean = |text: Option<String>| text.map(|text| self.redactor.clean(&text));
        let clean_all = |entries: std::collections::BTreeMap<String, String>| {
            entries.into_iter().map(|(name, value)| (name, self.redactor.clean(&value))).collect()
        };
        Report {
            metric: self.name().to_owned(),
            task: self.task,
            measurement: Measurement {
                message: clean(measurement.message.clone()),
                value: clean(measurement.value.clone()),
                metadata: measurement.metadata.clone().map(clean_all),
                ..measurement
            },
            metadata: clean_all(metadata),
        }
    }

    /// That it went wrong: a measurement in error.
    pub fn failed(&self, message: impl Into<String>, now: Timestamp) -> Report {
        let before = self.measurement.clone().unwrap_or_default();
        let measurement = Measurement {
            phase: Some(analysis_phase::ERROR.to_owned()),
            message: Some(message.into()),
            started_at: before.started_at.clone().or_else(|| Some(Time::from(now))),
            finished_at: Some(Time::from(now)),
            ..before
        };
        self.report(measurement, std::collections::BTreeMap::new())
    }
}

/// A metric whose history was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collect {
    /// The metric.
    pub metric: String,
    /// How many measurements are kept.
    pub keep: usize,
}

/// Something to tell people, as an event of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether something is wrong.
    pub is_warning: bool,
    /// Why, in one word.
    pub reason: String,
    /// The sentence.
    pub message: String,
}

impl Event {
    fn about_phase(subject: &str, phase: &str, message: String) -> Self {
        let is_warning = matches!(phase, analysis_phase::FAILED | analysis_phase::ERROR);
        Self { is_warning, reason: format!("{subject}{phase}"), message }
    }
}

/// What is to be done about a run.
pub fn step(observed: &Observed<'_>) -> Step {
    let stored = observed.run.status.clone().unwrap_or_default();
    if observed.run.metadata.deletion_timestamp.is_some() {
        return Step::default();
    }
    if analysis_phase::is_completed(stored.phase.text()) {
        let expiry = schedule::expiry(observed.run, &stored);
        let delete = expiry.is_some_and(|expiry| expiry <= observed.now);
        return Step { delete, wake_at: expiry.filter(|_| !delete), ..Step::default() };
    }
    match Life::begin(observed, stored) {
        Ok(life) => life.live(),
        Err(step) => *step,
    }
}

/// Ends a run that cannot be run at all.
fn unrunnable(observed: &Observed<'_>, mut status: AnalysisRunStatus, message: String) -> Step {
    status.phase = Some(analysis_phase::ERROR.to_owned());
    status.message = Some(apply::shortened_inside(&message, retention::MAX_TEXT));
    status.completed_at.get_or_insert_with(|| Time::from(observed.now));
    let event = Event::about_phase("AnalysisRun", analysis_phase::ERROR, message);
    let expiry = schedule::expiry(observed.run, &status);
    Step { status: Some(status), wake_at: expiry, events: vec![event], ..Step::default() }
}

/// A run under way.
struct Life<'a> {
    observed: &'a Observed<'a>,
    metrics: Vec<Metric>,
    policies: Vec<Option<NoData>>,
    status: AnalysisRunStatus,
    /// Whether the run was being ended before this step.
    is_terminating: bool,
    step: Step,
}

impl<'a> Life<'a> {
    fn begin(observed: &'a Observed<'a>, status: AnalysisRunStatus) -> Result<Self, Box<Step>> {
        let spec = &observed.run.spec;
        let refuse = |text: String| Box::new(unrunnable(observed, status.clone(), text));
        let metrics =
            resolve::metrics(spec).map_err(|error| refuse(format!("Unable to resolve metric arguments: {error}")))?;
        let mut substituted = spec.clone();
        substituted.metrics = Some(metrics.clone());
        if let Some(problem) = check_run(&substituted).into_iter().next() {
            return Err(refuse(format!("Analysis spec invalid: {problem}")));
        }
        let policies = metrics
            .iter()
            .map(|metric| no_data_policy(observed.run, metric.name.text()))
            .collect::<Result<_, _>>()
            .map_err(|problem| refuse(format!("Analysis spec invalid: {problem}")))?;
        let is_terminating = spec.terminate == Some(true) || run_verdict::has_decided(&status);
        Ok(Self { observed, metrics, policies, status, is_terminating, step: Step::default() })
    }

    fn live(mut self) -> Step {
        let is_new = self.status.started_at.is_none();
        if is_new {
            self.status.started_at = Some(Time::from(self.observed.now));
            self.warn();
        }
        self.take_in(self.observed.reports);
        self.assess_metrics();
        let due = self.due();
        self.prepare(due);
        if !analysis_phase::is_completed(self.status.phase.text()) {
            self.assess_run();
        }
        let has_begun = !self.step.work.is_empty() || !self.step.secrets.is_empty();
        self.step.can_wait = is_new && has_begun && self.status.metric_results.items().is_empty();
        self.finish()
    }

    fn is_dry(&self, metric: &str) -> bool {
        let rules = self.observed.run.spec.dry_run.items().iter();
        let mut rules = rules.filter_map(|rule| name_rule(rule.metric_name.text()));
        rules.any(|regex| regex.is_match(metric))
    }

    fn warn(&mut self) {
        let warnings = warnings(&self.metrics).into_iter();
        let event = |message| Event { is_warning: true, reason: "MetricCannotFail".to_owned(), message };
        self.step.events.extend(warnings.map(event));
    }

    fn take_in(&mut self, reports: &[Report]) {
        let redactor = resolve::redactor(&self.observed.run.spec, self.observed.secrets);
        let mut status = std::mem::take(&mut self.status);
        for report in reports {
            let is_dry = |name: &str| self.is_dry(name);
            apply::apply(&mut status, &self.metrics, is_dry, &redactor, report, self.observed.now);
        }
        self.status = status;
    }

    fn assess_metrics(&mut self) {
        for result in self.status.metric_results.iter_mut().flatten() {
            let Some(metric) = self.metrics.iter().find(|metric| metric.name == result.name) else { continue };
            if analysis_phase::is_completed(result.phase.text()) {
                continue;
            }
            let phase = metric_verdict::phase(metric, result, self.is_terminating);
            if result.phase.text() == phase {
                continue;
            }
            result.phase = Some(phase.to_owned());
            result.message = result.measurements.items().last().and_then(|last| last.message.clone());
            if !analysis_phase::is_completed(phase) {
                continue;
            }
            let reason = metric_verdict::reason(metric, result);
            if result.dry_run == Some(true) && !reason.is_empty() {
                result.message = Some(format!("Metric assessed {phase} due to {reason}"));
            }
            let sentence = format!("Metric '{}' Completed. Result: {phase}", metric.name.text());
            self.step.events.push(Event::about_phase("Metric", phase, sentence));
        }
    }

    /// Whether nothing new is begun any more.
    fn is_ending(&self) -> bool {
        self.is_terminating || run_verdict::has_decided(&self.status)
    }

    /// What is due now; everything else sets the time to look again.
    fn due(&mut self) -> Vec<(usize, Task)> {
        let mut due = Vec::new();
        for (index, metric) in self.metrics.iter().enumerate() {
            if self.observed.under_way.contains_key(metric.name.text()) {
                continue;
            }
            match schedule::next(metric, &self.status, self.is_ending(), self.observed.now) {
                Some(next) if next.at <= self.observed.now || self.has_news(metric, next.task) => {
                    due.push((index, next.task));
                }
                Some(next) => wake(&mut self.step, next.at),
                None => {}
            }
        }
        due
    }

    fn has_news(&self, metric: &Metric, task: Task) -> bool {
        task == Task::Resume && self.observed.nudged.contains(metric.name.text())
    }

    fn prepare(&mut self, due: Vec<(usize, Task)>) {
        if due.is_empty() {
            return;
        }
        let spec = &self.observed.run.spec;
        let availability = resolve::secrets(spec, self.observed.secrets);
        let (ends, others): (Vec<_>, Vec<_>) = due.into_iter().partition(|(_, task)| *task == Task::Terminate);
        for (index, task) in ends {
            // Ending something needs no secret.
            self.add_work(index, task, self.metrics[index].clone(), Redactor::default());
        }
        match availability {
            _ if others.is_empty() => {}
            Availability::Unread(secrets) => self.step.secrets = secrets,
            Availability::Missing(text) => {
                self.end(analysis_phase::ERROR, format!("Unable to resolve metric arguments: {text}"));
            }
            Availability::Unreadable(text) => self.note_unreadable(&others, &text),
            Availability::Ready { args, redactor } => {
                for (index, task) in others {
                    match spec.metrics.items().get(index).map(|metric| substitute(metric, &args)) {
                        Some(Ok(metric)) => self.add_work(index, task, metric, redactor.clone()),
                        Some(Err(error)) => {
                            let text = redactor.clean(&error.to_string());
                            self.end(analysis_phase::ERROR, format!("Unable to resolve metric arguments: {text}"));
                            return;
                        }
                        None => {}
                    }
                }
            }
        }
    }

    fn add_work(&mut self, index: usize, task: Task, metric: Metric, redactor: Redactor) {
        let result = find(&self.status, &self.metrics[index]);
        let count = |number: Option<i32>| number.unwrap_or(0);
        let number =
            result.map_or(1, |result| count(result.count).saturating_add(count(result.error)).saturating_add(1));
        let last = result.and_then(|result| result.measurements.items().last().cloned());
        self.step.work.push(Work {
            metric: Resolved(metric),
            task,
            measurement: last.filter(|_| task != Task::Start),
            number,
            no_data: self.policies[index],
            redactor,
        });
    }

    /// A Secret that cannot be read right now is an error of the measurement, tried again like any other.
    fn note_unreadable(&mut self, due: &[(usize, Task)], text: &str) {
        let now = Time::from(self.observed.now);
        for (index, task) in due {
            if *task != Task::Start {
                continue;
            }
            let measurement = Measurement {
                phase: Some(analysis_phase::ERROR.to_owned()),
                message: Some(text.to_owned()),
                started_at: Some(now.clone()),
                finished_at: Some(now.clone()),
                ..Measurement::default()
            };
            let metric = self.metrics[*index].name.text().to_owned();
            let report = Report { metric, task: *task, measurement, metadata: std::collections::BTreeMap::new() };
            self.take_in(&[report]);
        }
        self.assess_metrics();
        wake(&mut self.step, self.observed.now.checked_add(ERROR_INTERVAL).unwrap_or(Timestamp::MAX));
    }

    /// Until when the end of the run must wait for calls that are under way.
    fn must_wait(&mut self) -> bool {
        let mut waits = self.step.work.iter().any(|work| work.task == Task::Terminate);
        for call in self.observed.under_way.values() {
            let until = call.since.checked_add(SIBLING_GRACE).unwrap_or(Timestamp::MAX);
            if call.task == Task::Terminate {
                waits = true;
            } else if until > self.observed.now {
                waits = true;
                wake(&mut self.step, until);
            }
        }
        waits
    }

    fn assess_run(&mut self) {
        let asked = self.observed.run.spec.terminate == Some(true);
        let verdict = run_verdict::verdict(&self.status, &self.metrics, asked, self.is_terminating);
        if analysis_phase::is_completed(verdict.phase) {
            if self.must_wait() {
                return self.set_phase(analysis_phase::RUNNING, String::new());
            }
            return self.end(verdict.phase, verdict.message);
        }
        // A decision of this step ends the run in the next, after what is in flight was told to end.
        if self.is_ending() {
            wake(&mut self.step, self.observed.now);
        }
        self.set_phase(verdict.phase, verdict.message);
    }

    fn set_phase(&mut self, phase: &str, message: String) {
        if self.status.phase.text() == phase {
            return;
        }
        self.status.phase = Some(phase.to_owned());
        self.status.message = (!message.is_empty()).then(|| apply::shortened_inside(&message, retention::MAX_TEXT));
    }

    fn end(&mut self, phase: &'static str, message: String) {
        self.step.work.clear();
        self.step.secrets.clear();
        let successes = self.status.metric_results.items().iter().filter_map(|result| result.successful);
        if self.observed.run.spec.terminate == Some(true) && !successes.into_iter().any(|count| count > 0) {
            self.step.events.push(Event {
                is_warning: false,
                reason: "TerminatedWithoutSuccess".to_owned(),
                message: "Run terminated before any successful measurement".to_owned(),
            });
        }
        self.set_phase(phase, message);
        self.status.completed_at.get_or_insert_with(|| Time::from(self.observed.now));
        let sentence = format!("Analysis Completed. Result: {phase}");
        self.step.events.push(Event::about_phase("AnalysisRun", phase, sentence));
        self.step.wake_at = schedule::expiry(self.observed.run, &self.status);
    }

    fn finish(mut self) -> Step {
        let (run, dry) = run_verdict::summaries(&self.status, &self.metrics, |name| self.is_dry(name));
        (self.status.run_summary, self.status.dry_run_summary) = (Some(run), Some(dry));
        let trimmed = retention::trim(&mut self.status, &self.observed.run.spec, &self.metrics);
        self.step.collect = trimmed.into_iter().map(|(metric, keep)| Collect { metric, keep }).collect();
        let is_unchanged = self.observed.run.status.as_ref() == Some(&self.status);
        self.step.status = (!is_unchanged).then_some(self.status);
        self.step
    }
}

/// Looks again at that time or earlier.
fn wake(step: &mut Step, at: Timestamp) {
    step.wake_at = Some(step.wake_at.map_or(at, |known| known.min(at)));
}
