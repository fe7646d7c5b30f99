//! A bucket of tokens: so many per second, so many at once.

use std::time::Duration;

use tokio::time::Instant;

/// How fast requests may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Per second, on average.
    pub per_second: f64,
    /// At once, after a pause.
    pub burst: u32,
}

/// The bucket, full at first.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    tokens: f64,
    filled: Option<Instant>,
}

impl Bucket {
    pub(super) fn new(rate: Rate) -> Self {
        let burst = rate.burst.max(1);
        // Slower than once in an hour helps nobody, and a rate of nothing would never end.
        let per_second = if rate.per_second.is_finite() { rate.per_second.max(1.0 / 3600.0) } else { f64::MAX };
        Self { rate: Rate { per_second, burst }, tokens: f64::from(burst), filled: None }
    }

    /// Takes a token, or says when to try again.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        if let Some(filled) = self.filled {
            let passed = now.saturating_duration_since(filled).as_secs_f64();
            self.tokens = (self.tokens + passed * self.rate.per_second).min(f64::from(self.rate.burst));
        }
        self.filled = Some(now);
        // What is missing by rounding alone is not missing.
        if self.tokens >= 1.0 - 1e-9 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(now + Duration::from_secs_f64((1.0 - self.tokens) / self.rate.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_its_rate() {
        let mut bucket = Bucket::new(Rate { per_second: 10.0, burst: 3 });
        let start = Instant::now();
        let mut now = start;
        let mut went = Vec::new();
        while went.len() < 6 {
            match bucket.take(now) {
                Ok(()) => went.push((now - start).as_millis()),
                Err(at) => now = at,
            }
        }
        assert_eq!(went, [0, 0, 0, 100, 200, 300]);
        now += Duration::from_secs(60);
        assert!((0..3).all(|_| bucket.take(now).is_ok()));
        assert!(bucket.take(now).is_err(), "a long pause fills the bucket, and no more than that");
    }

    #[test]
    fn senseless_rates_neither_panic_nor_stop_for_ever() {
        let now = Instant::now();
        for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut bucket = Bucket::new(Rate { per_second, burst: 0 });
            assert!(bucket.take(now).is_ok());
            if let Err(at) = bucket.take(now) {
                assert!(at <= now + Duration::from_secs(3600), "{per_second}");
            }
        }
    }
}
