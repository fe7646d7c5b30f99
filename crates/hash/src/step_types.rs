//! Field order of the canary steps, in the notation of the pod table; types that are not listed here are there.

/// The table.
pub(crate) const TABLE: &str = r"
CanaryStep: setWeight*:int32 pause*:RolloutPause experiment*:RolloutExperimentStep analysis*:RolloutAnalysis
    setCanaryScale*:SetCanaryScale setHeaderRoute*:SetHeaderRoute setMirrorRoute*:SetMirrorRoute plugin*:PluginStep
RolloutPause: duration*:intOrString
RolloutExperimentStep: templates!:[RolloutExperimentTemplate] duration
    analyses:[RolloutExperimentStepAnalysisTemplateRef] dryRun:[DryRun] analysisRunMetadata!:AnalysisRunMetadata
    scaleDownDelaySeconds*:int32
RolloutExperimentTemplate: name! specRef! replicas*:int32 metadata!:PodTemplateMetadata selector*:LabelSelector
    weight*:int32 service*:TemplateService
RolloutExperimentStepAnalysisTemplateRef: name! templateName! clusterScope*:bool args:[AnalysisRunArgument]
    requiredForCompletion:bool
RolloutAnalysis: templates:[AnalysisTemplateRef] args:[AnalysisRunArgument] dryRun:[DryRun]
    measurementRetention:[MeasurementRetention] analysisRunMetadata*:AnalysisRunMetadata
AnalysisTemplateRef: templateName! clusterScope*:bool
AnalysisRunArgument: name! value valueFrom*:ArgumentValueFrom
ArgumentValueFrom: podTemplateHashValue* fieldRef*:FieldRef
FieldRef: fieldPath!
DryRun: metricName!
MeasurementRetention: metricName! limit!:int32
AnalysisRunMetadata: labels:{string} annotations:{string}
PodTemplateMetadata: labels:{string} annotations:{string}
TemplateService: name
SetCanaryScale: weight*:int32 replicas*:int32 matchTrafficWeight:bool
SetHeaderRoute: name match:[HeaderRoutingMatch]
HeaderRoutingMatch: headerName! headerValue!:StringMatch?
SetMirrorRoute: name! match:[RouteMatch] percentage*:int32
RouteMatch: method*:StringMatch path*:StringMatch headers:{StringMatch}
StringMatch: exact prefix regex
PluginStep: name! config:raw
";
