//! Experiments that steps of a canary ask for.

mod create;

use tidegate_api::experiment::Experiment;
use tidegate_api::names::{analysis_phase, pause_reason};
use tidegate_api::rollout::{CanaryStrategy, RolloutExperimentStep, WeightDestination};
use tidegate_api::wire::{Items, Text};

use self::create::Built;
use crate::analysis::Finished;
use crate::pass::Pass;
use crate::pause;
use crate::plan::{Event, Write};
use crate::steps::{self, StepKind};
use crate::waiting::Waiting;

fn name(experiment: &Experiment) -> &str {
    experiment.metadata.name.text()
}

fn phase(experiment: &Experiment) -> &str {
    experiment.status.as_ref().map_or("", |status| status.phase.text())
}

/// Whether it has pods, or a Service that routes may name: until they are gone it is not deleted, because they would go
/// with it at once.
pub(crate) fn has_pods(experiment: &Experiment) -> bool {
    let statuses = experiment.status.as_ref().map_or(&[][..], |status| status.template_statuses.items());
    statuses.iter().any(|status| status.replicas.unwrap_or(0) > 0 || !status.service_name.text().is_empty())
}

/// What a failed Experiment says for itself, and which it is.
fn cause(experiment: &Experiment) -> String {
    let status = experiment.status.as_ref();
    let message = status.map_or("", |status| status.message.text());
    let runs = status.map_or(&[][..], |status| status.analysis_runs.items());
    let run = runs.iter().find(|run| matches!(run.phase.text(), analysis_phase::FAILED | analysis_phase::ERROR));
    let run = run.map(|run| run.analysis_run.text()).filter(|run| !run.is_empty());
    let run = run.map(|run| format!(", run {run}")).unwrap_or_default();
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    format!("Experiment analysis phase is error/failed{message} (experiment {}{run})", name(experiment))
}

impl<'a> Pass<'a> {
    /// The Experiment that the stored status names.
    fn current_experiment(&self) -> Option<&'a Experiment> {
        let wanted = self.old.canary.as_ref()?.current_experiment.text();
        self.seen.experiments.iter().find(|experiment| !wanted.is_empty() && name(experiment) == wanted)
    }

    pub(crate) fn is_experiment_successful(&self) -> bool {
        self.current_experiment().is_some_and(|found| phase(found) == analysis_phase::SUCCESSFUL)
    }

    pub(crate) fn run_experiments(&mut self, canary: &'a CanaryStrategy) {
        if self.is_aborted() || self.promotes_fully() {
            self.terminate_experiments(None);
            return;
        }
        let current = self.current_experiment();
        // After an undecided Experiment a person has the word; going on from there makes a new one.
        if self.is_inconclusive() || pause::stored(self.old, pause_reason::INCONCLUSIVE_EXPERIMENT).is_some() {
            self.experiment = current.map(|found| name(found).to_owned());
            return;
        }
        let step = steps::current(canary, self.old.current_step_index);
        let wanted = step.and_then(|(index, step)| match steps::kind(step) {
            StepKind::Experiment(experiment) => Some((index, experiment)),
            _ => None,
        });
        match (wanted, current) {
            (Some((index, experiment)), None) => {
                if self.sets.stable.is_none() {
                    self.wait(Waiting::StableSet);
                } else {
                    self.begin_experiment(index, experiment);
                }
            }
            (Some(_), Some(current)) => self.apply_experiment_verdict(current),
            (None, _) => {}
        }
        self.terminate_experiments(self.experiment.clone());
        self.limit_experiments();
    }

    fn begin_experiment(&mut self, index: usize, step: &RolloutExperimentStep) {
        match self.build_experiment(index, step) {
            Some(Built::New(made)) => {
                let name = name(&made).to_owned();
                let event = Event::normal("ExperimentCreated", format!("Created Experiment '{name}'"));
                self.act_and_tell(Write::CreateExperiment(made), vec![event]);
                self.experiment = Some(name);
            }
            Some(Built::Found(name)) => self.experiment = Some(name),
            None => {}
        }
    }

    fn apply_experiment_verdict(&mut self, current: &Experiment) {
        match phase(current) {
            analysis_phase::SUCCESSFUL => {}
            analysis_phase::INCONCLUSIVE => self.pause.add(pause_reason::INCONCLUSIVE_EXPERIMENT),
            analysis_phase::FAILED | analysis_phase::ERROR => self.pause.add_abort(cause(current)),
            _ => self.experiment = Some(name(current).to_owned()),
        }
    }

    /// Ends those that nobody waits for.
    pub(crate) fn terminate_experiments(&mut self, except: Option<String>) {
        let unfinished = self
            .seen
            .experiments
            .iter()
            .filter(|found| !analysis_phase::is_completed(phase(found)) && found.spec.terminate != Some(true));
        let names: Vec<String> =
            unfinished.map(|found| name(found).to_owned()).filter(|name| Some(name) != except.as_ref()).collect();
        for name in names {
            self.act(Write::TerminateExperiment(name));
        }
    }

    fn limit_experiments(&mut self) {
        let current = self.experiment.clone();
        let successful = self.is_experiment_successful().then(|| self.current_experiment()).flatten().map(name);
        let others = self
            .seen
            .experiments
            .iter()
            .filter(|found| Some(name(found)) != current.as_deref() && Some(name(found)) != successful)
            .filter(|found| !has_pods(found));
        let others: Vec<Finished<'_>> =
            others.map(|found| Finished { metadata: &found.metadata, phase: phase(found) }).collect();
        for name in self.superfluous(others) {
            self.act(Write::DeleteExperiment(name));
        }
    }

    /// Destinations of a running Experiment that asked for traffic. One without a Service gets none: an empty host
    /// must never reach a route. Nor does one without pods.
    pub(crate) fn experiment_destinations(&self, canary: &'a CanaryStrategy) -> Vec<WeightDestination> {
        let Some((_, step)) = steps::current(canary, self.old.current_step_index) else { return Vec::new() };
        let StepKind::Experiment(step) = steps::kind(step) else { return Vec::new() };
        let Some(current) = self.current_experiment().filter(|found| phase(found) == analysis_phase::RUNNING) else {
            return Vec::new();
        };
        let statuses = current.status.as_ref().map_or(&[][..], |status| status.template_statuses.items());
        let destination = |status: &tidegate_api::experiment::TemplateStatus| {
            let template = step.templates.items().iter().find(|template| template.name == status.name)?;
            let weight = template.weight?;
            let is_there = !status.service_name.text().is_empty() && status.available_replicas.unwrap_or(0) > 0;
            is_there.then(|| WeightDestination {
                weight: Some(weight),
                service_name: status.service_name.clone(),
                pod_template_hash: status.pod_template_hash.clone(),
                ..WeightDestination::default()
            })
        };
        statuses.iter().filter_map(destination).collect()
    }

    /// Destinations whose subset stays although nothing is sent there any more: as long as its pods are there, a proxy
    /// that is behind finds them.
    pub(crate) fn lingering_destinations(&self, running: &[WeightDestination]) -> Vec<WeightDestination> {
        let statuses = self.seen.experiments.iter().filter_map(|found| found.status.as_ref());
        let statuses = statuses.flat_map(|status| status.template_statuses.items());
        let left = statuses.filter(|status| {
            !status.service_name.text().is_empty()
                && running.iter().all(|destination| destination.service_name != status.service_name)
        });
        left.map(|status| WeightDestination {
            weight: Some(0),
            service_name: status.service_name.clone(),
            pod_template_hash: status.pod_template_hash.clone(),
            ..WeightDestination::default()
        })
        .collect()
    }
}
