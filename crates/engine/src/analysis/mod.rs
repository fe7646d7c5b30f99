//! AnalysisRuns of a Rollout: which are current, when one is made or ended, and what their verdicts mean.

mod arguments;
mod blue_green;
mod canary;
mod cause;
mod create;
mod retention;

pub(crate) use arguments::resolve as resolve_arguments;
pub(crate) use retention::Finished;

use std::collections::BTreeSet;

use tidegate_api::analysis::AnalysisRun;
use tidegate_api::names::{analysis_phase, pause_reason, rollout_type};
use tidegate_api::rollout::RolloutAnalysisRunStatus;
use tidegate_api::wire::Text;

use crate::pass::Pass;
use crate::pause;
use crate::plan::{Event, Write};
use crate::waiting::Waiting;

/// The four occasions for analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    Step,
    Background,
    Pre,
    Post,
}

impl Occasion {
    fn label(self) -> &'static str {
        match self {
            Self::Step => rollout_type::STEP,
            Self::Background => rollout_type::BACKGROUND,
            Self::Pre => rollout_type::PRE_PROMOTION,
            Self::Post => rollout_type::POST_PROMOTION,
        }
    }

    fn failure(self) -> &'static str {
        match self {
            Self::Step => "Step-based analysis phase error/failed",
            Self::Background => "Background analysis phase error/failed",
            Self::Pre => "Blue/green pre-promotion analysis phase error/failed",
            Self::Post => "Blue/green post-promotion analysis phase error/failed",
        }
    }
}

fn phase(run: &AnalysisRun) -> &str {
    run.status.as_ref().map_or("", |status| status.phase.text())
}

fn message(run: &AnalysisRun) -> &str {
    run.status.as_ref().map_or("", |status| status.message.text())
}

fn name(run: &AnalysisRun) -> &str {
    run.metadata.name.text()
}

fn is_over(run: &AnalysisRun) -> bool {
    analysis_phase::is_completed(phase(run))
}

fn entry(run: &AnalysisRun) -> RolloutAnalysisRunStatus {
    RolloutAnalysisRunStatus {
        name: Some(name(run).to_owned()),
        status: Some(phase(run).to_owned()),
        message: Some(message(run).to_owned()).filter(|text| !text.is_empty()),
        ..RolloutAnalysisRunStatus::default()
    }
}

impl<'a> Pass<'a> {
    /// The four entries of the stored status.
    fn stored_entries(&self) -> [(Occasion, Option<&'a RolloutAnalysisRunStatus>); 4] {
        let (canary, blue_green) = (self.old.canary.as_ref(), self.old.blue_green.as_ref());
        [
            (Occasion::Post, blue_green.and_then(|state| state.post_promotion_analysis_run_status.as_ref())),
            (Occasion::Pre, blue_green.and_then(|state| state.pre_promotion_analysis_run_status.as_ref())),
            (Occasion::Step, canary.and_then(|state| state.current_step_analysis_run_status.as_ref())),
            (Occasion::Background, canary.and_then(|state| state.current_background_analysis_run_status.as_ref())),
        ]
    }

    /// Names of the runs the stored status knows.
    pub(crate) fn current_run_names(&self) -> BTreeSet<String> {
        let entries = self.stored_entries().into_iter().filter_map(|(_, entry)| entry);
        entries.map(|entry| entry.name.text().to_owned()).collect()
    }

    /// The run of an occasion.
    fn current_run(&self, occasion: Occasion) -> Option<&'a AnalysisRun> {
        let (_, entry) = self.stored_entries().into_iter().find(|(known, _)| *known == occasion)?;
        self.run_named(entry?.name.text())
    }

    fn run_named(&self, wanted: &str) -> Option<&'a AnalysisRun> {
        self.seen.analysis_runs.iter().find(|run| name(run) == wanted)
    }

    /// The phase of the run that an entry names.
    pub(crate) fn current_phase(&self, entry: Option<&RolloutAnalysisRunStatus>) -> Option<&'a str> {
        Some(phase(self.run_named(entry?.name.text())?))
    }

    /// Whether there is nothing to analyse: nothing is updated, or it was decided without analysis.
    fn skips_all_analysis(&self) -> bool {
        self.is_fully_promoted()
            || self.is_aborted()
            || self.promotes_fully()
            || self.old.stable_rs.text().is_empty()
            || self.is_fast_rollback()
    }

    fn terminate(&mut self, run: &AnalysisRun) {
        if !is_over(run) && run.spec.terminate != Some(true) {
            self.act(Write::TerminateAnalysisRun(name(run).to_owned()));
        }
    }

    fn terminate_current(&mut self) {
        for (occasion, _) in self.stored_entries() {
            if let Some(run) = self.current_run(occasion) {
                self.terminate(run);
            }
        }
    }

    /// Whether a run is made although there may be one: after a person resumed an undecided one, or after an abort.
    fn needs_new_run(&self, current: Option<&AnalysisRun>) -> bool {
        let Some(current) = current else { return true };
        let is_step_pause = pause::stored(self.old, pause_reason::CANARY_PAUSE_STEP).is_some()
            || pause::stored(self.old, pause_reason::BLUE_GREEN_PAUSE).is_some();
        if self.old.controller_pause == Some(true) && !is_step_pause {
            return phase(current) == analysis_phase::INCONCLUSIVE;
        }
        self.old.aborted_at.is_some()
    }

    /// What a verdict does to the Rollout.
    fn apply_verdict(&mut self, occasion: Occasion, run: &AnalysisRun) {
        match phase(run) {
            analysis_phase::INCONCLUSIVE => self.pause.add(pause_reason::INCONCLUSIVE_ANALYSIS),
            analysis_phase::FAILED | analysis_phase::ERROR => {
                let mut cause = occasion.failure().to_owned();
                if !message(run).is_empty() {
                    cause = format!("{cause}: {}", message(run));
                }
                cause.push_str(&cause::details(run));
                self.pause.add_abort(cause);
            }
            analysis_phase::SUCCESSFUL => {}
            _ => self.wait(Waiting::Analysis { run: name(run).to_owned() }),
        }
    }

    /// Ends runs nobody waits for, deletes those beyond the limits, and tells people what changed.
    fn tidy_runs(&mut self) {
        let current = [&self.runs.step, &self.runs.background, &self.runs.pre, &self.runs.post];
        let current: BTreeSet<String> =
            current.into_iter().flatten().map(|entry| entry.name.text().to_owned()).collect();
        let others: Vec<&AnalysisRun> =
            self.seen.analysis_runs.iter().filter(|run| !current.contains(name(run))).collect();
        for run in &others {
            let already = Write::TerminateAnalysisRun(name(run).to_owned());
            if self.plan.actions.iter().all(|action| action.write != already) {
                self.terminate(run);
            }
        }
        self.apply_history_limits(&others);
        self.tell_about_runs();
    }

    fn tell_about_runs(&mut self) {
        let now = [
            (Occasion::Post, self.runs.post.clone()),
            (Occasion::Pre, self.runs.pre.clone()),
            (Occasion::Step, self.runs.step.clone()),
            (Occasion::Background, self.runs.background.clone()),
        ];
        for ((occasion, before), (_, after)) in self.stored_entries().into_iter().zip(now) {
            let Some(after) = after.filter(|entry| !entry.status.text().is_empty()) else { continue };
            let is_news = match before {
                None => true,
                Some(before) => before.name == after.name && before.status != after.status,
            };
            if !is_news {
                continue;
            }
            let (run, new) = (after.name.text(), after.status.text());
            let previous = before.map_or("NoPreviousStatus", |entry| entry.status.text());
            let kind = occasion.label();
            let text = format!("{kind} Analysis Run '{run}' Status New: '{new}' Previous: '{previous}'");
            let reason = format!("AnalysisRun{new}");
            let is_bad = matches!(new, analysis_phase::FAILED | analysis_phase::ERROR);
            self.events.push(if is_bad { Event::warning(&reason, text) } else { Event::normal(&reason, text) });
        }
    }

    /// The revision of the current template, as names of runs carry it.
    fn revision_text(&self) -> String {
        self.revision.to_string()
    }
}
