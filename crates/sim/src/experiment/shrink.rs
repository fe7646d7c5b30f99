//! A run that fails is made as short as it can be: with fewer faults and fewer acts it must still break the same rule.

use std::collections::BTreeSet;

use super::{Experiment, Report, read_acts};
use crate::faults::Fault;

/// Runs that a failure is worth.
const MOST_RUNS: usize = 60;

/// Flags that leave faults and acts out, as reports name them.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Selection {
    /// Faults that do not happen, by name and with commas between them
    #[arg(long, value_delimiter = ',', value_parser = Fault::named)]
    pub without: Vec<Fault>,
    /// The acts of users that are played, by number and with commas between them; `none` for none
    #[arg(long, value_parser = Acts::read)]
    pub acts: Option<Acts>,
}

/// Numbers of acts.
#[derive(Clone, Debug)]
pub struct Acts(BTreeSet<usize>);

impl Acts {
    fn read(text: &str) -> Result<Self, String> {
        read_acts(text).map(Self)
    }
}

impl Selection {
    /// The experiment with this much left out.
    pub fn of(self, experiment: Experiment) -> Experiment {
        let without = self.without.into_iter().collect();
        Experiment { without, acts: self.acts.map(|acts| acts.0), ..experiment }
    }
}

/// A failure that is being shrunk.
struct Shrinking<'a> {
    /// The shortest run so far, and the experiment that gives it.
    experiment: Experiment,
    report: Report,
    runs: usize,
    tell: &'a mut dyn FnMut(&str),
}

impl Experiment {
    /// The shortest run found with the same seed that breaks the same rule; the same report if it broke none.
    pub fn shrink(&self, report: Report, tell: &mut dyn FnMut(&str)) -> Report {
        let seed = report.seed;
        let (faults, acts) = (report.menu.faults().len(), report.last_act);
        let mut shrinking = Shrinking { experiment: self.clone(), report, runs: 0, tell };
        if shrinking.report.rule.is_some() {
            shrinking.drop_faults();
            shrinking.drop_acts();
            let Shrinking { report, runs, tell, .. } = &mut shrinking;
            let (now, left) = (report.menu.faults().len(), played(report).len());
            tell(&format!("seed {seed}: {faults} faults and {acts} acts became {now} and {left} in {runs} runs"));
        }
        shrinking.report
    }
}

/// The acts of a run.
fn played(report: &Report) -> BTreeSet<usize> {
    let all = 1..=report.last_act;
    all.filter(|act| report.acts.as_ref().is_none_or(|acts| acts.contains(act))).collect()
}

impl Shrinking<'_> {
    /// Tries a shorter run and keeps it if it breaks the same rule.
    fn attempt(&mut self, without: BTreeSet<Fault>, acts: Option<BTreeSet<usize>>) -> bool {
        if self.runs >= MOST_RUNS {
            return false;
        }
        self.runs += 1;
        let shorter = Experiment { without, acts, ..self.experiment.clone() };
        // Where no runtime can be built nothing gets shorter; the report there is stays good.
        let Ok(report) = shorter.run(self.report.seed, false) else { return false };
        let breaks_it = report.rule == self.report.rule;
        if breaks_it {
            (self.experiment, self.report) = (shorter, report);
        }
        breaks_it
    }

    fn say(&mut self, what: &str, left: usize) {
        (self.tell)(&format!("seed {}: {left} {what} left after {} runs", self.report.seed, self.runs));
    }

    fn drop_faults(&mut self) {
        let all = self.experiment.without.iter().copied().chain(self.report.menu.faults()).collect();
        if !self.attempt(all, self.experiment.acts.clone()) {
            for fault in self.report.menu.faults() {
                let mut without = self.experiment.without.clone();
                without.insert(fault);
                self.attempt(without, self.experiment.acts.clone());
            }
        }
        let left = self.report.menu.faults().len();
        self.say("faults", left);
    }

    /// Drops acts in halves, quarters and so on down to single ones.
    fn drop_acts(&mut self) {
        let mut size = played(&self.report).len();
        while size > 0 && self.runs < MOST_RUNS {
            let acts: Vec<usize> = played(&self.report).into_iter().collect();
            // The last ones first: what comes late is least likely to be a cause of what comes later.
            for dropped in acts.rchunks(size) {
                let rest = played(&self.report).into_iter().filter(|act| !dropped.contains(act)).collect();
                self.attempt(self.experiment.without.clone(), Some(rest));
            }
            let left = played(&self.report).len();
            self.say("acts", left);
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
    }
}
