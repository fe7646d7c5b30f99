//! What the controller says about a Rollout.

use crate::raw::Raw;
use crate::values::Time;
use crate::wire::wire;

wire! {
    /// What the controller has seen and done.
    pub struct RolloutStatus {
        /// Pods as a HorizontalPodAutoscaler counts them.
        "HPAReplicas" hpa_replicas: i32,
        /// Whether the update is aborted.
        "abort" abort: bool,
        /// When it was aborted.
        "abortedAt" aborted_at: Time,
        /// The AWS load balancer in use.
        "alb" alb: AlbStatus,
        /// The AWS load balancers in use.
        "albs" albs: Vec<AlbStatus>,
        /// Pods that have been ready for minReadySeconds.
        "availableReplicas" available_replicas: i32,
        /// State of a blue-green update.
        "blueGreen" blue_green: BlueGreenStatus,
        /// State of a canary update.
        "canary" canary: CanaryStatus,
        /// How often the pod template hash had to be made unique.
        "collisionCount" collision_count: i32,
        /// What holds or does not hold, least recently changed first.
        "conditions" conditions: Vec<RolloutCondition>,
        /// Whether the controller paused the update.
        "controllerPause" controller_pause: bool,
        /// Pod template hash of the current spec.
        "currentPodHash" current_pod_hash: String,
        /// Hash of the canary steps.
        "currentStepHash" current_step_hash: String,
        /// Index of the current canary step.
        "currentStepIndex" current_step_index: i32,
        /// When the update began and ended.
        "duration" duration: RolloutDuration,
        /// Why the phase is what it is.
        "message" message: String,
        /// Generation of the spec this status belongs to.
        "observedGeneration" observed_generation: String,
        /// Why the update is paused.
        "pauseConditions" pause_conditions: Vec<PauseCondition>,
        /// Healthy, Progressing, Paused or Degraded.
        "phase" phase: String,
        /// Whether steps, pauses and analysis are skipped.
        "promoteFull" promote_full: bool,
        /// Pods that are ready.
        "readyReplicas" ready_replicas: i32,
        /// Pods in all.
        "replicas" replicas: i32,
        /// The restartAt that has been carried out.
        "restartedAt" restarted_at: Time,
        /// The pod selector as text, for the scale subresource.
        "selector" selector: String,
        /// Pod template hash of the stable revision.
        "stableRS" stable_rs: String,
        /// Pods of the current template.
        "updatedReplicas" updated_replicas: i32,
        /// Generation of the referenced workload this status belongs to.
        "workloadObservedGeneration" workload_observed_generation: String,
    }

    /// Something that holds or does not hold.
    pub struct RolloutCondition {
        /// When status last changed.
        "lastTransitionTime" [required] last_transition_time: Time,
        /// When anything in it last changed.
        "lastUpdateTime" [required] last_update_time: Time,
        /// For people.
        "message" [required] message: String,
        /// For programs.
        "reason" [required] reason: String,
        /// True, False or Unknown.
        "status" [required] status: String,
        /// What it is about.
        "type" [required] kind: String,
    }

    /// Why an update is paused.
    pub struct PauseCondition {
        /// The reason.
        "reason" [required] reason: String,
        /// Since when.
        "startTime" [required] start_time: Time,
    }

    /// State of a blue-green update.
    pub struct BlueGreenStatus {
        /// Pod template hash behind the active Service.
        "activeSelector" active_selector: String,
        /// Analysis after the switch.
        "postPromotionAnalysisRunStatus" post_promotion_analysis_run_status: RolloutAnalysisRunStatus,
        /// Analysis before the switch.
        "prePromotionAnalysisRunStatus" pre_promotion_analysis_run_status: RolloutAnalysisRunStatus,
        /// Pod template hash behind the preview Service.
        "previewSelector" preview_selector: String,
        /// Whether the preview has been scaled to its full size.
        "scaleUpPreviewCheckPoint" scale_up_preview_check_point: bool,
    }

    /// State of a canary update.
    pub struct CanaryStatus {
        /// Analysis that runs while the update goes on.
        "currentBackgroundAnalysisRunStatus" current_background_analysis_run_status: RolloutAnalysisRunStatus,
        /// Experiment of the current step.
        "currentExperiment" current_experiment: String,
        /// Analysis of the current step.
        "currentStepAnalysisRunStatus" current_step_analysis_run_status: RolloutAnalysisRunStatus,
        /// Which of the ping-pong Services is stable: ping or pong.
        "stablePingPong" stable_ping_pong: String,
        /// Runs of step plugins.
        "stepPluginStatuses" step_plugin_statuses: Vec<StepPluginStatus>,
        /// Traffic as last set.
        "weights" weights: TrafficWeights,
    }

    /// An AnalysisRun of this rollout.
    pub struct RolloutAnalysisRunStatus {
        /// Why the phase is what it is.
        "message" message: String,
        /// Its name.
        "name" [required] name: String,
        /// Its phase.
        "status" [required] status: String,
    }

    /// Traffic as last set.
    pub struct TrafficWeights {
        /// Experiments.
        "additional" additional: Vec<WeightDestination>,
        /// The canary.
        "canary" [required] canary: WeightDestination,
        /// The stable revision.
        "stable" [required] stable: WeightDestination,
        /// Whether the router has confirmed the weights; absent when it cannot tell.
        "verified" verified: bool,
    }

    /// A destination and its weight.
    pub struct WeightDestination {
        /// Its pod template hash.
        "podTemplateHash" pod_template_hash: String,
        /// Its Service.
        "serviceName" service_name: String,
        /// Its weight.
        "weight" [required] weight: i32,
    }

    /// The run of a step plugin.
    pub struct StepPluginStatus {
        /// How long to wait before the next call.
        "backoff" backoff: String,
        /// Whether the plugin is switched off.
        "disabled" disabled: bool,
        /// How often it was called.
        "executions" executions: i32,
        /// When it ended.
        "finishedAt" finished_at: Time,
        /// Index of the step.
        "index" [required] index: i32,
        /// Why the phase is what it is.
        "message" message: String,
        /// The plugin.
        "name" [required] name: String,
        /// Run, Terminate or Abort.
        "operation" [required] operation: String,
        /// Running, Successful, Failed or Error.
        "phase" phase: String,
        /// When it began.
        "startedAt" started_at: Time,
        /// State the plugin keeps.
        "status" status: Raw,
        /// When it was last called.
        "updatedAt" updated_at: Time,
    }

    /// When an update began and ended.
    pub struct RolloutDuration {
        /// How it ended.
        "completionStatus" completion_status: String,
        /// When it ended.
        "finishedAt" finished_at: Time,
        /// Since when it waits for a person.
        "manualPauseStartedAt" manual_pause_started_at: Time,
        /// When it began.
        "rolloutStartedAt" rollout_started_at: Time,
        /// Seconds it waited for people.
        "totalManualPauseDurationSeconds" total_manual_pause_duration_seconds: i64,
    }

    /// An AWS load balancer in use.
    pub struct AlbStatus {
        /// Target group of the canary.
        "canaryTargetGroup" canary_target_group: AwsResourceRef,
        /// The Ingress.
        "ingress" ingress: String,
        /// The load balancer.
        "loadBalancer" load_balancer: AwsResourceRef,
        /// Target group of the stable revision.
        "stableTargetGroup" stable_target_group: AwsResourceRef,
    }

    /// An AWS resource.
    pub struct AwsResourceRef {
        /// Its ARN.
        "arn" [required] arn: String,
        /// The part of the ARN that metrics use.
        "fullName" full_name: String,
        /// Its name.
        "name" [required] name: String,
    }
}
