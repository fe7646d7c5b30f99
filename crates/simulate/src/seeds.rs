//! Many runs under different faults, and how they ended.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

use serde::Serialize;

use crate::input::Input;
use crate::play::{PlayError, simulate};
use crate::report::{Ending, Report};
use crate::setting::{Faults, Setting};

/// The form of the JSON.
const SCHEMA: &str = "tidegate.dev/simulate-seeds/v1";
/// Seeds that are named as the worst.
const MOST_WORST: usize = 5;

/// How many runs ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeedsReport {
    /// The form of this document.
    pub schema: &'static str,
    /// How many there were.
    pub seeds: u64,
    /// How updates should have ended.
    pub expected: &'static str,
    /// Runs in which all did.
    pub as_expected: u64,
    /// Runs by how they ended, such as `healthy`.
    pub endings: BTreeMap<String, u64>,
    /// The part of runs in which an update was given up.
    pub aborted_share: f64,
    /// Whether each seed drew its faults.
    pub drawn: bool,
    /// Seconds until the last Rollout was at its end, of runs that came to one.
    pub time_to_finish: Distribution,
    /// Requests that failed.
    pub failed_requests: Distribution,
    /// The most pods of all Rollouts at once.
    pub peak_pods: Distribution,
    /// The worst, worst first.
    pub worst: Vec<WorstSeed>,
    /// What the files do not say and was made up.
    pub assumptions: Vec<String>,
    /// Every run, in order.
    pub runs: Vec<SeedResult>,
}

impl SeedsReport {
    /// The JSON.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// How figures are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    /// The least.
    pub min: f64,
    /// Half are no more than this.
    pub p50: f64,
    /// Nine of ten are no more than this.
    pub p90: f64,
    /// The most.
    pub max: f64,
}

impl Distribution {
    fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        // The smallest figure that is not below so many of them.
        let rank = |part: f64| {
            let place = (part * figures.len() as f64).ceil() as usize;
            figures.get(place.saturating_sub(1)).copied().unwrap_or_default()
        };
        Self { min: rank(0.0), p50: rank(0.5), p90: rank(0.9), max: rank(1.0) }
    }
}

/// What came of one seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeedResult {
    /// Which.
    pub seed: u64,
    /// How it ended: as most Rollouts should have, or as the first that did not.
    pub ending: Ending,
    /// Whether that was expected.
    pub as_expected: bool,
    /// When the last Rollout was at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<f64>,
    /// Requests.
    pub requests: u64,
    /// Those that failed.
    pub failed: u64,
    /// The most pods.
    pub peak_pods: i64,
    /// Faults that could happen.
    pub faults: Vec<String>,
}

impl SeedResult {
    fn of(report: &Report) -> Self {
        let first = report.rollouts.iter().find(|rollout| !rollout.as_expected).or(report.rollouts.first());
        let times: Option<Vec<f64>> = report.rollouts.iter().map(|rollout| rollout.finished_at).collect();
        Self {
            seed: report.seed,
            ending: first.map_or(Ending::NotStarted, |rollout| rollout.ending),
            as_expected: report.as_expected,
            finished_at: times.map(|times| times.into_iter().fold(0.0, f64::max)),
            requests: report.rollouts.iter().map(|rollout| rollout.requests.all.requests).sum(),
            failed: report.failed(),
            peak_pods: report.rollouts.iter().map(|rollout| rollout.peak_pods).sum(),
            faults: report.faults.iter().map(|fault| fault.name.clone()).collect(),
        }
    }

    /// The worst come first: what was not expected, what lost most, what took longest.
    fn badness(&self) -> (bool, u64, u64) {
        let time = self.finished_at.map_or(u64::MAX, |time| (time * 1000.0) as u64);
        (!self.as_expected, self.failed, time)
    }
}

/// A seed worth looking at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorstSeed {
    /// Which.
    pub seed: u64,
    /// How it ended.
    pub ending: Ending,
    /// Requests that failed.
    pub failed: u64,
    /// When it was at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<f64>,
    /// The command that shows it again.
    pub replay: String,
}

/// Runs seeds on all cores, each in virtual time of its own. `done` counts them; `replay` says how one is shown again.
///
/// # Errors
/// Those of [`simulate`].
pub fn run_seeds(
    input: &Input,
    setting: &Setting,
    seeds: Range<u64>,
    stop: &AtomicBool,
    done: &AtomicU64,
    replay: &dyn Fn(u64) -> String,
) -> Result<SeedsReport, PlayError> {
    let count = seeds.end.saturating_sub(seeds.start);
    let (results, assumptions) = run_all(input, setting, seeds, stop, done)?;
    let mut endings = BTreeMap::new();
    for result in &results {
        *endings.entry(word(result.ending)).or_insert(0) += 1;
    }
    let aborted = endings.get("aborted").copied().unwrap_or(0);
    let figures =
        |figure: &dyn Fn(&SeedResult) -> Option<f64>| Distribution::of(results.iter().filter_map(figure).collect());
    let mut order: Vec<&SeedResult> = results.iter().collect();
    order.sort_by_key(|result| (std::cmp::Reverse(result.badness()), result.seed));
    let worst = order.into_iter().take(MOST_WORST).map(|result| WorstSeed {
        seed: result.seed,
        ending: result.ending,
        failed: result.failed,
        finished_at: result.finished_at,
        replay: replay(result.seed),
    });
    Ok(SeedsReport {
        schema: SCHEMA,
        seeds: count,
        expected: setting.expect.text(),
        as_expected: results.iter().map(|result| u64::from(result.as_expected)).sum(),
        aborted_share: (aborted as f64 / (count.max(1)) as f64 * 1000.0).round() / 1000.0,
        endings,
        drawn: setting.faults == Faults::Drawn,
        time_to_finish: figures(&|result| result.finished_at),
        failed_requests: figures(&|result| Some(result.failed as f64)),
        peak_pods: figures(&|result| Some(result.peak_pods as f64)),
        worst: worst.collect(),
        assumptions,
        runs: results,
    })
}

/// An ending as the JSON has it.
pub(crate) fn word(ending: Ending) -> String {
    serde_json::to_value(ending).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The results in the order of their seeds, and what was assumed in all of them.
fn run_all(
    input: &Input,
    setting: &Setting,
    seeds: Range<u64>,
    stop: &AtomicBool,
    done: &AtomicU64,
) -> Result<(Vec<SeedResult>, Vec<String>), PlayError> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(seeds.start);
    let (sender, receiver) = mpsc::sync_channel(2 * workers);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let report = simulate(input, &Setting { seed, ..setting.clone() }, stop);
                    let result = report.map(|report| (SeedResult::of(&report), report.assumptions));
                    if sender.send((seed, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut results = BTreeMap::new();
        let mut assumptions = Vec::new();
        for (seed, result) in receiver {
            let (result, assumed) = result?;
            results.insert(seed, result);
            assumptions = assumed;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok((results.into_values().collect(), assumptions))
    })
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    #[test]
    fn figures_are_spread_by_rank() {
        let spread = Distribution::of((1..=10).rev().map(f64::from).collect());
        assert_eq!(spread, Distribution { min: 1.0, p50: 5.0, p90: 9.0, max: 10.0 });
        assert_eq!(Distribution::of(vec![3.0]), Distribution { min: 3.0, p50: 3.0, p90: 3.0, max: 3.0 });
        assert_eq!(Distribution::of(Vec::new()), Distribution::default());
    }
}
