//! Rules of the canary strategy apart from its steps.

use tidegate_api::rollout::{CanaryStrategy, PingPong, RolloutTrafficRouting};
use tidegate_api::values::Scaled;
use tidegate_api::wire::{Items, Text};

use super::{int_or_string, steps};
use crate::error::{BadValue, FieldError};

/// The largest `maxTrafficWeight` Istio takes (an extension: finer steps than one percent).
pub(crate) const ISTIO_MAX_TRAFFIC_WEIGHT: i32 = 1_000_000;

/// Which routers a canary names.
#[derive(Clone, Copy)]
pub(super) struct Routers<'a>(Option<&'a RolloutTrafficRouting>);

impl<'a> Routers<'a> {
    pub(super) fn of(canary: &'a CanaryStrategy) -> Self {
        Self(canary.traffic_routing.as_ref())
    }

    /// Whether traffic is routed at all; an empty object counts.
    pub(super) fn any(self) -> bool {
        self.0.is_some()
    }

    pub(super) fn alb(self) -> bool {
        self.0.is_some_and(|routing| routing.alb.is_some())
    }

    pub(super) fn istio(self) -> bool {
        self.0.is_some_and(|routing| routing.istio.is_some())
    }

    pub(super) fn apisix(self) -> bool {
        self.0.is_some_and(|routing| routing.apisix.is_some())
    }

    pub(super) fn smi(self) -> bool {
        self.0.is_some_and(|routing| routing.smi.is_some())
    }

    fn nginx(self) -> bool {
        self.0.is_some_and(|routing| routing.nginx.is_some())
    }

    pub(super) fn plugins(self) -> bool {
        self.0.and_then(|routing| routing.plugins.as_ref()).is_some_and(|plugins| !plugins.to_object().is_empty())
    }

    /// Names of the routes steps may write; `None` when there is no such list.
    pub(super) fn managed_routes(self) -> Option<Vec<&'a str>> {
        let routes = self.0?.managed_routes.items();
        (!routes.is_empty()).then(|| routes.iter().map(|route| route.name.text()).collect())
    }

    /// Whether one of the routers needs to know both Services.
    fn needs_services(self, ping_pong: bool) -> bool {
        let Some(routing) = self.0 else { return false };
        let by_host = routing.istio.as_ref().is_some_and(|istio| istio.destination_rule.is_none());
        ((self.alb() || by_host) && !ping_pong)
            || self.smi()
            || self.apisix()
            || self.nginx()
            || routing.ambassador.is_some()
            || routing.app_mesh.is_some()
            || routing.traefik.is_some()
    }
}

pub(super) fn check(errors: &mut Vec<FieldError>, canary: &CanaryStrategy) {
    let routers = Routers::of(canary);
    check_surge(errors, canary);
    let (stable, canary_service) = (canary.stable_service.text(), canary.canary_service.text());
    if stable == canary_service && !stable.is_empty() {
        errors.push(FieldError::invalid(
            "spec.strategy.stableService",
            stable,
            "This rollout uses the same service for the stable and canary services, but two different services are required.",
        ));
    }
    if let Some(ping_pong) = &canary.ping_pong {
        check_ping_pong(errors, routers, ping_pong);
    }
    if routers.needs_services(canary.ping_pong.is_some()) {
        let services = [("spec.strategy.stableService", stable), ("spec.strategy.canaryService", canary_service)];
        for (path, _) in services.into_iter().filter(|(_, name)| name.is_empty()) {
            let detail = "Canary service and Stable service must to be set to use Traffic Routing";
            errors.push(FieldError::invalid(path, "", detail));
        }
    }
    check_scale_down(errors, canary, routers);
    check_max_weight(errors, canary, routers);
    for (index, step) in canary.steps.items().iter().enumerate() {
        steps::check(errors, index, step, canary, routers);
    }
    super::check_anti_affinity(errors, canary.anti_affinity.as_ref());
}

fn check_surge(errors: &mut Vec<FieldError>, canary: &CanaryStrategy) {
    let is_zero = |share: Scaled| matches!(share, Scaled::Absolute(0) | Scaled::Percent(0));
    if is_zero(canary.max_surge_or_default()) && is_zero(canary.max_unavailable_or_default()) {
        let detail = "MaxSurge and MaxUnavailable both can not be zero";
        errors.push(FieldError::invalid("spec.strategy.maxSurge", int_or_string(canary.max_surge.as_ref()), detail));
    }
}

fn check_ping_pong(errors: &mut Vec<FieldError>, routers: Routers<'_>, ping_pong: &PingPong) {
    if routers.any() && !(routers.alb() || routers.istio() || routers.plugins()) {
        errors.push(FieldError::invalid(
            "spec.strategy.trafficRouting.alb",
            BadValue::null(),
            "Ping-pong feature works with the ALB, Istio, and plugin-based traffic routers only",
        ));
    }
    let (ping, pong) = (ping_pong.ping_service.text(), ping_pong.pong_service.text());
    let unset = "Ping service and Pong service must to be set to use Ping-Pong feature";
    if ping.is_empty() {
        errors.push(FieldError::invalid("spec.strategy.pingPong.pingService", ping, unset));
    }
    if pong.is_empty() {
        errors.push(FieldError::invalid("spec.strategy.pingPong.pongService", pong, unset));
    }
    if ping == pong {
        errors.push(FieldError::invalid(
            "spec.strategy.pingPong.pingService",
            ping,
            "This rollout uses the same service for the ping and pong services, but two different services are required.",
        ));
    }
    if let Some(alb) = routers.0.and_then(|routing| routing.alb.as_ref())
        && alb.root_service.text().is_empty()
    {
        errors.push(FieldError::invalid(
            "spec.strategy.trafficRouting.alb.rootService",
            "",
            "Root service field is required for the configuration with ALB and ping-pong feature enabled",
        ));
    }
}

fn check_scale_down(errors: &mut Vec<FieldError>, canary: &CanaryStrategy, routers: Routers<'_>) {
    let dynamic = canary.dynamic_stable_scale == Some(true);
    if let Some(delay) = canary.scale_down_delay_seconds
        && !routers.any()
    {
        let detail = "Canary scaleDownDelaySeconds can only be used with traffic routing";
        errors.push(FieldError::invalid("spec.strategy.scaleDownDelaySeconds", delay, detail));
    }
    if dynamic && !routers.any() {
        let detail = "Canary dynamicStableScale can only be used with traffic routing";
        errors.push(FieldError::invalid("spec.strategy.dynamicStableScale", true, detail));
    }
    if dynamic && routers.any() && canary.scale_down_delay_seconds.is_some() {
        let detail = "Canary dynamicStableScale cannot be used with scaleDownDelaySeconds";
        errors.push(FieldError::invalid("spec.strategy.dynamicStableScale", true, detail));
    }
}

fn check_max_weight(errors: &mut Vec<FieldError>, canary: &CanaryStrategy, routers: Routers<'_>) {
    let Some(max) = canary.traffic_routing.as_ref().and_then(|routing| routing.max_traffic_weight) else { return };
    // Istio's weights are shares, not percentages, so any total serves.
    let istio_takes_it = routers.istio() && (1..=ISTIO_MAX_TRAFFIC_WEIGHT).contains(&max);
    if !(routers.nginx() || routers.plugins() || istio_takes_it) {
        let detail = "Canary maxTrafficWeight in traffic routing only supported in Nginx and Plugins";
        errors.push(FieldError::invalid("spec.strategy.trafficRouting.maxTrafficWeight", max, detail));
    }
}
