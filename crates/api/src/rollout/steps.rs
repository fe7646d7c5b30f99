//! Canary steps and the parts they share with analysis.

use std::collections::BTreeMap;

use crate::raw::Raw;
use crate::values::{IntOrString, LabelSelector, Metadata};
use crate::wire::wire;

wire! {
    /// One step of a canary. One field is set.
    pub struct CanaryStep {
        /// Runs analysis and waits for its result.
        "analysis" analysis: RolloutAnalysis,
        /// Runs an Experiment and waits for its result.
        "experiment" experiment: RolloutExperimentStep,
        /// Waits for a time or for a person.
        "pause" pause: RolloutPause,
        /// Runs a step plugin.
        "plugin" plugin: PluginStep,
        /// Sets the number of canary pods apart from the weight.
        "setCanaryScale" set_canary_scale: SetCanaryScale,
        /// Sends requests with certain headers to the canary.
        "setHeaderRoute" set_header_route: SetHeaderRoute,
        /// Copies requests to the canary.
        "setMirrorRoute" set_mirror_route: SetMirrorRoute,
        /// Share of pods or of traffic for the canary.
        "setWeight" set_weight: i32,
    }

    /// Waits for a time or, without duration, for a person.
    pub struct RolloutPause {
        /// Seconds, or a duration such as 10s, 5m or 1h30m.
        "duration" duration: IntOrString,
    }

    /// Runs a step plugin.
    pub struct PluginStep {
        /// Configuration, passed on as it is.
        "config" config: Raw,
        /// The plugin.
        "name" [required] name: String,
    }

    /// Sets the number of canary pods. One field is set.
    pub struct SetCanaryScale {
        /// As many as the traffic weight asks for.
        "matchTrafficWeight" match_traffic_weight: bool,
        /// This many.
        "replicas" replicas: i32,
        /// This share of spec.replicas.
        "weight" weight: i32,
    }

    /// Sends requests with certain headers to the canary. Without match the route is removed.
    pub struct SetHeaderRoute {
        /// Which headers; all must match.
        "match" matches: Vec<HeaderRoutingMatch>,
        /// The managed route to write.
        "name" name: String,
    }

    /// One header to match.
    pub struct HeaderRoutingMatch {
        /// The header.
        "headerName" [required] header_name: String,
        /// Its value.
        "headerValue" [required] header_value: StringMatch,
    }

    /// A condition on text. Exactly one field is set.
    pub struct StringMatch {
        /// Equal to this.
        "exact" exact: String,
        /// Beginning with this.
        "prefix" prefix: String,
        /// Matching this regular expression.
        "regex" regex: String,
    }

    /// Copies requests to the canary. Without match the route is removed.
    pub struct SetMirrorRoute {
        /// Which requests; any may match.
        "match" matches: Vec<RouteMatch>,
        /// The managed route to write.
        "name" [required] name: String,
        /// Share of the matching requests to copy. Default 100.
        "percentage" percentage: i32,
    }

    /// Which requests a route takes; all set fields must match.
    pub struct RouteMatch {
        /// Conditions on headers, by name.
        "headers" headers: BTreeMap<String, StringMatch>,
        /// Condition on the HTTP method.
        "method" method: StringMatch,
        /// Condition on the path.
        "path" path: StringMatch,
    }

    /// Analysis that runs once and is waited for.
    pub struct RolloutAnalysis {
        /// Labels and annotations on the AnalysisRun.
        "analysisRunMetadata" analysis_run_metadata: Metadata,
        /// Values for the arguments of the templates.
        "args" args: Vec<AnalysisRunArgument>,
        /// Metrics that are measured but decide nothing.
        "dryRun" dry_run: Vec<DryRun>,
        /// How many measurements to keep per metric.
        "measurementRetention" measurement_retention: Vec<MeasurementRetention>,
        /// The templates to run together.
        "templates" templates: Vec<AnalysisTemplateRef>,
    }

    /// A template to use.
    pub struct AnalysisTemplateRef {
        /// Whether it is a ClusterAnalysisTemplate. Default false.
        "clusterScope" cluster_scope: bool,
        /// Its name.
        "templateName" template_name: String,
    }

    /// A value for an argument of a template.
    pub struct AnalysisRunArgument {
        /// The argument.
        "name" [required] name: String,
        /// The value itself.
        "value" value: String,
        /// Where to take the value from.
        "valueFrom" value_from: ArgumentValueFrom,
    }

    /// Where to take an argument's value from.
    pub struct ArgumentValueFrom {
        /// A field of the Rollout.
        "fieldRef" field_ref: FieldRef,
        /// The pod template hash of the Stable or Latest revision.
        "podTemplateHashValue" pod_template_hash_value: String,
    }

    /// A field of the owning object.
    pub struct FieldRef {
        /// Such as metadata.labels['app'].
        "fieldPath" [required] field_path: String,
    }

    /// A metric that is measured but decides nothing.
    pub struct DryRun {
        /// Regular expression on the metric's name.
        "metricName" [required] metric_name: String,
    }

    /// How many measurements to keep for a metric.
    pub struct MeasurementRetention {
        /// How many.
        "limit" [required] limit: i32,
        /// Regular expression on the metric's name.
        "metricName" [required] metric_name: String,
    }

    /// Runs an Experiment and waits for its result.
    pub struct RolloutExperimentStep {
        /// Analyses to run with it.
        "analyses" analyses: Vec<RolloutExperimentAnalysis>,
        /// Labels and annotations on its AnalysisRuns.
        "analysisRunMetadata" analysis_run_metadata: Metadata,
        /// Metrics that are measured but decide nothing.
        "dryRun" dry_run: Vec<DryRun>,
        /// How long it runs, such as 1h.
        "duration" duration: String,
        /// Seconds its pods stay after it has ended. Default 30.
        "scaleDownDelaySeconds" scale_down_delay_seconds: i32,
        /// The sets of pods to run.
        "templates" [required] templates: Vec<RolloutExperimentTemplate>,
    }

    /// A set of pods of an experiment step.
    pub struct RolloutExperimentTemplate {
        /// Labels and annotations to add to its pods.
        "metadata" metadata: Metadata,
        /// Its name.
        "name" [required] name: String,
        /// How many pods. Default 1.
        "replicas" replicas: i32,
        /// Another selector than the rollout's.
        "selector" selector: LabelSelector,
        /// A Service to create for it.
        "service" service: TemplateService,
        /// Which pod template to use: stable or canary.
        "specRef" [required] spec_ref: String,
        /// Share of traffic to send to it.
        "weight" weight: i32,
    }

    /// A Service to create for a set of pods.
    pub struct TemplateService {
        /// Its name. Default: that of the ReplicaSet.
        "name" name: String,
    }

    /// An analysis of an experiment step.
    pub struct RolloutExperimentAnalysis {
        /// Values for the arguments of the template.
        "args" args: Vec<AnalysisRunArgument>,
        /// Whether the template is a ClusterAnalysisTemplate. Default false.
        "clusterScope" cluster_scope: bool,
        /// Its name in the experiment.
        "name" [required] name: String,
        /// Whether the experiment ends only after it. Default false.
        "requiredForCompletion" required_for_completion: bool,
        /// The template.
        "templateName" [required] template_name: String,
    }
}
