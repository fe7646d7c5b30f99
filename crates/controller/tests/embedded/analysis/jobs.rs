//! Measurements that are Jobs.

use serde_json::{Value, json};
use tidegate_apiserver::{StatusError, Verb};
use tidegate_runtime::lease::Leadership;

use super::{Answers, mortal_world, options, run, start, verdict, world};
use crate::world::World;

/// A metric whose Job does what these annotations of its pods say.
fn job(name: &str, behaviour: Value) -> Value {
    let mut annotations = serde_json::Map::new();
    for (key, value) in behaviour.as_object().unwrap() {
        annotations.insert(format!("node-agent.tidegate.dev/{key}"), value.clone());
    }
    json!({"name": name, "provider": {"job": {"metadata": {"labels": {"team": "shop"}}, "spec": {"backoffLimit": 0, "template": {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "probe", "image": "probe:1", "command": ["true"]}]},
    }}}}})
}

async fn measurement(world: &World, run: &str) -> Value {
    world.run(run).await["metricResults"][0]["measurements"][0].clone()
}

#[tokio::test(start_paused = true)]
async fn a_job_that_ends_well_is_a_success_and_one_that_fails_a_failure_with_its_last_words() {
    let (world, _) = world().await;
    world.create(run("good", json!({"metrics": [job("probe", json!({"run-for": "20s"}))]}))).await;
    world.create(run("bad", json!({"metrics": [job("probe", json!({"run-for": "20s", "exit-code": "3"}))]}))).await;
    world.pass(10).await;
    assert_eq!(world.runs().await, [verdict("bad", "Running"), verdict("good", "Running")]);
    let jobs = world.list("Job").await;
    assert_eq!(jobs.len(), 2);
    let owner = &jobs[0]["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["controller"]), (&json!("AnalysisRun"), &json!(true)));
    assert_eq!(jobs[0]["metadata"]["labels"]["team"], "shop");
    assert_eq!(jobs[0]["metadata"]["annotations"]["analysisrun.argoproj.io/metric-name"], "probe");
    world.pass(15).await;
    assert_eq!(world.verdict("good").await, verdict("Successful", ""));
    let (phase, message) = world.verdict("bad").await;
    assert_eq!(phase, "Failed");
    let wanted = "Metric \"probe\" assessed Failed due to failed (1) > failureLimit (0): \"Error Message: Pod ";
    assert!(message.starts_with(wanted) && message.contains("container probe ended with code 3"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_deleted_by_hand_is_an_error_and_made_again() {
    let (world, _) = world().await;
    world.create(run("run", json!({"metrics": [job("probe", json!({"run-for": "30s"}))]}))).await;
    world.pass(10).await;
    let name = world.list("Job").await[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let params = kube::api::DeleteParams::background();
    world.api("Job").delete(&name, &params).await.unwrap();
    world.pass(2).await;
    let first = measurement(&world, "run").await;
    assert_eq!(
        (&first["phase"], &first["message"]),
        (&json!("Error"), &json!(format!("job.batch \"{name}\" not found")))
    );
    world.pass(60).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    assert!(world.list("Job").await[0]["metadata"]["name"].as_str().unwrap().ends_with(".probe.2"));
}

#[tokio::test(start_paused = true)]
async fn a_job_of_somebody_else_with_our_name_is_left_alone_and_ours_found_again_is_ours() {
    let (world, answers, controller) = mortal_world().await;
    controller.abort();
    let made = world.create(run("run", json!({"metrics": [job("probe", json!({"run-for": "5s"}))]}))).await;
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let foreign = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": format!("{uid}.probe.1")}, "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a", "command": ["sleep"]}]}}}});
    world.create(foreign).await;
    let controller = start(&world, &answers);
    world.pass(5).await;
    let first = measurement(&world, "run").await;
    assert_eq!(first["phase"], "Error");
    assert!(first["message"].as_str().unwrap().contains("already exists"), "{first}");
    // The second name is free. Its Job is made, but nobody can write so.
    world.refuse_all(Verb::Patch, "analysisruns", "", StatusError::forbidden("not now"));
    world.pass(8).await;
    assert_eq!(world.list("Job").await.len(), 2);
    controller.abort();
    world.refuse_nothing();
    let controller = start(&world, &answers);
    world.pass(60).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    let jobs = world.list("Job").await;
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    controller.abort();
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_killed_while_a_job_runs_is_followed_by_one_that_finds_it() {
    let (world, answers, controller) = mortal_world().await;
    world.create(run("run", json!({"metrics": [job("probe", json!({"run-for": "60s"}))]}))).await;
    world.pass(10).await;
    controller.abort();
    world.pass(80).await;
    let controller = start(&world, &answers);
    world.pass(2).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    assert_eq!(world.list("Job").await.len(), 1);
    controller.abort();
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_told_to_end_deletes_its_job_and_says_that_nothing_was_decided() {
    let (world, _) = world().await;
    world.create(run("run", json!({"metrics": [job("probe", json!({"run-for": "1h"}))]}))).await;
    world.pass(10).await;
    world.patch("AnalysisRun", "run", json!({"spec": {"terminate": true}})).await;
    world.pass(10).await;
    let message = "Metric \"probe\" assessed Inconclusive due to inconclusive (1) > inconclusiveLimit (0): \"Error Message: Metric Terminated\"";
    assert_eq!(world.verdict("run").await, verdict("Inconclusive", message));
    assert_eq!(world.list("Job").await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn old_jobs_go_with_their_measurements() {
    let (world, _) = world().await;
    let mut metric = job("probe", json!({"run-for": "1s"}));
    metric["interval"] = "10s".into();
    metric["count"] = 8.into();
    let retention = json!([{"metricName": "probe", "limit": 3}]);
    world.create(run("run", json!({"metrics": [metric], "measurementRetention": retention}))).await;
    world.pass(200).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
    let jobs = world.list("Job").await.len();
    assert!((3..=4).contains(&jobs), "{jobs}");
}

#[tokio::test(start_paused = true)]
async fn jobs_may_live_in_a_namespace_of_their_own_and_still_wake_their_run() {
    let answers = Answers::new();
    let mut world = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    let namespaces: kube::Api<kube::core::DynamicObject> =
        kube::Api::all_with(world.client.clone(), &crate::world::resource("Namespace"));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs"}});
    let params = kube::api::PostParams::default();
    namespaces.create(&params, &serde_json::from_value(namespace).unwrap()).await.unwrap();
    let mut options = options(&answers);
    if let Some(analysis) = &mut options.analysis {
        analysis.jobs.namespace = Some("jobs".to_owned());
    }
    world.start_as(options, Leadership::alone());
    world.create(run("run", json!({"metrics": [job("probe", json!({"run-for": "100s"}))]}))).await;
    world.pass(10).await;
    assert_eq!(world.list("Job").await, Vec::<Value>::new());
    let jobs: kube::Api<kube::core::DynamicObject> =
        kube::Api::namespaced_with(world.client.clone(), "jobs", &crate::world::resource("Job"));
    let made = jobs.list(&kube::api::ListParams::default()).await.unwrap().items;
    assert_eq!((made.len(), made[0].metadata.owner_references.is_none()), (1, true), "owners do not reach so far");
    world.pass(93).await;
    assert_eq!(world.verdict("run").await, verdict("Successful", ""));
}

/// Two clusters: the runs are in the first, and Jobs are made in the second.
async fn two_worlds() -> (World, World) {
    let answers = Answers::new();
    let mut home = World::empty("2026-01-01T00:00:00Z", tidegate_install::crds()).await;
    let mut elsewhere = World::empty("2026-01-01T00:00:00Z", Vec::new()).await;
    elsewhere.start_others();
    let mut options = options(&answers);
    if let Some(analysis) = &mut options.analysis {
        analysis.jobs.is_elsewhere = true;
        analysis.job_client = Some(elsewhere.client.clone());
    }
    home.start_as(options, Leadership::alone());
    (home, elsewhere)
}

#[tokio::test(start_paused = true)]
async fn jobs_may_live_in_another_cluster_and_their_end_wakes_their_run() {
    let (home, elsewhere) = two_worlds().await;
    home.create(run("good", json!({"metrics": [job("probe", json!({"run-for": "100s"}))]}))).await;
    home.create(run("bad", json!({"metrics": [job("probe", json!({"run-for": "5s", "exit-code": "3"}))]}))).await;
    home.pass(20).await;
    assert_eq!(home.list("Job").await, Vec::<Value>::new(), "nothing is made at home");
    let jobs = elsewhere.list("Job").await;
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|job| job["metadata"]["ownerReferences"].is_null()), "owners do not reach so far");
    let (phase, message) = home.verdict("bad").await;
    assert_eq!(phase, "Failed");
    assert!(message.contains("container probe ended with code 3"), "its pods are looked at there, too: {message}");
    assert_eq!(home.verdict("good").await, verdict("Running", ""));
    // Looks are some fourteen seconds apart by now; the Job's own end is heard of sooner.
    home.pass(83).await;
    assert_eq!(home.verdict("good").await, verdict("Successful", ""));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_told_to_end_deletes_its_job_in_the_other_cluster_and_a_foreign_one_there_stays() {
    let (home, elsewhere) = two_worlds().await;
    let made = home.create(run("run", json!({"metrics": [job("probe", json!({"run-for": "1h"}))]}))).await;
    home.pass(10).await;
    let other = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "other"}, "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a", "command": ["sleep"]}]}}}});
    elsewhere.create(other).await;
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let names = |jobs: Vec<Value>| -> Vec<String> {
        jobs.iter().map(|job| job["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(elsewhere.list("Job").await), [format!("{uid}.probe.1"), "other".to_owned()]);
    home.patch("AnalysisRun", "run", json!({"spec": {"terminate": true}})).await;
    home.pass(10).await;
    assert_eq!(home.verdict("run").await.0, "Inconclusive");
    assert_eq!(names(elsewhere.list("Job").await), ["other"]);
}
