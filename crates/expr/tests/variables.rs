//! Conditions of notifications: variables instead of a measured value.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use tidegate_expr::{Function, Program, Value};

fn run(text: &str) -> Result<Value, String> {
    let rollout = serde_json::json!({
        "metadata": {"labels": {"team": "shop"}},
        "spec": {"restartAt": "2026-03-01T11:55:00Z", "broken": "soon", "replicas": 3},
        "status": {"phase": "Degraded"},
    });
    let time = [("Now", Function::TimeNow), ("Parse", Function::TimeParse)];
    let time = time.map(|(name, function)| (name.to_owned(), Value::Function(function)));
    let variables = BTreeMap::from([
        ("rollout".to_owned(), Value::from_json(&rollout)),
        ("time".to_owned(), Value::Map(Arc::new(BTreeMap::from(time)))),
    ]);
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    Program::read(text).and_then(|program| program.run_with(&variables, now)).map_err(|error| error.to_string())
}

#[test]
fn conditions_see_the_object_and_the_time() {
    let table = [
        ("rollout.status.phase == 'Degraded'", true),
        ("rollout.status.phase in ['Healthy', 'Paused']", false),
        ("time.Now().Sub(time.Parse(rollout.spec.restartAt)).Minutes() > 4", true),
        ("time.Now().Sub(time.Parse(rollout.spec.restartAt)).Minutes() > 6", false),
        ("rollout.spec.replicas == 3 and rollout.spec.paused == nil", true),
        ("analysisRuns == nil", true),
        ("rollout.metadata.labels['team'] matches '^sh'", true),
        ("rollout.status?.nothing?.there == nil", true),
    ];
    for (text, wanted) in table {
        assert_eq!(run(text), Ok(Value::Bool(wanted)), "{text}");
    }
}

#[test]
fn what_cannot_be_evaluated_is_an_error_and_no_crash() {
    for text in [
        "time.Parse(rollout.spec.broken).Year() > 2000",
        "time.Parse(rollout.spec.missing)",
        "time.Parse(1, 2)",
        "time.Now(1)",
        "time.Then()",
        "rollout.status.nothing.there",
        "nobody.knows",
        "rollout.status.phase > 1",
        "asInt(rollout.spec.replicas)",
        "time.Now",
    ] {
        let outcome = run(text);
        assert!(outcome.is_err() || matches!(outcome, Ok(Value::Function(_))), "{text}: {outcome:?}");
    }
}
