//! From a seed to a sequence of requests.
//!
//! A sequence is about one to three kinds and a handful of names, so that its requests meet each other: names exist
//! already, versions are stale, finalizers hold. A fifth of the sequences follow one of the [`scenarios`]; the rest
//! is chance.

mod applies;
mod deletes;
mod odd;
mod patches;
mod reads;
mod scenarios;
mod subresources;
mod tables;
mod writes;

pub use applies::applies;
pub use tables::tables;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::{KINDS, Kind};
use crate::random::Random;
use crate::sequence::{Request, Sequence};

/// Names of objects: few, so that they collide.
const NAMES: [&str; 3] = ["a", "b", "c"];
/// Field managers, and none.
const MANAGERS: [&str; 3] = ["one", "two", ""];

/// The sequence of a seed; always the same.
pub fn sequence(seed: u64) -> Sequence {
    let mut maker = Maker::new(seed);
    let requests = if maker.random.chance(25) { scenarios::any(&mut maker) } else { maker.by_chance() };
    Sequence { seed, requests: requests.into_iter().enumerate().collect() }
}

/// What a sequence has done so far, as far as later requests should know.
pub(crate) struct Maker {
    pub(crate) random: Random,
    kinds: Vec<Kind>,
    alive: BTreeSet<(Kind, &'static str)>,
    generated: usize,
    /// Requests that must directly follow the one before.
    pending: Vec<Request>,
}

impl Maker {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut kinds = vec![favoured(&mut random)];
        for _ in 0..random.below(3) {
            kinds.push(favoured(&mut random));
        }
        Self { random, kinds, alive: BTreeSet::new(), generated: 0, pending: Vec::new() }
    }

    fn by_chance(&mut self) -> Vec<Request> {
        let mut requests = Vec::new();
        if self.random.chance(35) {
            requests.push(self.first_watch());
        }
        let length = self.random.between(5, 25);
        while requests.len() < length {
            let request = self.next();
            requests.push(request);
        }
        requests
    }

    fn next(&mut self) -> Request {
        if let Some(request) = self.pending.pop() {
            return request;
        }
        if self.alive.is_empty() && self.random.chance(60) {
            return self.create();
        }
        match self.random.weighted(&[16, 4, 8, 8, 8, 22, 14, 8, 9, 3, 5, 3]) {
            0 => self.create(),
            1 => self.create_specially(),
            2 => self.create_wrongly(),
            3 => self.get(),
            4 => self.list(),
            5 => self.update(),
            6 => self.patch(),
            7 => self.subresource(),
            8 => self.delete(),
            9 => self.delete_collection(),
            10 => self.odd(),
            _ => self.watch_from_here(),
        }
    }

    fn kind(&mut self) -> Kind {
        *self.random.pick(&self.kinds)
    }

    /// An object that probably exists, seldom one that does not.
    fn target(&mut self) -> (Kind, &'static str) {
        let alive: Vec<(Kind, &'static str)> = self.alive.iter().copied().collect();
        if alive.is_empty() || self.random.chance(12) {
            let kind = self.kind();
            return (kind, *self.random.pick(&NAMES));
        }
        *self.random.pick(&alive)
    }

    /// Adds a field manager or a dry run now and then.
    fn as_written(&mut self, mut request: Request) -> Request {
        let manager = *self.random.pick(&MANAGERS);
        if !manager.is_empty() {
            request = request.query("fieldManager", manager);
        }
        if self.random.chance(6) {
            request.topic.push_str("/dry-run");
            request = request.query("dryRun", "All");
        }
        if self.random.chance(4) {
            request = request.query("fieldValidation", *self.random.pick(&["Strict", "Ignore", "Warn"]));
            request.topic.push_str("/validation");
        }
        request
    }
}

/// The kinds that matter most to controllers come most often.
fn favoured(random: &mut Random) -> Kind {
    let weights: Vec<usize> = (0..KINDS.len()).map(|index| if index < 6 { 4 } else { 2 }).collect();
    KINDS[random.weighted(&weights)]
}

/// Applies edits to an object.
pub(crate) fn edited(mut object: Value, edits: &[(String, Option<Value>)]) -> Value {
    for (pointer, value) in edits {
        crate::memory::edit(&mut object, pointer, value.as_ref());
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_sequence_and_sequences_have_five_to_twenty_five_requests() {
        for seed in 0..300 {
            let made = sequence(seed);
            assert_eq!(made, sequence(seed));
            assert!((5..=25).contains(&made.requests.len()), "seed {seed} has {}", made.requests.len());
        }
    }

    #[test]
    fn sequences_of_the_other_families_are_the_same_every_time_and_about_what_they_say() {
        for (family, topic) in [(applies as fn(u64) -> Sequence, "apply"), (tables, "table")] {
            let made: Vec<Sequence> = (0..50).map(family).collect();
            assert_eq!(made, (0..50).map(family).collect::<Vec<_>>());
            let about = made.iter().flat_map(|sequence| &sequence.requests).filter(|(_, r)| r.topic.starts_with(topic));
            assert!(about.count() > 100, "{topic}");
        }
    }

    #[test]
    fn every_kind_and_every_group_of_topics_comes_up_within_a_few_hundred_seeds() {
        let mut kinds = BTreeSet::new();
        let mut topics = BTreeSet::new();
        for seed in 0..500 {
            for (_, request) in sequence(seed).requests {
                kinds.insert(request.resource);
                topics.insert(request.topic.split('/').next().unwrap().to_owned());
            }
        }
        assert!(KINDS.iter().all(|kind| kinds.contains(kind.resource)), "{kinds:?}");
        let wanted = [
            "binding",
            "create",
            "delete",
            "deletecollection",
            "eviction",
            "get",
            "list",
            "odd",
            "patch",
            "scale",
            "status",
            "update",
            "watch",
        ];
        assert!(wanted.iter().all(|topic| topics.contains(*topic)), "{topics:?}");
    }
}
