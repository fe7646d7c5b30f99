//! The steps of a canary: which one is current, what it asks for, how it is called.

use tidegate_api::rollout::{CanaryStep, CanaryStrategy, Rollout, RolloutStatus, SetCanaryScale};
use tidegate_api::wire::{Items, Text};

/// What a step does. A step that sets nothing, or that nobody here knows, is invalid and never completes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepKind<'a> {
    /// Share of pods or traffic.
    SetWeight(i32),
    /// Waits for a time or a person.
    Pause(&'a tidegate_api::rollout::RolloutPause),
    /// Runs an Experiment.
    Experiment(&'a tidegate_api::rollout::RolloutExperimentStep),
    /// Runs analysis.
    Analysis(&'a tidegate_api::rollout::RolloutAnalysis),
    /// Sets the number of canary pods.
    SetCanaryScale(&'a SetCanaryScale),
    /// Runs a plugin.
    Plugin(&'a tidegate_api::rollout::PluginStep),
    /// Routes by header.
    SetHeaderRoute(&'a tidegate_api::rollout::SetHeaderRoute),
    /// Copies requests.
    SetMirrorRoute(&'a tidegate_api::rollout::SetMirrorRoute),
    /// None of these.
    Invalid,
}

/// Reads a step; when several fields are set the first of this order counts.
pub fn kind(step: &CanaryStep) -> StepKind<'_> {
    if let Some(weight) = step.set_weight {
        StepKind::SetWeight(weight)
    } else if let Some(pause) = &step.pause {
        StepKind::Pause(pause)
    } else if let Some(experiment) = &step.experiment {
        StepKind::Experiment(experiment)
    } else if let Some(analysis) = &step.analysis {
        StepKind::Analysis(analysis)
    } else if let Some(scale) = &step.set_canary_scale {
        StepKind::SetCanaryScale(scale)
    } else if let Some(plugin) = &step.plugin {
        StepKind::Plugin(plugin)
    } else if let Some(route) = &step.set_header_route {
        StepKind::SetHeaderRoute(route)
    } else if let Some(route) = &step.set_mirror_route {
        StepKind::SetMirrorRoute(route)
    } else {
        StepKind::Invalid
    }
}

/// The step as events name it.
pub fn text(step: &CanaryStep) -> String {
    match kind(step) {
        StepKind::SetWeight(weight) => format!("setWeight: {weight}"),
        StepKind::Pause(pause) => match &pause.duration {
            Some(duration) => format!("pause: {duration}"),
            None => "pause".to_owned(),
        },
        StepKind::Experiment(_) => "experiment".to_owned(),
        StepKind::Analysis(_) => "analysis".to_owned(),
        StepKind::SetCanaryScale(scale) => scale_text(scale),
        StepKind::Plugin(plugin) => format!("plugin: {}", plugin.name.text()),
        StepKind::SetHeaderRoute(route) => format!("setHeaderRoute: {}", route.name.text()),
        StepKind::SetMirrorRoute(route) => format!("setMirrorRoute: {}", route.name.text()),
        StepKind::Invalid => "invalid".to_owned(),
    }
}

fn scale_text(scale: &SetCanaryScale) -> String {
    match (scale.weight, scale.match_traffic_weight, scale.replicas) {
        (Some(weight), ..) => format!("setCanaryScale{{weight: {weight}}}"),
        (None, Some(true), _) => "setCanaryScale{matchTrafficWeight: true}".to_owned(),
        (None, _, Some(replicas)) => format!("setCanaryScale{{replicas: {replicas}}}"),
        (None, _, None) => "invalid".to_owned(),
    }
}

/// The current step and its index: none without steps or past the last one.
pub fn current(canary: &CanaryStrategy, index: Option<i32>) -> Option<(usize, &CanaryStep)> {
    // A negative index, which only a garbled status can hold, counts as the beginning.
    let index = usize::try_from(index.unwrap_or(0).max(0)).ok()?;
    canary.steps.items().get(index).map(|step| (index, step))
}

/// Puts an index that lies outside the steps, which only a garbled status or steps since removed can leave, back among
/// them: repeating a step is safe, skipping one is not.
pub(crate) fn keep_within(rollout: &Rollout, status: &mut RolloutStatus) {
    let steps = rollout.spec.canary().map_or(0, |canary| canary.steps.items().len());
    let count = i32::try_from(steps).unwrap_or(i32::MAX);
    status.current_step_index = status.current_step_index.filter(|_| count > 0).map(|index| index.clamp(0, count));
}

/// Steps up to and with the current one, last first; none past the end.
fn until_now(canary: &CanaryStrategy, index: Option<i32>) -> Option<impl Iterator<Item = &CanaryStep>> {
    let (index, _) = current(canary, index)?;
    Some(canary.steps.items()[..=index].iter().rev())
}

/// The weight that holds at a step: the last one set at or before it, 0 before the first; none past the end.
pub fn weight_at(canary: &CanaryStrategy, index: Option<i32>) -> Option<i32> {
    Some(until_now(canary, index)?.find_map(|step| step.set_weight).unwrap_or(0))
}

/// The weight that held before the current step.
pub fn weight_before(canary: &CanaryStrategy, index: Option<i32>) -> i32 {
    let all = canary.steps.items();
    let index = usize::try_from(index.unwrap_or(0)).unwrap_or(0).min(all.len());
    all[..index].iter().rev().find_map(|step| step.set_weight).unwrap_or(0)
}

/// The size that a `setCanaryScale` at or before the current step fixes.
pub fn scale_at(canary: &CanaryStrategy, index: Option<i32>) -> Option<&SetCanaryScale> {
    let latest = until_now(canary, index)?.find_map(|step| step.set_canary_scale.as_ref())?;
    (latest.match_traffic_weight != Some(true)).then_some(latest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn canary(steps: serde_json::Value) -> CanaryStrategy {
        serde_json::from_value(json!({"steps": steps})).unwrap()
    }

    #[test]
    fn the_last_weight_at_or_before_a_step_holds() {
        let canary = canary(json!([{"pause": {}}, {"setWeight": 20}, {"pause": {}}, {"setWeight": 50}]));
        let at = |index| weight_at(&canary, index);
        assert_eq!((at(None), at(Some(1)), at(Some(2)), at(Some(3))), (Some(0), Some(20), Some(20), Some(50)));
        assert_eq!((at(Some(4)), at(Some(-7))), (None, Some(0)));
        assert_eq!(weight_before(&canary, Some(3)), 20);
        assert_eq!(weight_before(&canary, Some(99)), 50);
    }

    #[test]
    fn steps_are_called_what_users_wrote() {
        let steps = json!([
            {"setWeight": 20}, {"pause": {}}, {"pause": {"duration": "10s"}}, {"setCanaryScale": {"weight": 25}},
            {"setCanaryScale": {"matchTrafficWeight": true}}, {"setCanaryScale": {"replicas": 3}}, {"analysis": {}},
            {"experiment": {}}, {"plugin": {"name": "p"}}, {"setHeaderRoute": {"name": "h"}},
            {"setMirrorRoute": {"name": "m"}}, {},
        ]);
        let canary = canary(steps);
        let texts: Vec<String> = canary.steps.items().iter().map(text).collect();
        assert_eq!(
            texts,
            [
                "setWeight: 20",
                "pause",
                "pause: 10s",
                "setCanaryScale{weight: 25}",
                "setCanaryScale{matchTrafficWeight: true}",
                "setCanaryScale{replicas: 3}",
                "analysis",
                "experiment",
                "plugin: p",
                "setHeaderRoute: h",
                "setMirrorRoute: m",
                "invalid",
            ]
        );
    }
}
