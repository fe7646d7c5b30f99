//! Quantiles out of buckets.

use std::collections::BTreeMap;

use super::evaluator::{Element, without_name};
use crate::telemetry::Labels;

/// Observations up to a bound.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    bound: f64,
    count: f64,
}

/// The quantile of each group of buckets that differ in `le` only. What is no bucket is passed over.
pub(super) fn histogram_quantile(part: f64, vector: Vec<Element>) -> Vec<Element> {
    let mut groups = BTreeMap::<Labels, Vec<Bucket>>::new();
    for element in vector {
        let mut labels = without_name(element.labels);
        let Some(bound) = labels.remove("le").and_then(|text| text.parse().ok()) else { continue };
        groups.entry(labels).or_default().push(Bucket { bound, count: element.value });
    }
    groups.into_iter().map(|(labels, buckets)| Element { labels, value: quantile(part, buckets) }).collect()
}

fn quantile(part: f64, mut buckets: Vec<Bucket>) -> f64 {
    if part.is_nan() {
        return f64::NAN;
    }
    if !(0.0..=1.0).contains(&part) {
        return if part < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    buckets.sort_by(|one, other| one.bound.total_cmp(&other.bound));
    if buckets.last().is_none_or(|last| last.bound != f64::INFINITY) {
        return f64::NAN;
    }
    let buckets = steady(buckets);
    let (Some(last), Some(before)) =
        (buckets.last(), buckets.len().checked_sub(2).and_then(|index| buckets.get(index)))
    else {
        return f64::NAN;
    };
    if last.count == 0.0 || last.count.is_nan() {
        return f64::NAN;
    }
    let rank = part * last.count;
    let Some(index) = buckets.iter().position(|bucket| bucket.count >= rank) else { return before.bound };
    let Some(found) = buckets.get(index).filter(|bucket| bucket.bound != f64::INFINITY) else { return before.bound };
    within(found, index.checked_sub(1).and_then(|index| buckets.get(index)), rank)
}

/// Where a rank lies in a bucket, as if its observations were spread evenly.
fn within(found: &Bucket, below: Option<&Bucket>, rank: f64) -> f64 {
    match below {
        None if found.bound <= 0.0 => found.bound,
        None => found.bound * (rank / found.count),
        Some(below) => below.bound + (found.bound - below.bound) * ((rank - below.count) / (found.count - below.count)),
    }
}

/// Buckets of the same bound taken together, and none with fewer observations than one below it.
fn steady(buckets: Vec<Bucket>) -> Vec<Bucket> {
    let mut joined: Vec<Bucket> = Vec::new();
    for bucket in buckets {
        match joined.last_mut() {
            Some(last) if last.bound == bucket.bound => last.count += bucket.count,
            _ => joined.push(bucket),
        }
    }
    let mut most = f64::NEG_INFINITY;
    for bucket in &mut joined {
        if bucket.count > most {
            most = bucket.count;
        } else if bucket.count < most {
            bucket.count = most;
        }
    }
    joined
}
