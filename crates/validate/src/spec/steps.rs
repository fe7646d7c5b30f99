//! Rules of canary steps.

use tidegate_api::rollout::{
    AnalysisRunArgument, CanaryStep, CanaryStrategy, HeaderRoutingMatch, RolloutExperimentStep, RouteMatch,
    SetHeaderRoute, SetMirrorRoute, StringMatch,
};
use tidegate_api::wire::{Items, Text};

use super::canary::Routers;
use crate::error::FieldError;
use crate::{go_json, labels};

const ONE_KIND: &str =
    "Step must have one of the following set: experiment, setWeight, setCanaryScale, plugin or pause";
const MATCH_MISSED: &str = "StringMatch value missed, match value must have one of the following: exact, regex, prefix";
const MATCH_MANY: &str = "StringMatch match value must have exactly one of the following: exact, regex, prefix";
const NOT_MANAGED: &str =
    "Steps define a route that does not exist in spec.strategy.canary.trafficRouting.managedRoutes";

pub(super) fn check(
    errors: &mut Vec<FieldError>,
    index: usize,
    step: &CanaryStep,
    canary: &CanaryStrategy,
    routers: Routers<'_>,
) {
    let path = format!("spec.strategy.steps[{index}]");
    check_kinds(errors, &path, step);
    if let Some(weight) = step.set_weight {
        let max = canary.max_traffic_weight_or_default();
        if weight < 0 || weight > max {
            let detail = format!("SetWeight needs to be between 0 and {max}");
            errors.push(FieldError::invalid(format!("{path}.setWeight"), weight, detail));
        }
    }
    if let Some(seconds) = step.pause.as_ref().and_then(|pause| pause.duration_seconds())
        && seconds < 0
    {
        let detail = "Duration needs to be greater than 0";
        errors.push(FieldError::invalid(format!("{path}.pause.duration"), seconds, detail));
    }
    if step.set_canary_scale.is_some() && !routers.any() {
        let detail = "SetCanaryScale requires TrafficRouting to be set";
        errors.push(FieldError::required("spec.strategy.trafficRouting", detail));
    }
    if let Some(route) = &step.set_header_route {
        check_header_route(errors, &format!("{path}.setHeaderRoute"), route, routers);
    }
    if let Some(route) = &step.set_mirror_route {
        check_mirror_route(errors, &format!("{path}.setMirrorRoute"), route, routers);
    }
    check_managed(errors, &path, step, routers);
    if let Some(experiment) = &step.experiment {
        check_experiment(errors, &format!("{path}.experiment"), experiment, routers);
    }
    check_arguments(errors, &path, step);
}

fn check_kinds(errors: &mut Vec<FieldError>, path: &str, step: &CanaryStep) {
    let (experiment, pause) = (step.experiment.is_some(), step.pause.is_some());
    let (weight, analysis) = (step.set_weight.is_some(), step.analysis.is_some());
    let exclusive = [experiment, pause, weight, analysis].into_iter().filter(|set| *set).count();
    if exclusive > 1 {
        let value = format!(
            "step.Experiment: {experiment} step.Pause: {pause} step.SetWeight: {weight} step.Analysis: {analysis}"
        );
        errors.push(FieldError::invalid(path, value, ONE_KIND));
    }
    let others = step.set_canary_scale.is_some()
        || step.set_header_route.is_some()
        || step.set_mirror_route.is_some()
        || step.plugin.is_some();
    if exclusive == 0 && !others {
        // `true` means absent here; scripts know the line by heart.
        let value = "step.Experiment: true step.Pause: true step.SetWeight: true step.Analysis: true \
                     step.SetCanaryScale: true step.SetHeaderRoute: true step.SetMirrorRoute: true step.Plugin: true";
        errors.push(FieldError::invalid(path, value, ONE_KIND));
    }
}

fn check_header_route(errors: &mut Vec<FieldError>, path: &str, route: &SetHeaderRoute, routers: Routers<'_>) {
    if !(routers.istio() || routers.alb() || routers.apisix() || routers.plugins()) {
        let detail = "SetHeaderRoute requires TrafficRouting, supports Istio and ALB and Apisix";
        errors.push(FieldError::invalid(path, go_json::header_route(route), detail));
        return;
    }
    for (index, item) in route.matches.items().iter().enumerate() {
        // With Istio beside ALB the wider rule holds: the route is Istio's as well.
        let problem = if routers.alb() && !routers.istio() {
            alb_problem(item)
        } else {
            match_problem(item.header_value.as_ref())
        };
        if let Some(problem) = problem {
            let value = go_json::string_match(item.header_value.as_ref());
            errors.push(FieldError::invalid(format!("{path}.match[{index}]"), value, problem));
        }
    }
}

fn alb_problem(item: &HeaderRoutingMatch) -> Option<&'static str> {
    let Some(value) = &item.header_value else { return Some(MATCH_MISSED) };
    let only_exact = !value.exact.text().is_empty() && value.regex.text().is_empty() && value.prefix.text().is_empty();
    (!only_exact).then_some("SetHeaderRoute match value invalid. ALB supports 'exact' value only")
}

fn match_problem(value: Option<&StringMatch>) -> Option<&'static str> {
    let set = value.map_or(0, |value| {
        [&value.exact, &value.regex, &value.prefix].into_iter().filter(|text| !text.text().is_empty()).count()
    });
    match set {
        0 => Some(MATCH_MISSED),
        1 => None,
        _ => Some(MATCH_MANY),
    }
}

fn check_mirror_route(errors: &mut Vec<FieldError>, path: &str, route: &SetMirrorRoute, routers: Routers<'_>) {
    if !(routers.istio() || routers.plugins()) {
        let detail = "SetMirrorRoute requires TrafficRouting, supports Istio and Plugins";
        errors.push(FieldError::invalid(path, go_json::mirror_route(route), detail));
    }
    for (index, item) in route.matches.items().iter().enumerate() {
        for value in conditions(item) {
            if let Some(problem) = match_problem(Some(value)) {
                let value = go_json::string_match(Some(value));
                errors.push(FieldError::invalid(format!("{path}.match[{index}]"), value, problem));
            }
        }
    }
}

/// The conditions of a request match: method, path, then headers by name.
fn conditions(item: &RouteMatch) -> impl Iterator<Item = &StringMatch> {
    item.method.iter().chain(&item.path).chain(item.headers.iter().flatten().map(|(_, value)| value))
}

fn check_managed(errors: &mut Vec<FieldError>, path: &str, step: &CanaryStep, routers: Routers<'_>) {
    let header = step.set_header_route.as_ref().map(|route| ("setHeaderRoute", route.name.text()));
    let mirror = step.set_mirror_route.as_ref().map(|route| ("setMirrorRoute", route.name.text()));
    if !routers.any() || (header.is_none() && mirror.is_none()) {
        return;
    }
    let Some(managed) = routers.managed_routes() else {
        let detail = "Rollout has missing field 'spec.strategy.canary.trafficRouting.managedRoutes'";
        errors.push(FieldError::required("spec.strategy.trafficRouting.managedRoutes", detail));
        return;
    };
    for (field, name) in header.into_iter().chain(mirror) {
        if !managed.contains(&name) {
            errors.push(FieldError::invalid(format!("{path}.{field}"), name, NOT_MANAGED));
        }
    }
}

fn check_experiment(errors: &mut Vec<FieldError>, path: &str, step: &RolloutExperimentStep, routers: Routers<'_>) {
    let problem = if !routers.any() {
        "Experiment template weight cannot be set unless TrafficRouting is enabled"
    } else if !(routers.smi() || routers.alb() || routers.istio() || routers.plugins()) {
        "Experiment template weight is only available for TrafficRouting with SMI, ALB, Istio and Plugins at this time"
    } else {
        return;
    };
    for (index, template) in step.templates.items().iter().enumerate() {
        if let Some(weight) = template.weight {
            errors.push(FieldError::invalid(format!("{path}.templates[{index}].weight"), weight, problem));
        }
    }
}

fn check_arguments(errors: &mut Vec<FieldError>, path: &str, step: &CanaryStep) {
    let of_experiment = step
        .experiment
        .iter()
        .flat_map(|experiment| experiment.analyses.items())
        .flat_map(|analysis| analysis.args.items());
    let of_analysis = step.analysis.iter().flat_map(|analysis| analysis.args.items());
    let arguments: Vec<&AnalysisRunArgument> = of_experiment.chain(of_analysis).collect();
    for argument in &arguments {
        let field = argument.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
        if field.is_some_and(|field| !is_resolvable(field.field_path.text())) {
            errors.push(FieldError::invalid(
                format!("{path}.analyses"),
                go_json::arguments(arguments.iter().copied()),
                "Analyses arguments must refer to valid object metadata supported by downwardAPI",
            ));
        }
    }
}

/// Whether a path that begins with `metadata` leads to something an argument can be taken from.
fn is_resolvable(path: &str) -> bool {
    if !path.starts_with("metadata") {
        return true;
    }
    let subscripted = path.strip_suffix("']").and_then(|rest| rest.split_once("['"));
    match subscripted {
        Some(("metadata.labels", key)) => labels::qualified_name_problems(key).is_empty(),
        Some(("metadata.annotations", key)) => labels::qualified_name_problems(&key.to_lowercase()).is_empty(),
        Some(_) => false,
        None => matches!(
            path,
            "metadata.name" | "metadata.namespace" | "metadata.uid" | "metadata.labels" | "metadata.annotations"
        ),
    }
}
