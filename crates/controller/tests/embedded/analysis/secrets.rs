//! Secrets: read when needed, shown to nobody.

use serde_json::{Value, json};
use tidegate_apiserver::{StatusError, Verb};

use super::{Reply, metric, run, verdict, world};
use crate::world::World;

/// Holds the token `s3cr3t-t0k3n`.
fn vault() -> Value {
    let data = json!({"token": "czNjcjN0LXQwazNu"});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vault"}, "data": data})
}

fn with_secret(name: &str, key: &str) -> Value {
    let mut metric = metric("errors", json!({"interval": "30s", "count": 3}));
    metric["provider"]["web"]["headers"] = json!([{"key": "X-Token", "value": "{{args.token}}"}]);
    json!({"metrics": [metric],
        "args": [{"name": "token", "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}]})
}

async fn events_of(world: &World, name: &str) -> String {
    let events = world.list("Event").await;
    let own: Vec<Value> = events.into_iter().filter(|event| event["involvedObject"]["name"] == name).collect();
    json!(own).to_string()
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_used_and_shown_nowhere() {
    let (world, answers) = world().await;
    world.create(vault()).await;
    answers.set("errors", Reply::Says(json!({"value": "echo of s3cr3t-t0k3n"})));
    let mut spec = with_secret("vault", "token");
    spec["metrics"][0]["successCondition"] = "result == '{{args.token}} is not it'".into();
    world.create(run("run", spec)).await;
    world.pass(10).await;
    let whole = world.get("AnalysisRun", "run").await.to_string() + &events_of(&world, "run").await;
    assert!(!whole.contains("s3cr3t"), "{whole}");
    let result = world.run("run").await["metricResults"][0]["measurements"][0].clone();
    assert_eq!((&result["phase"], &result["value"]), (&json!("Failed"), &json!("\"echo of *****\"")));
}

#[tokio::test(start_paused = true)]
async fn a_secret_or_key_that_is_missing_ends_the_run_and_one_that_is_forbidden_is_tried_again() {
    let (world, answers) = world().await;
    answers.value("errors", 1);
    world.create(vault()).await;
    world.create(run("no-secret", with_secret("nowhere", "token"))).await;
    world.create(run("no-key", with_secret("vault", "password"))).await;
    world.pass(5).await;
    let message = "Unable to resolve metric arguments: secrets \"nowhere\" not found";
    assert_eq!(world.verdict("no-secret").await, verdict("Error", message));
    let message = "Unable to resolve metric arguments: key 'password' does not exist in secret 'vault'";
    assert_eq!(world.verdict("no-key").await, verdict("Error", message));

    world.refuse_all(Verb::Get, "secrets", "", StatusError::forbidden("secrets \"vault\" is forbidden: not yours"));
    world.create(run("forbidden", with_secret("vault", "token"))).await;
    world.pass(25).await;
    let status = world.run("forbidden").await;
    assert_eq!(status["phase"], "Running");
    let first = &status["metricResults"][0]["measurements"][0];
    assert_eq!(first["phase"], "Error");
    assert!(first["message"].as_str().unwrap().contains("not yours"), "{first}");
    world.refuse_nothing();
    world.pass(100).await;
    assert_eq!(world.verdict("forbidden").await, verdict("Successful", ""));
    assert_eq!(world.run("forbidden").await["metricResults"][0]["error"], 3);
}
