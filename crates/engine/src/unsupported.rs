//! What a Rollout may name that this controller does not drive.

use tidegate_api::rollout::{Rollout, RolloutTrafficRouting};
use tidegate_api::wire::Items;
use tidegate_traffic::gateway_api::PLUGIN;

use crate::observed::{Observed, Router};

/// The routers a Rollout names, in the order they are driven, with their fields.
pub fn routers(routing: &RolloutTrafficRouting) -> Vec<(Router, String)> {
    let named = [
        (Router::Istio, "istio", routing.istio.is_some()),
        (Router::Nginx, "nginx", routing.nginx.is_some()),
        (Router::Alb, "alb", routing.alb.is_some()),
        (Router::Smi, "smi", routing.smi.is_some()),
        (Router::Ambassador, "ambassador", routing.ambassador.is_some()),
        (Router::AppMesh, "appMesh", routing.app_mesh.is_some()),
        (Router::Traefik, "traefik", routing.traefik.is_some()),
        (Router::Apisix, "apisix", routing.apisix.is_some()),
    ];
    let built_in = named.into_iter().filter(|(.., is_set)| *is_set).map(|(router, name, _)| (router, name.to_owned()));
    // The newer routers are unknown fields to this version: they must not be taken for "no router".
    let plugins = routing.plugins.iter().flat_map(|plugins| plugins.to_object().into_iter().map(|(name, _)| name));
    let plugins = plugins.map(|name| match name.as_str() {
        PLUGIN => (Router::GatewayApi, format!("plugins[{name:?}]")),
        _ => (Router::Plugin, format!("plugins[{name:?}]")),
    });
    let unknown = routing.unknown.keys().map(|name| (Router::Plugin, name.clone()));
    built_in.chain(plugins).chain(unknown).collect()
}

/// The first field that is not driven, as users find it in their manifest.
pub(crate) fn field(rollout: &Rollout, seen: &Observed) -> Option<String> {
    let router = rollout.spec.canary().and_then(|canary| canary.traffic_routing.as_ref()).and_then(|routing| {
        let missing = routers(routing).into_iter().find(|(router, _)| !seen.drives.contains(router));
        missing.map(|(_, name)| format!("spec.strategy.canary.trafficRouting.{name}"))
    });
    let steps = rollout.spec.canary().map_or(&[][..], |canary| canary.steps.items());
    let plugin = || {
        let place = steps.iter().position(|step| step.plugin.is_some())?;
        Some(format!("spec.strategy.canary.steps[{place}].plugin"))
    };
    router.or_else(plugin).or_else(|| analysis(rollout, seen))
}

/// The first field that asks for an AnalysisRun or an Experiment which nobody runs.
fn analysis(rollout: &Rollout, seen: &Observed) -> Option<String> {
    if let Some(strategy) = rollout.spec.blue_green() {
        let asked = [
            ("prePromotionAnalysis", strategy.pre_promotion_analysis.is_some()),
            ("postPromotionAnalysis", strategy.post_promotion_analysis.is_some()),
        ];
        let (name, _) = asked.into_iter().find(|(_, is_set)| *is_set && seen.lacks_analysis)?;
        return Some(format!("spec.strategy.blueGreen.{name}"));
    }
    let canary = rollout.spec.canary()?;
    if canary.analysis.is_some() && seen.lacks_analysis {
        return Some("spec.strategy.canary.analysis".to_owned());
    }
    canary.steps.items().iter().enumerate().find_map(|(place, step)| {
        let asked = [
            ("analysis", step.analysis.is_some() && seen.lacks_analysis),
            ("experiment", step.experiment.is_some() && seen.lacks_experiments),
        ];
        let (name, _) = asked.into_iter().find(|(_, is_set)| *is_set)?;
        Some(format!("spec.strategy.canary.steps[{place}].{name}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn held(strategy: Value, lacks: bool) -> Option<String> {
        held_where(strategy, lacks, lacks)
    }

    fn held_where(strategy: Value, lacks_analysis: bool, lacks_experiments: bool) -> Option<String> {
        let rollout: Rollout = serde_json::from_value(json!({"spec": {"strategy": strategy}})).unwrap();
        field(&rollout, &Observed { lacks_analysis, lacks_experiments, ..Observed::default() })
    }

    #[test]
    fn whatever_asks_for_analysis_is_held_where_nobody_runs_it_and_nowhere_else() {
        let once = json!({"templates": [{"templateName": "errors"}]});
        let cases = [
            (json!({"canary": {"analysis": once}}), "spec.strategy.canary.analysis"),
            (
                json!({"canary": {"steps": [{"setWeight": 5}, {"analysis": once}]}}),
                "spec.strategy.canary.steps[1].analysis",
            ),
            (json!({"canary": {"steps": [{"experiment": {}}]}}), "spec.strategy.canary.steps[0].experiment"),
            (json!({"blueGreen": {"prePromotionAnalysis": once}}), "spec.strategy.blueGreen.prePromotionAnalysis"),
            (json!({"blueGreen": {"postPromotionAnalysis": once}}), "spec.strategy.blueGreen.postPromotionAnalysis"),
        ];
        for (strategy, field) in cases {
            assert_eq!(held(strategy.clone(), true).as_deref(), Some(field));
            assert_eq!(held(strategy, false), None);
        }
        assert_eq!(held(json!({"canary": {"steps": [{"setWeight": 5}, {"pause": {}}]}}), true), None);
        assert_eq!(held(json!({"blueGreen": {"activeService": "a"}}), true), None);
        let both = json!({"canary": {"steps": [{"analysis": once}, {"experiment": {}}]}});
        let experiment = "spec.strategy.canary.steps[1].experiment";
        assert_eq!(held_where(both, false, true).as_deref(), Some(experiment), "analyses are run, experiments are not");
    }
}
