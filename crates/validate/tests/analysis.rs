//! What AnalysisRuns and Experiments must look like (analysis 1.5, experiments 4).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use serde_json::{Value, json};
use tidegate_api::analysis::AnalysisRunSpec;
use tidegate_validate::{analysis, experiment};

fn run(spec: Value) -> Vec<String> {
    let spec: AnalysisRunSpec = serde_json::from_value(spec).unwrap();
    analysis::check_run(&spec)
}

fn metric(more: Value) -> Value {
    let mut metric = json!({"name": "m", "provider": {"web": {"url": "x"}}});
    metric.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    metric
}

#[test]
fn every_metric_rule_has_its_text() {
    let table = [
        (json!({"consecutiveSuccessLimit": -1}), "consecutiveSuccessLimit must be >= 0"),
        (json!({"failureLimit": -2}), "failureLimit must be >= 0, or -1 to be disabled"),
        (json!({"failureLimit": -1}), "failureLimit and consecutiveSuccessLimit cannot both be disabled"),
        (json!({"inconclusiveLimit": -1}), "inconclusiveLimit must be >= 0"),
        (json!({"consecutiveErrorLimit": -1}), "consecutiveErrorLimit must be >= 0"),
        (
            json!({"count": 2, "interval": "1s", "failureLimit": 2, "consecutiveSuccessLimit": 1}),
            "count (2) must be >= failureLimit + consecutiveSuccessLimit (2 + 1) if both >= 0",
        ),
        (
            json!({"count": 2, "interval": "1s", "failureLimit": -1, "consecutiveSuccessLimit": 3}),
            "count must be >= consecutiveSuccessLimit",
        ),
        (json!({"count": 1, "inconclusiveLimit": 2}), "count must be >= inconclusiveLimit"),
        (json!({"count": "2"}), "interval must be specified when count > 1"),
        (json!({"interval": "1d"}), "invalid interval string: time: unknown unit \"d\" in duration \"1d\""),
        (json!({"initialDelay": "30"}), "invalid startDelay string: time: missing unit in duration \"30\""),
        (json!({"provider": {}}), "no provider specified"),
        (json!({"provider": {"plugin": {}}}), "no provider specified"),
        (json!({"provider": {"plugin": {"a": {}, "b": {}}}}), "multiple providers specified"),
        (json!({"provider": {"web": {}, "job": {}}}), "multiple providers specified"),
        (json!({"count": "50%"}), "count must be a whole number, found \"50%\""),
    ];
    for (more, problem) in table {
        assert_eq!(run(json!({"metrics": [metric(more)]})), [format!("metrics[0]: {problem}")]);
    }
}

#[test]
fn a_run_has_metrics_of_different_names_and_rules_that_match() {
    assert_eq!(run(json!({})), ["no metrics specified"]);
    let spec = json!({
        "metrics": [metric(json!({})), metric(json!({}))],
        "dryRun": [{"metricName": "^m$"}, {"metricName": "other"}, {"metricName": "("}],
        "measurementRetention": [{"metricName": "x", "limit": 1}],
    });
    assert_eq!(
        run(spec),
        [
            "metrics[1]: duplicate name 'm'",
            "dryRun[1]: Rule didn't match any metric name(s)",
            "dryRun[2]: metricName \"(\" is no regular expression",
            "measurementRetention[0]: Rule didn't match any metric name(s)",
        ]
    );
}

#[test]
fn arguments_are_inserted_once_escaped_and_anywhere() {
    let metric = serde_json::from_value(json!({"name": "{{ args.a }}", "count": "{{args.n.m}}",
        "provider": {"web": {"url": "u", "jsonBody": {"k": "{{args.a}}"}}}}))
    .unwrap();
    let args: Vec<_> = [("a", "q\"{{args.b}}\u{7}\n"), ("n.m", "3")]
        .iter()
        .map(|(name, value)| serde_json::from_value(json!({"name": name, "value": value})).unwrap())
        .collect();
    let resolved = analysis::substitute(&metric, &args).unwrap();
    assert_eq!(resolved.name.as_deref(), Some("q\"{{args.b}}\u{7}\n"));
    assert_eq!(analysis::effective_count(&resolved), Some(3));
    let unclosed = serde_json::from_value(json!({"name": "{{args.a"})).unwrap();
    let error = analysis::substitute(&unclosed, &args).unwrap_err().to_string();
    assert_eq!(
        error,
        r#"Cannot find end tag="}}" in the template="{\"name\":\"{{args.a\"}" starting from "{{args.a\"}""#
    );
    let bare = serde_json::from_value(json!({"name": "x"})).unwrap();
    let missing = vec![serde_json::from_value(json!({"name": "s", "valueFrom": {}})).unwrap()];
    assert_eq!(analysis::substitute(&bare, &missing).unwrap_err().to_string(), "argument \"s\" was not supplied");
}

#[test]
fn every_experiment_rule_has_its_text() {
    let experiment = json!({
        "metadata": {"name": "e"},
        "spec": {
            "duration": "soon",
            "progressDeadlineSeconds": 10,
            "templates": [
                {"name": "a"},
                {"name": "a", "selector": {}, "minReadySeconds": 11},
                {"selector": {"matchLabels": {"a": "b"}}},
            ],
            "analyses": [{"name": "x"}, {"name": "x"}],
        },
    });
    assert_eq!(
        experiment::check(&serde_json::from_value(experiment).unwrap()),
        [
            "Rollout has missing field '.Spec.Templates[0].Selector'",
            "This experiment is selecting all pods at index 1. A non-empty selector is required.",
            "MinReadySeconds cannot be longer than ProgressDeadlineSeconds. Check template index 1",
            "Experiment e has repeated template name 'a' in templates",
            "Experiment e has empty template name at index 2",
            "Experiment e has invalid duration: time: invalid duration \"soon\"",
            "Experiment e has repeated analysis name 'x' in analyses",
        ]
    );
}
