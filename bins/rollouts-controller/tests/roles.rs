//! The rights that the install manifests give are enough: canary, blue-green, analysis and experiment run with them and no
//! others on a real API server, for the whole cluster and for one namespace.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod program;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testbed::{Options, Testbed};
use tokio::time::Instant;

use program::{PATIENCE, Program, install, kubectl, until};

/// What the manifests call the account.
const ACCOUNT: &str = "argo-rollouts";

fn manifest(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests").join(name).display().to_string()
}

/// A kubeconfig for the account that the manifests make.
async fn kubeconfig(testbed: &Testbed, namespace: &str) -> PathBuf {
    let token = kubectl(testbed, &["create", "token", ACCOUNT, "-n", namespace]).await;
    let mut config: Value = serde_json::from_slice(&std::fs::read(testbed.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = json!({"token": token.trim()});
    let file = testbed.dir().join(format!("{namespace}.kubeconfig"));
    std::fs::write(&file, config.to_string()).unwrap();
    file
}

async fn apply(testbed: &Testbed, namespace: &str, object: Value) {
    let file = testbed.dir().join("object.json");
    std::fs::write(&file, object.to_string()).unwrap();
    kubectl(testbed, &["apply", "-n", namespace, "-f", file.to_str().unwrap()]).await;
}

fn ours(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn rollout(name: &str, image: &str, strategy: Value) -> Value {
    let container = json!({"name": "main", "image": image, "ports": [{"containerPort": 80}]});
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}});
    let selector = json!({"matchLabels": {"app": name}});
    ours("Rollout", name, json!({"replicas": 2, "selector": selector, "template": template, "strategy": strategy}))
}

/// An analysis by a Job whose command is run for real.
fn job() -> Value {
    let container = json!({"name": "probe", "image": "probe:1", "command": ["sh", "-c", "exit 0"]});
    let spec = json!({"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}});
    ours(
        "AnalysisTemplate",
        "probe",
        json!({"metrics": [{"name": "probe", "consecutiveErrorLimit": 0, "provider": {"job": {"spec": spec}}}]}),
    )
}

fn strategies() -> [(&'static str, Value); 2] {
    let probe = json!({"templates": [{"templateName": "probe"}]});
    let compared = json!({"templates": [{"name": "after", "specRef": "canary", "service": {}}], "duration": "1s"});
    let steps = json!([{"setWeight": 50}, {"analysis": probe}, {"experiment": compared}, {"pause": {}}]);
    [
        ("canary", json!({"canary": {"steps": steps}})),
        (
            "switched",
            json!({"blueGreen": {"activeService": "active", "previewService": "preview",
            "autoPromotionEnabled": false, "prePromotionAnalysis": probe, "scaleDownDelaySeconds": 1}}),
        ),
    ]
}

/// An update of each strategy to its end.
async fn play(testbed: &Testbed, namespace: &str, program: &Program) {
    for name in ["active", "preview"] {
        let spec = json!({"selector": {"app": "switched"}, "ports": [{"port": 80}]});
        apply(
            testbed,
            namespace,
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}),
        )
        .await;
    }
    apply(testbed, namespace, job()).await;
    for (name, strategy) in strategies() {
        let phase = ["get", "rollout", name, "-n", namespace, "-o", "jsonpath={.status.phase}"];
        apply(testbed, namespace, rollout(name, "shop:1", strategy.clone())).await;
        until(name, testbed, &phase, "Healthy", program).await;
        apply(testbed, namespace, rollout(name, "shop:2", strategy)).await;
        until(name, testbed, &phase, "Paused", program).await;
        let promote = ["patch", "rollout", name, "-n", namespace, "--subresource=status", "--type=merge", "-p"];
        kubectl(testbed, &[&promote[..], &[r#"{"status":{"pauseConditions":null}}"#]].concat()).await;
        until(name, testbed, &phase, "Healthy", program).await;
    }
    let runs =
        kubectl(testbed, &["get", "analysisruns", "-n", namespace, "-o", "jsonpath={.items[*].status.phase}"]).await;
    assert_eq!(runs, "Successful Successful");
    let experiments = ["get", "experiments", "-n", namespace, "-o", "jsonpath={.items[*].status.phase}"];
    until("the experiment", testbed, &experiments, "Successful", program).await;
    let said = program.text();
    let refused: Vec<&str> = said.lines().filter(|line| line.to_lowercase().contains("forbidden")).collect();
    assert_eq!(refused, Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rights_of_the_manifests_are_enough_for_the_cluster_and_for_one_namespace() {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    install(&testbed).await;

    // Given an installation in a namespace, then one for the cluster.
    kubectl(&testbed, &["create", "namespace", "team"]).await;
    kubectl(&testbed, &["apply", "-n", "team", "-f", &manifest("namespace-install.yaml")]).await;
    let config = kubeconfig(&testbed, "team").await;
    let flags = ["--namespaced", "--namespace=team"];
    let mut program = Program::start_with(&config, &flags, &[("POD_NAMESPACE", "team")]);
    program.says("I am the new leader: ").await;
    play(&testbed, "team", &program).await;
    program.child.kill().await.unwrap();

    kubectl(&testbed, &["apply", "-n", "argo-rollouts", "-f", &manifest("install.yaml")]).await;
    let config = kubeconfig(&testbed, "argo-rollouts").await;
    let mut program = Program::start(&config, &[]);
    program.says("I am the new leader: ").await;
    play(&testbed, "default", &program).await;

    // When a right is taken away, then it is said which.
    restrict(&testbed, "jobs", "get list watch").await;
    let [(name, strategy), _] = strategies();
    apply(&testbed, "default", rollout(name, "shop:3", strategy.clone())).await;
    let phase = ["get", "rollout", name, "-o", "jsonpath={.status.phase}"];
    until("the refused Job", &testbed, &phase, "Degraded", &program).await;
    let message = kubectl(&testbed, &["get", "rollout", name, "-o", "jsonpath={.status.message}"]).await;
    assert!(message.contains("cannot create resource \"jobs\""), "{message}");

    // And it is said once, however often it is tried.
    restrict(&testbed, "replicasets", "get list watch").await;
    apply(&testbed, "default", rollout(name, "shop:4", strategy)).await;
    let refused = ["get", "events", "--field-selector=reason=ReplicaSetCreateError", "-o"];
    let count = [&refused[..], &["jsonpath={.items[*].metadata.name}{.items[*].count}"]].concat();
    let begun = Instant::now();
    while kubectl(&testbed, &count).await.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "the missing right is not reported\n{}", program.text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let message = kubectl(&testbed, &[&refused[..], &["jsonpath={.items[*].message}"]].concat()).await;
    assert_eq!(message.matches("cannot create resource \"replicasets\" in API group \"apps\"").count(), 1, "{message}");
    let times = kubectl(&testbed, &[&refused[..], &["jsonpath={.items[*].count}"]].concat()).await;
    assert_eq!(times, "1");
    program.child.kill().await.unwrap();

    // The same for what cannot even be watched: nothing is decided without it, and the log says so once.
    restrict(&testbed, "services", "patch").await;
    let program = Program::start(&config, &[]);
    program.says("Failed to watch Service: ").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let said = program.text();
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("Failed to watch Service")).collect();
    assert!(
        lines.len() == 1 && lines[0].contains("cannot list resource") && lines[0].contains("services"),
        "{lines:?}"
    );
}

/// Leaves the controller only these verbs for a resource.
async fn restrict(testbed: &Testbed, resource: &str, verbs: &str) {
    let role = kubectl(testbed, &["get", "clusterrole", "argo-rollouts", "-o", "json"]).await;
    let mut role: Value = serde_json::from_str(&role).unwrap();
    let is_about = |rule: &Value| rule["resources"].as_array().unwrap().iter().any(|name| name == resource);
    for rule in role["rules"].as_array_mut().unwrap().iter_mut().filter(|rule| is_about(rule)) {
        rule["verbs"] = verbs.split(' ').collect();
    }
    let metadata = json!({"name": "argo-rollouts"});
    let role =
        json!({"apiVersion": role["apiVersion"], "kind": "ClusterRole", "metadata": metadata, "rules": role["rules"]});
    apply(testbed, "default", role).await;
}
