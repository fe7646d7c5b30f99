//! The canary strategy apart from its steps and routers.

use super::{
    AnalysisRunArgument, AnalysisTemplateRef, CanaryStep, DryRun, MeasurementRetention, RolloutTrafficRouting,
};
use crate::values::{IntOrString, Metadata};
use crate::wire::wire;

wire! {
    /// A growing share of pods or of traffic.
    pub struct CanaryStrategy {
        /// Seconds before the canary is scaled down after an abort, with trafficRouting. Default 30; 0 keeps it.
        "abortScaleDownDelaySeconds" abort_scale_down_delay_seconds: i32,
        /// Analysis that runs while the update goes on.
        "analysis" analysis: RolloutAnalysisBackground,
        /// Keeps pods of different revisions on different nodes.
        "antiAffinity" anti_affinity: AntiAffinity,
        /// Labels and annotations on canary pods.
        "canaryMetadata" canary_metadata: Metadata,
        /// The Service of the new pods.
        "canaryService" canary_service: String,
        /// Scales the stable pods down as traffic moves to the canary. Default false.
        "dynamicStableScale" dynamic_stable_scale: bool,
        /// Pods that may run beyond replicas during an update. Default 25%.
        "maxSurge" max_surge: IntOrString,
        /// Pods that may be missing during an update. Default 25%.
        "maxUnavailable" max_unavailable: IntOrString,
        /// Fewest pods a ReplicaSet that takes traffic may have.
        "minPodsPerReplicaSet" min_pods_per_replica_set: i32,
        /// Two Services that swap the stable and canary roles at each update.
        "pingPong" ping_pong: PingPong,
        /// How many new pods must be available for a setWeight step to count as done.
        "replicaProgressThreshold" replica_progress_threshold: ReplicaProgressThreshold,
        /// How many old ReplicaSets may wait for their scale-down delay at once.
        "scaleDownDelayRevisionLimit" scale_down_delay_revision_limit: i32,
        /// Seconds the old pods stay after the update, with trafficRouting. Default 30.
        "scaleDownDelaySeconds" scale_down_delay_seconds: i32,
        /// Labels and annotations on stable pods.
        "stableMetadata" stable_metadata: Metadata,
        /// The Service of the old pods.
        "stableService" stable_service: String,
        /// What to do, in order, to release the update.
        "steps" steps: Vec<CanaryStep>,
        /// The router that splits traffic. Without it pods are counted instead.
        "trafficRouting" traffic_routing: RolloutTrafficRouting,
    }

    /// Analysis that runs while the update goes on.
    pub struct RolloutAnalysisBackground {
        /// Labels and annotations on the AnalysisRun.
        "analysisRunMetadata" analysis_run_metadata: Metadata,
        /// Values for the arguments of the templates.
        "args" args: Vec<AnalysisRunArgument>,
        /// Metrics that are measured but decide nothing.
        "dryRun" dry_run: Vec<DryRun>,
        /// How many measurements to keep per metric.
        "measurementRetention" measurement_retention: Vec<MeasurementRetention>,
        /// Index of the step at which it starts. Default 0.
        "startingStep" starting_step: i32,
        /// The templates to run together.
        "templates" templates: Vec<AnalysisTemplateRef>,
    }

    /// Keeps pods of different revisions on different nodes. Exactly one is set.
    pub struct AntiAffinity {
        /// A wish to the scheduler.
        "preferredDuringSchedulingIgnoredDuringExecution" preferred: PreferredDuringScheduling,
        /// A demand to the scheduler.
        "requiredDuringSchedulingIgnoredDuringExecution" required: RequiredDuringScheduling,
    }

    /// A wish to the scheduler.
    pub struct PreferredDuringScheduling {
        /// How strong, 1 to 100.
        "weight" [required] weight: i32,
    }

    /// A demand to the scheduler.
    pub struct RequiredDuringScheduling {}

    /// Two Services that swap the stable and canary roles at each update.
    pub struct PingPong {
        /// One Service.
        "pingService" [required] ping_service: String,
        /// The other Service.
        "pongService" [required] pong_service: String,
    }

    /// How many new pods must be available for a setWeight step to count as done.
    pub struct ReplicaProgressThreshold {
        /// Percent or Pods.
        "type" [required] kind: String,
        /// The number.
        "value" [required] value: i32,
    }
}
