//! How fast counters grow.

use crate::Millis;
use crate::telemetry::Sample;

/// Samples of one series within a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range<'a> {
    pub(super) samples: &'a [Sample],
    pub(super) from: Millis,
    pub(super) to: Millis,
}

/// Growth per second.
pub(super) fn rate(range: &Range<'_>) -> Option<f64> {
    Some(increase(range)? / seconds(range.to - range.from))
}

/// Growth over the window, guessed for its edges.
///
/// Samples seldom lie on the edges. If they come close (a tenth more than their usual distance), growth is taken to go on
/// as steadily up to the edge, else for half of that distance. A counter is never taken to have been below zero.
pub(super) fn increase(range: &Range<'_>) -> Option<f64> {
    let [first, .., last] = range.samples else { return None };
    let grown = growth(range.samples);
    let sampled = seconds(last.at - first.at);
    let usual = sampled / (range.samples.len() - 1) as f64;
    let mut before = seconds(first.at - range.from);
    let after = seconds(range.to - last.at);
    if grown > 0.0 && first.value >= 0.0 {
        before = before.min(sampled * (first.value / grown));
    }
    let reach = |distance: f64| if distance < usual * 1.1 { distance } else { usual / 2.0 };
    Some(grown * ((sampled + reach(before) + reach(after)) / sampled))
}

/// Growth per second between the last two samples.
pub(super) fn instant_rate(samples: &[Sample]) -> Option<f64> {
    let [.., before, last] = samples else { return None };
    let apart = seconds(last.at - before.at);
    let grown = if last.value < before.value { last.value } else { last.value - before.value };
    (apart > 0.0).then_some(grown / apart)
}

/// Last minus first, plus what was lost whenever the counter began anew.
fn growth(samples: &[Sample]) -> f64 {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0.0 };
    let pairs = samples.iter().zip(samples.iter().skip(1));
    let lost: f64 = pairs.filter(|(one, next)| next.value < one.value).map(|(one, _)| one.value).sum();
    last.value - first.value + lost
}

fn seconds(span: Millis) -> f64 {
    span as f64 / 1000.0
}
