//! Whether the load balancer of AWS does what its Ingress says.

use tidegate_api::rollout::{CanaryStrategy, TrafficWeights};
use tidegate_traffic::alb::{Alb, Verified, verify_failed};
use tidegate_traffic::services::Services;

use crate::pass::Pass;
use crate::plan::{Event, Traffic};
use crate::targets::{self, AGAIN_SECONDS};
use crate::waiting::Waiting;

impl<'a> Pass<'a> {
    /// Compares the weights that are recorded with those in force. While routes are still to be written, nothing is in force.
    pub(super) fn verify_weights(&mut self, canary: &'a CanaryStrategy, traffic: &Traffic, is_routed: bool) {
        let aws = &self.seen.routes.aws;
        let recorded = self.weights.as_ref().and_then(|weights| weights.canary.as_ref()?.weight).unwrap_or_default();
        let is_due = targets::occasion(self.rollout, recorded).is_some_and(|occasion| occasion.is_due());
        if !aws.is_on || !is_due {
            return;
        }
        if is_routed && self.is_verified_already() {
            self.set_verified(true);
            return;
        }
        let service = Services::ping_pong_first(canary, self.old.canary.as_ref()).canary;
        let verdict = if is_routed { self.verdict(canary, traffic) } else { None };
        match verdict {
            None => self.stays_unverified(recorded, Vec::new()),
            Some(Err(error)) => {
                self.plan.findings.push(Event::of_router(&verify_failed(service, &error)));
                self.plan
                    .findings
                    .push(Event::warning("WeightVerifyError", format!("Failed to verify weight: {error}")));
                self.stays_unverified(recorded, vec![error]);
            }
            Some(Ok(Verified { is_verified, events, albs, missing })) => {
                self.plan.findings.extend(events.iter().map(Event::of_router));
                self.albs = Some(albs);
                if is_verified {
                    self.set_verified(true);
                } else {
                    self.stays_unverified(recorded, missing);
                }
            }
        }
    }

    /// What AWS says of this traffic, or why nothing is known; none as long as it has not answered.
    fn verdict(&self, canary: &CanaryStrategy, traffic: &Traffic) -> Option<Result<Verified, String>> {
        let (alb, others) = (Alb::of(canary, &self.seen.routes.versions)?, self.others(traffic)?);
        let verified = |answers| alb.verify(&self.seen.routes.routers, &others.wanted, answers);
        Some(match self.seen.routes.aws.balancers.as_ref()? {
            Err(error) => Err(error.clone()),
            Ok(answers) => verified(answers).map_err(|error| error.explained()),
        })
    }

    fn stays_unverified(&mut self, weight: i32, missing: Vec<String>) {
        self.set_verified(false);
        self.wake(self.after_seconds(AGAIN_SECONDS));
        self.wait(Waiting::Verification { weight, missing });
    }

    /// Whether these very weights were found in force before.
    fn is_verified_already(&self) -> bool {
        let stored = self.old.canary.as_ref().and_then(|state| state.weights.as_ref());
        let (Some(stored), Some(wanted)) = (stored, &self.weights) else { return false };
        let of =
            |weights: &TrafficWeights| (weights.canary.clone(), weights.stable.clone(), weights.additional.clone());
        stored.verified == Some(true) && of(stored) == of(wanted)
    }

    fn set_verified(&mut self, is_verified: bool) {
        if let Some(weights) = &mut self.weights {
            weights.verified = Some(is_verified);
        }
    }
}
