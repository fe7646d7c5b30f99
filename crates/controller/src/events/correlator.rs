//! Keeps events from flooding a cluster: many alike become one, and one object is not told about without end.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::{SignedDuration, Timestamp};
use tidegate_engine::{Event, Severity};

use super::recent::Recent;

/// From so many different texts on, events of one reason about one object are told as one.
const SIMILAR: usize = 10;
/// Within this time.
const WITHIN: SignedDuration = SignedDuration::from_mins(10);
/// How many events one object may have at once.
const BURST: f64 = 25.0;
/// After this long it may have one more.
const REFILL_SECONDS: f64 = 300.0;

/// What makes two events the same one: the object, the type and reason, and the text unless it is one of too many. Kept as a
/// digest: the texts of thousands of objects would weigh more than all else that is known of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Same(u64);

impl Same {
    fn of(event: impl Hash) -> Self {
        Self(digest(event))
    }
}

/// An event as it is to be told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Telling {
    pub same: Same,
    pub message: String,
}

struct Similar {
    /// Digests of the texts.
    messages: BTreeSet<u64>,
    last: Timestamp,
}

struct Budget {
    left: f64,
    at: Timestamp,
}

/// What was told lately.
pub(super) struct Correlator {
    similar: Recent<Same, Similar>,
    budgets: Recent<Same, Budget>,
}

impl Correlator {
    /// Remembers so many objects and reasons.
    pub(super) fn new(most: usize) -> Self {
        Self { similar: Recent::new(most), budgets: Recent::new(most) }
    }

    /// How an event is told; not at all when there were too many about this object.
    pub(super) fn judge(&mut self, uid: &str, event: &Event, at: Timestamp) -> Option<Telling> {
        let (is_warning, reason) = (event.severity == Severity::Warning, event.reason.clone());
        let similar = self
            .similar
            .entry(&Same::of((uid, is_warning, &reason)), || Similar { messages: BTreeSet::new(), last: at });
        if at.duration_since(similar.last) > WITHIN {
            similar.messages.clear();
        }
        similar.last = at;
        let is_news = similar.messages.len() < SIMILAR && similar.messages.insert(digest(&event.message));
        let is_one_of_many = similar.messages.len() >= SIMILAR;
        let (message, text) = if is_one_of_many {
            (format!("(combined from similar events): {}", event.message), None)
        } else {
            (event.message.clone(), Some(&event.message))
        };
        let same = Same::of((uid, is_warning, &reason, text));
        let has_room = self.take(uid, at);
        // Why something is stuck must not be lost because much went well before; the same reason again may.
        let must_be_told = is_life_cycle(&reason) || (is_warning && is_news);
        (has_room || must_be_told).then_some(Telling { same, message })
    }

    fn take(&mut self, uid: &str, at: Timestamp) -> bool {
        let budget = self.budgets.entry(&Same::of(uid), || Budget { left: BURST, at });
        let passed = at.duration_since(budget.at).as_secs_f64().max(0.0);
        budget.left = (budget.left + passed / REFILL_SECONDS).min(BURST);
        budget.at = at;
        let has_room = budget.left >= 1.0;
        if has_room {
            budget.left -= 1.0;
        }
        has_room
    }
}

fn digest(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Alerts and histories are made from these: they are told however much was told before.
fn is_life_cycle(reason: &str) -> bool {
    reason.starts_with("Rollout")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + seconds).unwrap()
    }

    fn scaled(number: usize) -> Event {
        Event::normal("ScalingReplicaSet", format!("Scaled up ReplicaSet a from {number} to {}", number + 1))
    }

    #[test]
    fn the_tenth_text_of_a_reason_within_ten_minutes_and_those_after_it_are_one_event() {
        let mut correlator = Correlator::new(100);
        let told: Vec<Telling> = (0..12).map(|number| correlator.judge("a", &scaled(number), at(0)).unwrap()).collect();
        let different: BTreeSet<&Same> = told.iter().map(|telling| &telling.same).collect();
        assert_eq!(different.len(), 10);
        assert_eq!(told[8].message, "Scaled up ReplicaSet a from 8 to 9");
        assert_eq!(told[11].message, "(combined from similar events): Scaled up ReplicaSet a from 11 to 12");
        assert_eq!(told[9].same, told[11].same);
        let other = correlator.judge("b", &scaled(12), at(0)).unwrap();
        assert_eq!(other.message, scaled(12).message, "another object has its own count");
        let later = correlator.judge("a", &scaled(13), at(601)).unwrap();
        assert_eq!(later.message, scaled(13).message, "after ten quiet minutes it begins anew");
    }

    #[test]
    fn the_same_text_again_is_the_same_event_however_often() {
        let mut correlator = Correlator::new(100);
        let first = correlator.judge("a", &scaled(1), at(0)).unwrap();
        for number in 1..20 {
            assert_eq!(correlator.judge("a", &scaled(1), at(number)), Some(first.clone()));
        }
    }

    #[test]
    fn an_object_has_twenty_five_events_at_once_and_then_one_in_five_minutes() {
        let mut correlator = Correlator::new(100);
        let mut told = |seconds| correlator.judge("a", &scaled(1), at(seconds)).is_some();
        assert_eq!((0..40).filter(|_| told(0)).count(), 25);
        assert!(!told(299));
        assert!(told(301));
        assert!(!told(302));
    }

    #[test]
    fn life_cycle_events_are_told_however_much_was_told_before() {
        let mut correlator = Correlator::new(100);
        for _ in 0..40 {
            correlator.judge("a", &scaled(1), at(0));
        }
        let aborted = Event::warning("RolloutAborted", "Rollout aborted update to revision 2");
        assert!(correlator.judge("a", &aborted, at(0)).is_some());
    }

    #[test]
    fn a_warning_that_is_news_is_told_however_much_was_told_before_and_its_repetitions_are_not() {
        let mut correlator = Correlator::new(100);
        for _ in 0..30 {
            correlator.judge("a", &scaled(1), at(0));
        }
        let refused = Event::warning("WriteRefused", "cannot create resource \"replicasets\"");
        assert!(correlator.judge("a", &refused, at(1)).is_some());
        assert!(correlator.judge("a", &refused, at(2)).is_none());
        assert!(correlator.judge("a", &Event::warning("WriteRefused", "another reason"), at(3)).is_some());
    }

    #[test]
    fn a_clock_that_jumps_back_gives_nothing_away() {
        let mut correlator = Correlator::new(100);
        for _ in 0..25 {
            correlator.judge("a", &scaled(1), at(1000));
        }
        assert!(correlator.judge("a", &scaled(1), at(0)).is_none());
    }
}
