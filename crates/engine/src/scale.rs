//! Sizes of single ReplicaSets.

use tidegate_api::names::{annotations, reason};
use tidegate_api::view::ReplicaSet;

use crate::pass::Pass;
use crate::plan::{Event, SetEdit, Write};
use crate::routing;
use crate::sets::{Deadline, SetFacts};
use crate::waiting::Waiting;

impl Pass<'_> {
    /// Sizes a set; says whether its size changes. A set that goes to nothing loses its deadline in the same write,
    /// unless that deadline is what holds it (`keeps_deadline`).
    pub(crate) fn scale(&mut self, set: &ReplicaSet, target: i32, keeps_deadline: bool) -> bool {
        let replicas = self.replicas();
        let current = set.spec_replicas();
        let gives_away = set.size().actual > current;
        if target > current && gives_away {
            // Its status still shows pods that it is giving away. Were it larger, they would pass for pods that stay, and others
            // would go on their account. It does note the size of the Rollout, or that would count as changed until then.
            self.wait(Waiting::Pods { set: set.name().to_owned(), available: set.serving(), wanted: target });
        }
        let target = if gives_away { target.min(current) } else { target };
        let drops_deadline = target == 0 && set.has_deadline() && !keeps_deadline;
        let is_settled = current == target && set.desired_replicas() == Some(replicas);
        if is_settled && !(replicas == 0 && drops_deadline) {
            return false;
        }
        let mut edit = SetEdit { replicas: Some(target), ..SetEdit::default() };
        edit.annotations.insert(annotations::DESIRED_REPLICAS.to_owned(), Some(replicas.to_string()));
        if drops_deadline {
            edit.annotations.insert(annotations::SCALE_DOWN_DEADLINE.to_owned(), None);
        }
        let events = if current == target { Vec::new() } else { vec![scaling_event(set, current, target)] };
        self.act_and_tell(Write::EditSet { name: set.name().to_owned(), edit }, events);
        if current < target {
            self.wait(Waiting::Pods { set: set.name().to_owned(), available: set.available(), wanted: target });
        }
        current != target
    }

    /// Takes the deadline off a set that is to stay.
    pub(crate) fn remove_deadline(&mut self, set: &ReplicaSet) {
        if set.has_deadline() {
            self.act(Write::SetDeadline { name: set.name().to_owned(), deadline: None });
        }
    }

    /// Gives a set that may go a time until which it stays.
    pub(crate) fn add_deadline(&mut self, set: &ReplicaSet, seconds: i32) {
        let deadline = self.after_seconds(i64::from(seconds));
        self.act(Write::SetDeadline { name: set.name().to_owned(), deadline: Some(deadline) });
        self.hold_until(set, deadline);
    }

    /// Comes back when a set may go.
    pub(crate) fn hold_until(&mut self, set: &ReplicaSet, deadline: jiff::Timestamp) {
        self.wake(deadline);
        self.wait(Waiting::ScaleDown { set: set.name().to_owned(), deadline });
    }

    /// Holds the new set of an aborted update for its delay; `None` when the usual size applies.
    ///
    /// The time counts from when the stable set can carry everything again.
    pub(crate) fn hold_aborted_set(&mut self, new: &ReplicaSet, seconds: i32) -> Option<bool> {
        let stable = self.sets.stable.map_or(0, SetFacts::serving);
        match new.deadline() {
            Deadline::None => {
                let scaled = self.scale(new, new.spec_replicas(), true);
                if stable >= self.replicas() && new.spec_replicas() > 0 {
                    let least = routing::drain_seconds(self.rollout).unwrap_or(0);
                    self.add_deadline(new, seconds.max(least));
                }
                Some(scaled)
            }
            Deadline::At(deadline) if deadline > self.now => {
                self.hold_until(new, deadline);
                Some(self.scale(new, new.spec_replicas(), true))
            }
            Deadline::At(_) if self.drains() => Some(self.scale(new, new.spec_replicas(), true)),
            Deadline::At(_) => Some(self.scale(new, 0, true)),
            Deadline::Garbled => None,
        }
    }
}

fn scaling_event(set: &ReplicaSet, from: i32, to: i32) -> Event {
    let direction = if to > from { "up" } else { "down" };
    let (name, revision) = (set.name(), set.revision().unwrap_or(0));
    let message = format!("Scaled {direction} ReplicaSet {name} (revision {revision}) from {from} to {to}");
    Event::normal(reason::SCALING_REPLICA_SET, message)
}
