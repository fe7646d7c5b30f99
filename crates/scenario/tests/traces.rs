//! Our copy of the recorded behaviours.

use std::collections::BTreeSet;
use std::path::Path;

use tidegate_scenario::{Need, deviations, replay, take_over};

#[test]
fn every_recorded_behaviour_is_ours() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/traces");
    let report = replay(&folder, &BTreeSet::from([Need::Istio, Need::Analysis, Need::Experiments]), None).unwrap();
    let (passed, failed, pending) = report.totals();
    assert_eq!(failed, 0, "{report}");
    assert_eq!((passed, pending), (31, 0), "scenarios went missing: {report}");
    let used = report.by_section();
    let idle: Vec<&str> =
        deviations().iter().map(|rule| rule.section).filter(|section| !used.contains_key(section)).collect();
    assert!(idle.is_empty(), "deviations that cover nothing: {idle:?}");
}

#[test]
fn every_settled_state_that_was_recorded_is_taken_over_without_a_write_and_finished_from_where_it_stands() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/traces");
    let report = take_over(&folder, &BTreeSet::from([Need::Istio, Need::Analysis, Need::Experiments])).unwrap();
    let (passed, failed, pending) = report.totals();
    assert_eq!(failed, 0, "{report}");
    assert_eq!((passed, pending), (31, 0), "scenarios went missing: {report}");
}
