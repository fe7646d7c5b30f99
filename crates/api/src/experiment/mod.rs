//! The Experiment kind.

use crate::analysis::Argument;
use crate::kind::kind;
use crate::raw::Raw;
use crate::rollout::{DryRun, MeasurementRetention, RolloutCondition, TemplateService};
use crate::values::{LabelSelector, Metadata, Time};
use crate::wire::wire;

kind! {
    /// Sets of pods that run for a while, with analysis.
    pub struct Experiment {
        kind: "Experiment", plural: "experiments", scope: Namespaced,
        spec: ExperimentSpec, status: ExperimentStatus,
    }
}

wire! {
    /// Sets of pods that run for a while, with analysis.
    pub struct ExperimentSpec {
        /// Analyses to run.
        "analyses" analyses: Vec<ExperimentAnalysis>,
        /// Labels and annotations on the AnalysisRuns.
        "analysisRunMetadata" analysis_run_metadata: Metadata,
        /// Metrics that are measured but decide nothing.
        "dryRun" dry_run: Vec<DryRun>,
        /// How long it runs, such as 1h. Default: until its analyses end.
        "duration" duration: String,
        /// How many measurements to keep per metric.
        "measurementRetention" measurement_retention: Vec<MeasurementRetention>,
        /// Seconds within which the pods must become available. Default 600.
        "progressDeadlineSeconds" progress_deadline_seconds: i32,
        /// Seconds the pods stay after it has ended. Default 30.
        "scaleDownDelaySeconds" scale_down_delay_seconds: i32,
        /// The sets of pods.
        "templates" [required] templates: Vec<ExperimentTemplate>,
        /// Ends it early.
        "terminate" terminate: bool,
    }

    /// A set of pods.
    pub struct ExperimentTemplate {
        /// Seconds a pod must be ready before it counts as available. Default 0.
        "minReadySeconds" min_ready_seconds: i32,
        /// Its name.
        "name" [required] name: String,
        /// How many pods. Default 1.
        "replicas" replicas: i32,
        /// Which pods belong to it. Must match the labels of the template.
        "selector" [required] selector: LabelSelector,
        /// A Service to create for it.
        "service" service: TemplateService,
        /// The pod to run.
        "template" [required] template: Raw,
    }

    /// An analysis of an experiment.
    pub struct ExperimentAnalysis {
        /// Values for the arguments of the template.
        "args" args: Vec<Argument>,
        /// Whether the template is a ClusterAnalysisTemplate. Default false.
        "clusterScope" cluster_scope: bool,
        /// Its name in the experiment.
        "name" [required] name: String,
        /// Whether the experiment ends only after it. Default false.
        "requiredForCompletion" required_for_completion: bool,
        /// The template.
        "templateName" [required] template_name: String,
    }

    /// What the controller has seen and done.
    pub struct ExperimentStatus {
        /// One entry per analysis.
        "analysisRuns" analysis_runs: Vec<ExperimentAnalysisRunStatus>,
        /// When all pods were available.
        "availableAt" available_at: Time,
        /// What holds or does not hold, least recently changed first.
        "conditions" conditions: Vec<RolloutCondition>,
        /// Why the phase is what it is.
        "message" message: String,
        /// Pending, Running, Successful, Failed, Error or Inconclusive.
        "phase" phase: String,
        /// One entry per set of pods.
        "templateStatuses" template_statuses: Vec<TemplateStatus>,
    }

    /// An AnalysisRun of an experiment.
    pub struct ExperimentAnalysisRunStatus {
        /// The AnalysisRun.
        "analysisRun" [required] analysis_run: String,
        /// Why the phase is what it is.
        "message" message: String,
        /// The analysis.
        "name" [required] name: String,
        /// Its phase.
        "phase" [required] phase: String,
    }

    /// A set of pods as it is.
    pub struct TemplateStatus {
        /// Pods that have been ready for minReadySeconds.
        "availableReplicas" [required] available_replicas: i32,
        /// How often the pod template hash had to be made unique.
        "collisionCount" collision_count: i32,
        /// When status last changed.
        "lastTransitionTime" last_transition_time: Time,
        /// Why the status is what it is.
        "message" message: String,
        /// The set.
        "name" [required] name: String,
        /// Its pod template hash.
        "podTemplateHash" pod_template_hash: String,
        /// Pods that are ready.
        "readyReplicas" [required] ready_replicas: i32,
        /// Pods in all.
        "replicas" [required] replicas: i32,
        /// Its Service.
        "serviceName" service_name: String,
        /// Its phase.
        "status" status: String,
        /// Pods of the current template.
        "updatedReplicas" [required] updated_replicas: i32,
    }
}
