//! Target groups of AWS: whether the load balancer sends requests to every pod behind a Service, before anything relies on it.

use tidegate_api::rollout::Rollout;
use tidegate_api::view::ReplicaSet;
use tidegate_api::wire::Text;
use tidegate_traffic::alb::{Occasion, verify_failed};
use tidegate_traffic::services::Services;

use crate::observed::Observed;
use crate::pass::Pass;
use crate::plan::Event;
use crate::sets::SetFacts;
use crate::steps::{self, StepKind};
use crate::waiting::Waiting;

/// How soon to look again.
pub(crate) const AGAIN_SECONDS: i64 = tidegate_api::defaults::VERIFY_RETRY_SECONDS as i64;

/// Whether the weights of a Rollout behind a load balancer of AWS are to be compared with what is in force.
pub fn is_verification_due(rollout: &Rollout) -> bool {
    let weights = rollout.status.as_ref().and_then(|status| status.canary.as_ref()?.weights.as_ref());
    let weight = weights.and_then(|weights| weights.canary.as_ref()?.weight).unwrap_or_default();
    occasion(rollout, weight).is_some_and(|occasion| occasion.is_due())
}

/// The occasion at a weight; none where there is no such load balancer.
pub(crate) fn occasion(rollout: &Rollout, weight: i32) -> Option<Occasion> {
    let canary = rollout.spec.canary()?;
    canary.traffic_routing.as_ref()?.alb.as_ref()?;
    let none = Default::default();
    let status = rollout.status.as_ref().unwrap_or(&none);
    let step = steps::current(canary, status.current_step_index);
    Some(Occasion {
        has_stable: !status.stable_rs.text().is_empty(),
        is_fully_promoted: status.stable_rs.text() == status.current_pod_hash.text(),
        sets_weight: step.map(|(_, step)| matches!(steps::kind(step), StepKind::SetWeight(_))),
        weight,
        has_status: status.alb.is_some() || status.albs.as_ref().is_some_and(|all| !all.is_empty()),
    })
}

/// The Service whose pods must all be targets before the Rollout goes on: the active one after its switch, the stable one of a
/// canary behind a load balancer before old pods go.
pub fn service_to_verify(seen: &Observed) -> Option<&str> {
    let rollout = &seen.rollout;
    let status = rollout.status.as_ref()?;
    let (current, stable) = (status.current_pod_hash.text(), status.stable_rs.text());
    if let Some(strategy) = rollout.spec.blue_green() {
        let state = status.blue_green.as_ref()?;
        let is_switched = !stable.is_empty() && stable != current && state.active_selector.text() == current;
        let is_due = is_switched && state.post_promotion_analysis_run_status.is_none();
        return is_due.then(|| strategy.active_service.text());
    }
    let canary = rollout.spec.canary()?;
    canary.traffic_routing.as_ref()?.alb.as_ref()?;
    let is_waiting = |set: &&ReplicaSet| set.spec_replicas() > 0 && set.hash() != stable && !set.has_deadline();
    let is_due = !stable.is_empty() && stable == current && seen.replica_sets.iter().any(|set| is_waiting(&set));
    is_due.then(|| Services::ping_pong_first(canary, status.canary.as_ref()).stable)
}

impl Pass<'_> {
    /// Holds the Rollout until all pods of a Service are targets; says whether it does.
    pub(crate) fn await_targets(&mut self) -> bool {
        let aws = &self.seen.routes.aws;
        let Some(service) = service_to_verify(self.seen).filter(|_| aws.is_on) else { return false };
        let mut events = Vec::new();
        let (registered, total) = match &aws.targets {
            // Nothing binds the Service to a target group.
            Some(Ok(groups)) if groups.is_empty() => return false,
            Some(Ok(groups)) => {
                events.extend(groups.iter().map(|group| Event::of_router(&group.event)));
                let sum = |of: fn(&tidegate_traffic::alb::Registered) -> usize| groups.iter().map(of).sum::<usize>();
                (sum(|group| group.registered), sum(|group| group.total))
            }
            Some(Err(error)) => {
                events.push(Event::of_router(&verify_failed(service, error)));
                (0, 0)
            }
            None => (0, 0),
        };
        let is_complete = matches!(&aws.targets, Some(Ok(groups)) if groups.iter().all(|group| group.is_complete()));
        self.plan.findings.extend(events);
        if is_complete {
            return false;
        }
        let service = service.to_owned();
        self.wake(self.after_seconds(AGAIN_SECONDS));
        self.wait(Waiting::Targets { service, registered, total });
        true
    }
}
