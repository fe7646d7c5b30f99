//! The Rollout kind.

mod bluegreen;
mod canary;
mod routing;
mod status;
mod steps;

pub use bluegreen::BlueGreenStrategy;
pub use canary::{
    AntiAffinity, CanaryStrategy, PingPong, PreferredDuringScheduling, ReplicaProgressThreshold,
    RequiredDuringScheduling, RolloutAnalysisBackground,
};
pub use routing::{
    AlbTrafficRouting, AmbassadorTrafficRouting, ApisixRoute, ApisixTrafficRouting, AppMeshTrafficRouting,
    AppMeshVirtualNodeGroup, AppMeshVirtualNodeRef, AppMeshVirtualService, IstioDestinationRule, IstioTrafficRouting,
    IstioVirtualService, ManagedRoute, NginxTrafficRouting, RolloutTrafficRouting, SmiTrafficRouting, StickinessConfig,
    TcpRoute, TlsRoute, TraefikTrafficRouting,
};
pub use status::{
    AlbStatus, AwsResourceRef, BlueGreenStatus, CanaryStatus, PauseCondition, RolloutAnalysisRunStatus,
    RolloutCondition, RolloutDuration, RolloutStatus, StepPluginStatus, TrafficWeights, WeightDestination,
};
pub use steps::{
    AnalysisRunArgument, AnalysisTemplateRef, ArgumentValueFrom, CanaryStep, DryRun, FieldRef, HeaderRoutingMatch,
    MeasurementRetention, PluginStep, RolloutAnalysis, RolloutExperimentAnalysis, RolloutExperimentStep,
    RolloutExperimentTemplate, RolloutPause, RouteMatch, SetCanaryScale, SetHeaderRoute, SetMirrorRoute, StringMatch,
    TemplateService,
};

use crate::kind::kind;
use crate::raw::Raw;
use crate::values::{LabelSelector, Time};
use crate::wire::wire;

kind! {
    /// A workload whose updates are released step by step.
    pub struct Rollout {
        kind: "Rollout", plural: "rollouts", scope: Namespaced,
        spec: RolloutSpec, status: RolloutStatus,
    }
}

wire! {
    /// What should run and how an update of it is released.
    pub struct RolloutSpec {
        /// How many finished AnalysisRuns and Experiments to keep.
        "analysis" analysis: AnalysisRunStrategy,
        /// Seconds a new pod must be ready before it counts as available. Default 0.
        "minReadySeconds" min_ready_seconds: i32,
        /// Stops the rollout from moving on until set to false.
        "paused" paused: bool,
        /// Aborts the update when progressDeadlineSeconds has passed without progress. Default false.
        "progressDeadlineAbort" progress_deadline_abort: bool,
        /// Seconds without progress after which the rollout counts as failed. Default 600.
        "progressDeadlineSeconds" progress_deadline_seconds: i32,
        /// How many pods should run. Default 1.
        "replicas" replicas: i32,
        /// Pods created before this time are restarted.
        "restartAt" restart_at: Time,
        /// How many old ReplicaSets to keep for going back. Default 10.
        "revisionHistoryLimit" revision_history_limit: i32,
        /// Revisions to which going back skips steps, pauses and analysis.
        "rollbackWindow" rollback_window: RollbackWindow,
        /// Which pods belong to this rollout. Cannot be changed. Must match the labels of the template.
        "selector" selector: LabelSelector,
        /// How an update is released: canary or blueGreen.
        "strategy" strategy: RolloutStrategy,
        /// The pod to run. Left out with workloadRef.
        "template" template: Raw,
        /// Takes the pod template from another object, such as a Deployment.
        "workloadRef" workload_ref: WorkloadRef,
    }

    /// How many finished AnalysisRuns and Experiments to keep.
    pub struct AnalysisRunStrategy {
        /// Successful ones to keep. Default 5.
        "successfulRunHistoryLimit" successful_run_history_limit: i32,
        /// Others to keep. Default 5.
        "unsuccessfulRunHistoryLimit" unsuccessful_run_history_limit: i32,
    }

    /// Revisions to which going back is fast.
    pub struct RollbackWindow {
        /// How many of the latest revisions.
        "revisions" revisions: i32,
    }

    /// How an update is released. Exactly one is set.
    pub struct RolloutStrategy {
        /// Two full sets of pods and one switch between them.
        "blueGreen" blue_green: BlueGreenStrategy,
        /// A growing share of pods or of traffic.
        "canary" canary: CanaryStrategy,
    }

    /// An object that holds the pod template.
    pub struct WorkloadRef {
        /// API version, such as apps/v1.
        "apiVersion" api_version: String,
        /// Kind: Deployment, ReplicaSet or PodTemplate.
        "kind" kind: String,
        /// Name, in the rollout's namespace.
        "name" name: String,
        /// When the referenced workload is scaled down: never, onsuccess or progressively.
        "scaleDown" scale_down: String,
    }
}
