//! AnalysisRuns from their first measurement to their deletion.

use serde_json::{Value, json};

use super::{Reply, metric, mortal_world, run, start, verdict, world};

#[tokio::test(start_paused = true)]
async fn a_run_is_measured_at_its_interval_judged_and_told() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    let good = json!({"count": 3, "interval": "10s", "successCondition": "result < 5"});
    world.create(run("good", json!({"metrics": [metric("errors", good)]}))).await;
    world.pass(60).await;

    assert_eq!(world.verdict("good").await, verdict("Successful", ""));
    assert_eq!(answers.asked("errors"), [0, 10, 20]);
    let status = world.run("good").await;
    assert_eq!(status["runSummary"], json!({"count": 1, "successful": 1}));
    assert_eq!(status["metricResults"][0]["measurements"][2]["value"], "1");
    assert!(status["startedAt"].is_string() && status["completedAt"].is_string(), "{status}");
    assert_eq!(world.told_of("good").await, ["MetricSuccessful", "AnalysisRunSuccessful"]);

    answers.value("errors", 80);
    let bad = json!({"interval": "5s", "failureLimit": 1, "successCondition": "result < 5"});
    world.create(run("bad", json!({"metrics": [metric("errors", bad)]}))).await;
    world.pass(60).await;
    let message = "Metric \"errors\" assessed Failed due to failed (2) > failureLimit (1)";
    assert_eq!(world.verdict("bad").await, verdict("Failed", message));
    assert_eq!(answers.asked("errors"), [0, 5]);
    assert_eq!(world.warnings("bad").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_finished_run_costs_nothing_and_is_deleted_when_its_time_is_over() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    let metrics = json!([metric("errors", json!({}))]);
    world.create(run("kept", json!({"metrics": metrics}))).await;
    world.create(run("expiring", json!({"metrics": metrics, "ttlStrategy": {"secondsAfterSuccess": 100}}))).await;
    world.pass(10).await;
    assert_eq!(world.verdict("kept").await, verdict("Successful", ""));
    world.asked();
    world.pass(80).await;
    assert_eq!(world.asked(), [], "nothing is to be done");
    assert_eq!(world.runs().await.len(), 2);
    world.pass(12).await;
    assert_eq!(world.runs().await.len(), 1, "gone a second after its hundred");
    world.asked();
    world.pass(3000).await;
    assert_eq!(world.written(), []);
    assert_eq!(answers.asked("errors").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_told_to_end_ends_at_once() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    world.create(run("run", json!({"metrics": [metric("errors", json!({"interval": "30s"}))]}))).await;
    world.pass(40).await;
    assert_eq!(world.verdict("run").await.0, "Running");
    world.patch("AnalysisRun", "run", json!({"spec": {"terminate": true}})).await;
    world.pass(1).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", "Run Terminated"));
    world.pass(120).await;
    assert_eq!(answers.asked("errors"), [0, 30]);
}

#[tokio::test(start_paused = true)]
async fn the_first_measurement_waits_for_its_delay_and_a_slow_first_one_shows_that_the_run_has_begun() {
    let (world, answers) = world().await;
    answers.value("later", 1);
    answers.set("slow", Reply::Hangs);
    world.create(run("later", json!({"metrics": [metric("later", json!({"initialDelay": "1m"}))]}))).await;
    world.create(run("slow", json!({"metrics": [metric("slow", json!({}))]}))).await;
    world.pass(3).await;
    assert_eq!(world.runs().await, [verdict("later", "Running"), verdict("slow", "Running")]);
    assert_eq!(answers.asked("later").len(), 0);
    world.pass(60).await;
    assert_eq!(world.verdict("later").await.0, "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_killed_in_the_middle_repeats_at_most_what_was_under_way() {
    let (world, answers, mut controller) = mortal_world().await;
    answers.value("errors", 1);
    let spec = json!({"count": 8, "interval": "10s", "successCondition": "result < 5"});
    world.create(run("run", json!({"metrics": [metric("errors", spec)]}))).await;
    // Killed and replaced at many moments between two measurements.
    for _ in 0..20 {
        world.pass(3).await;
        controller.abort();
        controller = start(&world, &answers);
    }
    world.pass(120).await;
    controller.abort();
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    assert_eq!(world.run("run").await["metricResults"][0]["count"], 8);
    let asked = answers.asked("errors");
    assert_eq!(asked.len(), 8, "each was taken once: {asked:?}");
    let gaps: Vec<u64> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (10..=11).contains(gap)), "times do not drift: {gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_run_says_so_once() {
    let (world, _answers) = world().await;
    let cases = [
        ("empty", json!({"metrics": []}), "Analysis spec invalid: no metrics specified"),
        (
            "unresolved",
            json!({"metrics": [metric("m", json!({"successCondition": "result < {{args.most}}"}))]}),
            "Unable to resolve metric arguments: failed to resolve {{args.most}}",
        ),
        (
            "endless",
            json!({"metrics": [metric("m", json!({"count": 3}))]}),
            "Analysis spec invalid: metrics[0]: interval must be specified when count > 1",
        ),
    ];
    for (name, spec, _) in &cases {
        world.create(run(name, spec.clone())).await;
    }
    world.pass(5).await;
    for (name, _, message) in &cases {
        assert_eq!(world.verdict(name).await, verdict("Error", message));
        assert!(world.run(name).await["completedAt"].is_string());
        assert_eq!(world.told_of(name).await, ["AnalysisRunError"]);
    }
    world.asked();
    world.pass(1800).await;
    assert_eq!(world.written(), Vec::<(String, String)>::new());
    assert_eq!(world.run("empty").await["metricResults"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn expressions_that_are_too_long_or_too_deep_are_errors_and_hold_up_nobody() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    let long = format!("result < {}", vec!["1"; 50_000].join("+"));
    let deep = format!("{}result < 5{}", "(".repeat(5_000), ")".repeat(5_000));
    let metric = |condition: &str| metric("errors", json!({"successCondition": condition, "consecutiveErrorLimit": 0}));
    let begun = std::time::Instant::now();
    world.create(run("long", json!({"metrics": [metric(&long)]}))).await;
    world.create(run("deep", json!({"metrics": [metric(&deep)]}))).await;
    world.create(run("plain", json!({"metrics": [metric("result < 5")]}))).await;
    world.pass(5).await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(world.verdict("plain").await, verdict("Successful", ""));
    for (name, why) in [("long", "which is more than 65536"), ("deep", "nested deeper than 100 levels")] {
        let status = world.run(name).await;
        let message = status["metricResults"][0]["measurements"][0]["message"].as_str().unwrap().to_owned();
        assert_eq!(status["phase"], "Error", "{status}");
        assert!(message.contains("successCondition") && message.contains(why), "{message}");
        assert!(status.to_string().len() < 20_000, "{} bytes", status.to_string().len());
    }
}

/// Seconds at which measurements of a status were to begin, and began.
fn due_and_begun(status: &Value, interval: i64) -> Vec<(i64, i64)> {
    let second = |time: &Value| time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
    let measurements = status["metricResults"][0]["measurements"].as_array().unwrap();
    let pair = |pair: &[Value]| (second(&pair[0]["finishedAt"]) + interval, second(&pair[1]["startedAt"]));
    measurements.windows(2).map(pair).collect()
}

#[tokio::test(start_paused = true)]
async fn measurements_do_not_drift_however_many_there_are_and_whatever_happens_to_the_controller() {
    let (world, answers, mut controller) = mortal_world().await;
    answers.value("errors", 1);
    let retention = json!([{"metricName": "errors", "limit": 1000}]);
    let metrics = json!([metric("errors", json!({"interval": "7s"}))]);
    world.create(run("run", json!({"metrics": metrics, "measurementRetention": retention}))).await;
    for _ in 0..30 {
        world.pass(61).await;
        controller.abort();
        controller = start(&world, &answers);
    }
    controller.abort();
    let status = world.run("run").await;
    let pairs = due_and_begun(&status, 7);
    assert!(pairs.len() >= 255, "{}", pairs.len());
    let lag: Vec<i64> = pairs.iter().map(|(due, begun)| begun - due).collect();
    assert!(lag.iter().all(|lag| (0..=1).contains(lag)), "not before its time, and at most a second after: {lag:?}");
    // All in all as many as fit: 30 restarts cost no more than a second each.
    let asked = answers.asked("errors");
    assert_eq!(asked.len(), pairs.len() + 1, "none was repeated and none was lost");
    assert!(*asked.last().unwrap() <= 7 * pairs.len() as u64 + 30, "{:?}", asked.last());
}

#[tokio::test(start_paused = true)]
async fn three_hundred_runs_are_measured_on_time_and_each_measurement_costs_one_write() {
    let (world, answers) = world().await;
    let spec = json!({"count": 4, "interval": "10s", "successCondition": "result < 5"});
    for at in 0..300 {
        let name = format!("m{at}");
        answers.value(&name, 1);
        world.create(run(&name, json!({"metrics": [metric(&name, spec.clone())]}))).await;
    }
    world.pass(60).await;
    assert!(world.runs().await.iter().all(|(_, phase)| phase == "Successful"));
    for at in 0..300 {
        assert_eq!(answers.asked(&format!("m{at}")), [0, 10, 20, 30]);
    }
    let patches =
        world.written().into_iter().filter(|(method, path)| method == "PATCH" && path.contains("/analysisruns/"));
    let count = patches.count();
    assert!((1200..=1500).contains(&count), "{count} writes");
    world.asked();
    world.pass(7200).await;
    assert_eq!(world.asked(), [], "when all are over nothing is asked and nothing written");
}
