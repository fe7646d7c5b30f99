//! Analysis of a canary: one run per analysis step, one in the background.

use tidegate_api::names::labels;
use tidegate_api::rollout::{CanaryStrategy, RolloutAnalysis};
use tidegate_api::wire::{Items, Text};

use super::{Occasion, entry};
use crate::pass::Pass;
use crate::steps::{self, StepKind};

impl<'a> Pass<'a> {
    pub(crate) fn run_canary_analyses(&mut self, canary: &'a CanaryStrategy) {
        if self.skips_all_analysis() {
            self.terminate_current();
        } else {
            self.run_step_analysis(canary);
            self.run_background_analysis(canary);
        }
        self.tidy_runs();
    }

    fn run_step_analysis(&mut self, canary: &'a CanaryStrategy) {
        let current = self.current_run(Occasion::Step);
        if !self.old.pause_conditions.items().is_empty() || self.is_aborted() {
            self.runs.step = current.map(entry);
            return;
        }
        let step = steps::current(canary, self.old.current_step_index);
        let analysis = step.and_then(|(index, step)| match steps::kind(step) {
            StepKind::Analysis(analysis) if !analysis.templates.items().is_empty() => Some((index, analysis)),
            _ => None,
        });
        let belongs = |index: usize| {
            current.is_some_and(|run| {
                let label = run.metadata.labels.as_ref().and_then(|all| all.get(labels::STEP_INDEX));
                label.map_or("", String::as_str) == index.to_string()
            })
        };
        let Some((index, analysis)) = analysis else {
            if let Some(run) = current {
                self.terminate(run);
            }
            return;
        };
        if let Some(run) = current
            && !belongs(index)
        {
            self.terminate(run);
        }
        let current = current.filter(|_| belongs(index));
        match current.filter(|run| !self.needs_new_run(Some(run))) {
            Some(run) => {
                self.runs.step = Some(entry(run));
                self.apply_verdict(Occasion::Step, run);
            }
            None => self.runs.step = self.create_run(Occasion::Step, analysis, Some(index)),
        }
    }

    fn run_background_analysis(&mut self, canary: &'a CanaryStrategy) {
        let current = self.current_run(Occasion::Background);
        let Some(background) = canary.analysis.as_ref().filter(|found| !found.templates.items().is_empty()) else {
            if let Some(run) = current {
                self.terminate(run);
            }
            return;
        };
        let has_started = background
            .starting_step
            .is_none_or(|start| canary.steps.items().is_empty() || self.old.current_step_index.unwrap_or(0) >= start);
        if self.old.current_pod_hash.text().is_empty() || !has_started {
            self.runs.background = current.map(entry);
            return;
        }
        if self.is_inconclusive() {
            self.runs.background = current.map(entry);
            return;
        }
        match current.filter(|run| !self.needs_new_run(Some(run))) {
            Some(run) => {
                self.runs.background = Some(entry(run));
                self.apply_background_verdict(run);
            }
            None => {
                let analysis = RolloutAnalysis {
                    templates: background.templates.clone(),
                    args: background.args.clone(),
                    dry_run: background.dry_run.clone(),
                    measurement_retention: background.measurement_retention.clone(),
                    analysis_run_metadata: background.analysis_run_metadata.clone(),
                    ..RolloutAnalysis::default()
                };
                self.runs.background = self.create_run(Occasion::Background, &analysis, None);
            }
        }
    }

    /// A background run that is under way holds nothing back.
    fn apply_background_verdict(&mut self, run: &tidegate_api::analysis::AnalysisRun) {
        if super::is_over(run) {
            self.apply_verdict(Occasion::Background, run);
        }
    }
}
