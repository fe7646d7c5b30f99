//! From templates and analyses to the phase of the Experiment.

use tidegate_api::names::analysis_phase::{self, ERROR, FAILED, INCONCLUSIVE, PENDING, RUNNING, SUCCESSFUL};
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::step::{Event, Pass, are_required_done};

/// Where a part stands.
struct Verdict {
    phase: &'static str,
    message: String,
}

/// Templates, best first.
const TEMPLATES: [&str; 5] = [SUCCESSFUL, RUNNING, "Progressing", ERROR, FAILED];
/// Analyses, best first.
const ANALYSES: [&str; 6] = [SUCCESSFUL, RUNNING, PENDING, INCONCLUSIVE, ERROR, FAILED];

/// Whether people should look.
pub(crate) fn is_bad(phase: &str) -> bool {
    matches!(phase, FAILED | ERROR | INCONCLUSIVE)
}

impl Pass<'_> {
    pub(crate) fn judge(&mut self) {
        let before = self.old.phase.text().to_owned();
        if analysis_phase::is_completed(&before) {
            return;
        }
        let (phase, message) = if before.is_empty() {
            (PENDING, String::new())
        } else {
            let verdict = self.verdict();
            (verdict.phase, verdict.message)
        };
        self.status.message = Some(message).filter(|text| !text.is_empty());
        if phase != before {
            self.status.phase = Some(phase.to_owned());
            let text = format!("Experiment transitioned from {before} -> {phase}");
            self.tell(Event::new(is_bad(phase), format!("Experiment{phase}"), text));
        }
    }

    fn verdict(&mut self) -> Verdict {
        let templates = self.templates_verdict();
        let analyses = self.analyses_verdict();
        if templates.phase == RUNNING && self.status.available_at.is_none() {
            self.status.available_at = Some(Time::from(self.seen.now));
        }
        let analyses_are_over = analysis_phase::is_completed(analyses.phase);
        match templates.phase {
            SUCCESSFUL if analyses_are_over || self.has_required() => analyses,
            PENDING | RUNNING if analyses_are_over && is_bad(analyses.phase) => analyses,
            PENDING | RUNNING if are_required_done(self.seen.experiment, &self.status) => analyses,
            _ => templates,
        }
    }

    fn has_required(&self) -> bool {
        self.seen.experiment.spec.analyses.items().iter().any(|found| found.required_for_completion == Some(true))
    }

    /// That of the worst template.
    fn templates_verdict(&self) -> Verdict {
        let statuses = self.status.template_statuses.items();
        let own = self.seen.experiment.spec.templates.items().iter();
        let own = own.filter_map(|template| statuses.iter().find(|status| status.name == template.name));
        // The first of the worst: people read the list from its top.
        let mut worst = None;
        for status in own {
            let rank = TEMPLATES.iter().position(|known| *known == status.status.text()).unwrap_or(2);
            if worst.is_none_or(|(known, _)| rank > known) {
                worst = Some((rank, status.message.text()));
            }
        }
        // One without templates is only about its analyses.
        let is_over = self.is_ending || (self.is_time_over() && !self.awaits_required());
        let (rank, message) = worst.unwrap_or((if is_over { 0 } else { 1 }, ""));
        let phase = if rank == 2 { PENDING } else { TEMPLATES[rank] };
        Verdict { phase, message: message.to_owned() }
    }

    /// That of the worst analysis; required ones that are done decide, unless another has gone wrong.
    fn analyses_verdict(&self) -> Verdict {
        let mut worst: (usize, String) = (0, String::new());
        let entries = self.status.analysis_runs.items();
        for analysis in self.seen.experiment.spec.analyses.items() {
            let Some(entry) = entries.iter().find(|entry| entry.name == analysis.name) else { continue };
            let phase = entry.phase.text();
            let rank = match ANALYSES.iter().position(|known| *known == phase) {
                Some(rank) => rank,
                // What was never begun and never will be has nothing to say.
                None => usize::from(!self.is_ending),
            };
            if rank > worst.0 {
                worst = (rank, entry.message.text().to_owned());
            }
        }
        let (rank, message) = worst;
        let phase = ANALYSES[rank];
        if !is_bad(phase) && are_required_done(self.seen.experiment, &self.status) {
            return Verdict { phase: SUCCESSFUL, message: "Required AnalysisRuns completed".to_owned() };
        }
        Verdict { phase: if phase == PENDING { RUNNING } else { phase }, message }
    }
}
