//! Many aborts at once: routes first.
//!
//! Whoever aborts hundreds of Rollouts wants their traffic back on stable, all of it, and only then to be told so. Each abort
//! is one write of a route and three others: the time at which the canary's pods go, which counts from its route and is noted
//! right after it, its Service, and the status. On a busy API server these would take turns with the routes that are
//! still to come (and a Service makes others write, too), so while aborts pour in the last two wait.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidegate_engine::{Observed, Plan, Write};
use tokio::time::Instant;

/// So many routes, written within so long, are a burst; a few aborts are answered at once and wholly.
const MANY: usize = 8;
const WITHIN: Duration = Duration::from_millis(250);
/// How long a burst may hold back what is not a route: somebody who never stops must not keep statuses from being told.
const AT_MOST: Duration = Duration::from_secs(4);
/// When to look again whether it is over.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(400);

/// What is known of aborts. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Haste(Arc<Mutex<Recent>>);

#[derive(Default)]
struct Recent {
    /// When the last routes of aborted Rollouts were written.
    routed: VecDeque<Instant>,
    /// When this burst began.
    since: Option<Instant>,
}

impl Recent {
    fn note(&mut self, now: Instant) {
        self.routed.push_back(now);
        if self.routed.len() > MANY {
            self.routed.pop_front();
        }
    }

    fn is_on(&mut self, now: Instant) -> bool {
        let is_burst =
            self.routed.len() == MANY && self.routed.front().is_some_and(|first| now.duration_since(*first) <= WITHIN);
        if !is_burst {
            self.since = None;
            return false;
        }
        now.duration_since(*self.since.get_or_insert(now)) < AT_MOST
    }
}

impl Haste {
    /// Routes of a Rollout were written; whether what is left to do about it waits.
    pub(crate) fn follows(&self, seen: &Observed) -> bool {
        if !is_aborted(seen) {
            return false;
        }
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.note(Instant::now());
        recent.is_on(Instant::now())
    }

    /// Whether of a plan only that is done now which is urgent.
    pub(crate) fn holds(&self, seen: &Observed, plan: &Plan) -> bool {
        let is_something = plan.status.is_some() || !plan.actions.is_empty();
        let moves_traffic = || plan.actions.iter().any(|action| moves_traffic(&action.write));
        is_something
            && is_aborted(seen)
            && !moves_traffic()
            && self.0.lock().unwrap_or_else(PoisonError::into_inner).is_on(Instant::now())
    }
}

fn moves_traffic(write: &Write) -> bool {
    matches!(write, Write::Routes(_) | Write::Subsets(_))
}

/// Whether a write does not wait.
pub(crate) fn is_urgent(write: &Write) -> bool {
    matches!(write, Write::SetDeadline { .. })
}

fn is_aborted(seen: &Observed) -> bool {
    seen.rollout.status.as_ref().is_some_and(|status| status.abort == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_aborts_are_no_burst_many_are_and_it_ends() {
        let begun = Instant::now();
        let at = |millis: u64| begun + Duration::from_millis(millis);
        let mut recent = Recent::default();
        // Given an abort every 50 ms, and then none.
        for count in 0..20 {
            recent.note(at(50 * count));
            assert!(!recent.is_on(at(50 * count)), "{count}");
        }
        // When they come every 10 ms.
        for count in 0..20 {
            recent.note(at(2000 + 10 * count));
            assert_eq!(recent.is_on(at(2000 + 10 * count)), count >= 7, "{count}");
        }
        // Then it is over a quarter of a second after the last of many.
        assert!(recent.is_on(at(2200)));
        assert!(!recent.is_on(at(2500)));
    }

    #[test]
    fn somebody_who_never_stops_does_not_keep_statuses_from_being_told() {
        let begun = Instant::now();
        let mut recent = Recent::default();
        let mut held = 0;
        for count in 0..1000 {
            let now = begun + Duration::from_millis(10 * count);
            recent.note(now);
            held += usize::from(recent.is_on(now));
        }
        assert!((390..=400).contains(&held), "{held} of 1000, which is 4 of 10 s");
    }
}
