//! The routers of a Rollout.

use tidegate_api::rollout::CanaryStrategy;

use super::change::Change;
use super::error::RouterError;
use super::needs::{Need, Seen};
use super::reach::ServicePorts;
use super::read::SeenRoute;
use super::versions::Versions;
use super::wanted::Wanted;
use crate::alb::Alb;
use crate::ambassador::Ambassador;
use crate::apisix::Apisix;
use crate::app_mesh::AppMesh;
use crate::gateway_api::{GatewayApi, PLUGIN};
use crate::istio::Istio;
use crate::nginx::Nginx;
use crate::smi::Smi;
use crate::traefik::Traefik;

/// One way by which requests reach the pods.
pub trait Router: Send + Sync {
    /// The field of `trafficRouting` that asks for it.
    fn name(&self) -> &'static str;

    /// What it says of its own about whether the weights are in force; none when it cannot tell.
    fn verified(&self) -> Option<bool> {
        None
    }

    /// The objects it has to see. What was found may lead to others: ask until nothing new comes.
    fn needs(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError>;

    /// What is to be written, in this order; nothing when the objects are as wanted.
    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError>;

    /// Whether requests arrive where weight is to go. Asked before weight is given, never before it is taken away.
    fn reach(&self, _: &Seen, _: &Wanted<'_>, _: &ServicePorts<'_>) -> Result<(), RouterError> {
        Ok(())
    }

    /// The weights of every place that splits traffic, as the objects say them, or why they cannot be read.
    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>>;
}

/// The routers that a canary strategy asks for, in the order in which they are run. Plugins without a counterpart here are
/// not among them.
pub fn routers<'a>(canary: &'a CanaryStrategy, versions: &'a Versions) -> Vec<Box<dyn Router + 'a>> {
    let Some(routing) = &canary.traffic_routing else { return Vec::new() };
    let plugin = routing.plugins.as_ref().and_then(|plugins| plugins.to_object().remove(PLUGIN));
    let all: [Option<Box<dyn Router + 'a>>; 9] = [
        routing.istio.as_ref().map(|spec| boxed(Istio { spec, canary, versions })),
        routing.nginx.as_ref().map(|spec| boxed(Nginx { spec, versions })),
        Alb::of(canary, versions).map(boxed),
        routing.smi.as_ref().map(|spec| boxed(Smi { spec, versions })),
        routing.ambassador.as_ref().map(|spec| boxed(Ambassador { spec, versions })),
        routing.app_mesh.as_ref().map(|spec| boxed(AppMesh { spec, versions })),
        routing.traefik.as_ref().map(|spec| boxed(Traefik { spec, versions })),
        routing.apisix.as_ref().map(|spec| boxed(Apisix { spec, versions })),
        plugin.map(|config| boxed(GatewayApi::of(&config))),
    ];
    all.into_iter().flatten().collect()
}

fn boxed<'a>(router: impl Router + 'a) -> Box<dyn Router + 'a> {
    Box::new(router)
}
