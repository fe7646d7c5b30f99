//! What an absent field means.
//!
//! Methods here answer with the default where the user wrote nothing; the fields themselves stay absent, so that
//! nothing is written back that the user did not write.

use crate::duration::GoDuration;
use crate::experiment::ExperimentSpec;
use crate::rollout::{BlueGreenStrategy, CanaryStrategy, RolloutPause, RolloutSpec, RolloutTrafficRouting};
use crate::values::{IntOrString, Scaled};

/// `spec.replicas`.
pub const REPLICAS: i32 = 1;
/// `spec.revisionHistoryLimit`.
pub const REVISION_HISTORY_LIMIT: i32 = 10;
/// `spec.analysis.successfulRunHistoryLimit` and `unsuccessfulRunHistoryLimit`.
pub const RUN_HISTORY_LIMIT: i32 = 5;
/// `spec.progressDeadlineSeconds` of Rollouts and Experiments.
pub const PROGRESS_DEADLINE_SECONDS: i32 = 600;
/// `maxSurge` and `maxUnavailable`: text, and so a percentage.
pub const MAX_SURGE_PERCENT: i32 = 25;
/// Scale-down delays where they apply.
pub const SCALE_DOWN_DELAY_SECONDS: i32 = 30;
/// `scaleDownDelayRevisionLimit`: no limit.
pub const SCALE_DOWN_DELAY_REVISION_LIMIT: i32 = i32::MAX;
/// `consecutiveErrorLimit` of a metric.
pub const CONSECUTIVE_ERROR_LIMIT: i32 = 4;
/// The weight that means all traffic.
pub const MAX_TRAFFIC_WEIGHT: i32 = 100;
/// Prefix of NGINX Ingress annotations.
pub const NGINX_ANNOTATION_PREFIX: &str = "nginx.ingress.kubernetes.io";
/// Seconds between checks that a router has taken over the weights.
pub const VERIFY_RETRY_SECONDS: u64 = 10;

impl RolloutSpec {
    /// How many pods should run.
    pub fn replicas_or_default(&self) -> i32 {
        self.replicas.unwrap_or(REPLICAS)
    }

    /// How many old ReplicaSets to keep.
    pub fn revision_history_limit_or_default(&self) -> i32 {
        self.revision_history_limit.unwrap_or(REVISION_HISTORY_LIMIT)
    }

    /// Seconds without progress after which the rollout counts as failed.
    pub fn progress_deadline_seconds_or_default(&self) -> i32 {
        self.progress_deadline_seconds.unwrap_or(PROGRESS_DEADLINE_SECONDS)
    }

    /// The canary strategy, if that is the strategy.
    pub fn canary(&self) -> Option<&CanaryStrategy> {
        self.strategy.as_ref()?.canary.as_ref()
    }

    /// The blue-green strategy, if that is the strategy.
    pub fn blue_green(&self) -> Option<&BlueGreenStrategy> {
        self.strategy.as_ref()?.blue_green.as_ref()
    }
}

/// Surge or unavailability; text that is no percentage counts as none.
fn share(value: Option<&IntOrString>) -> Scaled {
    match value {
        None => Scaled::Percent(MAX_SURGE_PERCENT),
        Some(value) => value.scaled().unwrap_or(Scaled::Absolute(0)),
    }
}

impl CanaryStrategy {
    /// Pods that may run beyond replicas.
    pub fn max_surge_or_default(&self) -> Scaled {
        share(self.max_surge.as_ref())
    }

    /// Pods that may be missing.
    pub fn max_unavailable_or_default(&self) -> Scaled {
        share(self.max_unavailable.as_ref())
    }

    /// Seconds the old pods stay after an update; none without a router.
    pub fn scale_down_delay_seconds_or_default(&self) -> i32 {
        match &self.traffic_routing {
            Some(_) => self.scale_down_delay_seconds.unwrap_or(SCALE_DOWN_DELAY_SECONDS),
            None => 0,
        }
    }

    /// The weight that means all traffic.
    pub fn max_traffic_weight_or_default(&self) -> i32 {
        self.traffic_routing.as_ref().map_or(MAX_TRAFFIC_WEIGHT, RolloutTrafficRouting::max_traffic_weight_or_default)
    }
}

impl RolloutTrafficRouting {
    /// The weight that means all traffic.
    pub fn max_traffic_weight_or_default(&self) -> i32 {
        self.max_traffic_weight.unwrap_or(MAX_TRAFFIC_WEIGHT)
    }
}

impl BlueGreenStrategy {
    /// Whether to switch without waiting for a person.
    pub fn auto_promotion_enabled_or_default(&self) -> bool {
        self.auto_promotion_enabled.unwrap_or(true)
    }

    /// Seconds the old pods stay after the switch.
    pub fn scale_down_delay_seconds_or_default(&self) -> i32 {
        self.scale_down_delay_seconds.unwrap_or(SCALE_DOWN_DELAY_SECONDS)
    }

    /// Pods that may be missing.
    pub fn max_unavailable_or_default(&self) -> Scaled {
        share(self.max_unavailable.as_ref())
    }
}

impl ExperimentSpec {
    /// Seconds within which the pods must become available.
    pub fn progress_deadline_seconds_or_default(&self) -> i32 {
        self.progress_deadline_seconds.unwrap_or(PROGRESS_DEADLINE_SECONDS)
    }
}

impl RolloutPause {
    /// How long the pause lasts in whole seconds: `None` until a person says so, -1 when the text is no duration.
    pub fn duration_seconds(&self) -> Option<i64> {
        Some(match self.duration.as_ref()? {
            IntOrString::Int(seconds) => i64::from(*seconds),
            IntOrString::Text(text) => match text.parse::<i32>() {
                Ok(seconds) => i64::from(seconds),
                Err(_) => GoDuration::parse(text).map_or(-1, GoDuration::as_seconds),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_seconds_a_go_duration_or_until_someone_acts() {
        let pause = |duration| RolloutPause { duration, ..RolloutPause::default() }.duration_seconds();
        let text = |text: &str| Some(IntOrString::Text(text.to_owned()));
        assert_eq!(pause(None), None);
        assert_eq!(pause(Some(IntOrString::Int(10))), Some(10));
        assert_eq!(pause(text("10")), Some(10));
        assert_eq!(pause(text("1h30m")), Some(5400));
        assert_eq!(pause(text("1500ms")), Some(1));
        assert_eq!(pause(text("abc")), Some(-1));
    }

    #[test]
    fn surge_is_a_percentage_when_it_is_text_and_none_when_it_is_nonsense() {
        let surge = |max_surge| CanaryStrategy { max_surge, ..CanaryStrategy::default() }.max_surge_or_default();
        let text = |text: &str| Some(IntOrString::Text(text.to_owned()));
        assert_eq!(surge(None), Scaled::Percent(25));
        assert_eq!(surge(Some(IntOrString::Int(2))), Scaled::Absolute(2));
        assert_eq!(surge(text("25")), Scaled::Percent(25));
        assert_eq!(surge(text("30%")), Scaled::Percent(30));
        assert_eq!(surge(text("0.5%")), Scaled::Absolute(0));
    }
}
