//! Experiments that steps of Rollouts ask for.

use serde_json::{Value, json};

use super::{deploy, mortal_world, start, update, words, world};
use crate::world::{World, image};

/// A step that compares both versions, then a pause.
fn comparing(more: Value) -> Value {
    let mut step = json!({"templates": [
        {"name": "before", "specRef": "stable", "replicas": 1, "metadata": {"labels": {"role": "before"}, "annotations": {"note": "n"}}},
        {"name": "after", "specRef": "canary", "replicas": 2},
    ]});
    step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"canary": {"steps": [{"setWeight": 25}, {"experiment": step}, {"pause": {}}]}})
}

fn judged() -> Value {
    comparing(json!({"analyses": [{"name": "check", "templateName": "errors", "requiredForCompletion": true,
        "args": [{"name": "hash", "valueFrom": {"podTemplateHashValue": "Latest"}}]}]}))
}

async fn current(world: &World) -> Value {
    world.status("shop").await["canary"]["currentExperiment"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_step_runs_an_experiment_of_both_versions_and_goes_on_when_it_is_successful() {
    let (world, _) = world().await;
    deploy(&world, comparing(json!({"duration": "40s"}))).await;
    update(&world).await;
    world.pass(20).await;
    let name = world.only_experiment().await;
    let status = world.status("shop").await;
    let hash = status["currentPodHash"].as_str().unwrap();
    assert_eq!(name, format!("shop-{hash}-2-1"));
    assert_eq!((&status["currentStepIndex"], current(&world).await), (&json!(1), json!(name)));
    let made = world.get("Experiment", &name).await;
    assert_eq!(made["metadata"]["labels"]["rollouts-pod-template-hash"], hash);
    assert_eq!(made["metadata"]["annotations"]["rollout.argoproj.io/revision"], "2");
    let before = world.get("ReplicaSet", &format!("{name}-before")).await;
    assert_eq!(before["spec"]["template"]["spec"]["containers"][0]["image"], "shop:1");
    assert_eq!(before["spec"]["selector"]["matchLabels"]["role"], "before");
    assert_eq!(before["spec"]["template"]["metadata"]["annotations"]["note"], "n");
    let after = world.get("ReplicaSet", &format!("{name}-after")).await;
    assert_eq!(after["spec"]["template"]["spec"]["containers"][0]["image"], "shop:2");
    assert_ne!(after["metadata"]["labels"]["rollouts-pod-template-hash"], hash, "its pods are not the canary's");
    assert_eq!(world.sizes("shop").await, [3, 1], "the Rollout's own pods are as before");
    world.pass(40).await;
    assert_eq!(world.shown("shop").await, words("Paused", "CanaryPauseStep"));
    assert_eq!(current(&world).await, Value::Null);
    let told = world.told_of("shop").await;
    assert!(told.contains(&"ExperimentCreated".to_owned()), "{told:?}");
    world.pass(60).await;
    assert_eq!(world.experiment_pods().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_failed_experiment_aborts_with_its_name_and_cause_and_a_retry_makes_another() {
    let (world, answers) = world().await;
    answers.value("errors", 80);
    deploy(&world, judged()).await;
    update(&world).await;
    world.pass(40).await;
    let name = world.only_experiment().await;
    let (phase, message) = world.shown("shop").await;
    let wanted = format!(
        "RolloutAborted: Rollout aborted update to revision 2: Experiment analysis phase is error/failed: \
         Metric \"errors\" assessed Failed due to failed (1) > failureLimit (0) (experiment {name}, run {name}-check)"
    );
    assert_eq!((phase.as_str(), message), ("Degraded", wanted));
    let told = world.warnings("shop").await;
    assert!(told.iter().any(|(reason, _)| reason == "AnalysisRunFailed"), "{told:?}");
    world.pass(60).await;
    assert_eq!((world.experiment_pods().await, world.sizes("shop").await), (0, vec![4, 0]));

    answers.value("errors", 1);
    world.patch_status("shop", json!({"abort": false})).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, words("Paused", "CanaryPauseStep"));
    assert_eq!(world.experiments().await, [name.clone(), format!("{name}-1")]);
}

#[tokio::test(start_paused = true)]
async fn an_undecided_experiment_pauses_and_going_on_makes_another() {
    let (world, answers) = world().await;
    answers.value("errors", 20);
    deploy(&world, judged()).await;
    update(&world).await;
    world.pass(40).await;
    let name = world.only_experiment().await;
    assert_eq!(world.outcome(&name).await.0, "Inconclusive");
    assert_eq!(world.shown("shop").await, words("Paused", "InconclusiveExperiment"));
    world.pass(600).await;
    assert_eq!(world.experiments().await.len(), 1, "a person has the word");

    answers.value("errors", 1);
    world.promote("shop").await;
    world.pass(60).await;
    assert_eq!(world.experiments().await.len(), 2);
    assert_eq!(world.shown("shop").await, words("Paused", "CanaryPauseStep"));
}

#[tokio::test(start_paused = true)]
async fn an_abort_a_full_promotion_or_a_new_version_ends_a_running_experiment() {
    for (patch, spec) in [
        (json!({"abort": true}), Value::Null),
        (json!({"promoteFull": true}), Value::Null),
        (Value::Null, image("shop:3")),
        // As `promote` skips a step.
        (json!({"currentStepIndex": 2}), Value::Null),
    ] {
        let (world, _) = world().await;
        deploy(&world, comparing(json!({}))).await;
        update(&world).await;
        world.pass(30).await;
        let name = world.only_experiment().await;
        assert_eq!(world.outcome(&name).await.0, "Running");
        match &patch {
            Value::Null => world.patch("Rollout", "shop", spec.clone()).await,
            patch => world.patch_status("shop", patch.clone()).await,
        }
        world.pass(10).await;
        assert_eq!(world.get("Experiment", &name).await["spec"]["terminate"], true, "{patch} {spec}");
        assert_eq!(world.outcome(&name).await.0, "Successful");
    }
}

#[tokio::test(start_paused = true)]
async fn old_experiments_are_deleted_beyond_the_limits_and_not_before_their_pods_are_gone() {
    let (world, _) = world().await;
    deploy(&world, comparing(json!({"duration": "1s"}))).await;
    world.patch("Rollout", "shop", json!({"spec": {"analysis": {"successfulRunHistoryLimit": 0}}})).await;
    update(&world).await;
    world.pass(30).await;
    let name = world.only_experiment().await;
    assert_eq!(world.outcome(&name).await.0, "Successful");
    assert_eq!(world.experiment_pods().await, 3);
    world.pass(60).await;
    assert_eq!(world.experiments().await, Vec::<String>::new());
    assert_eq!(world.experiment_pods().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_no_experiment_can_be_made_from_says_so() {
    let (world, _) = world().await;
    deploy(&world, json!({"canary": {}})).await;
    let strategy = comparing(json!({"duration": "soon"}));
    world.patch("Rollout", "shop", json!({"spec": {"strategy": strategy}})).await;
    update(&world).await;
    world.pass(60).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("steps[1].experiment") && message.contains("invalid duration"), "{message}");
    assert_eq!(world.experiments().await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_killed_in_the_middle_of_the_step_makes_one_experiment() {
    let (world, answers, mut controller) = mortal_world().await;
    deploy(&world, judged()).await;
    update(&world).await;
    for _ in 0..30 {
        tokio::time::sleep(std::time::Duration::from_millis(1300)).await;
        controller.abort();
        controller = start(&world, &answers);
    }
    world.pass(90).await;
    controller.abort();
    world.only_experiment().await;
    assert_eq!(world.shown("shop").await, words("Paused", "CanaryPauseStep"));
    assert_eq!((world.runs().await.len(), world.experiment_pods().await), (1, 0));
}
