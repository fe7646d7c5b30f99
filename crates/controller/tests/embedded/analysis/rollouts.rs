//! Rollouts that ask for analysis.

use serde_json::{Value, json};
use tidegate_controller::Options;
use tidegate_runtime::lease::Leadership;

use super::{Answers, metric, options, template, verdict, world};
use crate::world::{World, image, rollout, service};

fn named(template: &str) -> Value {
    json!({"templates": [{"templateName": template}]})
}

/// Errors every five seconds; more than 5 is bad, between 5 and 50 nobody knows.
fn errors() -> Value {
    template(
        "errors",
        json!({"metrics": [metric("errors", json!({"interval": "5s", "successCondition": "result <= 5", "failureCondition": "result > 50"}))]}),
    )
}

/// Errors, three times.
fn thrice() -> Value {
    let count =
        json!({"count": 3, "interval": "5s", "successCondition": "result <= 5", "failureCondition": "result > 50"});
    template("thrice", json!({"metrics": [metric("errors", count)]}))
}

async fn deploy(world: &World, strategy: Value) {
    world.create(errors()).await;
    world.create(thrice()).await;
    for name in ["active", "preview"] {
        world.create(service(name)).await;
    }
    world.create(rollout("shop", strategy)).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await.0, "Healthy", "{:?}", world.shown("shop").await);
    assert_eq!(world.runs().await, [], "the first deploy needs no analysis");
    world.patch("Rollout", "shop", image("shop:2")).await;
}

fn background() -> Value {
    json!({"canary": {"analysis": named("errors"), "steps": [{"setWeight": 25}, {"pause": {}}]}})
}

fn inline() -> Value {
    json!({"canary": {"steps": [{"setWeight": 25}, {"analysis": named("thrice")}, {"setWeight": 50}, {"pause": {}}]}})
}

#[tokio::test(start_paused = true)]
async fn a_bad_canary_is_aborted_by_its_background_analysis_and_a_retry_gets_a_run_of_its_own() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    deploy(&world, background()).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, verdict("Paused", "CanaryPauseStep"));
    let (name, phase) = world.runs().await[0].clone();
    assert_eq!(phase, "Running");
    let entry = world.status("shop").await["canary"]["currentBackgroundAnalysisRunStatus"].clone();
    assert_eq!(entry, json!({"name": name, "status": "Running"}));

    answers.value("errors", 80);
    world.pass(30).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    let wanted = "RolloutAborted: Rollout aborted update to revision 2: Background analysis phase error/failed: Metric \"errors\" assessed Failed due to failed (1) > failureLimit (0)";
    assert!(message.starts_with(wanted), "{message}");
    assert_eq!(world.sizes("shop").await, [4, 0]);

    answers.value("errors", 1);
    world.patch_status("shop", json!({"abort": false})).await;
    world.pass(30).await;
    assert_eq!(world.runs().await, [verdict(&name, "Failed"), verdict(&format!("{name}.1"), "Running")]);
    world.promote("shop").await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, verdict("Healthy", ""));
    assert_eq!(world.verdict(&format!("{name}.1")).await, verdict("Successful", "Run Terminated"));
    assert_eq!(world.sizes("shop").await, [0, 4]);
}

#[tokio::test(start_paused = true)]
async fn an_inline_analysis_is_passed_after_its_third_good_measurement_and_no_sooner() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    deploy(&world, inline()).await;
    world.pass(8).await;
    assert_eq!(world.status("shop").await["currentStepIndex"], 1);
    world.pass(30).await;
    assert_eq!(answers.asked("errors"), [0, 5, 10]);
    assert_eq!(world.status("shop").await["currentStepIndex"], 3);
    assert_eq!(world.shown("shop").await, verdict("Paused", "CanaryPauseStep"));
    assert_eq!(world.runs().await.len(), 1);
    let told = world.told_of("shop").await;
    let runs: Vec<&String> = told.iter().filter(|reason| reason.starts_with("AnalysisRun")).collect();
    assert_eq!(runs, ["AnalysisRunRunning", "AnalysisRunSuccessful"]);
}

#[tokio::test(start_paused = true)]
async fn an_analysis_that_decides_nothing_pauses_and_going_on_makes_a_new_run() {
    let (world, answers) = world().await;
    answers.value("errors", 20);
    deploy(&world, inline()).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, verdict("Paused", "InconclusiveAnalysisRun"));
    let (name, phase) = world.runs().await[0].clone();
    assert_eq!((phase.as_str(), world.runs().await.len()), ("Inconclusive", 1));
    world.pass(3600).await;
    assert_eq!(world.runs().await.len(), 1, "somebody has to decide");
    answers.value("errors", 1);
    world.promote("shop").await;
    world.pass(60).await;
    assert_eq!(world.runs().await[1], verdict(&format!("{name}.1"), "Successful"));
    assert_eq!(world.shown("shop").await, verdict("Paused", "CanaryPauseStep"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_switched_before_its_analysis_and_a_bad_one_after_it_switches_back() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    let strategy = json!({"activeService": "active", "previewService": "preview",
        "prePromotionAnalysis": named("thrice"), "postPromotionAnalysis": named("thrice")});
    deploy(&world, json!({"blueGreen": strategy})).await;
    let active =
        async || world.get("Service", "active").await["spec"]["selector"]["rollouts-pod-template-hash"].clone();
    let first = active().await;
    world.pass(8).await;
    assert_eq!(active().await, first, "not before the third measurement");
    assert_eq!(world.runs().await.len(), 1);
    world.pass(60).await;
    let second = active().await;
    assert_ne!(second, first);
    assert_eq!(world.shown("shop").await, verdict("Healthy", ""));
    let names: Vec<String> = world.runs().await.into_iter().map(|(name, _)| name).collect();
    assert!(names[0].ends_with("-2-post") && names[1].ends_with("-2-pre"), "{names:?}");

    // Good before the switch, bad after it.
    world.patch("Rollout", "shop", image("shop:3")).await;
    world.pass(14).await;
    assert_ne!(active().await, second);
    answers.value("errors", 80);
    world.pass(30).await;
    assert_eq!(active().await, second);
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("Blue/green post-promotion analysis phase error/failed: Metric \"errors\""), "{message}");
}

#[tokio::test(start_paused = true)]
async fn runs_are_ended_with_their_update_and_old_ones_are_deleted() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    deploy(&world, background()).await;
    world.pass(30).await;
    let (first, _) = world.runs().await[0].clone();
    world.patch("Rollout", "shop", image("shop:3")).await;
    world.pass(30).await;
    assert_eq!(world.verdict(&first).await, verdict("Successful", "Run Terminated"));
    assert_eq!(world.runs().await.len(), 2);
    for version in 4..14 {
        world.patch("Rollout", "shop", image(&format!("shop:{version}"))).await;
        world.pass(30).await;
    }
    let finished = world.runs().await.into_iter().filter(|(_, phase)| phase == "Successful").count();
    assert_eq!(finished, 5, "five are kept");
    world.patch_status("shop", json!({"abort": true})).await;
    world.pass(30).await;
    assert!(world.runs().await.iter().all(|(_, phase)| phase == "Successful"));
    world.asked();
    world.pass(1800).await;
    assert_eq!(world.written(), []);
}

#[tokio::test(start_paused = true)]
async fn arguments_templates_of_the_cluster_and_metadata_reach_the_run() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    let mut shared = template(
        "most",
        json!({"args": [{"name": "most"}, {"name": "hash"}],
        "metrics": [metric("errors", json!({"successCondition": "result <= {{args.most}} and '{{args.hash}}' != ''"}))]}),
    );
    shared["kind"] = "ClusterAnalysisTemplate".into();
    let api = kube::Api::<kube::core::DynamicObject>::all_with(
        world.client.clone(),
        &crate::world::resource("ClusterAnalysisTemplate"),
    );
    api.create(&kube::api::PostParams::default(), &serde_json::from_value(shared).unwrap()).await.unwrap();
    let analysis = json!({"templates": [{"templateName": "most", "clusterScope": true}],
        "args": [{"name": "most", "value": "5"}, {"name": "hash", "valueFrom": {"podTemplateHashValue": "Latest"}}],
        "analysisRunMetadata": {"labels": {"team": "shop"}, "annotations": {"why": "because"}}});
    deploy(&world, json!({"canary": {"steps": [{"setWeight": 25}, {"analysis": analysis}, {"pause": {}}]}})).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, verdict("Paused", "CanaryPauseStep"));
    let run = &world.list("AnalysisRun").await[0];
    let labels = &run["metadata"]["labels"];
    assert_eq!(
        (&labels["team"], &labels["rollout-type"], &labels["step-index"]),
        (&json!("shop"), &json!("Step"), &json!("1"))
    );
    assert_eq!(run["metadata"]["annotations"]["why"], "because");
    assert_eq!(run["spec"]["args"][1]["value"], labels["rollouts-pod-template-hash"]);
    assert_eq!(run["status"]["phase"], "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_template_that_is_missing_holds_the_rollout_until_it_comes() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    world.create(rollout("shop", inline())).await;
    world.pass(10).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("spec.strategy.canary.steps[1].analysis.templates: Invalid value: \"thrice\": AnalysisTemplate 'thrice' not found"), "{message}");
    world.create(thrice()).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, verdict("Healthy", ""));
}

#[tokio::test(start_paused = true)]
async fn templates_that_include_each_other_hold_the_rollout_and_say_so_until_somebody_cuts_the_circle() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    world.create(template("thrice", json!({"templates": [{"templateName": "more"}]}))).await;
    world.create(template("more", json!({"templates": [{"templateName": "thrice"}]}))).await;
    world.create(rollout("shop", inline())).await;
    world.pass(10).await;
    let (phase, message) = world.shown("shop").await;
    assert_eq!(phase, "Degraded");
    assert!(message.contains("AnalysisTemplate 'thrice' includes itself: thrice -> more -> thrice"), "{message}");
    let good = thrice()["spec"].clone();
    world.patch("AnalysisTemplate", "more", json!({"spec": {"templates": null, "metrics": good["metrics"]}})).await;
    world.pass(30).await;
    assert_eq!(world.shown("shop").await, verdict("Healthy", ""));
}

#[tokio::test(start_paused = true)]
async fn a_namespaced_controller_runs_analyses_of_its_namespace() {
    let answers = Answers::new();
    answers.value("errors", 1);
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    world.start_as(Options { namespace: Some("default".to_owned()), ..options(&answers) }, Leadership::alone());
    deploy(&world, inline()).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, verdict("Paused", "CanaryPauseStep"));
    assert_eq!(world.runs().await[0].1, "Successful");
}

#[tokio::test(start_paused = true)]
async fn a_controller_of_analyses_only_leaves_rollouts_alone() {
    let answers = Answers::new();
    answers.value("errors", 1);
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    let insight = world.start_as(Options { without_rollouts: true, ..options(&answers) }, Leadership::alone());
    world.create(rollout("shop", inline())).await;
    world.create(super::run("run", json!({"metrics": [metric("errors", json!({}))]}))).await;
    world.pass(30).await;
    assert_eq!(insight.missing(), Vec::<&str>::new());
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    assert_eq!(world.status("shop").await, Value::Null);
    assert_eq!(world.list("ReplicaSet").await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn an_experiment_is_held_where_nobody_runs_them() {
    let (world, _) = world().await;
    let steps = json!([{"setWeight": 25}, {"experiment": {"templates": [{"name": "a", "specRef": "stable"}]}}]);
    world.create(rollout("shop", json!({"canary": {"steps": steps}}))).await;
    world.pass(30).await;
    let wanted = "Unsupported: spec.strategy.canary.steps[1].experiment is not driven by this controller";
    assert_eq!(world.shown("shop").await, verdict("Degraded", wanted));
}

#[tokio::test(start_paused = true)]
async fn a_template_that_cannot_work_is_told_about_when_it_is_written() {
    let (world, _) = world().await;
    world.create(thrice()).await;
    let condition = json!({"successCondition": "result <", "interval": "1d"});
    world.create(template("broken", json!({"metrics": [metric("errors", condition)]}))).await;
    world.pass(5).await;
    let told = world.warnings("broken").await;
    let message = "AnalysisTemplate 'broken': metric 'errors': successCondition: unexpected token EOF; metric 'errors': interval: invalid interval string: time: unknown unit \"d\" in duration \"1d\"";
    assert_eq!(told, [verdict("InvalidTemplate", message)]);
    assert_eq!(world.warnings("thrice").await, []);
}

#[tokio::test(start_paused = true)]
async fn a_blue_green_retry_is_judged_anew_before_and_after_the_switch_although_its_pods_come_late() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    let strategy = json!({"activeService": "active", "abortScaleDownDelaySeconds": 1,
        "prePromotionAnalysis": named("thrice"), "postPromotionAnalysis": named("thrice")});
    deploy(&world, json!({"blueGreen": strategy})).await;
    world.pass(14).await;
    answers.value("errors", 80);
    world.pass(60).await;
    assert_eq!(world.shown("shop").await.0, "Degraded");
    assert_eq!(world.sizes("shop").await, [4, 0], "its pods are gone");

    answers.value("errors", 1);
    world.patch_status("shop", json!({"abort": false})).await;
    world.pass(60).await;
    assert_eq!(world.shown("shop").await, verdict("Healthy", ""));
    let phases: Vec<(String, String)> = world.runs().await;
    let of = |end: &str| phases.iter().find(|(name, _)| name.ends_with(end)).map(|(_, phase)| phase.as_str());
    assert_eq!((of("-pre"), of("-post")), (Some("Successful"), Some("Failed")));
    assert_eq!((of("-pre.1"), of("-post.1")), (Some("Successful"), Some("Successful")));
}
