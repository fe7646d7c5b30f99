//! The answers of Prometheus 2.42, recorded by tests/compat/promql/record.sh.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_mesh::promql::answer;
use tidegate_mesh::telemetry::{Limits, Store};

const SERIES: &str = include_str!("../../../../tests/compat/promql/series.jsonl");
const ANSWERS: &str = include_str!("../../../../tests/compat/promql/answers.jsonl");

fn rows(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// Go writes `+Inf`, which Rust reads as well.
fn number(text: &Value) -> f64 {
    text.as_str().unwrap().parse().unwrap()
}

pub(crate) fn store() -> Store {
    let mut store = Store::new(Limits { series: 1000, retention: 86_400_000 });
    for row in rows(SERIES) {
        let labels = serde_json::from_value(row["labels"].clone()).unwrap();
        for sample in row["samples"].as_array().unwrap() {
            assert!(store.append(&labels, sample[0].as_i64().unwrap(), number(&sample[1])));
        }
    }
    store
}

/// Series by their labels with their points, as times in milliseconds and values.
type Points = BTreeMap<String, Vec<(i64, Value)>>;

fn points(data: &Value) -> Points {
    let point = |pair: &Value| ((pair[0].as_f64().unwrap() * 1000.0).round() as i64, pair[1].clone());
    match data["resultType"].as_str().unwrap() {
        "scalar" | "string" => Points::from([(String::new(), vec![point(&data["result"])])]),
        "vector" => {
            let all = data["result"].as_array().unwrap().iter();
            all.map(|one| (one["metric"].to_string(), vec![point(&one["value"])])).collect()
        }
        _ => {
            let all = data["result"].as_array().unwrap().iter();
            all.map(|one| (one["metric"].to_string(), one["values"].as_array().unwrap().iter().map(point).collect()))
                .collect()
        }
    }
}

fn is_close(one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    let (Ok(one), Ok(other)) = (one.as_str().unwrap().parse::<f64>(), other.as_str().unwrap().parse::<f64>()) else {
        return false;
    };
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1e-30)
}

fn is_same(ours: &Points, theirs: &Points) -> bool {
    ours.keys().eq(theirs.keys())
        && ours.iter().all(|(labels, points)| {
            let other = &theirs[labels];
            points.len() == other.len()
                && points.iter().zip(other).all(|(one, other)| one.0 == other.0 && is_close(&one.1, &other.1))
        })
}

fn difference(store: &Store, row: &Value) -> Option<String> {
    let asked: BTreeMap<String, String> = serde_json::from_value(row["asked"].clone()).unwrap();
    let parameters: Vec<(String, String)> = asked.into_iter().collect();
    let ours = answer(store, row["path"].as_str().unwrap(), &parameters, 0);
    let theirs = &row["body"];
    let same = if theirs["status"] == "success" {
        ours.body["data"]["resultType"] == theirs["data"]["resultType"]
            && is_same(&points(&ours.body["data"]), &points(&theirs["data"]))
    } else {
        ours.body["errorType"] == theirs["errorType"]
    };
    let same = same && ours.status == row["status"].as_u64().unwrap() as u16 && ours.body["status"] == theirs["status"];
    (!same).then(|| format!("{}\n  ours   {}\n  theirs {theirs}", row["asked"], ours.body))
}

#[test]
fn every_recorded_query_gets_the_recorded_answer() {
    let store = store();
    let all: Vec<Value> = rows(ANSWERS).collect();
    let differences: Vec<String> = all.iter().filter_map(|row| difference(&store, row)).collect();
    assert!(all.len() > 600, "{}", all.len());
    assert!(differences.is_empty(), "{} of {} differ\n{}", differences.len(), all.len(), differences.join("\n"));
}
