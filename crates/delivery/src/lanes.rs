//! What waits, by destination: each is told one thing at a time and in order, and waits for nobody else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Configuration, service and recipient.
pub(crate) type Lane = (String, String, String);

/// One lane may have this part of all the room.
const SHARES: usize = 4;

/// What waits.
pub(crate) struct Lanes<T> {
    most: usize,
    count: usize,
    waiting: BTreeMap<Lane, VecDeque<T>>,
    /// Lanes that have something waiting and nothing on its way, in the order they became so.
    ready: VecDeque<Lane>,
    busy: BTreeSet<Lane>,
}

impl<T> Lanes<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, count: 0, waiting: BTreeMap::new(), ready: VecDeque::new(), busy: BTreeSet::new() }
    }

    /// Lets something wait; gives it back when too much waits already.
    pub(crate) fn push(&mut self, lane: Lane, item: T) -> Result<(), T> {
        // One that hangs must not take the room of all others.
        let share = self.most.div_ceil(SHARES);
        if self.count >= self.most || self.waiting.get(&lane).is_some_and(|queue| queue.len() >= share) {
            return Err(item);
        }
        self.count += 1;
        let queue = self.waiting.entry(lane.clone()).or_default();
        queue.push_back(item);
        if queue.len() == 1 && !self.busy.contains(&lane) {
            self.ready.push_back(lane);
        }
        Ok(())
    }

    /// What goes next; its lane is busy until it is released.
    pub(crate) fn next(&mut self) -> Option<(Lane, T)> {
        let lane = self.ready.pop_front()?;
        let queue = self.waiting.get_mut(&lane)?;
        let item = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&lane);
        }
        self.count -= 1;
        self.busy.insert(lane.clone());
        Some((lane, item))
    }

    /// What was on its way has arrived or not.
    pub(crate) fn release(&mut self, lane: Lane) {
        self.busy.remove(&lane);
        if self.waiting.contains_key(&lane) {
            self.ready.push_back(lane);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(name: &str) -> Lane {
        (String::new(), name.to_owned(), String::new())
    }

    #[test]
    fn a_lane_gives_one_thing_at_a_time_in_order_and_others_go_on() {
        let mut lanes = Lanes::new(12);
        for (name, item) in [("a", 1), ("a", 2), ("b", 3), ("a", 4)] {
            assert_eq!(lanes.push(lane(name), item), Ok(()));
        }
        assert_eq!(lanes.push(lane("a"), 5), Err(5), "three of this lane wait already");
        assert_eq!(lanes.next(), Some((lane("a"), 1)));
        assert_eq!(lanes.next(), Some((lane("b"), 3)));
        assert_eq!(lanes.next(), None, "both are busy");
        lanes.release(lane("b"));
        lanes.release(lane("a"));
        assert_eq!(lanes.next(), Some((lane("a"), 2)));
        assert_eq!(lanes.push(lane("b"), 6), Ok(()));
        assert_eq!(lanes.next(), Some((lane("b"), 6)));
        lanes.release(lane("a"));
        assert_eq!((lanes.next(), lanes.is_empty()), (Some((lane("a"), 4)), true));
    }
}
