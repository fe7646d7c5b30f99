//! Every row of the recorded vectors: what a running cluster carries is what we compute.

use serde::Deserialize;
use serde_json::value::RawValue;
use tidegate_hash::{pod_template_hash, step_hash};

const POD_ROWS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/compat/vectors/pod-template-hash.jsonl"));
const STEP_ROWS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/compat/vectors/step-hash.jsonl"));

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodRow<'a> {
    #[serde(borrow)]
    template: &'a RawValue,
    collision_count: Option<i32>,
    hash: String,
}

#[derive(Deserialize)]
struct StepRow<'a> {
    #[serde(borrow)]
    canary: Canary<'a>,
    hash: String,
}

#[derive(Deserialize)]
struct Canary<'a> {
    #[serde(borrow)]
    steps: Option<&'a RawValue>,
}

#[test]
fn every_recorded_pod_template_has_its_recorded_hash() {
    let mut rows = 0;
    for (index, line) in POD_ROWS.lines().enumerate() {
        let row: PodRow<'_> = serde_json::from_str(line).unwrap();
        let hash = pod_template_hash(row.template, row.collision_count).unwrap();
        assert_eq!(hash, row.hash, "row {}: {line}", index + 1);
        rows += 1;
    }
    assert_eq!(rows, 300);
}

#[test]
fn every_recorded_step_list_has_its_recorded_hash() {
    let mut rows = 0;
    for (index, line) in STEP_ROWS.lines().enumerate() {
        let row: StepRow<'_> = serde_json::from_str(line).unwrap();
        assert_eq!(step_hash(row.canary.steps).unwrap(), row.hash, "row {}: {line}", index + 1);
        rows += 1;
    }
    assert_eq!(rows, 150);
}
