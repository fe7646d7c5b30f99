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
