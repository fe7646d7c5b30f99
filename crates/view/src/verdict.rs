//! What the engine says about a Rollout as it stands: what holds it, or what would be done next.
//!
//! The engine is asked as a controller asks it, with the objects of this moment; nothing is written. So an answer here is
//! the controller's own, and not a guess from what it last noted.

use jiff::Timestamp;
use tidegate_api::wire::Items;
use tidegate_engine::{Observed, Router, Waiting, Write, plan, routers};
use tidegate_validate::references::Lookup;

/// What the engine says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// What holds the Rollout, the most telling first.
    pub holds: Vec<Waiting>,
    /// What a controller would write next, if anything; then one is either about to, or not running.
    pub next: Option<String>,
}

/// Asks the engine; none where it would have to guess: a router it does not drive, a plugin, routes that are elsewhere.
pub fn judge(seen: &Observed, now: Timestamp) -> Option<Verdict> {
    if !is_known(seen) {
        return None;
    }
    let plan = plan(seen, now);
    let mut holds = plan.waiting_for;
    holds.sort_by_key(rank);
    let next = plan.actions.first().map(|action| told(&action.write));
    Some(Verdict { holds, next })
}

fn is_known(seen: &Observed) -> bool {
    let canary = seen.rollout.spec.canary();
    let routing = canary.and_then(|canary| canary.traffic_routing.as_ref());
    let is_driven =
        routing.is_none_or(|routing| routers(routing).iter().all(|(router, _)| Router::DRIVEN.contains(router)));
    let has_plugins = canary.is_some_and(|canary| canary.steps.items().iter().any(|step| step.plugin.is_some()));
    // Objects that are not here may be in a primary cluster, which only the controller can reach.
    let is_here = |looked: &Lookup<serde_json::Value>| matches!(looked, Lookup::Found(_));
    let routes = seen.found.virtual_services.values().chain(&seen.routes.destination_rule);
    is_driven && !has_plugins && routes.into_iter().all(is_here)
}

/// What nothing goes on without comes first, then what only a person ends, and last what ends by itself.
fn rank(hold: &Waiting) -> u8 {
    match hold {
        Waiting::ValidSpec { .. } | Waiting::Support { .. } => 0,
        // Traffic that cannot go where it should is worse than anything that is asked of a person.
        Waiting::StableCapacity { .. } => 1,
        Waiting::Retry => 2,
        Waiting::SpecPaused => 3,
        Waiting::Approval { .. } | Waiting::PauseUntil { .. } => 4,
        Waiting::Routes { .. } => 5,
        Waiting::Analysis { .. } | Waiting::Experiment { .. } | Waiting::StableSet => 6,
        Waiting::Pods { .. } => 7,
        Waiting::ServicePods { .. } | Waiting::SubsetPods { .. } => 8,
        Waiting::Verification { .. } | Waiting::Targets { .. } | Waiting::Propagation { .. } => 9,
        Waiting::Restart { .. } | Waiting::RestartAt { .. } => 10,
        Waiting::ScaleDown { .. } => 11,
    }
}

/// A write in words that go on after "the controller to".
pub(crate) fn told(write: &Write) -> String {
    match write {
        Write::Adopt(set) => format!("take over ReplicaSet {}", set.name),
        Write::Release(set) => format!("let go of ReplicaSet {}", set.name),
        Write::CreateSet(set) => {
            format!("make ReplicaSet {}", set.metadata.name.as_deref().unwrap_or("of the new template"))
        }
        Write::EditSet { name, edit } => match edit.replicas {
            Some(replicas) => format!("resize ReplicaSet {name} to {replicas}"),
            None => format!("change ReplicaSet {name}"),
        },
        Write::SetDeadline { name, .. } => format!("note when ReplicaSet {name} may be scaled down"),
        Write::DeleteSet(set) => format!("delete ReplicaSet {}", set.name),
        Write::SetRevision(revision) => format!("note revision {revision}"),
        Write::SetDefaultReplicas(replicas) => format!("set spec.replicas to {replicas}"),
        Write::SetWorkloadGeneration(_) => "note the generation of the workload".to_owned(),
        Write::SwitchService { name, hash, .. } => format!("switch Service {name} to {hash}"),
        Write::Routes(traffic) => format!("give the canary weight {}", traffic.canary_weight),
        Write::Subsets(_) => "have the subsets name other pods".to_owned(),
        Write::Evict { pod } => format!("evict pod {pod}"),
        Write::EditPod { pod, .. } => format!("change pod {pod}"),
        Write::ScaleWorkload { name, replicas } => format!("resize Deployment {name} to {replicas}"),
        Write::CreateAnalysisRun(run) => format!("make AnalysisRun {}", run.metadata.name.as_deref().unwrap_or("")),
        Write::CreateExperiment(made) => format!("make Experiment {}", made.metadata.name.as_deref().unwrap_or("")),
        Write::TerminateAnalysisRun(name) => format!("end AnalysisRun {name}"),
        Write::TerminateExperiment(name) => format!("end Experiment {name}"),
        Write::DeleteAnalysisRun(name) => format!("delete AnalysisRun {name}"),
        Write::DeleteExperiment(name) => format!("delete Experiment {name}"),
    }
}
