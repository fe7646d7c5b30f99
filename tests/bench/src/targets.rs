//! What the figures are held to.

/// Targets that depend on how many Rollouts there are; none where none was set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Targets {
    /// Megabytes while nothing happens.
    pub(crate) memory: Option<f64>,
    /// Seconds from an image change on all to all being Paused: a third of the better figure of the Go controller for
    /// 500, which is 34 s, and as much for each where there are fewer or more.
    pub(crate) paused: f64,
    /// Seconds from the start of the process to the first repair.
    pub(crate) restart: Option<f64>,
}

impl Targets {
    /// For so many Rollouts.
    pub(crate) fn of(rollouts: usize) -> Self {
        let within =
            |limits: &[(usize, f64)]| limits.iter().find(|(most, _)| rollouts <= *most).map(|(_, limit)| *limit);
        Self {
            memory: within(&[(500, 30.0), (2000, 70.0)]),
            paused: 34.0 / 3.0 * rollouts as f64 / 500.0,
            restart: within(&[(500, 0.4)]),
        }
    }
}

/// Milliseconds of processor time for a complete update.
pub(crate) const CPU: f64 = 10.0;
/// Writes for a complete update apart from events, and how many of them may be of the status.
pub(crate) const WRITES: f64 = 18.0;
pub(crate) const STATUS_WRITES: f64 = 8.0;
/// Microseconds of a plan.
pub(crate) const PLAN: f64 = 50.0;
/// Milliseconds from the event to the write, for 99 of 100.
pub(crate) const ANSWER: f64 = 5.0;

/// How many round trips to the API server, a write and its event, a change of a route may take to be answered, for one of two.
pub(crate) const ROUND_TRIPS: f64 = 3.0;
/// Milliseconds, for 99 of 100: a route repaired, and the routes of an aborted Rollout.
pub(crate) const ROUTE_REPAIRED: f64 = 20.0;
pub(crate) const ROUTE_ABORTED: f64 = 60.0;
/// Seconds for the routes of all Rollouts that are aborted at once, for 450 of them.
pub(crate) const ALL_ABORTED: f64 = 4.0;
/// Writes for an aborted Rollout once its routes are where they should be.
pub(crate) const WRITES_AFTER_ABORT: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_rollouts_are_held_to_the_next_larger_number() {
        assert_eq!(
            [100, 500, 501, 2000, 2001].map(|rollouts| Targets::of(rollouts).memory),
            [Some(30.0), Some(30.0), Some(70.0), Some(70.0), None]
        );
        assert!((Targets::of(500).paused - 11.33).abs() < 0.01);
    }
}
