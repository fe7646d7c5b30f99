//! The program, as users run it, against a real control plane.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "program/asking.rs"]
mod asking;
mod program;

use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;
use tidegate_testbed::{Options, Testbed};
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use asking::{ask, port};
use program::{PATIENCE, Program, install, kubectl, until};

const ROLLOUT: &str = r#"{
  "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "shop", "namespace": "default"},
  "spec": {
    "replicas": 2, "selector": {"matchLabels": {"app": "shop"}},
    "strategy": {"canary": {"steps": [{"setWeight": 50}, {"pause": {"duration": 1}}]}},
    "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "main", "image": "shop:1"}]}}
  }
}"#;

const TEMPLATE: &str = r#"{
  "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "errors", "namespace": "default"},
  "spec": {"metrics": [{"name": "errors", "interval": "1m", "provider": {"prometheus": {"address": "http://x", "query": "x"}}}]}
}"#;

/// The port of the server that is announced with these words.
async fn terminate(mut program: Program) -> (ExitStatus, Duration) {
    let begun = Instant::now();
    let id = program.child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    let status = timeout(PATIENCE, program.child.wait()).await.unwrap().unwrap();
    (status, begun.elapsed())
}

async fn holder(testbed: &Testbed) -> String {
    let lease = ["get", "lease", "argo-rollouts-controller-lock", "-n", "argo-rollouts"];
    kubectl(testbed, &[&lease[..], &["-o", "jsonpath={.spec.holderIdentity}"]].concat()).await
}

/// A testbed with the CRDs, the namespace of the controller, one Rollout and one AnalysisTemplate.
async fn prepared() -> Testbed {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    install(&testbed).await;
    for (name, object) in [("rollout.json", ROLLOUT), ("template.json", TEMPLATE)] {
        let file = testbed.dir().join(name);
        std::fs::write(&file, object).unwrap();
        kubectl(&testbed, &["create", "-f", file.to_str().unwrap()]).await;
    }
    testbed
}

const PROMISED: [&str; 14] = [
    "rollout_info{name=\"shop\",namespace=\"default\",phase=\"Completed\",strategy=\"canary\",traffic_router=\"\"} 1\n",
    "rollout_info_replicas_available{name=\"shop\",namespace=\"default\"} 2\n",
    "rollout_info_replicas_unavailable{name=\"shop\",namespace=\"default\"} 0\n",
    "rollout_info_replicas_desired{name=\"shop\",namespace=\"default\"} 2\n",
    "rollout_info_replicas_updated{name=\"shop\",namespace=\"default\"} 2\n",
    "rollout_phase{name=\"shop\",namespace=\"default\",phase=\"Completed\",strategy=\"canary\"} 1\n",
    "rollout_reconcile_bucket{name=\"shop\",namespace=\"default\",le=\"0.01\"} ",
    "rollout_events_total{name=\"shop\",namespace=\"default\",reason=\"NewReplicaSetCreated\",type=\"Normal\"} 1\n",
    "controller_clientset_k8s_request_total{kind=\"rollouts\",name=\"shop\",namespace=\"default\",status_code=\"200\",verb=\"Patch\"} ",
    "workqueue_adds_total{name=\"Rollouts\"} ",
    "workqueue_work_duration_seconds_count{name=\"Services\"} ",
    "argo_rollouts_controller_info{version=\"v",
    "build_info{commit=\"",
    "process_resident_memory_bytes ",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_leads_serves_and_leaves_the_lease_behind_when_it_is_told_to_stop() {
    let testbed = prepared().await;
    let program = Program::start(&testbed.kubeconfig(), &[]);
    let health = port(&program, "Starting Healthz Server at ").await;
    let figures = port(&program, "Starting Metric Server at ").await;
    assert_eq!(ask(health, "GET /healthz", "").await, (200, "ok".to_owned()));
    let identity = program.says("I am the new leader: ").await;
    assert_eq!(holder(&testbed).await, identity);
    program.says("Started controller").await;
    assert_eq!(ask(health, "GET /readyz", "").await, (200, "ok".to_owned()));

    let phase = ["get", "rollout", "shop", "-o", "jsonpath={.status.phase}"];
    until("phase", &testbed, &phase, "Healthy", &program).await;
    let (status, text) = ask(figures, "GET /metrics", "").await;
    assert_eq!(status, 200);
    for promised in PROMISED {
        assert!(text.contains(promised), "no {promised} in\n{text}");
    }
    assert!(!text.contains("rollout_reconcile_error{"), "{text}");

    assert_eq!(ask(figures, "PUT /debug/loglevel", "warn").await.0, 200);
    assert_eq!(ask(figures, "PUT /debug/loglevel", "loud").await.0, 400);
    let (_, inside) = ask(figures, "GET /debug/queues", "").await;
    let inside: Value = serde_json::from_str(&inside).unwrap();
    assert_eq!((&inside["isLeading"], &inside["cached"]["rollouts"]), (&true.into(), &1.into()), "{inside:#}");

    // A second one waits, is ready all the same, and says nothing about Rollouts that are not its own.
    let standby = Program::start(&testbed.kubeconfig(), &["--leader-election-retry-period=200ms"]);
    assert_eq!(standby.says("New leader elected: ").await, identity);
    standby.says("All caches are synced").await;
    let port = port(&standby, "Starting Metric Server at ").await;
    assert!(!ask(port, "GET /metrics", "").await.1.contains("rollout_info{"));

    // Nobody runs step plugins here: an update that asks for one must not go on without.
    let checked = r#"{"spec":{"strategy":{"canary":{"steps":[{"plugin":{"name":"org/step"}}]}}}}"#;
    kubectl(&testbed, &["patch", "rollout", "shop", "--type=merge", "-p", checked]).await;
    let message = ["get", "rollout", "shop", "-o", "jsonpath={.status.phase} {.status.message}"];
    let held = "Degraded Unsupported: spec.strategy.canary.steps[0].plugin is not driven by this controller";
    until("message", &testbed, &message, held, &program).await;

    let (status, took) = terminate(program).await;
    assert_eq!(status.code(), Some(0));
    assert!(took < Duration::from_secs(2), "{took:?}");
    standby.says("I am the new leader: ").await;
    standby.says("Started controller").await;
    let (status, took) = terminate(standby).await;
    assert_eq!(status.code(), Some(0));
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(holder(&testbed).await, "", "the lease is given up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_lease_ends_the_program_and_it_says_why() {
    let testbed = prepared().await;
    let mut program =
        Program::start(&testbed.kubeconfig(), &["--leader-election-retry-period=100ms", "--instance-id=blue"]);
    program.says("I am the new leader: ").await;
    program.says("Started controller").await;
    let lease = ["patch", "lease", "argo-rollouts-controller-lock-blue", "-n", "argo-rollouts", "--type=merge"];
    let stolen = ["-p", r#"{"spec":{"holderIdentity":"somebody-else"}}"#];
    kubectl(&testbed, &[&lease[..], &stolen[..]].concat()).await;
    let status = timeout(PATIENCE, program.child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(1));
    program.says("OnStoppedLeading called, shutting down: ").await;
    let phase = kubectl(&testbed, &["get", "rollout", "shop", "-o", "jsonpath={.status.phase}"]).await;
    assert_eq!(phase, "", "a Rollout without our label is none of ours");
}
