//! The routers' side of a Rollout: the objects it names, what is wanted of them, and what is wrong with them.
//!
//! What is wanted is a function of the Rollout and of the traffic a plan asks for, so that whoever writes can compute the
//! edit again from a newer object and gets what the plan meant.

mod objects;
mod problems;
mod routers;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use tidegate_api::rollout::{IstioDestinationRule, IstioTrafficRouting, IstioVirtualService, Rollout};
use tidegate_api::wire::Text;
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_traffic::istio::{Desired, Hashes, Routing};

pub(crate) use objects::Objects;
pub(crate) use problems::problem;
pub(crate) use routers::apply;
pub use routers::{Routers, not_before, put_found, service_ports};

use crate::plan::{Subsets, Traffic};
use crate::unsupported;

/// How long proxies may take to see a change; steps that would hurt until then wait.
pub const PROPAGATION: &str = "rollouts.tidegate.dev/traffic-propagation";

/// How long pods stay at least after their traffic was taken away, in whole seconds of which the first may be a short one:
/// what proxies usually need to see it, and more. Those that need longer have [`PROPAGATION`].
const DRAIN_SECONDS: i32 = 3;

/// How far ahead of ours the clock of the API server may be.
const MOST_APART: SignedDuration = SignedDuration::from_secs(60);

/// How long pods of this Rollout stay at least after their traffic was taken away; none without routes.
pub fn drain_seconds(rollout: &Rollout) -> Option<i32> {
    if !is_routed(rollout) {
        return None;
    }
    let asked = propagation(rollout).ok().and_then(|delay| i32::try_from(delay.as_secs()).ok()).unwrap_or(0);
    // The second in which it begins may be nearly over.
    Some(DRAIN_SECONDS.max(asked.saturating_add(1)))
}

/// Whether some router splits the traffic of a Rollout.
pub fn is_routed(rollout: &Rollout) -> bool {
    let routing = rollout.spec.canary().and_then(|canary| canary.traffic_routing.as_ref());
    routing.is_some_and(|routing| !unsupported::routers(routing).is_empty())
}

/// The Istio part of a Rollout's spec.
pub fn istio(rollout: &Rollout) -> Option<&IstioTrafficRouting> {
    rollout.spec.canary()?.traffic_routing.as_ref()?.istio.as_ref()
}

/// The DestinationRule a Rollout names; it is in the Rollout's namespace.
pub fn destination_rule(rollout: &Rollout) -> Option<&IstioDestinationRule> {
    istio(rollout)?.destination_rule.as_ref().filter(|rule| !rule.name.text().is_empty())
}

/// The VirtualServices a Rollout names, each once.
pub fn virtual_services(rollout: &Rollout) -> Vec<(VirtualServiceName, IstioVirtualService)> {
    let Some(istio) = istio(rollout) else { return Vec::new() };
    let namespace = rollout.metadata.namespace.as_deref().unwrap_or("default");
    tidegate_traffic::istio::virtual_services(istio, namespace)
}

/// What a Rollout wants of its VirtualServices.
pub fn desired<'a>(rollout: &'a Rollout, traffic: &Traffic) -> Option<Desired<'a>> {
    istio(rollout)?;
    let canary = rollout.spec.canary()?;
    let status = rollout.status.as_ref().and_then(|status| status.canary.as_ref());
    let mut wanted = Desired::idle(Routing::of(canary, status), traffic.max_weight)
        .with_weight(traffic.canary_weight)
        .with_experiments(&traffic.additional);
    wanted.former.clone_from(&traffic.former);
    wanted.routes.clone_from(&traffic.routes);
    Some(wanted)
}

/// What a Rollout wants of its DestinationRule.
pub fn hashes(rollout: &Rollout, subsets: &Subsets) -> Hashes {
    let traffic = Traffic { additional: subsets.additional.clone(), ..Traffic::default() };
    let experiments = desired(rollout, &traffic).map(|wanted| wanted.experiments).unwrap_or_default();
    Hashes { canary: subsets.canary.clone(), stable: subsets.stable.clone(), experiments }
}

/// How long proxies may take, as the Rollout says it; the error is the text users read.
pub(crate) fn propagation(rollout: &Rollout) -> Result<SignedDuration, String> {
    let Some(text) = rollout.metadata.annotations.as_ref().and_then(|all| all.get(PROPAGATION)) else {
        return Ok(SignedDuration::ZERO);
    };
    let number = text.strip_suffix('s').unwrap_or(text);
    let seconds = number.parse::<u32>().ok().filter(|seconds| *seconds <= 3600);
    seconds.map(|seconds| SignedDuration::from_secs(seconds.into())).ok_or_else(|| {
        format!(
            "metadata.annotations[{PROPAGATION}]: Invalid value: \"{text}\": write whole seconds up to 3600, such as 5s"
        )
    })
}

/// Times of objects are the API server's. One that is far ahead of our clock says how far the clocks are apart, and not
/// when something was written: nobody waits for it.
pub(crate) fn is_credible(written_at: Timestamp, now: Timestamp) -> bool {
    written_at.duration_since(now) <= MOST_APART
}

/// Services of experiments that may still be in a route though they are over.
pub(crate) fn former<'a>(
    recorded: impl Iterator<Item = &'a str>,
    of_experiments: impl Iterator<Item = &'a str>,
    running: &BTreeSet<&str>,
) -> BTreeSet<String> {
    let all = recorded.chain(of_experiments).filter(|service| !service.is_empty() && !running.contains(service));
    all.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn annotated(text: &str) -> Rollout {
        serde_json::from_value(json!({"metadata": {"annotations": {PROPAGATION: text}}})).unwrap()
    }

    #[test]
    fn a_propagation_time_is_whole_seconds_with_or_without_their_unit() {
        for (text, seconds) in [("5s", 5), ("5", 5), ("0", 0), ("3600s", 3600)] {
            assert_eq!(propagation(&annotated(text)), Ok(SignedDuration::from_secs(seconds)), "{text}");
        }
        for text in ["", "s", "5ss", "5m", "-1", "3601", "1.5s"] {
            let problem = propagation(&annotated(text)).unwrap_err();
            assert!(problem.contains(PROPAGATION) && problem.contains("such as 5s"), "{problem}");
        }
    }

    #[test]
    fn nobody_waits_for_a_time_that_only_a_clock_hours_ahead_can_have_written() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let table = [("2026-01-01T11:59:58Z", true), ("2026-01-01T12:00:03Z", true), ("2026-01-01T15:00:00Z", false)];
        for (written, credible) in table {
            assert_eq!(is_credible(written.parse().unwrap(), now), credible, "{written}");
        }
    }
}
