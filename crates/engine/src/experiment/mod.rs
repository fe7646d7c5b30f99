//! Experiments that steps of a canary ask for.

mod create;

use tidegate_api::experiment::Experiment;
use tidegate_api::names::{analysis_phase, pause_reason};
use tidegate_api::rollout::{CanaryStrategy, WeightDestination};
use tidegate_api::wire::{Items, Text};

use crate::analysis::Finished;
use crate::pass::Pass;
use crate::plan::{Event, Write};
use crate::steps::{self, StepKind};
use crate::waiting::Waiting;

fn name(experiment: &Experiment) -> &str {
    experiment.metadata.name.text()
}

fn phase(experiment: &Experiment) -> &str {
    experiment.status.as_ref().map_or("", |status| status.phase.text())
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
        if self.is_inconclusive() {
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
                } else if let Some(made) = self.build_experiment(index, experiment) {
                    let name = name(&made).to_owned();
                    let event = Event::normal("ExperimentCreated", format!("Created Experiment '{name}'"));
                    self.act_and_tell(Write::CreateExperiment(Box::new(made)), vec![event]);
                    self.experiment = Some(name);
                }
            }
            (Some(_), Some(current)) => self.apply_experiment_verdict(current),
            (None, _) => {}
        }
        self.terminate_experiments(self.experiment.clone());
        self.limit_experiments();
    }

    fn apply_experiment_verdict(&mut self, current: &Experiment) {
        match phase(current) {
            analysis_phase::SUCCESSFUL => {}
            analysis_phase::INCONCLUSIVE => self.pause.add(pause_reason::INCONCLUSIVE_EXPERIMENT),
            analysis_phase::FAILED | analysis_phase::ERROR => {
                let message = current.status.as_ref().map_or("", |status| status.message.text());
                let detail = if message.is_empty() { String::new() } else { format!(": {message}") };
                self.pause.add_abort(format!("Experiment analysis phase is error/failed{detail}"));
            }
            _ => self.experiment = Some(name(current).to_owned()),
        }
    }

    fn terminate_experiments(&mut self, except: Option<String>) {
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
            .filter(|found| Some(name(found)) != current.as_deref() && Some(name(found)) != successful);
        let others: Vec<Finished<'_>> =
            others.map(|found| Finished { metadata: &found.metadata, phase: phase(found) }).collect();
        for name in self.superfluous(others) {
            self.act(Write::DeleteExperiment(name));
        }
    }

    /// Destinations of a running Experiment that asked for traffic. One without a Service gets none: an empty host
    /// must never reach a route.
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
            (!status.service_name.text().is_empty()).then(|| WeightDestination {
                weight: Some(weight),
                service_name: status.service_name.clone(),
                pod_template_hash: status.pod_template_hash.clone(),
                ..WeightDestination::default()
            })
        };
        statuses.iter().filter_map(destination).collect()
    }
}
