//! Several elements made into one.

use std::collections::BTreeMap;

use super::ast::{Aggregation, Aggregator, Grouping};
use super::evaluator::Element;
use super::selector::NAME;
use crate::telemetry::Labels;

/// One element for each group, in the order of their labels.
pub(super) fn aggregate(aggregation: &Aggregation, vector: Vec<Element>) -> Vec<Element> {
    let mut groups = BTreeMap::<Labels, Group>::new();
    for element in vector {
        let group = groups.entry(kept(&aggregation.grouping, element.labels)).or_default();
        group.add(element.value);
    }
    let value = |group: &Group| match aggregation.aggregator {
        Aggregator::Sum => group.sum,
        Aggregator::Average => group.sum / group.count,
        Aggregator::Minimum => group.least,
        Aggregator::Maximum => group.most,
        Aggregator::Count => group.count,
    };
    groups.into_iter().map(|(labels, group)| Element { value: value(&group), labels }).collect()
}

struct Group {
    count: f64,
    sum: f64,
    /// No number only if all are none.
    least: f64,
    most: f64,
}

impl Default for Group {
    fn default() -> Self {
        Self { count: 0.0, sum: 0.0, least: f64::NAN, most: f64::NAN }
    }
}

impl Group {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        // Rust's minimum and maximum prefer numbers over what is none.
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }
}

fn kept(grouping: &Grouping, mut labels: Labels) -> Labels {
    match grouping {
        Grouping::By(names) => labels.retain(|name, _| names.contains(name)),
        Grouping::Without(names) => labels.retain(|name, _| name != NAME && !names.contains(name)),
    }
    labels
}
