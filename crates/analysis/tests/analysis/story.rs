//! Plays a run against scripted providers in virtual time and writes down what happens.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tidegate_analysis::{Observed, Report, SecretState, Secrets, Task, UnderWay, Work, step};
use tidegate_api::analysis::{AnalysisRun, AnalysisRunStatus, Measurement, MetricResult};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

/// What a provider does when it is called: how long it takes, the phase and the message.
pub(crate) type Answer = (i64, &'static str, &'static str);

/// A run and everything around it.
pub(crate) struct Story {
    pub(crate) run: AnalysisRun,
    pub(crate) now: Timestamp,
    pub(crate) known_secrets: BTreeMap<(String, String), SecretState>,
    secrets: Secrets,
    under_way: BTreeMap<String, UnderWay>,
    reports: Vec<(Timestamp, Report)>,
    pub(crate) log: Vec<String>,
    pub(crate) is_deleted: bool,
}

pub(crate) fn start() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// A run from its spec.
pub(crate) fn run(spec: Value) -> AnalysisRun {
    let text = json!({"metadata": {"name": "run", "namespace": "ns", "uid": "u"}, "spec": spec});
    serde_json::from_value(text).unwrap()
}

/// A metric of a web provider.
pub(crate) fn metric(name: &str, more: Value) -> Value {
    let mut fields = json!({"name": name, "successCondition": "result > 0", "provider": {"web": {"url": "u"}}});
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

/// A metric of a Job.
pub(crate) fn job(name: &str, more: Value) -> Value {
    let mut fields = json!({"name": name, "provider": {"job": {"spec": {}}}});
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

impl Story {
    pub(crate) fn new(run: AnalysisRun) -> Self {
        Self {
            run,
            now: start(),
            known_secrets: BTreeMap::new(),
            secrets: Secrets::new(),
            under_way: BTreeMap::new(),
            reports: Vec::new(),
            log: Vec::new(),
            is_deleted: false,
        }
    }

    pub(crate) fn status(&self) -> AnalysisRunStatus {
        self.run.status.clone().unwrap_or_default()
    }

    pub(crate) fn result(&self, metric: &str) -> MetricResult {
        let results = self.status().metric_results.unwrap_or_default();
        results.into_iter().find(|result| result.name.text() == metric).unwrap()
    }

    fn say(&mut self, text: String) {
        let seconds = self.now.duration_since(start()).as_secs();
        self.log.push(format!("{seconds:>3}s {text}"));
    }

    /// Plays until nothing more would happen or the time is over.
    pub(crate) fn play(&mut self, seconds: i64, mut provider: impl FnMut(&Work) -> Answer) -> &mut Self {
        let end = self.now + SignedDuration::from_secs(seconds);
        for _ in 0..10_000 {
            let Some(next) = self.advance(&mut provider) else { break };
            if next > end {
                self.now = end;
                break;
            }
            self.now = self.now.max(next);
        }
        self
    }

    /// One step; the time of the next.
    fn advance(&mut self, provider: &mut impl FnMut(&Work) -> Answer) -> Option<Timestamp> {
        let (arrived, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.reports).into_iter().partition(|(at, _)| *at <= self.now);
        self.reports = later;
        let arrived: Vec<Report> = arrived.into_iter().map(|(_, report)| report).collect();
        for report in &arrived {
            self.under_way.remove(&report.metric);
        }
        let observed = Observed {
            run: &self.run,
            secrets: &self.secrets,
            reports: &arrived,
            under_way: &self.under_way,
            nudged: &BTreeSet::new(),
            now: self.now,
        };
        let outcome = step(&observed);
        if !outcome.secrets.is_empty() {
            for key in &outcome.secrets {
                let state = self.known_secrets.get(key).cloned();
                self.secrets.insert(key.clone(), state.unwrap_or_else(|| SecretState::no_secret(&key.0)));
            }
            // What arrived has been looked at, but is asked about again with the secrets.
            self.reports.extend(arrived.into_iter().map(|report| (self.now, report)));
            return Some(self.now);
        }
        for event in &outcome.events {
            let sign = if event.is_warning { "!" } else { "-" };
            self.say(format!("{sign} {}: {}", event.reason, event.message));
        }
        if let Some(status) = outcome.status {
            let (old, new) = (self.status(), status.clone());
            self.run.status = Some(status);
            if old.phase.text() != new.phase.text() {
                let text = format!("run {} {}", new.phase.text(), new.message.text());
                self.say(text.trim_end().to_owned());
            }
        }
        for collect in &outcome.collect {
            self.say(format!("collect {} beyond {}", collect.metric, collect.keep));
        }
        for work in &outcome.work {
            self.call(work, provider(work));
        }
        if outcome.delete {
            self.say("deleted".to_owned());
            self.is_deleted = true;
            return None;
        }
        let report = self.reports.iter().map(|(at, _)| *at).min();
        [outcome.wake_at, report].into_iter().flatten().min()
    }

    fn call(&mut self, work: &Work, (seconds, phase, message): Answer) {
        let verb = match work.task {
            Task::Start => "start",
            Task::Resume => "resume",
            Task::Terminate => "end",
        };
        self.say(format!("{verb} {}#{} -> {phase} {message}", work.name(), work.number).trim_end().to_owned());
        let at = self.now + SignedDuration::from_secs(seconds);
        let is_over = phase != "Running";
        let before = work.measurement.clone().unwrap_or_default();
        let measurement = Measurement {
            phase: Some(phase.to_owned()),
            message: Some(message.to_owned()),
            value: Some("1".to_owned()),
            started_at: before.started_at.or(Some(Time::from(self.now))),
            finished_at: is_over.then(|| Time::from(at)),
            resume_at: (!is_over).then(|| Time::from(at + SignedDuration::from_secs(5))),
            ..Measurement::default()
        };
        let metadata = BTreeMap::from([("ResolvedQuery".to_owned(), "q".to_owned())]);
        self.under_way.insert(work.name().to_owned(), UnderWay { task: work.task, since: self.now });
        self.reports.push((at, work.report(measurement, metadata)));
    }

    /// The log as one text.
    pub(crate) fn told(&self) -> String {
        self.log.join("\n")
    }

    /// Numbers of measurements add up and the history is short.
    pub(crate) fn check(&self) {
        for result in self.status().metric_results.items() {
            let count = |number: Option<i32>| number.unwrap_or(0);
            let parts = count(result.successful) + count(result.failed) + count(result.inconclusive);
            assert_eq!(count(result.count), parts, "{result:?}");
            assert!(count(result.consecutive_success) <= count(result.successful), "{result:?}");
            assert!(count(result.consecutive_error) <= count(result.error), "{result:?}");
            assert!(result.measurements.items().len() <= 10, "{result:?}");
        }
    }
}
