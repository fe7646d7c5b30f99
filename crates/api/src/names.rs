//! Names other programs rely on: labels, annotations, condition types, reasons, phases.
//!
//! Each constant is wire contract: scripts, alerts and health checks compare these texts.

/// Labels.
pub mod labels {
    /// Pod template hash, on ReplicaSets, pods, selectors, Services, subsets, Experiments and AnalysisRuns.
    pub const POD_TEMPLATE_HASH: &str = "rollouts-pod-template-hash";
    /// Which controller instance an object belongs to, on all five kinds.
    pub const INSTANCE_ID: &str = "argo-rollouts.argoproj.io/controller-instance-id";
    /// Why an AnalysisRun was made; see [`super::rollout_type`].
    pub const ROLLOUT_TYPE: &str = "rollout-type";
    /// Index of the canary step an AnalysisRun belongs to.
    pub const STEP_INDEX: &str = "step-index";
    /// UID of the AnalysisRun a Job and its pods belong to.
    pub const ANALYSIS_RUN_UID: &str = "analysisrun.argoproj.io/uid";
    /// Marks the Secret that holds the kubeconfig of the Istio primary cluster.
    pub const ISTIO_PRIMARY_CLUSTER: &str = "istio.argoproj.io/primary-cluster";
}

/// Annotations.
pub mod annotations {
    /// Name of the Rollout that manages a Service, DestinationRule or virtual node.
    pub const MANAGED_BY: &str = "argo-rollouts.argoproj.io/managed-by-rollouts";
    /// Time of the last restart, on ReplicaSets.
    pub const RESTARTED_AFTER: &str = "argo-rollouts.argoproj.io/restarted-after";
    /// RFC 3339 time after which a ReplicaSet may be scaled down.
    pub const SCALE_DOWN_DEADLINE: &str = "scale-down-deadline";
    /// Revision number, on Rollouts, ReplicaSets, AnalysisRuns and Experiments.
    pub const REVISION: &str = "rollout.argoproj.io/revision";
    /// Earlier revisions a ReplicaSet served, comma separated.
    pub const REVISION_HISTORY: &str = "rollout.argoproj.io/revision-history";
    /// The Rollout's replicas when a ReplicaSet was last scaled.
    pub const DESIRED_REPLICAS: &str = "rollout.argoproj.io/desired-replicas";
    /// Generation of the referenced workload, on Rollouts.
    pub const WORKLOAD_GENERATION: &str = "rollout.argoproj.io/workload-generation";
    /// Pod metadata that was injected, as JSON, on ReplicaSets.
    pub const EPHEMERAL_METADATA: &str = "rollout.argoproj.io/ephemeral-metadata";
    /// Experiment that owns a ReplicaSet or Service.
    pub const EXPERIMENT_NAME: &str = "experiment.argoproj.io/name";
    /// Template of that Experiment.
    pub const EXPERIMENT_TEMPLATE_NAME: &str = "experiment.argoproj.io/template-name";
    /// AnalysisRun a Job was made for.
    pub const ANALYSIS_RUN_NAME: &str = "analysisrun.argoproj.io/name";
    /// Namespace of that AnalysisRun.
    pub const ANALYSIS_RUN_NAMESPACE: &str = "analysisrun.argoproj.io/namespace";
    /// Metric of that AnalysisRun.
    pub const ANALYSIS_RUN_METRIC_NAME: &str = "analysisrun.argoproj.io/metric-name";
    /// Load balancer actions we wrote into an Ingress, as JSON.
    pub const MANAGED_ALB_ACTIONS: &str = "rollouts.argoproj.io/managed-alb-actions";
    /// Load balancer annotations we wrote into an Ingress, as JSON.
    pub const MANAGED_ALB_ANNOTATIONS: &str = "rollouts.argoproj.io/managed-alb-annotations";
    /// Beginning of a notification subscription; trigger and service follow.
    pub const NOTIFICATION_SUBSCRIBE_PREFIX: &str = "notifications.argoproj.io/subscribe.";
    /// Notification delivery state; never copied to ReplicaSets.
    pub const NOTIFIED: &str = "notified.notifications.argoproj.io";
    /// What kubectl last applied; never copied to ReplicaSets.
    pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    /// Beginning of every annotation that is an extension of ours; `docs/extensions.md` lists them.
    pub const EXTENSION_PREFIX: &str = "rollouts.tidegate.dev/";
    /// On AnalysisRuns: what a metric without data means, as `metric=Success|Failure|Inconclusive|Error`, by commas.
    pub const NO_DATA: &str = "rollouts.tidegate.dev/no-data";
}

/// Phases of a Rollout.
pub mod phase {
    /// All is as asked.
    pub const HEALTHY: &str = "Healthy";
    /// Something has gone wrong.
    pub const DEGRADED: &str = "Degraded";
    /// Under way.
    pub const PROGRESSING: &str = "Progressing";
    /// Waiting for a time or a person.
    pub const PAUSED: &str = "Paused";
}

/// Phases of AnalysisRuns, metrics, measurements and Experiments.
pub mod analysis_phase {
    /// Not begun.
    pub const PENDING: &str = "Pending";
    /// Under way.
    pub const RUNNING: &str = "Running";
    /// Ended well.
    pub const SUCCESSFUL: &str = "Successful";
    /// Ended badly.
    pub const FAILED: &str = "Failed";
    /// Could not be measured.
    pub const ERROR: &str = "Error";
    /// Neither good nor bad.
    pub const INCONCLUSIVE: &str = "Inconclusive";

    /// Whether nothing more will happen.
    pub fn is_completed(phase: &str) -> bool {
        matches!(phase, SUCCESSFUL | FAILED | ERROR | INCONCLUSIVE)
    }
}

/// Why an update is paused.
pub mod pause_reason {
    /// Analysis could not decide.
    pub const INCONCLUSIVE_ANALYSIS: &str = "InconclusiveAnalysisRun";
    /// An experiment could not decide.
    pub const INCONCLUSIVE_EXPERIMENT: &str = "InconclusiveExperiment";
    /// A pause step.
    pub const CANARY_PAUSE_STEP: &str = "CanaryPauseStep";
    /// Waiting for the blue-green switch.
    pub const BLUE_GREEN_PAUSE: &str = "BlueGreenPause";
}

/// Types of Rollout conditions.
pub mod condition {
    /// The spec cannot be carried out.
    pub const INVALID_SPEC: &str = "InvalidSpec";
    /// Enough pods are available.
    pub const AVAILABLE: &str = "Available";
    /// The update moves on.
    pub const PROGRESSING: &str = "Progressing";
    /// A ReplicaSet cannot create pods.
    pub const REPLICA_FAILURE: &str = "ReplicaFailure";
    /// The update is paused.
    pub const PAUSED: &str = "Paused";
    /// The update is over.
    pub const COMPLETED: &str = "Completed";
    /// All is as asked.
    pub const HEALTHY: &str = "Healthy";
    /// Routes follow the Rollout; only there, and false, while they cannot be written. An addition of ours.
    pub const TRAFFIC_ROUTING: &str = "TrafficRouting";
}

/// Reasons of conditions and events.
pub mod reason {
    /// The spec cannot be carried out.
    pub const INVALID_SPEC: &str = "InvalidSpec";
    /// All is as asked.
    pub const ROLLOUT_HEALTHY: &str = "RolloutHealthy";
    /// Routes could not be written.
    pub const TRAFFIC_ROUTING_ERROR: &str = "TrafficRoutingError";
    /// The update was given up.
    pub const ROLLOUT_ABORTED: &str = "RolloutAborted";
    /// The update is tried again.
    pub const ROLLOUT_RETRY: &str = "RolloutRetry";
    /// The update is paused.
    pub const ROLLOUT_PAUSED: &str = "RolloutPaused";
    /// The update goes on.
    pub const ROLLOUT_RESUMED: &str = "RolloutResumed";
    /// The update is over.
    pub const ROLLOUT_COMPLETED: &str = "RolloutCompleted";
    /// An update has begun.
    pub const ROLLOUT_NOT_COMPLETED: &str = "RolloutNotCompleted";
    /// The revision changed.
    pub const ROLLOUT_UPDATED: &str = "RolloutUpdated";
    /// No progress within the deadline.
    pub const PROGRESS_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
    /// The new ReplicaSet is complete.
    pub const NEW_REPLICA_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
    /// A ReplicaSet was made.
    pub const NEW_REPLICA_SET_CREATED: &str = "NewReplicaSetCreated";
    /// An existing ReplicaSet fits.
    pub const FOUND_NEW_REPLICA_SET: &str = "FoundNewReplicaSet";
    /// The new ReplicaSet moves on.
    pub const REPLICA_SET_UPDATED: &str = "ReplicaSetUpdated";
    /// A complete rollout lost pods.
    pub const REPLICA_SET_NOT_AVAILABLE: &str = "ReplicaSetNotAvailable";
    /// A ReplicaSet could not be made.
    pub const REPLICA_SET_CREATE_ERROR: &str = "ReplicaSetCreateError";
    /// Availability changed.
    pub const AVAILABLE: &str = "AvailableReason";
    /// A ReplicaSet was scaled.
    pub const SCALING_REPLICA_SET: &str = "ScalingReplicaSet";
}

/// Values of the label [`labels::ROLLOUT_TYPE`].
pub mod rollout_type {
    /// Analysis of a step.
    pub const STEP: &str = "Step";
    /// Analysis that runs while the update goes on.
    pub const BACKGROUND: &str = "Background";
    /// Analysis before the blue-green switch.
    pub const PRE_PROMOTION: &str = "PrePromotion";
    /// Analysis after the blue-green switch.
    pub const POST_PROMOTION: &str = "PostPromotion";
}

/// When a referenced workload is scaled down.
pub mod scale_down {
    /// Not by us.
    pub const NEVER: &str = "never";
    /// Once the Rollout is healthy.
    pub const ON_SUCCESS: &str = "onsuccess";
    /// As the Rollout's pods become available.
    pub const PROGRESSIVELY: &str = "progressively";
}

/// How an update ended, in `status.duration.completionStatus`.
pub mod completion_status {
    /// All steps were taken.
    pub const PROMOTED: &str = "Promoted";
    /// Steps were skipped.
    pub const FAST_PROMOTED: &str = "FastPromoted";
    /// It was given up.
    pub const ABORTED: &str = "Aborted";
    /// Another update replaced it.
    pub const SUPERSEDED: &str = "Superseded";
    /// The old revision was asked for again.
    pub const ROLLED_BACK: &str = "RolledBack";
    /// The same, within the rollback window.
    pub const FAST_ROLLED_BACK: &str = "FastRolledBack";
}
