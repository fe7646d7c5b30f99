//! The Services of a canary.

use tidegate_api::rollout::{CanaryStatus, CanaryStrategy};
use tidegate_api::wire::Text;

/// The two Services that destinations are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Services<'a> {
    /// Of the old pods.
    pub stable: &'a str,
    /// Of the new pods.
    pub canary: &'a str,
}

impl<'a> Services<'a> {
    /// `stableService` and `canaryService` or, when neither is set, the ping-pong pair in its present roles.
    pub fn of(canary: &'a CanaryStrategy, status: Option<&CanaryStatus>) -> Self {
        let named = Self { stable: canary.stable_service.text(), canary: canary.canary_service.text() };
        let is_empty = named.stable.is_empty() && named.canary.is_empty();
        Self::pair(canary, status).filter(|_| is_empty).unwrap_or(named)
    }

    /// The ping-pong pair wherever there is one, as load balancers of AWS take it.
    pub fn ping_pong_first(canary: &'a CanaryStrategy, status: Option<&CanaryStatus>) -> Self {
        Self::pair(canary, status).unwrap_or_else(|| Self::of(canary, status))
    }

    fn pair(canary: &'a CanaryStrategy, status: Option<&CanaryStatus>) -> Option<Self> {
        let pair = canary.ping_pong.as_ref()?;
        let (ping, pong) = (pair.ping_service.text(), pair.pong_service.text());
        let is_ping_stable = status.is_some_and(|status| status.stable_ping_pong.text() == "ping");
        Some(if is_ping_stable { Self { stable: ping, canary: pong } } else { Self { stable: pong, canary: ping } })
    }
}
