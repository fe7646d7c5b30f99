//! A real API server accepts every rendering, and a release lives from its installation to its end.

use std::fs;
use std::process::Command;

use serde_json::json;
use tidegate_testbed::{Options, Testbed};

use crate::rendering::{CASES, NAMESPACE, chart, rendered};

async fn kubectl(testbed: &Testbed, arguments: &[&str]) -> String {
    let output = testbed.kubectl(arguments).await.unwrap();
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The kind of the Prometheus operator, with as much of it as the chart writes.
fn service_monitors() -> String {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let list = json!({"type": "array", "items": open});
    let endpoint = json!({"type": "object", "required": ["port"], "properties":
        {"port": {"type": "string"}, "relabelings": list, "metricRelabelings": list, "tlsConfig": open}});
    let names = json!({"type": "object", "properties": {"matchNames": {"type": "array", "items": {"type": "string"}}}});
    let spec = json!({"type": "object", "required": ["endpoints", "selector"], "properties": {
        "endpoints": {"type": "array", "items": endpoint}, "namespaceSelector": names,
        "selector": {"type": "object", "properties": {"matchLabels": texts}}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
        "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced", "versions": [version],
            "names": {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor"}}})
    .to_string()
}

async fn started() -> Testbed {
    let testbed = Testbed::start(Options::default()).await.unwrap();
    for namespace in [NAMESPACE, "monitoring", "elsewhere"] {
        kubectl(&testbed, &["create", "namespace", namespace]).await;
    }
    let file = testbed.dir().join("servicemonitors.json");
    fs::write(&file, service_monitors()).unwrap();
    kubectl(&testbed, &["apply", "-f", file.to_str().unwrap()]).await;
    kubectl(&testbed, &["wait", "--for=condition=Established", "crd", "--all"]).await;
    testbed
}

async fn every_rendering_is_accepted(testbed: &Testbed) {
    for (case, _) in CASES {
        let file = testbed.dir().join(format!("{case}.yaml"));
        let text = tokio::task::spawn_blocking(|| rendered(case)).await.unwrap();
        fs::write(&file, &text).unwrap();
        let file = file.to_str().unwrap();
        // Strict: a field that the API does not know is a mistake of the chart.
        let said = kubectl(testbed, &["apply", "--dry-run=server", "--validate=strict", "-f", file]).await;
        let objects = text.lines().filter(|line| line.starts_with("kind: ")).count();
        assert_eq!(said.lines().filter(|line| line.ends_with("(server dry run)")).count(), objects, "{case}: {said}");
    }
}

async fn helm(testbed: &Testbed, arguments: &[&str]) -> String {
    let program = tokio::task::spawn_blocking(tidegate_testbed::prepare_helm).await.unwrap().unwrap();
    let home = testbed.dir().join("helm");
    let mut command = Command::new(program);
    command.args(arguments).args(["--namespace", NAMESPACE]).env_clear();
    command.env("HOME", home).env("KUBECONFIG", testbed.kubeconfig());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "helm {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn a_release_is_installed_upgraded_and_uninstalled(testbed: &Testbed) {
    let chart = chart();
    let chart = chart.to_str().unwrap();
    let deployed = ["get", "deployment", "-n", NAMESPACE, "-o", "jsonpath={.items[*].metadata.name}"];
    let ready = ["get", "deployment", "web-argo-rollouts", "-n", NAMESPACE, "-o", "jsonpath={.status.readyReplicas}"];

    let told = helm(testbed, &["install", "web", chart, "--wait", "--timeout=2m"]).await;
    assert!(told.contains("looks after the Rollouts of every namespace"), "{told}");
    assert_eq!(kubectl(testbed, &ready).await, "2");

    let more = ["--set", "controller.replicas=3,dashboard.enabled=true"];
    helm(testbed, &[&["upgrade", "web", chart, "--wait", "--timeout=2m"][..], &more].concat()).await;
    assert_eq!(kubectl(testbed, &ready).await, "3");
    assert_eq!(kubectl(testbed, &deployed).await, "web-argo-rollouts web-argo-rollouts-dashboard");

    helm(testbed, &["uninstall", "web", "--wait", "--timeout=2m"]).await;
    assert_eq!(kubectl(testbed, &deployed).await, "");
    let crds = kubectl(testbed, &["get", "crd", "-o", "name"]).await;
    assert_eq!(crds.lines().filter(|name| name.ends_with(".argoproj.io")).count(), 5, "kept: {crds}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_cluster_accepts_every_rendering_and_keeps_the_crds_of_a_release_that_is_gone() {
    let testbed = started().await;
    every_rendering_is_accepted(&testbed).await;
    a_release_is_installed_upgraded_and_uninstalled(&testbed).await;
    testbed.stop().await;
}
