//! Experiments that nobody but a person asks for.

use serde_json::{Value, json};
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;

use super::{experiment, mortal_world, options, pods, start, words, world};
use crate::analysis::Answers;
use crate::world::World;

#[tokio::test(start_paused = true)]
async fn an_experiment_runs_its_pods_for_its_time_and_takes_them_away() {
    let (world, _) = world().await;
    let templates = json!([pods("a", json!({"replicas": 2})), pods("b", json!({}))]);
    world.create(experiment("exp", json!({"duration": "60s", "templates": templates}))).await;
    world.pass(10).await;
    assert_eq!(world.outcome("exp").await, words("Running", ""));
    assert_eq!(world.experiment_pods().await, 3);
    world.asked();
    world.pass(40).await;
    assert_eq!(world.asked(), [], "while it runs nothing is asked and nothing written");
    world.pass(20).await;
    assert_eq!(world.outcome("exp").await, words("Successful", ""));
    assert_eq!(world.experiment_pods().await, 3, "they stay a while");
    world.pass(40).await;
    assert_eq!(world.experiment_pods().await, 0);
    let told = world.told_of("exp").await;
    for reason in ["TemplateProgressing", "TemplateRunning", "ScalingReplicaSet", "ExperimentSuccessful"] {
        assert!(told.iter().any(|one| one == reason), "no {reason} in {told:?}");
    }
    world.asked();
    world.pass(3000).await;
    assert_eq!(world.written(), [], "nothing is left to do");
}

#[tokio::test(start_paused = true)]
async fn analyses_decide_how_it_ends() {
    for (value, phase, message) in [
        (1, "Successful", "Required AnalysisRuns completed"),
        (80, "Failed", "Metric \"errors\" assessed Failed due to failed (1) > failureLimit (0)"),
        (20, "Inconclusive", "Metric \"errors\" assessed Inconclusive due to inconclusive (1) > inconclusiveLimit (0)"),
    ] {
        let (world, answers) = world().await;
        answers.value("errors", value);
        let analyses = json!([{"name": "check", "templateName": "errors", "requiredForCompletion": true}]);
        world.create(experiment("exp", json!({"templates": [pods("a", json!({}))], "analyses": analyses}))).await;
        world.pass(30).await;
        assert_eq!(world.outcome("exp").await, words(phase, message));
        assert_eq!(world.runs().await[0], words("exp-check", phase));
        world.pass(60).await;
        assert_eq!(world.experiment_pods().await, 0, "{phase}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_told_to_end_ends_its_runs_and_can_be_tried_again() {
    let (world, _) = world().await;
    let analyses = json!([{"name": "check", "templateName": "errors", "requiredForCompletion": true}]);
    world.create(experiment("exp", json!({"templates": [pods("a", json!({}))], "analyses": analyses}))).await;
    world.pass(8).await;
    assert_eq!(world.outcome("exp").await.0, "Running");
    world.patch("Experiment", "exp", json!({"spec": {"terminate": true}})).await;
    world.pass(5).await;
    assert_eq!(world.outcome("exp").await.0, "Successful");
    assert_eq!(world.verdict("exp-check").await.1, "Run Terminated");
    world.pass(60).await;
    assert_eq!(world.experiment_pods().await, 0);

    // As `retry experiment` does it.
    world.patch("Experiment", "exp", json!({"spec": {"terminate": null}, "status": null})).await;
    world.pass(60).await;
    assert_eq!(world.outcome("exp").await, words("Successful", "Required AnalysisRuns completed"));
    assert_eq!(world.verdict("exp-check.1").await.0, "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_service_is_there_as_long_as_its_pods() {
    let (world, _) = world().await;
    let templates = json!([pods("a", json!({"service": {}})), pods("b", json!({"service": {"name": "probe"}}))]);
    world.create(experiment("exp", json!({"duration": "20s", "templates": templates}))).await;
    world.pass(10).await;
    let services = world.list("Service").await;
    let names: Vec<&Value> = services.iter().map(|service| &service["metadata"]["name"]).collect();
    assert_eq!(names, ["exp-a", "probe"]);
    let set = world.get("ReplicaSet", "exp-a").await;
    assert_eq!(services[0]["spec"]["selector"], set["metadata"]["labels"]);
    let status = world.get("Experiment", "exp").await["status"]["templateStatuses"].clone();
    assert_eq!((&status[0]["serviceName"], &status[1]["serviceName"]), (&json!("exp-a"), &json!("probe")));
    world.pass(30).await;
    assert_eq!(world.list("Service").await.len(), 2, "pods are still there");
    world.pass(30).await;
    assert_eq!(world.list("Service").await.len(), 0);
    let status = world.get("Experiment", "exp").await["status"]["templateStatuses"].clone();
    assert_eq!(status[0]["serviceName"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_killed_again_and_again_makes_everything_once() {
    let (world, answers, mut controller) = mortal_world().await;
    let analyses = json!([{"name": "check", "templateName": "errors", "requiredForCompletion": true}]);
    let templates = json!([pods("a", json!({"service": {}})), pods("b", json!({}))]);
    let spec = json!({"duration": "20s", "templates": templates, "analyses": analyses});
    world.create(experiment("exp", spec)).await;
    for _ in 0..25 {
        tokio::time::sleep(std::time::Duration::from_millis(1700)).await;
        controller.abort();
        controller = start(&world, &answers);
    }
    world.pass(90).await;
    controller.abort();
    assert_eq!(world.outcome("exp").await.0, "Successful");
    assert_eq!(world.runs().await, [words("exp-check", "Successful")]);
    assert_eq!((world.list("ReplicaSet").await.len(), world.list("Service").await.len()), (2, 0));
    assert_eq!(world.experiment_pods().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_controller_of_experiments_only_leaves_rollouts_and_runs_alone() {
    let answers = Answers::new();
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    let only = Options { without_rollouts: true, analysis: None, ..options(&answers) };
    let insight = world.start_as(only, Leadership::alone());
    world.create(super::errors()).await;
    world.create(crate::world::rollout("shop", json!({"canary": {}}))).await;
    let analyses = json!([{"name": "check", "templateName": "errors"}]);
    let spec = json!({"duration": "30s", "templates": [pods("a", json!({}))], "analyses": analyses});
    world.create(experiment("exp", spec)).await;
    world.pass(20).await;
    assert_eq!(insight.missing(), Vec::<&str>::new());
    assert_eq!(world.status("shop").await, Value::Null);
    assert_eq!(world.runs().await, [words("exp-check", "")], "somebody else runs it");
    assert_eq!(world.outcome("exp").await.0, "Running");
    world.pass(20).await;
    assert_eq!(world.outcome("exp").await.0, "Successful");
}
