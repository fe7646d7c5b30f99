//! Providers that hang and break down, and an API that does not answer.

use std::time::Duration;

use serde_json::json;

use super::{Reply, metric, run, verdict, world};

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_or_breaks_down_stops_only_its_own_measurement() {
    let (world, answers) = world().await;
    answers.set("hangs", Reply::Hangs);
    answers.set("breaks", Reply::Breaks);
    answers.value("good", 1);
    let often = json!({"interval": "10s", "count": 6});
    // Many that hang, in one run and in many.
    let all: Vec<_> = (0..20)
        .map(|at| {
            let mut one = metric("hangs", json!({}));
            one["name"] = format!("hangs-{at}").into();
            one
        })
        .collect();
    world.create(run("hanging", json!({"metrics": all}))).await;
    world.create(run("mixed", json!({"metrics": [metric("breaks", json!({})), metric("good", often)]}))).await;
    world.pass(70).await;
    assert_eq!(answers.asked("good"), [0, 10, 20, 30, 40], "until the other metric has decided");
    let mixed = world.run("mixed").await;
    let broken = &mixed["metricResults"][0]["measurements"][0];
    assert_eq!(
        (&broken["phase"], &broken["message"]),
        (&json!("Error"), &json!("the provider broke down; this is a defect of the controller"))
    );
    assert_eq!(
        mixed["message"],
        "Metric \"breaks\" assessed Error due to consecutiveErrors (5) > consecutiveErrorLimit (4): \"Error Message: the provider broke down; this is a defect of the controller\""
    );
    world.pass(60).await;
    let hanging = world.run("hanging").await;
    let first = &hanging["metricResults"][7]["measurements"][0];
    assert_eq!(
        (&first["phase"], &first["message"]),
        (&json!("Error"), &json!("the measurement took longer than 120 seconds"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_provider_in_trouble_is_asked_again_after_ten_seconds_and_recovered_from() {
    let (world, answers) = world().await;
    answers.set("errors", Reply::Status(503));
    world.create(run("run", json!({"metrics": [metric("errors", json!({}))]}))).await;
    world.pass(25).await;
    answers.value("errors", 1);
    world.pass(10).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    assert_eq!(answers.asked("errors"), [0, 10, 20, 30]);
    let result = world.run("run").await["metricResults"][0].clone();
    assert_eq!((&result["error"], &result["count"]), (&json!(3), &json!(1)));
    assert_eq!(result["measurements"][0]["message"], "received non 2xx response code: 503");
}

#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_is_looked_up_and_nothing_is_counted_twice() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    let spec = json!({"count": 5, "interval": "20s"});
    world.create(run("run", json!({"metrics": [metric("errors", spec)]}))).await;
    world.pass(5).await;
    // When answers are lost though the writes are done.
    world.mute(Some("analysisruns"));
    world.pass(50).await;
    world.mute(None);
    world.pass(120).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    let result = world.run("run").await["metricResults"][0].clone();
    assert_eq!((&result["count"], &result["successful"]), (&json!(5), &json!(5)));
    assert_eq!(result["measurements"].as_array().unwrap().len(), 5);
    assert_eq!(answers.asked("errors").len(), 5);
}

#[tokio::test(start_paused = true)]
async fn somebody_who_writes_at_the_same_time_loses_nothing_and_neither_do_we() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    let spec = json!({"count": 10, "interval": "1s"});
    world.create(run("run", json!({"metrics": [metric("errors", spec)]}))).await;
    for at in 0..40 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        world.patch("AnalysisRun", "run", json!({"metadata": {"annotations": {"at": at.to_string()}}})).await;
    }
    world.pass(30).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    assert_eq!(world.run("run").await["metricResults"][0]["count"], 10);
    assert_eq!(answers.asked("errors").len(), 10);
    assert_eq!(world.get("AnalysisRun", "run").await["metadata"]["annotations"]["at"], "39");
}
