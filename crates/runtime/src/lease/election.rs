//! Who may hold a Lease, decided by what was seen and when it was seen here. Clocks of others are never compared.

use std::time::Duration;

use tokio::time::Instant;

use super::record::LeaseSpec;

/// The three times of an election.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How long others wait after the last renewal they saw.
    pub duration: Duration,
    /// How long a leader goes on without a renewal.
    pub renew_deadline: Duration,
    /// How often the Lease is looked at.
    pub retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// What to do about the Lease.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Somebody else holds it: look again later.
    Wait,
    /// Write this.
    Write(LeaseSpec),
}

/// One candidate.
#[derive(Clone, Debug)]
pub struct Election {
    identity: String,
    timing: Timing,
    /// The record last seen, and when it was first seen like that.
    seen: Option<(LeaseSpec, Instant)>,
}

impl Election {
    /// A candidate that has seen nothing yet.
    pub fn new(identity: impl Into<String>, timing: Timing) -> Self {
        Self { identity: identity.into(), timing, seen: None }
    }

    /// Takes in a record and says what to do. `wall` is the time as it is written, which nobody else's decision uses.
    pub fn step(&mut self, record: Option<&LeaseSpec>, now: Instant, wall: &str) -> Step {
        let none = LeaseSpec::default();
        let record = record.unwrap_or(&none);
        if self.seen.as_ref().is_none_or(|(seen, _)| seen != record) {
            self.seen = Some((record.clone(), now));
        }
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        let is_ours = record.holder() == self.identity;
        let is_held = !record.holder().is_empty() && !is_ours;
        if is_held && now < since + self.timing.duration {
            return Step::Wait;
        }
        let transitions = record.lease_transitions.unwrap_or(0);
        Step::Write(LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i64::try_from(self.timing.duration.as_secs()).ok(),
            acquire_time: if is_ours { record.acquire_time.clone() } else { Some(wall.to_owned()) },
            renew_time: Some(wall.to_owned()),
            lease_transitions: Some(if is_ours { transitions } else { transitions.saturating_add(1) }),
        })
    }

    /// What a leader writes when it goes: whoever waits may take over at once.
    pub fn give_up(&self, record: &LeaseSpec, wall: &str) -> Option<LeaseSpec> {
        (record.holder() == self.identity).then(|| LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: Some(wall.to_owned()),
            renew_time: Some(wall.to_owned()),
            lease_transitions: record.lease_transitions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_by(holder: &str, renewed: &str) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            renew_time: Some(renewed.to_owned()),
            lease_transitions: Some(3),
            ..LeaseSpec::default()
        }
    }

    #[test]
    fn a_lease_is_taken_over_only_after_it_has_stood_still_here_for_its_whole_duration() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut election = Election::new("me", Timing::default());
        // What the times in the record say does not matter, however old they are.
        assert_eq!(election.step(Some(&held_by("you", "1999")), at(0), "now"), Step::Wait);
        assert_eq!(election.step(Some(&held_by("you", "1999")), at(14), "now"), Step::Wait);
        assert_eq!(election.step(Some(&held_by("you", "2000")), at(15), "now"), Step::Wait);
        assert_eq!(election.step(Some(&held_by("you", "2000")), at(29), "now"), Step::Wait);
        let Step::Write(taken) = election.step(Some(&held_by("you", "2000")), at(30), "now") else { panic!("waited") };
        assert_eq!((taken.holder(), taken.lease_transitions), ("me", Some(4)));
    }

    #[test]
    fn our_own_lease_is_renewed_without_changing_hands_and_an_abandoned_one_is_taken_at_once() {
        let now = Instant::now();
        let mut election = Election::new("me", Timing::default());
        let Step::Write(renewed) = election.step(Some(&held_by("me", "old")), now, "new") else { panic!("waited") };
        assert_eq!((renewed.lease_transitions, renewed.renew_time.as_deref()), (Some(3), Some("new")));
        let given_up = election.give_up(&renewed, "later").unwrap();
        assert_eq!(given_up.holder(), "");
        assert!(election.give_up(&held_by("you", "x"), "later").is_none());

        let mut other = Election::new("you", Timing::default());
        assert!(matches!(other.step(Some(&given_up), now, "new"), Step::Write(_)));
        assert!(matches!(Election::new("x", Timing::default()).step(None, now, "new"), Step::Write(_)));
    }
}
