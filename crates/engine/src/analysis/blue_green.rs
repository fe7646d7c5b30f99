//! Analysis of a blue-green Rollout: before and after the switch.

use tidegate_api::rollout::{BlueGreenStrategy, RolloutAnalysis};
use tidegate_api::wire::{Items, Text};

use super::{Occasion, entry};
use crate::pass::Pass;
use crate::sets::SetFacts;

impl<'a> Pass<'a> {
    pub(crate) fn run_blue_green_analyses(&mut self, strategy: &'a BlueGreenStrategy) {
        self.runs.pre = self.current_run(Occasion::Pre).map(entry);
        self.runs.post = self.current_run(Occasion::Post).map(entry);
        if self.skips_all_analysis() {
            self.terminate_current();
        } else {
            let skips_pre = self.skips_pre_analysis();
            self.run_promotion_analysis(Occasion::Pre, strategy.pre_promotion_analysis.as_ref(), skips_pre, strategy);
            let skips_post = self.skips_post_analysis();
            self.run_promotion_analysis(
                Occasion::Post,
                strategy.post_promotion_analysis.as_ref(),
                skips_post,
                strategy,
            );
        }
        self.tidy_runs();
    }

    fn run_promotion_analysis(
        &mut self,
        occasion: Occasion,
        analysis: Option<&RolloutAnalysis>,
        skips: bool,
        strategy: &BlueGreenStrategy,
    ) {
        let current = self.current_run(occasion);
        let Some(analysis) = analysis.filter(|found| !found.templates.items().is_empty()) else {
            if let Some(run) = current {
                self.terminate(run);
            }
            *self.entry_of(occasion) = None;
            return;
        };
        // A retry is judged anew, when its pods are there and its traffic is where it belongs: by then nothing else will
        // tell that there was an abort.
        let is_retry = self.old.aborted_at.is_some();
        if is_retry {
            if let Some(run) = current {
                self.terminate(run);
            }
            *self.entry_of(occasion) = None;
        }
        let current = current.filter(|_| !is_retry);
        if skips {
            if let Some(run) = current {
                self.terminate(run);
            }
            return;
        }
        if self.is_inconclusive() {
            return;
        }
        match current.filter(|run| !self.needs_new_run(Some(run))) {
            Some(run) => self.apply_verdict(occasion, run),
            // Every new run waits for the pods it is to judge.
            None if self.has_pods_to_judge(strategy) => {
                let made = self.create_run(occasion, analysis, None);
                *self.entry_of(occasion) = made;
            }
            None => {}
        }
    }

    fn entry_of(&mut self, occasion: Occasion) -> &mut Option<tidegate_api::rollout::RolloutAnalysisRunStatus> {
        match occasion {
            Occasion::Pre => &mut self.runs.pre,
            Occasion::Post => &mut self.runs.post,
            Occasion::Step => &mut self.runs.step,
            Occasion::Background => &mut self.runs.background,
        }
    }

    fn has_pods_to_judge(&self, strategy: &BlueGreenStrategy) -> bool {
        let Some(new) = self.sets.new else { return false };
        let size = new.size();
        match strategy.preview_replica_count {
            Some(preview) if self.stored_active() != new.hash() => size.spec == preview && size.available == preview,
            _ => self.is_saturated(new),
        }
    }

    fn stored_active(&self) -> &'a str {
        self.old.blue_green.as_ref().map_or("", |state| state.active_selector.text())
    }

    fn skips_pre_analysis(&self) -> bool {
        let (new, active) = (self.sets.new_hash(), self.stored_active());
        new.is_empty() || new == self.old.stable_rs.text() || active.is_empty() || active == new
    }

    /// Whether there is nothing to analyse after the switch.
    pub(crate) fn skips_post_analysis(&self) -> bool {
        let new = self.sets.new_hash();
        new.is_empty() || new == self.old.stable_rs.text() || self.stored_active() != new || self.awaits_targets
    }
}
