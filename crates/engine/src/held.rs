//! A Rollout whose routes cannot be used: a VirtualService is missing, another Rollout writes the same route.
//!
//! Nothing new is begun and no step is passed, but what runs follows `spec.replicas`, and an abort moves as much traffic
//! as the routes that are there allow.

use tidegate_api::rollout::CanaryStrategy;

use crate::invalid;
use crate::pass::Pass;
use crate::persist::{nonzero, set_phase};
use crate::plan::StatusChange;
use crate::services::Check;
use crate::sets::SetFacts;
use crate::steps;
use crate::waiting::Waiting;

impl<'a> Pass<'a> {
    pub(crate) fn held_pass(&mut self, canary: &'a CanaryStrategy, problem: &str) {
        self.keep_sizes();
        if self.is_aborted() && !self.has_changed() {
            self.ensure_service(canary.canary_service.as_deref(), self.sets.stable, Check::None);
            self.route_what_is_there(canary);
        }
        let mut status = self.old.clone();
        self.observe_generation(&mut status);
        self.count_all_pods(&mut status);
        if let Some(state) = &mut status.canary {
            state.weights.clone_from(&self.weights);
        }
        let (message, news) = invalid::mark(self.rollout, &mut status, problem, self.now);
        self.events.extend(news);
        steps::keep_within(self.rollout, &mut status);
        set_phase(self.rollout, &mut status);
        self.wait(Waiting::ValidSpec { message });
        self.wake(self.after_seconds(invalid::RETRY_SECONDS));
        if status != *self.old {
            let events = std::mem::take(&mut self.events);
            self.plan.status = Some(StatusChange { status: Box::new(status), events });
        }
    }

    /// Keeps what runs at the size that is asked for.
    pub(crate) fn keep_sizes(&mut self) {
        let replicas = self.replicas();
        // The stable set comes back even from nothing; whatever else has no pods gets none.
        let stable = self.sets.stable.map(SetFacts::name);
        let is_sized = |set: &&tidegate_api::view::ReplicaSet| set.spec_replicas() > 0 || Some(set.name()) == stable;
        for set in self.sets.all.iter().copied().filter(is_sized).collect::<Vec<_>>() {
            let is_stable = Some(set.name()) == stable;
            let target = if is_stable { replicas } else { set.spec_replicas().min(replicas) };
            self.scale(set, target, true);
        }
    }

    pub(crate) fn count_all_pods(&self, status: &mut tidegate_api::rollout::RolloutStatus) {
        status.replicas = nonzero(self.sets.sum(|set| set.size().actual));
        status.updated_replicas = nonzero(self.sets.new.map_or(0, |set| set.size().actual));
        status.ready_replicas = nonzero(self.sets.sum(SetFacts::ready));
        status.available_replicas = nonzero(self.sets.sum(SetFacts::available));
        status.hpa_replicas = status.replicas;
    }
}
