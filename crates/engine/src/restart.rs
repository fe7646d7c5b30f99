//! Restarting pods: every pod older than `spec.restartAt` is evicted, a few at a time.

use jiff::Timestamp;
use tidegate_api::names::annotations;
use tidegate_api::view::{Pod, ReplicaSet};
use tidegate_api::wire::Text;

use crate::counts::{fence_posts, max_unavailable, sum};
use crate::metadata::is_pod_of;
use crate::mutation::{self, Mutation};
use crate::observed::Observed;
use crate::pass::Pass;
use crate::plan::Write;
use crate::sets::SetFacts;
use crate::waiting::Waiting;

/// Seconds after which an unfinished restart goes on.
const POLL_SECONDS: i64 = 30;

/// Whether this Rollout cannot be planned without looking at its pods.
pub fn needs_pods(seen: &Observed, now: Timestamp) -> bool {
    let spec = &seen.rollout.spec;
    let (canary, blue_green) = (spec.canary(), spec.blue_green());
    let has_metadata = canary.is_some_and(|found| found.canary_metadata.is_some() || found.stable_metadata.is_some())
        || blue_green.is_some_and(|found| found.preview_metadata.is_some() || found.active_metadata.is_some())
        || seen.replica_sets.iter().any(|set| set.annotation(annotations::EPHEMERAL_METADATA).is_some());
    has_metadata || due(seen).is_some_and(|at| at < now)
}

/// The restart that is asked for and not done.
fn due(seen: &Observed) -> Option<Timestamp> {
    let wanted = seen.rollout.spec.restart_at.as_ref()?.instant()?;
    let done = seen.rollout.status.as_ref().and_then(|status| status.restarted_at.as_ref()?.instant());
    (done != Some(wanted)).then_some(wanted)
}

impl<'a> Pass<'a> {
    /// Evicts as many old pods as may be missing at once; says whether any.
    pub(crate) fn restart_pods(&mut self) -> bool {
        let Some(at) = due(self.seen) else { return false };
        if self.now <= at {
            self.wake(at);
            self.wait(Waiting::RestartAt { at });
            return false;
        }
        let candidates = self.pods_older_than(at);
        let mut budget = if self.seen.defers_restart { 0 } else { self.restart_budget() };
        let mut evicted = 0;
        for pod in &candidates {
            if budget > 0 && pod.metadata.deletion_timestamp.is_none() {
                self.act(Write::Evict { pod: pod.metadata.name.text().to_owned() });
                budget -= 1;
                evicted += 1;
            }
        }
        if candidates.len() == evicted {
            // A disruption budget may keep some of them; then this status is not stored and the look is repeated.
            self.restarted_at.clone_from(&self.spec().restart_at);
        } else {
            self.wake(self.after_seconds(POLL_SECONDS));
            self.wait(Waiting::Restart { pods: candidates.len() - evicted });
        }
        evicted > 0
    }

    /// Old pods: those of the stable set first, then of the new one, then of the others, oldest set first.
    fn pods_older_than(&self, at: Timestamp) -> Vec<&'a Pod> {
        let ordered = self.sets.stable.into_iter().chain(self.sets.new).chain(self.sets.other.iter().copied());
        let mut seen: Vec<&str> = Vec::new();
        let mut pods = Vec::new();
        for set in ordered {
            if seen.contains(&set.name()) {
                continue;
            }
            seen.push(set.name());
            let mut own: Vec<&Pod> = self.pods_of(set).filter(|pod| is_created_before(pod, at)).collect();
            own.sort_by_key(|pod| {
                (pod.metadata.creation_timestamp.as_ref().map(|time| time.0), pod.metadata.name.clone())
            });
            pods.extend(own);
        }
        pods
    }

    fn pods_of(&self, set: &'a ReplicaSet) -> impl Iterator<Item = &'a Pod> + use<'a> {
        let seen: &'a Observed = self.seen;
        seen.pods.iter().filter(move |pod| is_pod_of(&pod.metadata, set))
    }

    fn restart_budget(&self) -> i32 {
        let replicas = self.replicas();
        let unavailable = match (self.canary(), self.blue_green()) {
            (_, Some(blue_green)) => max_unavailable(blue_green.max_unavailable_or_default(), replicas),
            (Some(canary), None) => fence_posts(canary, replicas).unavailable,
            (None, None) => 0,
        };
        let floor = replicas.max(self.sets.sum(SetFacts::spec_replicas)).saturating_sub(unavailable.max(1));
        let min_ready = i64::from(self.spec().min_ready_seconds.unwrap_or(0));
        let serving = |set: &&'a ReplicaSet| {
            let available = self.pods_of(set).filter(|pod| is_available(pod, min_ready, self.now)).count();
            // Pods beyond the size that is asked for are on their way out.
            i32::try_from(available).unwrap_or(i32::MAX).min(set.spec_replicas())
        };
        let floor = mutation::pick(Mutation::RestartsAllAtOnce, 0, floor);
        sum(self.sets.all.iter().map(serving)).saturating_sub(floor)
    }
}

fn is_created_before(pod: &Pod, at: Timestamp) -> bool {
    pod.metadata.creation_timestamp.as_ref().is_some_and(|created| created.0 < at)
}

fn is_available(pod: &Pod, min_ready_seconds: i64, now: Timestamp) -> bool {
    if pod.metadata.deletion_timestamp.is_some() {
        return false;
    }
    let ready = pod.status.conditions.iter().find(|found| found.kind == "Ready" && found.status == "True");
    ready.is_some_and(|ready| {
        let since = ready.last_transition_time.as_ref().and_then(tidegate_api::values::Time::instant);
        min_ready_seconds == 0 || since.is_some_and(|since| crate::pass::later(since, min_ready_seconds) <= now)
    })
}
