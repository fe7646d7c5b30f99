//! How far the number of pods may leave `spec.replicas`.

use tidegate_api::rollout::CanaryStrategy;
use tidegate_api::values::Scaled;

use super::{share_down, share_up};

/// Pods that may be beyond or missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FencePosts {
    /// Pods beyond `spec.replicas`.
    pub surge: i32,
    /// Pods missing from `spec.replicas`.
    pub unavailable: i32,
}

/// Surge rounds up, unavailability down, and an update that may do neither could never move: then one may be missing.
pub fn fence_posts(canary: &CanaryStrategy, replicas: i32) -> FencePosts {
    let surge = match canary.max_surge_or_default() {
        Scaled::Absolute(number) => number,
        Scaled::Percent(percent) => share_up(percent, replicas, 100),
    };
    let unavailable = rounded_down(canary.max_unavailable_or_default(), replicas);
    let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
    FencePosts { surge: surge.max(0), unavailable: unavailable.clamp(0, replicas.max(0)) }
}

/// Pods that may be missing where there is no surge.
pub fn max_unavailable(share: Scaled, replicas: i32) -> i32 {
    rounded_down(share, replicas).clamp(0, replicas.max(0))
}

fn rounded_down(share: Scaled, replicas: i32) -> i32 {
    match share {
        Scaled::Absolute(number) => number,
        Scaled::Percent(percent) => share_down(percent, replicas, 100),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_api::values::IntOrString;

    use super::*;

    #[test]
    fn percentages_round_away_from_harm_and_never_both_to_zero() {
        let text = |text: &str| Some(IntOrString::Text(text.to_owned()));
        let number = |number| Some(IntOrString::Int(number));
        for (replicas, max_surge, max_unavailable, surge, unavailable) in [
            (10, None, None, 3, 2),
            (4, text("25%"), text("25%"), 1, 1),
            (1, None, None, 1, 0),
            (10, text("0%"), text("0%"), 0, 1),
            (3, number(0), text("10%"), 0, 1),
            (2, number(0), number(5), 0, 2),
            (0, number(0), number(5), 0, 0),
        ] {
            let canary = CanaryStrategy { max_surge, max_unavailable, ..CanaryStrategy::default() };
            assert_eq!(fence_posts(&canary, replicas), FencePosts { surge, unavailable }, "{canary:?}");
        }
    }
}
