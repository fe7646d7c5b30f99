//! The one place that knows what time it is.
//!
//! Everything that needs the wall clock takes a [`Clock`]. In production it reads the system clock; in simulation
//! and in tests it is an epoch plus the time that tokio's (paused) clock has advanced, so that an hour of waiting
//! costs no time and the same run prints the same timestamps.
//!
//! This crate must never sleep, spawn or read anything but a clock, and nothing else in the workspace may call
//! `now()`: `clippy.toml` forbids it.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// A source of wall-clock time, cheap to copy and pass down.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    System,
    Simulated { epoch: Timestamp, started: Instant },
}

impl Clock {
    /// The machine's own clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that shows `epoch` now and moves with tokio's clock from here on, paused or not.
    ///
    /// Must be called inside a tokio runtime whose clock is the one to follow.
    pub fn simulated(epoch: Timestamp) -> Self {
        Self(Source::Simulated { epoch, started: Instant::now() })
    }

    /// The current time with all its digits; for measuring and logging.
    #[expect(clippy::disallowed_methods, reason = "this is the place the rule points to")]
    pub fn now(&self) -> Timestamp {
        match self.0 {
            Source::System => Timestamp::now(),
            Source::Simulated { epoch, started } => epoch.saturating_add(started.elapsed()).unwrap_or(epoch),
        }
    }

    /// The current time cut to whole seconds, which is what Kubernetes stores.
    ///
    /// Anything that is compared with a stored time, or stored, must come from here: a status written twice within
    /// one second would otherwise differ from its own re-read.
    pub fn now_seconds(&self) -> Timestamp {
        let now = self.now();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    /// How long until `moment`, zero if it has passed.
    pub fn until(&self, moment: Timestamp) -> Duration {
        Duration::try_from(moment.duration_since(self.now())).unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn simulated_time_moves_with_the_paused_clock() {
        let epoch: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::simulated(epoch);
        assert_eq!(clock.now(), epoch);

        tokio::time::sleep(Duration::from_millis(3_600_500)).await;

        assert_eq!(clock.now().to_string(), "2026-01-01T01:00:00.5Z");
        assert_eq!(clock.now_seconds().to_string(), "2026-01-01T01:00:00Z");
        assert_eq!(clock.until("2026-01-01T01:00:02Z".parse().unwrap()), Duration::from_millis(1_500));
        assert_eq!(clock.until(epoch), Duration::ZERO);
    }
}
