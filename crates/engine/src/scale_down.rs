//! Old ReplicaSets: those that are neither new nor stable go, when nobody needs them and their time has come.

use tidegate_api::defaults::SCALE_DOWN_DELAY_REVISION_LIMIT;
use tidegate_api::rollout::CanaryStrategy;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;

use crate::counts::fence_posts;
use crate::mutation::{self, Mutation};
use crate::pass::Pass;
use crate::routing::{self, Objects};
use crate::sets::{Deadline, SetFacts};

/// What becomes of one old set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It gets a time until which it stays.
    Wait,
    /// It stays until its time.
    Keep(jiff::Timestamp),
    /// It goes.
    Go,
}

/// How long old sets stay, and how many of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    pub seconds: i32,
    pub limit: i32,
}

impl Delay {
    pub(crate) fn new(seconds: i32, limit: Option<i32>) -> Self {
        Self { seconds, limit: limit.unwrap_or(SCALE_DOWN_DELAY_REVISION_LIMIT) }
    }

    /// Decides about a set; `kept` counts those that stay.
    fn fate(self, set: &ReplicaSet, kept: &mut i32, now: jiff::Timestamp) -> Fate {
        match set.deadline() {
            Deadline::None if mutation::is(Mutation::ForgetsTheDelay) => Fate::Go,
            Deadline::None if self.seconds <= 0 || *kept >= self.limit => Fate::Go,
            Deadline::None => {
                *kept += 1;
                Fate::Wait
            }
            deadline => {
                *kept = kept.saturating_add(1);
                match deadline {
                    Deadline::At(at) if at > now && *kept <= self.limit => Fate::Keep(at),
                    _ => Fate::Go,
                }
            }
        }
    }
}

impl<'a> Pass<'a> {
    /// Old sets with pods, the latest revision first.
    fn old_sets_with_pods(&self) -> Vec<&'a ReplicaSet> {
        let mut sets: Vec<&ReplicaSet> =
            self.sets.other.iter().copied().filter(|set| set.spec_replicas() > 0).collect();
        sets.sort_by_key(|set| std::cmp::Reverse((set.revision(), set.created())));
        sets
    }

    /// Whether something still sends traffic to a template, or may.
    fn is_referenced(&self, hash: &str, services: &[Option<&str>]) -> bool {
        let blue_green = self.old.blue_green.as_ref();
        let weights = self.old.canary.as_ref().and_then(|canary| canary.weights.as_ref());
        let destinations = weights.into_iter().flat_map(|weights| [weights.canary.as_ref(), weights.stable.as_ref()]);
        let recorded = [self.old.stable_rs.text(), self.old.current_pod_hash.text()]
            .into_iter()
            .chain(
                blue_green.into_iter().flat_map(|state| [state.active_selector.text(), state.preview_selector.text()]),
            )
            .chain(destinations.flatten().map(|destination| destination.pod_template_hash.text()))
            .any(|recorded| recorded == hash);
        recorded
            || services.iter().flatten().any(|name| self.selected(name) == hash)
            || Objects::of(self.seen).weighted_hashes(self.rollout).contains(hash)
    }

    /// Old sets of a canary; says whether any size changes.
    pub(crate) fn scale_down_old_canaries(&mut self, canary: &CanaryStrategy) -> bool {
        let replicas = self.replicas();
        let fence = fence_posts(canary, replicas);
        let is_routed = canary.traffic_routing.is_some();
        let is_dynamic = canary.dynamic_stable_scale == Some(true);
        let least = routing::drain_seconds(self.rollout).unwrap_or(0);
        let seconds = canary.scale_down_delay_seconds_or_default().max(least);
        let delay = Delay::new(seconds, canary.scale_down_delay_revision_limit);
        // The one that is idle after an update keeps what it selected, and nobody is sent there any more.
        let ping_pong = canary.ping_pong.as_ref().filter(|_| !self.is_fully_promoted());
        let services = [
            canary.canary_service.as_deref(),
            canary.stable_service.as_deref(),
            ping_pong.and_then(|pair| pair.ping_service.as_deref()),
            ping_pong.and_then(|pair| pair.pong_service.as_deref()),
        ];
        let room = self.sets.sum(SetFacts::serving).saturating_sub(replicas.saturating_sub(fence.unavailable));
        let mut room = mutation::pick(Mutation::DrainsOldSetsAtOnce, i32::MAX, room);
        let (mut scaled, mut kept) = (false, 0);
        for set in self.old_sets_with_pods() {
            // Its time counts from the moment that traffic has moved away.
            if is_routed && (self.held.is_some() || self.is_referenced(set.hash(), &services)) {
                continue;
            }
            // Pods that do not serve can go at any time.
            let serving = set.serving();
            if room <= 0 || serving == 0 {
                if serving < set.spec_replicas() {
                    scaled |= self.scale(set, serving, false);
                }
                continue;
            }
            let target = if !is_routed {
                serving.saturating_sub(room).max(0)
            } else if !(self.is_fully_promoted() || set.has_deadline()) || is_dynamic {
                if self.lingers(set) {
                    continue;
                }
                0
            } else {
                match delay.fate(set, &mut kept, self.now) {
                    // Requests may still come here while the load balancer does not know the pods that follow.
                    _ if self.awaits_targets && !set.has_deadline() => continue,
                    Fate::Wait => {
                        self.add_deadline(set, delay.seconds);
                        continue;
                    }
                    Fate::Keep(at) => {
                        self.hold_until(set, at);
                        continue;
                    }
                    Fate::Go => 0,
                }
            };
            if target == 0 && is_routed && self.drains() {
                continue;
            }
            scaled |= self.scale(set, target, false);
            room = room.saturating_sub(serving.saturating_sub(target));
        }
        scaled
    }

    /// Whether a set that nobody names any more stays a moment, for proxies that have not seen it.
    fn lingers(&mut self, set: &ReplicaSet) -> bool {
        let Some(seconds) = routing::drain_seconds(self.rollout) else { return false };
        match set.deadline() {
            Deadline::None => {
                self.add_deadline(set, seconds);
                true
            }
            Deadline::At(at) if at > self.now => {
                self.hold_until(set, at);
                true
            }
            Deadline::At(_) | Deadline::Garbled => false,
        }
    }

    /// Old sets of a blue-green Rollout.
    pub(crate) fn scale_down_old_blue_greens(&mut self, delay: Delay, services: &[Option<&str>]) -> bool {
        let (mut scaled, mut kept) = (false, 0);
        for set in self.old_sets_with_pods() {
            if self.is_referenced(set.hash(), services) {
                continue;
            }
            match delay.fate(set, &mut kept, self.now) {
                Fate::Wait => self.add_deadline(set, delay.seconds),
                Fate::Keep(at) => {
                    self.hold_until(set, at);
                    // A set that served everything follows the Rollout's size, so that going back to it is safe; a
                    // preview that never did keeps its own.
                    if set.desired_replicas() == Some(set.spec_replicas()) {
                        let replicas = self.replicas();
                        scaled |= self.scale(set, replicas, false);
                    }
                }
                Fate::Go => scaled |= self.scale(set, 0, false),
            }
        }
        scaled
    }
}
