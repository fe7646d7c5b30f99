//! The weights that Rollouts have had, as far as they were watched.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tidegate_runtime::Key;
use tidegate_view::RolloutInfo;

/// Points kept of each Rollout, the latest.
const MOST: usize = 240;

/// When, in milliseconds since 1970; the weight that was asked for; the weight there was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Point(i64, u32, u32);

/// The weights of all Rollouts.
#[derive(Default)]
pub(super) struct Weights(Mutex<BTreeMap<Key, VecDeque<Point>>>);

impl Weights {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, VecDeque<Point>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the weights of now, if they are others than before.
    pub(super) fn note(&self, key: &Key, info: Option<&RolloutInfo>, now: i64) {
        let mut all = self.lock();
        let Some(info) = info else {
            all.remove(key);
            return;
        };
        let (Ok(set), Ok(actual)) = (info.set_weight.parse(), info.actual_weight.parse()) else { return };
        let points = all.entry(key.clone()).or_default();
        if points.back().is_some_and(|last| (last.1, last.2) == (set, actual)) {
            return;
        }
        points.push_back(Point(now, set, actual));
        if points.len() > MOST {
            points.pop_front();
        }
    }

    pub(super) fn of(&self, key: &Key) -> Vec<Point> {
        self.lock().get(key).into_iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(set: &str, actual: &str) -> RolloutInfo {
        RolloutInfo { set_weight: set.to_owned(), actual_weight: actual.to_owned(), ..RolloutInfo::default() }
    }

    #[test]
    fn weights_are_noted_when_they_change_and_not_without_end() {
        let (weights, key) = (Weights::default(), Key::new("n", "x"));
        weights.note(&key, Some(&info("20", "0")), 1);
        weights.note(&key, Some(&info("20", "0")), 2);
        weights.note(&key, Some(&info("20", "20")), 3);
        weights.note(&key, Some(&info("", "")), 4);
        assert_eq!(weights.of(&key), [Point(1, 20, 0), Point(3, 20, 20)]);
        for moment in 0..1000 {
            weights.note(&key, Some(&info("1", &(moment % 2).to_string())), moment);
        }
        assert_eq!(weights.of(&key).len(), MOST);
        weights.note(&key, None, 5);
        assert!(weights.of(&key).is_empty());
    }
}
