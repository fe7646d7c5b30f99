//! What a Rollout waits for, as a value that every face of the product prints the same way.

use std::fmt;

use jiff::Timestamp;

/// One thing that holds a Rollout back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Pods of a ReplicaSet.
    Pods {
        /// The ReplicaSet.
        set: String,
        /// Pods that are available.
        available: i32,
        /// Pods that should be.
        wanted: i32,
    },
    /// A pause with an end.
    PauseUntil {
        /// When it ends.
        end: Timestamp,
    },
    /// A person.
    Approval {
        /// The pause reason.
        reason: String,
    },
    /// `spec.paused` to become false.
    SpecPaused,
    /// An AnalysisRun.
    Analysis {
        /// Its name.
        run: String,
    },
    /// An Experiment.
    Experiment {
        /// Its name.
        name: String,
    },
    /// The time after which a ReplicaSet may be scaled down.
    ScaleDown {
        /// The ReplicaSet.
        set: String,
        /// When.
        deadline: Timestamp,
    },
    /// Enough pods behind a Service before it is switched.
    ServicePods {
        /// The Service.
        service: String,
        /// The ReplicaSet it is to be switched to.
        set: String,
    },
    /// Enough stable pods before traffic moves.
    StableCapacity {
        /// Stable pods that are available.
        available: i32,
        /// Stable pods that are needed.
        needed: i32,
    },
    /// A router to confirm the weights.
    Verification {
        /// The weight of the canary.
        weight: i32,
        /// What was not found there.
        missing: Vec<String>,
    },
    /// Pods of a Service to become targets of its load balancer.
    Targets {
        /// The Service.
        service: String,
        /// Pods that are.
        registered: usize,
        /// All of them; 0 while nobody has answered.
        total: usize,
    },
    /// A subset until there are pods for it to name.
    SubsetPods {
        /// The subset.
        subset: String,
        /// The ReplicaSet it is to name.
        set: String,
    },
    /// Routes that could not be written.
    Routes {
        /// Why.
        problem: String,
    },
    /// Proxies to see the last change of routes or subsets.
    Propagation {
        /// When they should have.
        until: Timestamp,
    },
    /// A restart of pods.
    Restart {
        /// Pods still to be restarted.
        pods: usize,
    },
    /// A restart that is scheduled.
    RestartAt {
        /// When.
        at: Timestamp,
    },
    /// The stable ReplicaSet, before an Experiment can be made.
    StableSet,
    /// A person, because the update was given up.
    Retry,
    /// A correction of the spec.
    ValidSpec {
        /// What is wrong.
        message: String,
    },
    /// A controller that drives what this Rollout names.
    Support {
        /// The field.
        field: String,
    },
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pods { set, available, wanted } => {
                write!(f, "pods of ReplicaSet {set}: {available} of {wanted} available")
            }
            Self::PauseUntil { end } => write!(f, "the pause to end at {end}"),
            Self::Approval { reason } => write!(f, "someone to promote or abort ({reason})"),
            Self::SpecPaused => f.write_str("spec.paused to become false"),
            Self::Analysis { run } => write!(f, "AnalysisRun {run} to finish"),
            Self::Experiment { name } => write!(f, "Experiment {name} to finish"),
            Self::ScaleDown { set, deadline } => write!(f, "{deadline}, when ReplicaSet {set} is scaled down"),
            Self::ServicePods { service, set } => {
                write!(f, "available pods of ReplicaSet {set} before Service {service} is switched to it")
            }
            Self::StableCapacity { available, needed } => {
                write!(f, "stable pods before traffic moves: {available} of {needed} available")
            }
            Self::Verification { weight, missing } => {
                write!(f, "the router to confirm weight {weight}")?;
                if missing.is_empty() { Ok(()) } else { write!(f, " (missing: {})", missing.join(", ")) }
            }
            Self::Targets { service, total: 0, .. } => {
                write!(f, "the load balancer to say which pods of Service {service} are its targets")
            }
            Self::Targets { service, registered, total } => {
                write!(f, "pods of Service {service} to become targets of the load balancer: {registered} of {total}")
            }
            Self::SubsetPods { subset, set } => {
                write!(f, "available pods of ReplicaSet {set} before subset {subset} names them")
            }
            Self::Routes { problem } => write!(f, "routes that can be written: {problem}"),
            Self::Propagation { until } => {
                write!(f, "{until}, when proxies should have seen the last change of routes")
            }
            Self::Restart { pods } => write!(f, "{pods} pods to be restarted"),
            Self::RestartAt { at } => write!(f, "{at}, when the pods are restarted"),
            Self::StableSet => f.write_str("the stable ReplicaSet"),
            Self::Retry => f.write_str("someone to retry, or a new spec: the update was aborted"),
            Self::ValidSpec { message } => write!(f, "a correction: {message}"),
            Self::Support { field } => write!(f, "a controller that drives {field}"),
        }
    }
}
