//! Requests that come by themselves.

use crate::{Millis, Request};

/// A steady stream of requests.
#[derive(Clone, Debug)]
pub struct Load {
    /// Requests per second, spread evenly.
    pub per_second: f64,
    /// What is asked for, each as often as its number says in comparison with the others.
    pub mixture: Vec<(Request, f64)>,
    /// Requests that are due but not a whole one yet.
    due: f64,
}

/// So many requests at most are sent for one step of one load; beyond, one stands for several.
const MOST_AT_ONCE: u64 = 100_000;

/// Requests to send: when, and how many each stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arrivals {
    from: Millis,
    to: Millis,
    /// How many are sent.
    pub(crate) sent: u64,
    /// How many each stands for.
    pub(crate) times: u64,
}

impl Arrivals {
    /// When the request of a number is sent.
    pub(crate) fn at(&self, number: u64) -> Millis {
        let part = number as f64 / self.sent.max(1) as f64;
        self.from.saturating_add(((self.to - self.from) as f64 * part) as Millis)
    }
}

impl Load {
    /// Requests of one kind.
    pub fn of(request: Request, per_second: f64) -> Self {
        Self::mixed(vec![(request, 1.0)], per_second)
    }

    /// Requests of several kinds.
    pub fn mixed(mixture: Vec<(Request, f64)>, per_second: f64) -> Self {
        Self { per_second, mixture, due: 0.0 }
    }

    /// What comes in a span of time. What is left of a whole request comes in the next.
    pub(crate) fn arrivals(&mut self, from: Millis, to: Millis) -> Arrivals {
        let seconds = to.saturating_sub(from).max(0) as f64 / 1000.0;
        let rate = if self.per_second.is_finite() { self.per_second.max(0.0) } else { 0.0 };
        self.due += rate * seconds;
        let whole = self.due.floor();
        self.due -= whole;
        let count = whole as u64;
        let times = count.div_ceil(MOST_AT_ONCE).max(1);
        Arrivals { from, to: to.max(from), sent: count / times, times }
    }

    /// The place of one of the mixture; `part` is from 0 up to but not including 1.
    pub(crate) fn pick(&self, part: f64) -> Option<usize> {
        let weight = |number: f64| if number.is_finite() { number.max(0.0) } else { 0.0 };
        let total: f64 = self.mixture.iter().map(|(_, number)| weight(*number)).sum();
        let mut left = part * total;
        let possible = self.mixture.iter().enumerate().filter(|(_, (_, number))| weight(*number) > 0.0);
        let mut last = None;
        for (index, (_, number)) in possible {
            last = Some(index);
            left -= weight(*number);
            if left < 0.0 {
                break;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_load_comes_to_its_rate_over_time() {
        let mut load = Load::of(Request::to("web"), 0.3);
        let sent: u64 = (0..100).map(|second| load.arrivals(second * 1000, second * 1000 + 1000).sent).sum();
        assert!((29..=30).contains(&sent), "{sent}");
    }

    #[test]
    fn a_load_that_is_too_much_is_thinned_out_but_counted() {
        let mut load = Load::of(Request::to("web"), 1e9);
        let arrivals = load.arrivals(0, 1000);
        assert_eq!((arrivals.sent, arrivals.times), (100_000, 10_000));
        assert_eq!((arrivals.at(0), arrivals.at(50_000)), (0, 500));
    }

    #[test]
    fn odd_rates_and_mixtures_send_nothing() {
        for rate in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            assert_eq!(Load::of(Request::to("web"), rate).arrivals(0, 1000).sent, 0);
        }
        assert_eq!(Load::mixed(vec![(Request::to("web"), f64::NAN)], 1.0).pick(0.5), None);
        assert_eq!(Load::mixed(Vec::new(), 1.0).pick(0.5), None);
    }

    #[test]
    fn a_mixture_is_picked_in_proportion() {
        let load = Load::mixed(vec![(Request::to("a"), 1.0), (Request::to("b"), 3.0)], 1.0);
        assert_eq!([load.pick(0.24), load.pick(0.25), load.pick(0.99)], [Some(0), Some(1), Some(1)]);
    }
}
