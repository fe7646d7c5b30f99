//! One look at a Rollout: what was seen, what has been decided so far.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tidegate_api::names::pause_reason;
use tidegate_api::rollout::{
    AlbStatus, BlueGreenStrategy, CanaryStrategy, Rollout, RolloutAnalysisRunStatus, RolloutSpec, RolloutStatus,
    TrafficWeights,
};
use tidegate_api::values::{LabelSelector, Time};
use tidegate_api::wire::{Items, Text};

use crate::counts::{SetSize, Situation, Weights};
use crate::observed::Observed;
use crate::pause::{self, PauseChange};
use crate::plan::{Action, Event, Plan, Write};
use crate::rollback;
use crate::sets::{SetFacts, Sets};
use crate::waiting::Waiting;

/// The current AnalysisRuns, as the status names them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentRuns {
    pub step: Option<RolloutAnalysisRunStatus>,
    pub background: Option<RolloutAnalysisRunStatus>,
    pub pre: Option<RolloutAnalysisRunStatus>,
    pub post: Option<RolloutAnalysisRunStatus>,
}

/// Why traffic stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The stable set is too small for what it would get. A canary that is complete may take over all the same.
    Capacity,
    /// Routes could not be written, or proxies have not seen the last change yet: nothing that relies on them goes on.
    Routes,
}

/// One look at a Rollout.
pub(crate) struct Pass<'a> {
    pub seen: &'a Observed,
    pub now: Timestamp,
    pub rollout: &'a Rollout,
    /// The status as it is stored.
    pub old: &'a RolloutStatus,
    /// The pod template in force.
    pub template: &'a Value,
    /// The selector in force.
    pub selector: &'a LabelSelector,
    pub sets: Sets<'a>,
    /// Hash of the steps, empty for blue-green.
    pub steps_hash: String,
    /// Revision of the current template, as this look leaves it.
    pub revision: i64,
    pub pause: PauseChange,
    /// Traffic as this pass leaves it.
    pub weights: Option<TrafficWeights>,
    /// `status.albs` as AWS has just described it.
    pub albs: Option<Vec<AlbStatus>>,
    /// Whether the Rollout is held until the load balancer knows all pods.
    pub awaits_targets: bool,
    /// Why this pass leaves traffic where it is.
    pub held: Option<Held>,
    pub restarted_at: Option<Time>,
    pub runs: CurrentRuns,
    /// The Experiment of the current step while it is not over.
    pub experiment: Option<String>,
    /// The template the active Service was given in this look.
    pub switched_active: Option<String>,
    /// Whether a person's word to go on has not been acted on yet.
    pub keeps_controller_pause: bool,
    /// Why a run or an experiment could not be made.
    pub creation_error: Option<String>,
    /// Events for when the status is stored.
    pub events: Vec<Event>,
    pub plan: Plan,
}

impl<'a> Pass<'a> {
    pub(crate) fn spec(&self) -> &'a RolloutSpec {
        &self.rollout.spec
    }

    pub(crate) fn canary(&self) -> Option<&'a CanaryStrategy> {
        self.rollout.spec.canary()
    }

    pub(crate) fn blue_green(&self) -> Option<&'a BlueGreenStrategy> {
        self.rollout.spec.blue_green()
    }

    pub(crate) fn name(&self) -> &'a str {
        self.rollout.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn namespace(&self) -> &'a str {
        self.rollout.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub(crate) fn replicas(&self) -> i32 {
        self.spec().replicas_or_default()
    }

    pub(crate) fn is_routed(&self) -> bool {
        self.canary().is_some_and(|canary| canary.traffic_routing.is_some())
    }

    /// Whether nothing is being updated, by what is stored.
    pub(crate) fn is_fully_promoted(&self) -> bool {
        self.old.stable_rs.text() == self.old.current_pod_hash.text()
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.pause.is_aborted(self.old)
    }

    pub(crate) fn is_rollback_within_window(&self) -> bool {
        rollback::is_within_window(self.rollout, &self.sets)
    }

    /// Whether sizes and steps stand still.
    pub(crate) fn is_halted(&self) -> bool {
        self.spec().paused == Some(true) || self.is_inconclusive()
    }

    pub(crate) fn is_inconclusive(&self) -> bool {
        pause::stored(self.old, pause_reason::INCONCLUSIVE_ANALYSIS).is_some()
    }

    /// Whether template or steps are not those of the stored status.
    pub(crate) fn has_changed(&self) -> bool {
        let current = self.old.current_pod_hash.text();
        let template = !current.is_empty() && current != self.sets.new_hash();
        let stored_steps = self.old.current_step_hash.text();
        let steps = self.canary().is_some() && (stored_steps.is_empty() || stored_steps != self.steps_hash);
        template || steps
    }

    /// How many steps there are.
    pub(crate) fn step_count(&self) -> i32 {
        let count = self.canary().map_or(0, |canary| canary.steps.items().len());
        i32::try_from(count).unwrap_or(i32::MAX)
    }

    /// What the arithmetic of sizes looks at.
    pub(crate) fn situation(&self, canary: &'a CanaryStrategy) -> Situation<'a> {
        Situation {
            replicas: self.replicas(),
            canary,
            step_index: self.old.current_step_index,
            abort: self.old.abort == Some(true),
            is_full: self.promotes_fully() || self.old.stable_rs.text().is_empty() || self.is_fully_promoted(),
            new: self.sets.new.map(SetFacts::size),
            stable: self.sets.distinct_stable().map(SetFacts::size),
            others: self.sets.other.iter().map(|set| set.size()).collect::<Vec<SetSize>>(),
        }
    }

    /// Writes next.
    pub(crate) fn act(&mut self, write: Write) {
        self.act_and_tell(write, Vec::new());
    }

    /// Writes next and tells people.
    pub(crate) fn act_and_tell(&mut self, write: Write, events: Vec<Event>) {
        self.plan.actions.push(Action { write, events });
    }

    /// Looks again at this time, or earlier; a time that has come already means the next second, so that no plan can
    /// ask to be made over and over in the same moment.
    pub(crate) fn wake(&mut self, at: Timestamp) {
        let at = at.max(self.after_seconds(1));
        self.plan.wake_at = Some(self.plan.wake_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Says what holds the Rollout back.
    pub(crate) fn wait(&mut self, what: Waiting) {
        if !self.plan.waiting_for.contains(&what) {
            self.plan.waiting_for.push(what);
        }
    }

    /// This long from now; a time nobody can reach stays in reach.
    pub(crate) fn after_seconds(&self, seconds: i64) -> Timestamp {
        later(self.now, seconds)
    }
}

/// So many seconds after a moment, or the end of time.
pub(crate) fn later(moment: Timestamp, seconds: i64) -> Timestamp {
    moment.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(moment)
}

/// Stored weights as plain numbers.
pub(crate) fn plain_weights(weights: Option<&TrafficWeights>) -> Option<Weights> {
    let weights = weights?;
    let of = |destination: &Option<tidegate_api::rollout::WeightDestination>| {
        destination.as_ref().and_then(|found| found.weight).unwrap_or_default()
    };
    Some(Weights { canary: of(&weights.canary), stable: of(&weights.stable) })
}
