//! Bad specs, foreign objects, refusals, faults.

use serde_json::{Value, json};
use tidegate_apiserver::{StatusError, Verb};

use super::{experiment, pods, words, world};

#[tokio::test(start_paused = true)]
async fn a_bad_spec_is_told_once_and_goes_on_when_it_is_set_right() {
    let (world, _) = world().await;
    let templates = json!([pods("a", json!({}))]);
    world.create(experiment("exp", json!({"duration": "soon", "templates": templates}))).await;
    world.pass(5).await;
    let status = world.get("Experiment", "exp").await["status"].clone();
    let condition = &status["conditions"][0];
    assert_eq!((&condition["type"], &condition["status"]), (&json!("InvalidSpec"), &json!("True")));
    assert!(condition["message"].as_str().unwrap().starts_with("Experiment exp has invalid duration"), "{condition}");
    assert_eq!(status["phase"], Value::Null);
    world.asked();
    world.pass(1800).await;
    assert_eq!(world.written(), []);
    world.patch("Experiment", "exp", json!({"spec": {"duration": "10s"}})).await;
    world.pass(20).await;
    assert_eq!(world.outcome("exp").await.0, "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_set_or_service_of_somebody_else_is_not_touched_and_named() {
    let (world, _) = world().await;
    let foreign = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "exp-a"}, "spec": {
        "replicas": 0, "selector": {"matchLabels": {"x": "y"}},
        "template": {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    world.create(foreign).await;
    world.create(crate::world::service("probe")).await;
    world.create(experiment("exp", json!({"templates": [pods("a", json!({})), pods("b", json!({}))]}))).await;
    let with_service = json!([pods("a", json!({"service": {"name": "probe"}}))]);
    world.create(experiment("other", json!({"templates": with_service}))).await;
    world.pass(10).await;
    let message = "Failed to create ReplicaSet for template 'a': ReplicaSet exp-a already exists and is not owned by this Experiment; delete it or rename the template";
    assert_eq!(world.outcome("exp").await, words("Error", message));
    let message = "Failed to create Service probe for template 'a': service probe already exists and is not owned by experiment template a";
    assert_eq!(world.outcome("other").await, words("Error", message));
    assert_eq!(world.get("Service", "probe").await["metadata"]["ownerReferences"], Value::Null);
    world.pass(60).await;
    assert_eq!(world.experiment_pods().await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_api_refuses_is_an_error_of_the_template_and_what_fails_for_a_moment_is_not() {
    let (world, _) = world().await;
    world.refuse_all(Verb::Create, "replicasets", "", StatusError::forbidden("exceeded quota"));
    world.create(experiment("exp", json!({"templates": [pods("a", json!({}))]}))).await;
    world.pass(10).await;
    let (phase, message) = world.outcome("exp").await;
    assert_eq!(phase, "Error");
    assert!(message.contains("exceeded quota"), "{message}");
    assert_eq!(world.warnings("exp").await[0].0, "ReplicaSetCreateError");

    world.refuse(|call| {
        (call.resource == "replicasets" && call.verb == Verb::Create).then(|| StatusError::internal("a moment"))
    });
    world.create(experiment("later", json!({"duration": "5s", "templates": [pods("b", json!({}))]}))).await;
    world.pass(10).await;
    assert_eq!(world.outcome("later").await.0, "");
    world.refuse_nothing();
    world.pass(120).await;
    assert_eq!(world.outcome("later").await.0, "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_template_that_never_becomes_available_fails_in_time() {
    let (world, _) = world().await;
    let mut bad = pods("a", json!({}));
    bad["template"]["spec"]["containers"][0]["image"] = json!("shop:does-not-exist");
    world.create(experiment("exp", json!({"progressDeadlineSeconds": 30, "templates": [bad]}))).await;
    world.pass(25).await;
    assert_eq!(world.outcome("exp").await.0, "Pending");
    world.pass(20).await;
    let message = "Template 'a' exceeded its progressDeadlineSeconds (30)";
    assert_eq!(world.outcome("exp").await, words("Failed", message));
    world.pass(60).await;
    assert_eq!(world.experiment_pods().await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_analysis_template_that_is_missing_ends_it_before_any_run() {
    let (world, _) = world().await;
    let analyses = json!([{"name": "check", "templateName": "nope"}]);
    world.create(experiment("exp", json!({"templates": [pods("a", json!({}))], "analyses": analyses}))).await;
    world.pass(10).await;
    let message = "AnalysisTemplate verification failed for analysis 'check': AnalysisTemplate 'nope' not found";
    assert_eq!(world.outcome("exp").await, words("Error", message));
    assert_eq!(world.runs().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_status_without_an_answer_is_read_before_anything_follows_from_it() {
    let (world, _) = world().await;
    world.mute(Some("experiments"));
    let analyses = json!([{"name": "check", "templateName": "errors", "requiredForCompletion": true}]);
    world.create(experiment("exp", json!({"templates": [pods("a", json!({}))], "analyses": analyses}))).await;
    world.pass(120).await;
    world.mute(None);
    world.pass(120).await;
    assert_eq!(world.outcome("exp").await.0, "Successful");
    assert_eq!(world.runs().await.len(), 1);
    assert_eq!(world.list("ReplicaSet").await.len(), 1);
}
