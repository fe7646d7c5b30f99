//! The order of one look.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tidegate_api::analysis::AnalysisRun;
use tidegate_api::duration::GoDuration;
use tidegate_api::experiment::{Experiment, ExperimentStatus};
use tidegate_api::names::analysis_phase::{self, ERROR, FAILED, INCONCLUSIVE, SUCCESSFUL};
use tidegate_api::values::Time;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::{Items, Text};
use tidegate_validate::experiment::check;

use crate::conditions;
use crate::observed::{Observed, Part};

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Writes, one after the other; the first that fails ends the step.
    pub actions: Vec<Action>,
    /// The status once all writes are done; none when it is as stored.
    pub status: Option<Box<ExperimentStatus>>,
    /// What to tell people once the status is stored.
    pub events: Vec<Event>,
    /// When to look again, if nothing else happens.
    pub wake_at: Option<Timestamp>,
}

/// A write and what to tell people once it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The write.
    pub write: Write,
    /// Whose failure it is if it is refused.
    pub part: Part,
    /// Events for when it is done.
    pub events: Vec<Event>,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Makes the ReplicaSet of a template; one of that name that is this template's is as good.
    CreateSet(Box<ReplicaSet>),
    /// Changes a ReplicaSet as it was seen.
    EditSet(SetEdit),
    /// Makes a Service; one of that name that is this template's is as good.
    CreateService(Value),
    /// Deletes a Service.
    DeleteService {
        /// Its name.
        name: String,
        /// Its uid: a new one of the same name is not meant.
        uid: String,
    },
    /// Makes an AnalysisRun; one of that name that is this Experiment's is as good.
    CreateRun(Box<AnalysisRun>),
    /// Ends an AnalysisRun early.
    TerminateRun(String),
}

/// A change of a ReplicaSet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetEdit {
    /// Which.
    pub name: String,
    /// Its size; none leaves it.
    pub replicas: Option<i32>,
    /// Annotations; `None` removes one.
    pub annotations: BTreeMap<String, Option<String>>,
}

impl SetEdit {
    /// Applies it.
    pub fn apply(&self, set: &mut ReplicaSet) {
        if self.replicas.is_some() {
            set.spec.replicas = self.replicas;
        }
        let own = set.metadata.annotations.get_or_insert_default();
        for (key, value) in &self.annotations {
            match value {
                Some(value) => own.insert(key.clone(), value.clone()),
                None => own.remove(key),
            };
        }
    }
}

/// Something to tell people, as an event of the Experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether something is wrong.
    pub is_warning: bool,
    /// For programs.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Whether the Rollout that owns the Experiment is told, too.
    pub for_rollout: bool,
}

impl Event {
    pub(crate) fn new(is_warning: bool, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { is_warning, reason: reason.into(), message: message.into(), for_rollout: false }
    }
}

/// One look at an Experiment.
pub(crate) struct Pass<'a> {
    pub seen: Observed<'a>,
    /// The status as it is stored.
    pub old: &'a ExperimentStatus,
    /// The status as this look leaves it.
    pub status: ExperimentStatus,
    /// Whether it was to end before this look.
    pub is_ending: bool,
    /// Whether a number of pods is not what the stored status says, or a template is new there.
    pub has_news: bool,
    pub step: Step,
}

/// What to do about an Experiment now.
pub fn step(seen: &Observed<'_>) -> Step {
    let experiment = seen.experiment;
    if experiment.metadata.deletion_timestamp.is_some() {
        return Step::default();
    }
    let unset = ExperimentStatus::default();
    let old = experiment.status.as_ref().unwrap_or(&unset);
    let is_over = experiment.spec.terminate == Some(true) || analysis_phase::is_completed(old.phase.text());
    // Whatever is wrong with it: one that is to end ends.
    if let Some(problem) = check(experiment).first().filter(|_| !is_over) {
        return conditions::invalid(old, problem, seen.now);
    }
    let is_ending = is_ending(experiment, old);
    let mut pass = Pass { seen: *seen, old, status: old.clone(), is_ending, has_news: false, step: Step::default() };
    conditions::remove_invalid(&mut pass.status);
    pass.run_templates();
    pass.run_analyses();
    pass.judge();
    pass.set_conditions();
    pass.wake_when_due();
    pass.finish()
}

/// Whether pods are to go, by what is stored.
fn is_ending(experiment: &Experiment, old: &ExperimentStatus) -> bool {
    let spec = &experiment.spec;
    let templates = old.template_statuses.items();
    let runs = old.analysis_runs.items();
    spec.terminate == Some(true)
        || analysis_phase::is_completed(old.phase.text())
        || templates.iter().any(|found| matches!(found.status.text(), FAILED | ERROR))
        || runs.iter().any(|found| matches!(found.phase.text(), FAILED | ERROR | INCONCLUSIVE))
        || are_required_done(experiment, old)
}

/// Whether there are required analyses and all of them were successful.
pub(crate) fn are_required_done(experiment: &Experiment, status: &ExperimentStatus) -> bool {
    let mut required =
        experiment.spec.analyses.items().iter().filter(|found| found.required_for_completion == Some(true)).peekable();
    let is_done = |name: &Option<String>| {
        let entry = status.analysis_runs.items().iter().find(|entry| entry.name == *name);
        entry.is_some_and(|entry| entry.phase.text() == SUCCESSFUL)
    };
    required.peek().is_some() && required.all(|analysis| is_done(&analysis.name))
}

impl Pass<'_> {
    pub(crate) fn name(&self) -> &str {
        self.seen.experiment.metadata.name.text()
    }

    pub(crate) fn act(&mut self, part: Part, write: Write, events: Vec<Event>) {
        self.step.actions.push(Action { write, part, events });
    }

    pub(crate) fn tell(&mut self, event: Event) {
        self.step.events.push(event);
    }

    /// Looks again so many seconds after a moment, or earlier; never in the same second.
    pub(crate) fn wake_after(&mut self, moment: Timestamp, seconds: i64) {
        let at = later(moment, seconds).max(later(self.seen.now, 1));
        self.step.wake_at = Some(self.step.wake_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// When the time it was given ends, once it has begun.
    pub(crate) fn ends_at(&self) -> Option<Timestamp> {
        let duration = self.seen.experiment.spec.duration.text();
        let duration = GoDuration::parse(duration).ok().filter(|_| !duration.is_empty())?;
        let begun = self.old.available_at.as_ref().and_then(Time::instant)?;
        begun.saturating_add(SignedDuration::from_nanos(duration.as_nanoseconds())).ok()
    }

    /// Whether the time it was given is over.
    pub(crate) fn is_time_over(&self) -> bool {
        self.ends_at().is_some_and(|end| self.seen.now > end)
    }

    /// Whether an analysis that must be successful has not ended: its pods stay until then.
    pub(crate) fn awaits_required(&self) -> bool {
        let required = self.seen.experiment.spec.analyses.items().iter();
        required.filter(|found| found.required_for_completion == Some(true)).any(|analysis| {
            let entry = self.old.analysis_runs.items().iter().find(|entry| entry.name == analysis.name);
            !entry.is_some_and(|entry| analysis_phase::is_completed(entry.phase.text()))
        })
    }

    fn wake_when_due(&mut self) {
        if self.is_ending {
            return;
        }
        // A time is over in the second after it.
        if let Some(end) = self.ends_at().filter(|end| *end >= self.seen.now) {
            self.wake_after(end, 1);
        }
    }

    fn finish(mut self) -> Step {
        if self.status != *self.old {
            self.step.status = Some(Box::new(self.status));
        }
        self.step
    }
}

/// So many seconds after a moment, or the end of time.
pub(crate) fn later(moment: Timestamp, seconds: i64) -> Timestamp {
    moment.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(moment)
}
