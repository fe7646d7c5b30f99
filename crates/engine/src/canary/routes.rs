//! The order in which routes and subsets follow what a canary wants, and what holds them.
//!
//! A subset never names pods that are not there. Weight leaves a subset before it names other pods, and comes to it
//! after. What is recorded in the status is what the objects say, before or after this plan, and never only a wish.

use jiff::{SignedDuration, Timestamp};
use tidegate_api::rollout::{CanaryStrategy, WeightDestination};
use tidegate_api::wire::{Items, Text};
use tidegate_traffic::istio::{Edit, Hashes, edit_destination_rule, stages};
use tidegate_traffic::router::{Change, RouterError, SeenRoute};

use super::traffic::{Recorded, Wanted};
use crate::pass::{Held, Pass, plain_weights};
use crate::plan::{Subsets, Traffic, Write};
use crate::routing::{self, Objects, Routers};
use crate::sets::SetFacts;
use crate::waiting::Waiting;

/// What the DestinationRule needs.
struct Relabelling {
    write: Option<Subsets>,
    /// Whether pods behind stable change.
    moves_stable: bool,
    /// Whether pods behind the canary change.
    moves_canary: bool,
    /// Whether an experiment gets a subset.
    adds: bool,
}

impl<'a> Pass<'a> {
    /// Asks for what differs, in the order that is safe, and records what will be.
    pub(super) fn route(&mut self, canary: &'a CanaryStrategy, wanted: &Wanted) {
        let mut traffic = self.traffic(canary, wanted);
        let (canary_hash, stable_hash) = self.wanted_hashes();
        self.name_pods(&mut traffic, &canary_hash, &stable_hash);
        let desired = routing::desired(self.rollout, &traffic);
        let objects = Objects::of(self.seen);
        let edits = desired.as_ref().map_or(Ok(Vec::new()), |desired| objects.edits(desired));
        let edits = edits.map_err(|error| error.explained());
        let changes = self.changes_of_others(&traffic).map_err(|error| error.explained());
        let (edits, changes) = match (edits, changes) {
            (Ok(edits), Ok(changes)) => (edits, changes),
            (Err(problem), _) | (_, Err(problem)) => {
                self.wait(Waiting::Routes { problem });
                self.hold_traffic(canary, Held::Routes);
                return;
            }
        };
        let current = desired.as_ref().map(|desired| objects.canary_weights(desired)).unwrap_or_default();
        let relabelling = self.relabelling(&objects, &canary_hash, &stable_hash, &traffic.additional);
        let is_routed = edits.iter().all(|edit| edit.changed().is_none()) && changes.is_empty();
        if self.is_too_early(is_routed, &relabelling) {
            self.hold_traffic(canary, Held::Routes);
            return;
        }
        let failed: Vec<usize> = (0..objects.virtual_services.len())
            .filter(|at| self.seen.routes.failed.contains(&objects.virtual_services[*at].name))
            .collect();
        traffic.stages = stages(&current, wanted.weight, &failed);
        let mut routes = desired.as_ref().map(|desired| objects.read_after(&edits, desired).routes).unwrap_or_default();
        routes.extend(self.read_others(&traffic, &changes));
        let recorded = recorded(&routes, (canary_hash, stable_hash), &traffic);
        let is_lowered = current.iter().flatten().any(|weight| *weight > wanted.weight);
        let before = self.weights.clone();
        self.record_weights(canary, recorded);
        self.verify_weights(canary, &traffic, is_routed);
        traffic.repairs = self.is_as_recorded();
        let routes = (!is_routed).then(|| Write::Routes(Box::new(traffic)));
        let subsets = relabelling
            .write
            .map(|subsets| Write::Subsets(Box::new(Subsets { repairs: self.is_as_recorded(), ..subsets })));
        // Weight leaves a subset before it names other pods, and comes to it after. Stable pods that change are complete.
        let routes_first = relabelling.moves_canary && !relabelling.moves_stable && is_lowered;
        let (first, second) = if routes_first { (routes, subsets) } else { (subsets, routes) };
        let moves = relabelling.moves_stable || relabelling.moves_canary || relabelling.adds;
        if first.is_some() && second.is_some() && moves && self.gives_proxies_time() {
            // The second relies on the first, so proxies see the first before it is made.
            first.into_iter().for_each(|write| self.act(write));
            if routes_first {
                self.held = Some(Held::Routes);
            } else {
                self.weights = before;
                self.hold_traffic(canary, Held::Routes);
            }
            return;
        }
        first.into_iter().chain(second).for_each(|write| self.act(write));
    }

    pub(super) fn others<'t>(&'t self, traffic: &'t Traffic) -> Option<Routers<'t>> {
        Routers::besides_istio(self.rollout, &self.seen.routes.versions, traffic, self.now)
    }

    /// What the routers besides Istio want written now; says when there will be more.
    fn changes_of_others(&mut self, traffic: &Traffic) -> Result<Vec<Change>, RouterError> {
        let seen = &self.seen.routes.routers;
        let Some(others) = self.others(traffic) else { return Ok(Vec::new()) };
        let all = others.changes(seen)?;
        let gives = traffic.canary_weight > 0 || traffic.routes.as_ref().is_some_and(|routes| !routes.is_empty());
        if gives && !all.is_empty() {
            others.reach(seen, &routing::service_ports(&self.seen.found))?;
        }
        drop(others);
        let now = self.now;
        let later: Vec<Timestamp> = all.iter().filter_map(|change| routing::not_before(change, now)).collect();
        later.into_iter().for_each(|moment| self.wake(moment));
        Ok(all.into_iter().filter(|change| routing::not_before(change, now).is_none()).collect())
    }

    /// What the routers besides Istio say once this is written.
    fn read_others(&self, traffic: &Traffic, changes: &[Change]) -> Vec<SeenRoute> {
        let Some(others) = self.others(traffic) else { return Vec::new() };
        if changes.is_empty() {
            return others.read(&self.seen.routes.routers);
        }
        let mut after = self.seen.routes.routers.clone();
        routing::apply(&mut after, changes);
        others.read(&after)
    }

    /// Whether changes that rely on each other are kept apart.
    fn gives_proxies_time(&self) -> bool {
        !self.is_aborted() && !self.propagation().is_zero()
    }

    /// An abort on the routes that are there, though others are not.
    pub(crate) fn route_what_is_there(&mut self, canary: &'a CanaryStrategy) {
        let Some(weight) = self.carried_weight(canary, 0) else {
            self.hold_traffic(canary, Held::Capacity);
            return;
        };
        let mut traffic = self.traffic(canary, &Wanted::plain(weight));
        let (canary_hash, stable_hash) = self.wanted_hashes();
        self.name_pods(&mut traffic, &canary_hash, &stable_hash);
        let mut members: Vec<usize> = Vec::new();
        if let Some(desired) = routing::desired(self.rollout, &traffic) {
            let objects = Objects::of(self.seen);
            let can_edit = |at: &usize| {
                let found = &objects.virtual_services[*at];
                let edit = tidegate_traffic::istio::edit_virtual_service(found.object, &found.reference, &desired);
                matches!(edit, Ok(Edit::Changed(_)))
            };
            members.extend((0..objects.virtual_services.len()).filter(can_edit));
            let mut all = stages(&objects.canary_weights(&desired), weight, &[]);
            all.iter_mut().for_each(|stage| stage.members.retain(|at| members.contains(at)));
            traffic.stages = all;
        }
        let others = self.others(&traffic);
        let can_edit = others.is_some_and(|others| {
            let mut edits = others.routers.iter().map(|router| router.edit(&self.seen.routes.routers, &others.wanted));
            edits.any(|changes| changes.is_ok_and(|changes| !changes.is_empty()))
        });
        if !members.is_empty() || can_edit {
            self.act(Write::Routes(Box::new(traffic)));
        }
        self.hold_traffic(canary, Held::Routes);
    }

    /// What the objects of all routers say now.
    fn routes_as_they_are(&self, canary: &CanaryStrategy) -> Vec<SeenRoute> {
        let as_it_is = Traffic { max_weight: canary.max_traffic_weight_or_default(), ..Traffic::default() };
        let desired = routing::desired(self.rollout, &as_it_is);
        let mut routes = desired.map(|desired| Objects::of(self.seen).read(&desired).routes).unwrap_or_default();
        routes.extend(self.read_others(&as_it_is, &[]));
        // A place without any weight, such as an Ingress whose annotation somebody took away, says nothing about where requests go.
        routes.retain(|route| route.total > 0);
        routes
    }

    /// The highest weight that any route gives to stable now.
    pub(super) fn stable_weight_in_routes(&self, canary: &CanaryStrategy) -> Option<i32> {
        self.routes_as_they_are(canary).iter().map(|route| number(route.stable)).max()
    }

    /// Leaves traffic where it is, and says where that is.
    pub(super) fn hold_traffic(&mut self, canary: &'a CanaryStrategy, why: Held) {
        self.held = Some(why);
        let routes = self.routes_as_they_are(canary);
        let highest = routes.iter().map(|route| route.canary).max();
        let lowest = routes.iter().map(|route| route.stable).min();
        let (Some(highest), Some(lowest), Some(weights)) = (highest, lowest, &mut self.weights) else { return };
        if let Some(destination) = &mut weights.canary {
            destination.weight = Some(number(highest));
        }
        if let Some(destination) = &mut weights.stable {
            destination.weight = Some(number(lowest));
        }
    }

    /// The templates that canary and stable subsets are to name.
    fn wanted_hashes(&self) -> (String, String) {
        let stored = self.weights.as_ref().and_then(|weights| weights.canary.as_ref());
        let canary = match stored {
            Some(stored) if self.is_rolling_back_dynamically() => stored.pod_template_hash.text(),
            _ => self.sets.new_hash(),
        };
        (canary.to_owned(), self.sets.stable.map_or("", SetFacts::hash).to_owned())
    }

    /// Whether a set has pods that serve.
    fn serves(&self, hash: &str) -> bool {
        self.sets.all.iter().any(|set| set.hash() == hash && set.serving() > 0)
    }

    /// Says which pods are meant to routers that name them: never a set without any.
    fn name_pods(&self, traffic: &mut Traffic, canary: &str, stable: &str) {
        let may_name = |hash: &str| hash.is_empty() || self.serves(hash);
        traffic.canary_hash = (may_name(canary) || canary == stable).then(|| canary.to_owned());
        traffic.stable_hash = (may_name(stable) || self.replicas() == 0).then(|| stable.to_owned());
    }

    /// What has to change in the DestinationRule, subset by subset.
    fn relabelling(
        &mut self,
        objects: &Objects<'_>,
        canary_hash: &str,
        stable_hash: &str,
        additional: &[WeightDestination],
    ) -> Relabelling {
        let nothing = Relabelling { write: None, moves_stable: false, moves_canary: false, adds: false };
        let Some((rule, object)) = objects.rule else { return nothing };
        let (canary, stable) = (rule.canary_subset_name.text(), rule.stable_subset_name.text());
        let (named_canary, named_stable) = (objects.subset_hash(canary), objects.subset_hash(stable));
        let is_stable_there = named_stable == Some(stable_hash) || self.serves(stable_hash) || self.replicas() == 0;
        let may_move = named_canary == Some(canary_hash) || self.serves(canary_hash);
        if !may_move && !self.is_aborted() {
            let set = self.sets.new.map_or("", SetFacts::name).to_owned();
            self.wait(Waiting::SubsetPods { subset: canary.to_owned(), set });
        }
        let lingering = self.lingering_destinations(additional).into_iter();
        let lingering = lingering.filter(|found| objects.subset_hash(found.service_name.text()).is_some());
        let adds = additional.iter().any(|found| objects.subset_hash(found.service_name.text()).is_none());
        let subsets = Subsets {
            canary: may_move.then(|| canary_hash.to_owned()),
            // Its pods were counted before, where stable is to get anything; a set without any is not named all the same.
            stable: Some(stable_hash.to_owned()).filter(|hash| !hash.is_empty() && is_stable_there),
            additional: additional.iter().cloned().chain(lingering).collect(),
            repairs: false,
        };
        let hashes: Hashes = routing::hashes(self.rollout, &subsets);
        // What cannot be edited at all was found before.
        let is_changed =
            edit_destination_rule(object, rule, self.name(), &hashes).is_ok_and(|edit| edit.changed().is_some());
        let is_moved = |now: Option<&str>, then: &Option<String>| then.is_some() && now != then.as_deref();
        Relabelling {
            moves_stable: is_moved(named_stable, &subsets.stable),
            moves_canary: is_moved(named_canary, &subsets.canary),
            adds,
            write: is_changed.then_some(subsets),
        }
    }

    /// Whether proxies have had no time yet to see the change that this one relies on.
    fn is_too_early(&mut self, is_routed: bool, relabelling: &Relabelling) -> bool {
        if self.is_aborted() {
            return false;
        }
        let relabels = relabelling.moves_stable || relabelling.moves_canary;
        let (routes, delay) = (&self.seen.routes, self.propagation());
        let after_labels = if is_routed { None } else { self.seen_by_proxies(routes.relabelled_at, delay) };
        let after_routes = if relabels { self.seen_by_proxies(routes.routed_at, delay) } else { None };
        self.waits_for_proxies(after_labels.max(after_routes))
    }

    /// How long proxies may take; what is no time was told before.
    fn propagation(&self) -> SignedDuration {
        routing::propagation(self.rollout).unwrap_or(SignedDuration::ZERO)
    }

    /// When proxies have seen a change that was made then; none when they have already.
    fn seen_by_proxies(&self, changed_at: Option<Timestamp>, delay: SignedDuration) -> Option<Timestamp> {
        let changed_at = changed_at.filter(|at| routing::is_credible(*at, self.now))?;
        let until = changed_at.checked_add(delay).ok()?;
        (!delay.is_zero() && until > self.now).then_some(until)
    }

    /// Whether proxies have yet to see the routes that the end of an update relies on.
    pub(super) fn awaits_proxies(&mut self) -> bool {
        if self.gives_proxies_time() && self.writes_routes() {
            // The next look knows when they were written.
            return true;
        }
        self.waits_for_proxies(self.seen_by_proxies(self.seen.routes.routed_at, self.propagation()))
    }

    /// Whether pods that have lost their traffic may still get some, from proxies that are behind. It counts from the last
    /// write of a route or subset.
    pub(crate) fn drains(&mut self) -> bool {
        let moves = self.plan.actions.iter().any(|action| matches!(action.write, Write::Routes(_) | Write::Subsets(_)));
        if moves && routing::is_routed(self.rollout) {
            return true;
        }
        let Some(seconds) = routing::drain_seconds(self.rollout) else { return false };
        let written = self.seen.routes.routed_at.max(self.seen.routes.relabelled_at);
        self.waits_for_proxies(self.seen_by_proxies(written, SignedDuration::from_secs(seconds.into())))
    }

    /// Says until when, if there is anything to wait for.
    fn waits_for_proxies(&mut self, until: Option<Timestamp>) -> bool {
        let Some(until) = until else { return false };
        self.wait(Waiting::Propagation { until });
        self.wake(until);
        true
    }

    /// Whether what this look wants is what was wanted before.
    fn is_as_recorded(&self) -> bool {
        let stored = self.old.canary.as_ref().and_then(|state| state.weights.as_ref());
        let hashes = |weights: Option<&tidegate_api::rollout::TrafficWeights>| {
            let hash = |found: &Option<WeightDestination>| {
                found.as_ref().map_or("", |found| found.pod_template_hash.text()).to_owned()
            };
            weights.map(|weights| (hash(&weights.canary), hash(&weights.stable)))
        };
        let additional = |weights: Option<&tidegate_api::rollout::TrafficWeights>| {
            weights.map(|weights| weights.additional.items().to_vec()).unwrap_or_default()
        };
        stored.is_some()
            && additional(stored) == additional(self.weights.as_ref())
            && plain_weights(stored) == plain_weights(self.weights.as_ref())
            && hashes(stored) == hashes(self.weights.as_ref())
    }
}

/// What the status says once the routes are like this.
fn recorded(routes: &[SeenRoute], (canary_hash, stable_hash): (String, String), traffic: &Traffic) -> Recorded {
    let extra = traffic.additional.iter().map(|found| found.weight.unwrap_or_default());
    let rest = traffic.max_weight.saturating_sub(traffic.canary_weight).saturating_sub(extra.sum());
    let highest = routes.iter().map(|route| route.canary).max();
    let lowest = routes.iter().map(|route| route.stable).min();
    Recorded {
        canary_weight: highest.map_or(traffic.canary_weight, number),
        stable_weight: lowest.map_or(rest, number),
        canary_hash,
        stable_hash,
        additional: traffic.additional.clone(),
    }
}

/// A weight as the status holds it.
fn number(weight: i64) -> i32 {
    i32::try_from(weight).unwrap_or(i32::MAX)
}
