//! The traffic a canary should get, as a value for whatever router there is.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_api::names::annotations;
use tidegate_api::rollout::{CanaryStrategy, TrafficWeights, WeightDestination};
use tidegate_api::wire::{Items, Text};
use tidegate_traffic::router::ManagedRoute;

use crate::counts::{self, share_down};
use crate::pass::{Held, Pass, plain_weights};
use crate::plan::{Event, Traffic, Write};
use crate::routing;
use crate::services::Check;
use crate::sets::SetFacts;
use crate::steps::{self, StepKind};
use crate::unsupported;
use crate::waiting::Waiting;

/// Seconds between two questions to a router that has not confirmed the weights.
const VERIFY_SECONDS: i64 = tidegate_api::defaults::VERIFY_RETRY_SECONDS as i64;

/// Weights for the status.
pub(super) struct Recorded {
    pub canary_weight: i32,
    pub stable_weight: i32,
    pub canary_hash: String,
    pub stable_hash: String,
    pub additional: Vec<WeightDestination>,
}

/// The weight and what goes with it.
pub(super) struct Wanted {
    pub weight: i32,
    keeps_routes: bool,
    with_experiments: bool,
    /// Where the canary Service belongs now that the update is given up.
    canary_service_to_stable: bool,
}

impl Wanted {
    pub(super) fn plain(weight: i32) -> Self {
        Self { weight, keeps_routes: false, with_experiments: false, canary_service_to_stable: false }
    }
}

impl<'a> Pass<'a> {
    pub(super) fn route_traffic(&mut self, canary: &'a CanaryStrategy) {
        let routing = canary.traffic_routing.as_ref();
        if routing.is_none_or(|routing| unsupported::routers(routing).is_empty()) {
            self.weights = None;
            return;
        }
        if let Some(problem) = self.seen.routes.trouble.clone() {
            self.wait(Waiting::Routes { problem });
            self.hold_traffic(canary, Held::Routes);
            if self.wanted_weight(canary).canary_service_to_stable {
                // The other way off the canary.
                self.ensure_service(canary.canary_service.as_deref(), self.sets.stable, Check::None);
            }
            return;
        }
        let mut wanted = self.wanted_weight(canary);
        match self.carried_weight(canary, wanted.weight) {
            Some(weight) => {
                wanted.weight = weight;
                self.route(canary, &wanted);
            }
            None => self.hold_traffic(canary, Held::Capacity),
        }
        if wanted.canary_service_to_stable && !self.writes_routes() {
            self.ensure_service(canary.canary_service.as_deref(), self.sets.stable, Check::None);
        }
    }

    /// Whether this look changes routes.
    pub(super) fn writes_routes(&self) -> bool {
        self.plan.actions.iter().any(|action| matches!(action.write, Write::Routes(_)))
    }

    /// The weight that stable pods are there for: the wanted one, or as much of an abort as they can carry. None leaves
    /// traffic where it is.
    pub(super) fn carried_weight(&mut self, canary: &CanaryStrategy, wanted: i32) -> Option<i32> {
        if self.is_where_it_was(wanted) || self.stable_can_carry(canary, wanted) {
            return Some(wanted);
        }
        self.abort_as_far_as_stable_can_carry(canary)
    }

    /// What is asked of the routes: weights, experiments, header and mirror routes.
    pub(super) fn traffic(&self, canary: &'a CanaryStrategy, wanted: &Wanted) -> Traffic {
        let additional = if wanted.with_experiments { self.experiment_destinations(canary) } else { Vec::new() };
        let running: BTreeSet<&str> = additional.iter().map(|found| found.service_name.text()).collect();
        let recorded = self.old.canary.as_ref().and_then(|state| state.weights.as_ref());
        let recorded = recorded.into_iter().flat_map(|weights| weights.additional.items());
        let of_experiments = self.seen.experiments.iter().filter_map(|found| found.status.as_ref());
        let of_experiments = of_experiments.flat_map(|status| status.template_statuses.items());
        let former = routing::former(
            recorded.map(|found| found.service_name.text()),
            of_experiments.map(|found| found.service_name.text()),
            &running,
        );
        Traffic {
            canary_weight: wanted.weight,
            max_weight: canary.max_traffic_weight_or_default(),
            routes: if wanted.keeps_routes { self.managed_routes(canary) } else { None },
            former,
            additional,
            ..Traffic::default()
        }
    }

    /// An update that is given up leaves the canary as far as stable pods are there to take its share, even where they
    /// cannot take all of it.
    fn abort_as_far_as_stable_can_carry(&self, canary: &CanaryStrategy) -> Option<i32> {
        if !self.is_aborted() || self.replicas() <= 0 {
            return None;
        }
        let max = canary.max_traffic_weight_or_default();
        let carried = share_down(max, self.sets.stable?.serving(), self.replicas());
        let left = max.saturating_sub(carried);
        let recorded = plain_weights(self.weights.as_ref()).map_or(0, |weights| weights.canary);
        (left < recorded).then_some(left)
    }

    /// The weight of the canary, by the first row that applies.
    fn wanted_weight(&self, canary: &'a CanaryStrategy) -> Wanted {
        let is_dynamic = canary.dynamic_stable_scale == Some(true);
        let max = canary.max_traffic_weight_or_default();
        if self.is_rolling_back_dynamically() {
            return Wanted::plain(self.shrinking_weight(canary));
        }
        if self.is_fully_promoted() {
            return Wanted::plain(0);
        }
        if self.is_aborted() {
            let weight = self.shrinking_weight(canary);
            return Wanted { canary_service_to_stable: !is_dynamic || weight == 0, ..Wanted::plain(weight) };
        }
        let available = self.sets.new.map_or(0, SetFacts::serving);
        if available == 0 {
            return Wanted { with_experiments: true, ..Wanted::plain(0) };
        }
        if self.promotes_fully() {
            let stored = plain_weights(self.weights.as_ref()).map_or(0, |weights| weights.canary);
            let carried = if self.replicas() > 0 { share_down(max, available, self.replicas()).min(max) } else { 0 };
            return Wanted::plain(if is_dynamic { carried } else { stored });
        }
        let stepping =
            |weight| Wanted { weight, keeps_routes: true, with_experiments: true, canary_service_to_stable: false };
        if canary.steps.items().is_empty() {
            return Wanted::plain(0);
        }
        if !self.is_at_desired_counts(canary, None) {
            return stepping(steps::weight_before(canary, self.old.current_step_index));
        }
        match steps::weight_at(canary, self.old.current_step_index) {
            Some(weight) => stepping(if self.old.abort == Some(true) { 0 } else { weight }),
            None => Wanted { keeps_routes: true, ..Wanted::plain(max) },
        }
    }

    /// The weight while an update is taken back: never more than before, never more away from the canary than the
    /// stable set can carry.
    fn shrinking_weight(&self, canary: &'a CanaryStrategy) -> i32 {
        let is_dynamic = canary.dynamic_stable_scale == Some(true);
        let (Some(_), Some(stable)) = (self.sets.new, self.sets.stable) else { return 0 };
        if !is_dynamic || self.replicas() <= 0 {
            return 0;
        }
        let at = self.situation(canary);
        let max = canary.max_traffic_weight_or_default();
        let wanted = counts::routed_desired_weight(&at);
        let carried = share_down(max, stable.serving(), self.replicas());
        let by_stable = max.saturating_sub(carried).max(0);
        // Where no weight was ever stored, none was ever given.
        let current = plain_weights(self.weights.as_ref()).map_or(0, |weights| weights.canary);
        if wanted <= 0 {
            by_stable.min(current)
        } else if carried < max.saturating_sub(wanted) {
            current
        } else {
            wanted.min(current)
        }
    }

    /// Whether stable pods that are there had all but this weight already: then nothing is about to come to them, and what somebody
    /// else changed is set back, however many they should be by now.
    fn is_where_it_was(&self, weight: i32) -> bool {
        let stored = self.old.canary.as_ref().and_then(|state| state.weights.as_ref());
        let (Some(stored), Some(stable)) = (stored, self.sets.stable) else { return false };
        let had = stored.canary.as_ref().and_then(|canary| canary.weight);
        let was_stable = stored.stable.as_ref().map(|stable| stable.pod_template_hash.text());
        had == Some(weight) && was_stable == Some(stable.hash()) && stable.serving() > 0
    }

    /// Whether the stable set has the pods for what it is about to get; if not, traffic stays where it is.
    fn stable_can_carry(&mut self, canary: &CanaryStrategy, weight: i32) -> bool {
        let Some(stable) = self.sets.stable else { return false };
        let max = canary.max_traffic_weight_or_default().max(1);
        let needed = share_down(max.saturating_sub(weight), self.replicas(), max);
        let available = stable.serving();
        let has_threshold = canary.replica_progress_threshold.is_some();
        if available >= needed || (has_threshold && counts::threshold_is_met(canary, Some(stable.size()), needed)) {
            return true;
        }
        self.wait(Waiting::StableCapacity { available, needed });
        false
    }

    /// Header and mirror routes as the steps so far leave them; the first revision has nothing to route around.
    fn managed_routes(&self, canary: &CanaryStrategy) -> Option<BTreeMap<String, ManagedRoute>> {
        let revision = self.rollout.metadata.annotations.as_ref().and_then(|all| all.get(annotations::REVISION));
        if revision.and_then(|text| text.parse::<i64>().ok()).is_none_or(|revision| revision <= 1) {
            return None;
        }
        Some(managed_routes_at(canary, self.old.current_step_index))
    }

    /// Notes the weights as they are or will be when this plan is carried out.
    pub(super) fn record_weights(&mut self, canary: &'a CanaryStrategy, recorded: Recorded) {
        let Recorded { canary_weight, stable_weight, canary_hash, stable_hash, additional } = recorded;
        let destination = |weight: i32, service: &Option<String>, hash: String| WeightDestination {
            weight: Some(weight),
            service_name: service.clone().filter(|name| !name.is_empty()),
            pod_template_hash: Some(hash).filter(|hash| !hash.is_empty()),
            ..WeightDestination::default()
        };
        let mut weights = TrafficWeights {
            canary: Some(destination(canary_weight, &canary.canary_service, canary_hash)),
            stable: Some(destination(stable_weight, &canary.stable_service, stable_hash)),
            additional: (!additional.is_empty()).then_some(additional),
            ..TrafficWeights::default()
        };
        let old = self.weights.clone();
        let is_same = old.as_ref().is_some_and(|old| {
            (&old.canary, &old.stable, &old.additional) == (&weights.canary, &weights.stable, &weights.additional)
        });
        if !is_same {
            let text = change_text(old.as_ref(), &weights);
            self.events.push(Event::normal("TrafficWeightUpdated", format!("Traffic weight updated {text}")));
        }
        weights.verified = self.seen.routes.verified;
        if weights.verified == Some(false) {
            self.wake(self.after_seconds(VERIFY_SECONDS));
            self.wait(Waiting::Verification { weight: canary_weight, missing: Vec::new() });
        }
        self.weights = Some(weights);
    }
}

/// Header and mirror routes as the steps up to and with this one leave them, by name.
pub fn managed_routes_at(canary: &CanaryStrategy, index: Option<i32>) -> BTreeMap<String, ManagedRoute> {
    let all = canary.steps.items();
    let reached = steps::current(canary, index).map_or(all.len(), |(index, _)| index + 1);
    let mut routes = BTreeMap::new();
    for step in &all[..reached] {
        match steps::kind(step) {
            StepKind::SetHeaderRoute(route) if route.matches.items().is_empty() => {
                routes.remove(route.name.text());
            }
            StepKind::SetHeaderRoute(route) => {
                routes.insert(route.name.text().to_owned(), ManagedRoute::Header(route.clone()));
            }
            StepKind::SetMirrorRoute(route) if route.matches.items().is_empty() => {
                routes.remove(route.name.text());
            }
            StepKind::SetMirrorRoute(route) => {
                routes.insert(route.name.text().to_owned(), ManagedRoute::Mirror(route.clone()));
            }
            _ => {}
        }
    }
    routes
}

/// What changed, in words; none when only hashes did.
fn change_text(old: Option<&TrafficWeights>, new: &TrafficWeights) -> String {
    let weight = |weights: &TrafficWeights| weights.canary.as_ref().and_then(|found| found.weight).unwrap_or_default();
    let mut parts = Vec::new();
    match old.map(weight) {
        None => parts.push(format!("to {}", weight(new))),
        Some(before) if before != weight(new) => parts.push(format!("from {before} to {}", weight(new))),
        Some(_) => {}
    }
    let old_extra = old.map_or(&[][..], |old| old.additional.items());
    if old_extra != new.additional.items() {
        let list = new
            .additional
            .items()
            .iter()
            .map(|found| format!("{} {}", found.service_name.text(), found.weight.unwrap_or_default()));
        parts.push(format!("additional: [{}]", list.collect::<Vec<_>>().join(", ")));
    }
    parts.join(", ")
}
