//! What a Rollout may name that this controller does not drive.

use std::collections::BTreeSet;

use tidegate_api::rollout::{Rollout, RolloutTrafficRouting};
use tidegate_api::wire::Items;

use crate::observed::Router;

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
    let plugins = plugins.map(|name| (Router::Plugin, format!("plugins[{name:?}]")));
    let unknown = routing.unknown.keys().map(|name| (Router::Plugin, name.clone()));
    built_in.chain(plugins).chain(unknown).collect()
}

/// The first field that is not driven, as users find it in their manifest.
pub(crate) fn field(rollout: &Rollout, drives: &BTreeSet<Router>) -> Option<String> {
    let canary = rollout.spec.canary()?;
    if let Some(routing) = &canary.traffic_routing {
        let missing = routers(routing).into_iter().find(|(router, _)| !drives.contains(router));
        if let Some((_, name)) = missing {
            return Some(format!("spec.strategy.canary.trafficRouting.{name}"));
        }
    }
    let plugin = canary.steps.items().iter().position(|step| step.plugin.is_some())?;
    Some(format!("spec.strategy.canary.steps[{plugin}].plugin"))
}
