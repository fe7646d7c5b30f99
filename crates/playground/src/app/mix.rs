//! The live mix: what came back of each version, second by second.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_sim::LiveMesh;

use crate::versions::tag;

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// So many looks are kept.
const KEPT: usize = 120;

/// Answers of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    /// Below 500.
    pub(crate) good: u64,
    /// The others, and what reached no pod.
    pub(crate) failed: u64,
}

/// Answers by version; what reached no pod has none.
type ByVersion = BTreeMap<String, Answers>;

#[derive(Debug, Default)]
struct History {
    before: ByVersion,
    seconds: VecDeque<ByVersion>,
    totals: ByVersion,
}

/// What came back so far. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mix(Arc<Mutex<History>>);

impl Mix {
    /// Looks at the mesh for ever.
    pub(crate) async fn follow(self, mesh: LiveMesh) {
        loop {
            let now = counted(&mesh);
            self.note(now);
            tokio::time::sleep(EVERY).await;
        }
    }

    fn note(&self, now: ByVersion) {
        let mut history = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut second = ByVersion::new();
        for (version, answers) in &now {
            let before = history.before.get(version).copied().unwrap_or_default();
            // Counters that were forgotten begin anew.
            let new = Answers {
                good: answers.good.saturating_sub(before.good),
                failed: answers.failed.saturating_sub(before.failed),
            };
            if new != Answers::default() {
                let total = history.totals.entry(version.clone()).or_default();
                (total.good, total.failed) = (total.good + new.good, total.failed + new.failed);
                second.insert(version.clone(), new);
            }
        }
        history.before = now;
        history.seconds.push_back(second);
        if history.seconds.len() > KEPT {
            history.seconds.pop_front();
        }
    }

    /// All requests and those that failed.
    pub(crate) fn totals(&self) -> Answers {
        let history = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |of: fn(&Answers) -> u64| history.totals.values().map(of).sum();
        Answers { good: sum(|one| one.good), failed: sum(|one| one.failed) }
    }

    /// As the page reads it.
    pub(crate) fn shown(&self) -> Value {
        let history = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = |one: &ByVersion| -> Value {
            one.iter().map(|(version, answers)| (version.clone(), json!([answers.good, answers.failed]))).collect()
        };
        json!({"totals": shown(&history.totals), "seconds": history.seconds.iter().map(shown).collect::<Vec<_>>()})
    }
}

fn counted(mesh: &LiveMesh) -> ByVersion {
    let mut found = ByVersion::new();
    for (key, totals) in mesh.now().telemetry().totals() {
        let version = if key.workload == "unknown" { "no pod" } else { tag(&key.version) };
        let answers = found.entry(version.to_owned()).or_default();
        answers.good += totals.successes;
        answers.failed += totals.errors;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(of: &[(&str, u64, u64)]) -> ByVersion {
        of.iter()
            .map(|(version, good, failed)| ((*version).to_owned(), Answers { good: *good, failed: *failed }))
            .collect()
    }

    #[test]
    fn each_second_holds_what_is_new_and_the_totals_hold_all() {
        let mix = Mix::default();
        mix.note(counters(&[("1.0", 10, 0)]));
        mix.note(counters(&[("1.0", 18, 0), ("2.0", 1, 1)]));
        assert_eq!(
            mix.shown(),
            json!({"totals": {"1.0": [18, 0], "2.0": [1, 1]}, "seconds": [{"1.0": [10, 0]}, {"1.0": [8, 0], "2.0": [1, 1]}]})
        );
        assert_eq!(mix.totals(), Answers { good: 19, failed: 1 });
    }

    #[test]
    fn counters_that_begin_anew_take_nothing_away_and_old_seconds_go() {
        let mix = Mix::default();
        mix.note(counters(&[("1.0", 10, 0)]));
        mix.note(counters(&[("1.0", 3, 0)]));
        assert_eq!(mix.totals(), Answers { good: 10, failed: 0 });
        (0..2 * KEPT).for_each(|_| mix.note(ByVersion::new()));
        assert_eq!(mix.shown()["seconds"].as_array().unwrap().len(), KEPT);
    }
}
