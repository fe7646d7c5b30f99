//! One AnalysisRun per analysis: made, followed, ended.

use tidegate_api::experiment::{ExperimentAnalysis, ExperimentAnalysisRunStatus};
use tidegate_api::names::analysis_phase::{self, ERROR, PENDING};
use tidegate_api::wire::{Items, Text};
use tidegate_validate::references::Lookup;

use crate::observed::Part;
use crate::phase::is_bad;
use crate::runs;
use crate::step::{Event, Pass, Write};

impl<'a> Pass<'a> {
    pub(crate) fn run_analyses(&mut self) {
        let all: &'a [ExperimentAnalysis] = self.seen.experiment.spec.analyses.items();
        for analysis in all {
            self.run_analysis(analysis);
        }
    }

    fn run_analysis(&mut self, analysis: &ExperimentAnalysis) {
        let name = analysis.name.text();
        let known = self.status.analysis_runs.items().iter().find(|entry| entry.name.text() == name);
        let before = known.cloned().unwrap_or_else(|| ExperimentAnalysisRunStatus {
            name: Some(name.to_owned()),
            analysis_run: Some(String::new()),
            phase: Some(String::new()),
            ..ExperimentAnalysisRunStatus::default()
        });
        let mut entry = before.clone();
        if !analysis_phase::is_completed(before.phase.text()) {
            match (before.analysis_run.text(), self.is_ending) {
                ("", true) => {}
                ("", false) if self.old.available_at.is_none() => self.verify(analysis, &mut entry),
                ("", false) => self.begin(analysis, &mut entry),
                _ => self.follow(&mut entry),
            }
        }
        self.tell_of_run(&before, &entry);
        self.keep_run(entry);
    }

    fn keep_run(&mut self, entry: ExperimentAnalysisRunStatus) {
        let all = self.status.analysis_runs.get_or_insert_default();
        match all.iter_mut().find(|known| known.name == entry.name) {
            Some(known) => *known = entry,
            None => all.push(entry),
        }
    }

    fn tell_of_run(&mut self, before: &ExperimentAnalysisRunStatus, entry: &ExperimentAnalysisRunStatus) {
        let (old, new) = (before.phase.text(), entry.phase.text());
        if old == new {
            return;
        }
        let mut text = format!("AnalysisRun '{}' transitioned from {old} -> {new}", entry.name.text());
        if !entry.message.text().is_empty() {
            text = format!("{text}: {}", entry.message.text());
        }
        let event = Event::new(is_bad(new), format!("AnalysisRun{new}"), text);
        self.tell(Event { for_rollout: true, ..event });
    }

    /// Before there are pods: whether the template is there at all.
    fn verify(&self, analysis: &ExperimentAnalysis, entry: &mut ExperimentAnalysisRunStatus) {
        let (kind, looked) = if analysis.cluster_scope == Some(true) {
            ("ClusterAnalysisTemplate", &self.seen.found.cluster_templates)
        } else {
            ("AnalysisTemplate", &self.seen.found.templates)
        };
        let name = analysis.name.text();
        if let Some(Lookup::Missing(error)) = looked.get(analysis.template_name.text()) {
            fail(entry, format!("{kind} verification failed for analysis '{name}': {error}"));
        }
    }

    fn begin(&mut self, analysis: &ExperimentAnalysis, entry: &mut ExperimentAnalysisRunStatus) {
        let name = analysis.name.text();
        let part = Part::Run(name.to_owned());
        let made = match self.seen.refused.get(&part) {
            Some(error) => Err(error.clone()),
            None => runs::new_run(&self.seen, self.old, analysis),
        };
        match made {
            Ok(runs::Made { name, run }) => {
                entry.analysis_run = Some(name);
                entry.phase = Some(PENDING.to_owned());
                if let Some(run) = run {
                    self.act(part, Write::CreateRun(run), Vec::new());
                }
            }
            Err(error) => fail(entry, format!("Failed to create AnalysisRun for analysis '{name}': {error}")),
        }
    }

    /// Takes over how far the run is, also while all is being ended: how it ended decides.
    fn follow(&mut self, entry: &mut ExperimentAnalysisRunStatus) {
        let run_name = entry.analysis_run.text().to_owned();
        let Some(run) = self.seen.runs.iter().find(|run| run.metadata.name.text() == run_name) else {
            if let Some(error) = self.seen.missing_runs.get(&run_name) {
                fail(entry, error.clone());
            }
            return;
        };
        let status = run.status.as_ref();
        let phase = status.map_or("", |status| status.phase.text());
        if !phase.is_empty() {
            entry.phase = Some(phase.to_owned());
            entry.message = status.and_then(|status| status.message.clone()).filter(|text| !text.is_empty());
        }
        if !self.is_ending || analysis_phase::is_completed(phase) || run.spec.terminate == Some(true) {
            return;
        }
        let name = entry.name.text().to_owned();
        let part = Part::NoRun(name.clone());
        match self.seen.refused.get(&part) {
            Some(error) => fail(entry, error.clone()),
            None => {
                let event = Event::new(false, "AnalysisRunTerminating", format!("Terminating {name} ({run_name})"));
                self.act(part, Write::TerminateRun(run_name), vec![event]);
            }
        }
    }
}

fn fail(entry: &mut ExperimentAnalysisRunStatus, message: String) {
    entry.phase = Some(ERROR.to_owned());
    entry.message = Some(message);
}
