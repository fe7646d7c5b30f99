//! Lives of runs, told line by line.

use crate::story::{Story, job, metric, run};
use serde_json::json;
use tidegate_analysis::{SecretState, Task};
use tidegate_api::wire::{Items, Text};

#[test]
fn one_good_measurement_is_a_success() {
    let mut story = Story::new(run(json!({"metrics": [metric("m", json!({}))]})));
    story.play(100, |_| (1, "Successful", ""));
    assert_eq!(
        story.told(),
        "  0s run Running
  0s start m#1 -> Successful
  1s - MetricSuccessful: Metric 'm' Completed. Result: Successful
  1s - AnalysisRunSuccessful: Analysis Completed. Result: Successful
  1s run Successful"
    );
    let status = serde_json::to_value(story.status()).unwrap();
    assert_eq!(
        status,
        json!({
            "phase": "Successful", "startedAt": "2026-03-01T12:00:00Z", "completedAt": "2026-03-01T12:00:01Z",
            "runSummary": {"count": 1, "successful": 1}, "dryRunSummary": {},
            "metricResults": [{
                "name": "m", "phase": "Successful", "count": 1, "successful": 1, "consecutiveSuccess": 1,
                "metadata": {"ResolvedQuery": "q"},
                "measurements": [{
                    "phase": "Successful", "value": "1",
                    "startedAt": "2026-03-01T12:00:00Z", "finishedAt": "2026-03-01T12:00:01Z",
                }],
            }],
        })
    );
}

#[test]
fn a_provider_that_always_fails_is_tried_five_times_ten_seconds_apart() {
    let mut story = Story::new(run(json!({"metrics": [metric("m", json!({"interval": "1h"}))]})));
    story.play(100, |_| (0, "Error", "no route"));
    assert_eq!(
        story.told(),
        "  0s run Running
  0s start m#1 -> Error no route
 10s start m#2 -> Error no route
 20s start m#3 -> Error no route
 30s start m#4 -> Error no route
 40s start m#5 -> Error no route
 40s ! MetricError: Metric 'm' Completed. Result: Error
 40s ! AnalysisRunError: Analysis Completed. Result: Error
 40s run Error Metric \"m\" assessed Error due to consecutiveErrors (5) > consecutiveErrorLimit (4): \"Error Message: no route\""
    );
}

#[test]
fn a_failing_metric_ends_the_run_after_what_is_in_flight_was_ended() {
    let metrics = json!([metric("rate", json!({"interval": "10s", "failureLimit": 1})), job("load", json!({}))]);
    let mut story = Story::new(run(json!({"metrics": metrics})));
    story.play(100, |work| match (work.name(), work.task) {
        ("rate", _) => (0, "Failed", ""),
        (_, Task::Terminate) => (0, "Inconclusive", ""),
        _ => (0, "Running", ""),
    });
    assert_eq!(
        story.told(),
        "  0s run Running
  0s start rate#1 -> Failed
  0s start load#1 -> Running
  5s resume load#1 -> Running
 10s start rate#2 -> Failed
 10s resume load#1 -> Running
 10s ! MetricFailed: Metric 'rate' Completed. Result: Failed
 10s end load#1 -> Inconclusive
 10s - MetricInconclusive: Metric 'load' Completed. Result: Inconclusive
 10s ! AnalysisRunFailed: Analysis Completed. Result: Failed
 10s run Failed Metric \"rate\" assessed Failed due to failed (2) > failureLimit (1)"
    );
    assert_eq!(story.result("load").message.text(), "Metric Terminated");
    let summary = serde_json::to_value(story.status().run_summary).unwrap();
    assert_eq!(summary, json!({"count": 2, "failed": 1, "inconclusive": 1}));
}

#[test]
fn a_background_run_that_is_stopped_is_a_success_and_one_with_a_job_is_inconclusive() {
    let mut story = Story::new(run(json!({"metrics": [metric("m", json!({"interval": "30s"}))]})));
    story.play(40, |_| (0, "Successful", ""));
    story.run.spec.terminate = Some(true);
    story.play(100, |_| (0, "Successful", ""));
    assert_eq!(story.status().phase.text(), "Successful");
    assert_eq!(story.status().message.text(), "Run Terminated");

    let mut story = Story::new(run(json!({"metrics": [job("x", json!({}))]})));
    story.play(20, |_| (0, "Running", ""));
    story.run.spec.terminate = Some(true);
    story.play(100, |_| (0, "Inconclusive", ""));
    assert_eq!(
        story.status().message.text(),
        "Metric \"x\" assessed Inconclusive due to inconclusive (1) > inconclusiveLimit (0): \"Error Message: Metric Terminated\""
    );
}

#[test]
fn a_run_terminated_before_it_measured_anything_says_so() {
    let mut wanted = run(json!({"metrics": [metric("m", json!({}))], "terminate": true}));
    wanted.spec.terminate = Some(true);
    let mut story = Story::new(wanted);
    story.play(10, |_| (0, "Successful", ""));
    assert_eq!(
        story.told(),
        "  0s - TerminatedWithoutSuccess: Run terminated before any successful measurement
  0s - AnalysisRunSuccessful: Analysis Completed. Result: Successful
  0s run Successful Run Terminated"
    );
}

#[test]
fn delays_count_from_the_start_and_intervals_from_the_end_of_a_measurement() {
    let metrics = json!([
        metric("late", json!({"initialDelay": "40s"})),
        metric("often", json!({"interval": "20s", "count": 3})),
    ]);
    let mut story = Story::new(run(json!({"metrics": metrics})));
    story.play(200, |_| (3, "Successful", ""));
    assert_eq!(
        story.told(),
        "  0s run Running
  0s start often#1 -> Successful
 23s start often#2 -> Successful
 40s start late#1 -> Successful
 43s - MetricSuccessful: Metric 'late' Completed. Result: Successful
 46s start often#3 -> Successful
 49s - MetricSuccessful: Metric 'often' Completed. Result: Successful
 49s - AnalysisRunSuccessful: Analysis Completed. Result: Successful
 49s run Successful"
    );
    let names: Vec<_> = story.status().metric_results.unwrap().iter().map(|r| r.name.text().to_owned()).collect();
    assert_eq!(names, ["late", "often"]);
}

#[test]
fn a_dry_run_decides_nothing_and_is_waited_for() {
    let metrics = json!([metric("total-error-rate", json!({})), metric("other", json!({}))]);
    let mut story = Story::new(run(json!({"metrics": metrics, "dryRun": [{"metricName": "error"}]})));
    story.play(20, |work| if work.name() == "other" { (0, "Successful", "") } else { (5, "Failed", "bad") });
    let status = story.status();
    assert_eq!((status.phase.text(), status.message.text()), ("Successful", ""));
    assert_eq!(
        story.result("total-error-rate").message.text(),
        "Metric assessed Failed due to failed (1) > failureLimit (0)"
    );
    assert_eq!(story.result("total-error-rate").dry_run, Some(true));
    let summaries = serde_json::to_value((status.run_summary, status.dry_run_summary)).unwrap();
    assert_eq!(summaries, json!([{"count": 1, "successful": 1}, {"count": 1, "failed": 1}]));
    assert!(story.told().contains("  5s ! MetricFailed: Metric 'total-error-rate' Completed. Result: Failed"));

    let mut story = Story::new(run(json!({"metrics": [metric("m", json!({}))], "dryRun": [{"metricName": "*"}]})));
    story.play(20, |_| (0, "Error", ""));
    story.play(60, |_| (0, "Error", ""));
    assert_eq!(story.status().phase.text(), "Successful");
}

#[test]
fn successes_in_a_row_are_counted_as_the_contract_says() {
    // F, S, C, phases of the measurements in order, verdict while running, verdict when terminating.
    let table = [
        (2, 0, None, "fff", "Failed", "Failed"),
        (3, 0, None, "fff", "Running", "Successful"),
        (-1, 3, None, "fsfsss", "Successful", "Successful"),
        (-1, 5, None, "ffsfsss", "Running", "Successful"),
        (-1, 5, Some(7), "ffsfsss", "Failed", "Failed"),
        (-1, 5, Some(9), "ffsfsss", "Running", "Successful"),
        (4, 4, Some(10), "ffsffsssfs", "Failed", "Failed"),
        (4, 4, Some(10), "fsfsfsssfs", "Inconclusive", "Inconclusive"),
        (4, 4, Some(10), "fsffssss", "Successful", "Successful"),
        (2, 0, Some(5), "sfsfs", "Successful", "Successful"),
    ];
    for (failures, successes, count, script, running, ended) in table {
        let mut wanted = json!({"interval": "60s", "failureLimit": failures, "consecutiveSuccessLimit": successes});
        if let Some(count) = count {
            wanted["count"] = json!(count);
        }
        let mut story = Story::new(run(json!({"metrics": [metric("m", wanted)]})));
        let answer = |number: i32| match script.as_bytes()[number as usize - 1] {
            b'f' => (0, "Failed", ""),
            _ => (0, "Successful", ""),
        };
        story.play(60 * (script.len() as i64 - 1) + 30, |work| answer(work.number));
        assert_eq!(story.result("m").phase.text(), running, "{script}");
        story.run.spec.terminate = Some(true);
        story.play(10, |work| answer(work.number));
        assert_eq!(story.result("m").phase.text(), ended, "{script}");
        story.check();
    }
}

#[test]
fn a_missing_streak_is_told_in_message_and_summary() {
    let wanted = json!({"interval": "1s", "failureLimit": 4, "consecutiveSuccessLimit": 4, "count": 8});
    let mut story = Story::new(run(json!({"metrics": [metric("x", wanted)]})));
    story.play(100, |work| if work.number % 2 == 0 { (0, "Failed", "") } else { (0, "Successful", "") });
    assert_eq!(
        story.status().message.text(),
        "Metric \"x\" assessed Inconclusive due to consecutiveSuccess (0) < consecutiveSuccessLimit (4)"
    );
    assert_eq!(serde_json::to_value(story.status().run_summary).unwrap(), json!({"count": 1, "inconclusive": 1}));
}

#[test]
fn measurements_that_began_together_are_counted_together_and_a_hanging_one_is_not_waited_for() {
    let metrics = json!([metric("slow", json!({})), metric("fast", json!({}))]);
    let mut story = Story::new(run(json!({"metrics": metrics})));
    story.play(100, |work| if work.name() == "fast" { (0, "Failed", "") } else { (1, "Failed", "") });
    let message = "Metric \"slow\" assessed Failed due to failed (1) > failureLimit (0)";
    assert_eq!(story.status().message.text(), message);
    assert_eq!(serde_json::to_value(story.status().run_summary).unwrap(), json!({"count": 2, "failed": 2}));

    let mut story = Story::new(run(json!({"metrics": metrics})));
    story.play(100, |work| if work.name() == "fast" { (0, "Failed", "") } else { (90, "Successful", "") });
    let message = "Metric \"fast\" assessed Failed due to failed (1) > failureLimit (0)";
    assert_eq!(story.status().message.text(), message);
    assert_eq!(story.status().completed_at.unwrap().0, "2026-03-01T12:00:02Z");
}

#[test]
fn a_missing_secret_ends_the_run_and_one_that_cannot_be_read_is_tried_again() {
    let spec = json!({
        "metrics": [metric("m", json!({"provider": {"web": {"url": "http://x/{{args.token}}"}}}))],
        "args": [{"name": "token", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    });
    let mut story = Story::new(run(spec.clone()));
    story.play(10, |_| (0, "Successful", ""));
    assert_eq!(story.status().message.text(), "Unable to resolve metric arguments: secrets \"s\" not found");
    assert_eq!(story.status().phase.text(), "Error");
    assert!(story.status().completed_at.is_some());

    let key = ("s".to_owned(), "k".to_owned());
    let mut story = Story::new(run(spec.clone()));
    story.known_secrets.insert(key.clone(), SecretState::Unreadable("etcd is on fire".to_owned()));
    story.play(25, |_| (0, "Successful", ""));
    assert_eq!(story.result("m").error, Some(3));
    assert_eq!(story.status().phase.text(), "Running");

    let mut story = Story::new(run(spec));
    story.known_secrets.insert(key, SecretState::Found("hunter2".to_owned()));
    let mut seen = String::new();
    story.play(10, |work| {
        seen = work.metric.0.provider.as_ref().unwrap().web.as_ref().unwrap().url.text().to_owned();
        assert!(!format!("{work:?}").contains("hunter2"));
        (0, "Failed", "cannot reach hunter2")
    });
    assert_eq!(seen, "http://x/hunter2");
    assert_eq!(
        story.status().message.text(),
        "Metric \"m\" assessed Failed due to failed (1) > failureLimit (0): \"Error Message: cannot reach *****\""
    );
    assert!(!serde_json::to_string(&story.status()).unwrap().contains("hunter2"));
}

#[test]
fn a_value_given_for_a_secret_argument_wins() {
    let spec = json!({
        "metrics": [metric("m", json!({"provider": {"web": {"url": "{{args.t}}"}}}))],
        "args": [{"name": "t", "value": "plain", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    });
    let mut story = Story::new(run(spec));
    story.play(10, |work| {
        assert_eq!(work.metric.0.provider.as_ref().unwrap().web.as_ref().unwrap().url.text(), "plain");
        (0, "Successful", "")
    });
    assert_eq!(story.status().phase.text(), "Successful");
}

#[test]
fn what_cannot_be_run_is_told_and_can_expire() {
    let table = [
        (json!({"metrics": []}), "Analysis spec invalid: no metrics specified"),
        (
            json!({"metrics": [metric("a", json!({"count": 2}))]}),
            "Analysis spec invalid: metrics[0]: interval must be specified when count > 1",
        ),
        (
            json!({"metrics": [metric("{{args.x}}", json!({}))]}),
            "Unable to resolve metric arguments: failed to resolve {{args.x}}",
        ),
        (
            json!({"metrics": [metric("a", json!({}))], "args": [{"name": "b"}]}),
            "Unable to resolve metric arguments: argument \"b\" was not supplied",
        ),
        (
            json!({"metrics": [metric("a", json!({}))], "dryRun": [{"metricName": "b"}]}),
            "Analysis spec invalid: dryRun[0]: Rule didn't match any metric name(s)",
        ),
    ];
    for (mut spec, message) in table {
        spec["ttlStrategy"] = json!({"secondsAfterCompletion": 5});
        let mut story = Story::new(run(spec));
        story.play(3, |_| (0, "Successful", ""));
        assert_eq!(story.status().message.text(), message);
        assert_eq!(story.status().phase.text(), "Error");
        story.play(10, |_| (0, "Successful", ""));
        assert!(story.is_deleted, "{message}");
    }
}

#[test]
fn a_finished_run_is_deleted_a_second_after_its_time_and_not_before() {
    let table = [
        (json!({"secondsAfterSuccess": 7, "secondsAfterCompletion": 2}), "Successful", Some(8)),
        (json!({"secondsAfterFailure": 7, "secondsAfterCompletion": 2}), "Failed", Some(8)),
        (json!({"secondsAfterFailure": 7, "secondsAfterCompletion": 2}), "Error", Some(3)),
        (json!({"secondsAfterFailure": 7}), "Inconclusive", None),
        (json!({}), "Successful", None),
    ];
    for (strategy, phase, deleted) in table {
        let wanted = metric("m", json!({"consecutiveErrorLimit": 0}));
        let mut story = Story::new(run(json!({"metrics": [wanted], "ttlStrategy": strategy})));
        story.play(1_000, |_| (0, phase, ""));
        assert_eq!(story.status().phase.text(), phase);
        let line = story.log.iter().find(|line| line.ends_with("deleted")).cloned();
        assert_eq!(line, deleted.map(|at| format!("{at:>3}s deleted")), "{strategy}");
    }
}

#[test]
fn ten_measurements_are_kept_or_what_the_last_rule_says() {
    let wanted = metric("m", json!({"interval": "1s", "count": 30}));
    let mut story = Story::new(run(json!({"metrics": [wanted]})));
    story.play(100, |_| (0, "Successful", ""));
    let result = story.result("m");
    assert_eq!((result.measurements.items().len(), result.count), (10, Some(30)));
    assert!(story.told().contains("collect m beyond 10"));

    let rules = json!([{"metricName": ".*", "limit": 3}, {"metricName": "m", "limit": 5}]);
    let mut story = Story::new(run(json!({"metrics": [wanted], "measurementRetention": rules})));
    story.play(100, |_| (0, "Successful", ""));
    assert_eq!(story.result("m").measurements.items().len(), 5);
}

#[test]
fn metrics_that_can_never_fail_are_told_once() {
    let metrics = json!([
        metric("a", json!({"count": 1, "failureLimit": 1})),
        {"name": "b", "provider": {"web": {"url": "u"}}},
        metric("fine", json!({})),
        job("also-fine", json!({})),
    ]);
    let mut story = Story::new(run(json!({"metrics": metrics})));
    story.play(100, |_| (0, "Successful", ""));
    let warnings: Vec<_> = story.log.iter().filter(|line| line.contains("MetricCannotFail")).cloned().collect();
    assert_eq!(
        warnings,
        [
            "  0s ! MetricCannotFail: Metric 'a' can never fail: it takes 1 measurement(s) and accepts 1 failure(s); \
             lower failureLimit or raise count",
            "  0s ! MetricCannotFail: Metric 'b' can never fail: it has neither successCondition nor failureCondition",
        ]
    );
}

#[test]
fn after_a_restart_only_what_was_under_way_is_done_again() {
    let metrics = json!([metric("m", json!({"interval": "10s", "count": 4})), job("j", json!({}))]);
    let mut story = Story::new(run(json!({"metrics": metrics})));
    story.play(13, |work| if work.name() == "m" { (0, "Successful", "") } else { (0, "Running", "") });
    let mut again = Story::new(story.run.clone());
    again.now = story.now;
    again.play(100, |work| match (work.name(), work.task) {
        ("j", Task::Start) => panic!("the Job is there already"),
        _ => (0, "Successful", ""),
    });
    assert_eq!(again.status().phase.text(), "Successful");
    assert_eq!(again.result("m").count, Some(4));
    assert_eq!(again.result("j").measurements.items().len(), 1);
    assert!(again.told().contains(" 20s start m#3"), "{}", again.told());
}

#[test]
fn only_errors_in_a_row_count_against_the_error_limit() {
    let wanted = metric("m", json!({"interval": "1s", "count": 6, "consecutiveErrorLimit": 1}));
    let mut story = Story::new(run(json!({"metrics": [wanted]})));
    story.play(300, |work| if work.number % 2 == 0 { (0, "Error", "once") } else { (0, "Successful", "") });
    let result = story.result("m");
    assert_eq!((result.phase.text(), result.count, result.error), ("Successful", Some(6), Some(5)));
    assert_eq!(result.consecutive_error, None);
    story.check();
}

#[test]
fn results_stand_in_the_order_of_the_spec_whichever_comes_first() {
    let metrics = json!([
        metric("a", json!({"initialDelay": "5s"})),
        metric("b", json!({})),
        metric("c", json!({"initialDelay": "9s"})),
    ]);
    let mut story = Story::new(run(json!({"metrics": metrics})));
    story.play(30, |_| (0, "Successful", ""));
    let names: Vec<_> = story.status().metric_results.unwrap().iter().map(|r| r.name.text().to_owned()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn a_dry_run_that_fails_ends_nothing_that_goes_on() {
    let metrics = json!([metric("dry", json!({})), metric("m", json!({"interval": "10s", "count": 3}))]);
    let mut story = Story::new(run(json!({"metrics": metrics, "dryRun": [{"metricName": "^dry$"}]})));
    story.play(100, |work| if work.name() == "dry" { (0, "Failed", "") } else { (0, "Successful", "") });
    assert_eq!(story.status().phase.text(), "Successful");
    assert_eq!(story.result("m").count, Some(3));
    assert_eq!(story.result("dry").phase.text(), "Failed");
}
