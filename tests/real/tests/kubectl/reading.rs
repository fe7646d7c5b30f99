//! `kubectl get` in all its forms, `describe`, `explain`, `events` and `api-resources`.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};

use crate::cluster::{Cluster, rollout};

/// The words of the first line.
fn heading(table: &str) -> Vec<&str> {
    table.lines().next().unwrap_or_default().split("   ").map(str::trim).filter(|word| !word.is_empty()).collect()
}

#[tokio::test]
async fn tables_have_the_columns_that_people_know() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    cluster.apply(&rollout("shop:1", 3)).await;
    let pods = cluster.ok(&["get", "pods"]).await;
    assert_eq!(heading(&pods), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    assert_eq!(pods.matches("1/1").count(), 2, "{pods}");
    assert_eq!(pods.matches("Running").count(), 2, "{pods}");
    let wide = cluster.ok(&["get", "pods", "-o", "wide"]).await;
    assert!(wide.contains("NOMINATED NODE") && wide.contains("node-"), "{wide}");
    let deployments = cluster.ok(&["get", "deploy", "-o", "wide"]).await;
    assert!(deployments.contains("2/2") && deployments.contains("app=web"), "{deployments}");
    let rollouts = cluster.ok(&["get", "ro"]).await;
    assert_eq!(heading(&rollouts), ["NAME", "DESIRED", "CURRENT", "UP-TO-DATE", "AVAILABLE", "AGE"]);
    assert!(rollouts.lines().nth(1).unwrap().starts_with("shop   3"), "{rollouts}");
    let all = cluster.ok(&["get", "all"]).await;
    assert!(all.contains("deployment.apps/web") && all.contains("replicaset.apps/web-"), "{all}");
    let nodes = cluster.ok(&["get", "nodes"]).await;
    assert_eq!(heading(&nodes), ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]);
    assert!(nodes.contains("Ready"), "{nodes}");
    let sorted = cluster.ok(&["get", "pods", "--sort-by=.metadata.name", "--show-labels"]).await;
    assert!(sorted.contains("app=web,pod-template-hash="), "{sorted}");
    assert!(cluster.ok(&["get", "crd"]).await.contains("rollouts.argoproj.io"));
}

#[tokio::test]
async fn objects_come_in_every_form() {
    let cluster = Cluster::start().await;
    cluster.apply(&rollout("shop:1", 3)).await;
    let yaml = cluster.ok(&["get", "rollout", "shop", "-o", "yaml"]).await;
    assert!(yaml.contains("kind: Rollout\n") && yaml.contains("  replicas: 3\n"), "{yaml}");
    assert_eq!(cluster.json("rollout/shop").await["spec"]["replicas"], 3);
    assert_eq!(cluster.ok(&["get", "ro", "-o", "name"]).await, "rollout.argoproj.io/shop\n");
    let custom = cluster.ok(&["get", "ro", "-o", "custom-columns=N:.metadata.name,R:.spec.replicas"]).await;
    assert_eq!(custom, "N      R\nshop   3\n");
    assert!(cluster.refused(&["get", "ro", "none"]).await.contains("rollouts.argoproj.io \"none\" not found"));
    let unknown = cluster.refused(&["get", "nopes"]).await;
    assert!(unknown.contains("the server doesn't have a resource type \"nopes\""), "{unknown}");
}

#[tokio::test]
async fn a_watch_shows_every_change_as_a_line() {
    let cluster = Cluster::start().await;
    let mut command = cluster.command(&["get", "configmaps", "-w"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await.unwrap().unwrap();
    // There is nothing to see until the first object comes; a second one may be needed if the watch was late.
    cluster.ok(&["create", "configmap", "a", "--from-literal=x=1"]).await;
    assert!(next().await.unwrap().starts_with("NAME"));
    assert!(next().await.unwrap().starts_with("a      1"));
    cluster.ok(&["patch", "configmap", "a", "-p", "{\"data\": {\"y\": \"2\"}}"]).await;
    assert!(next().await.unwrap().starts_with("a      2"));
    child.kill().await.unwrap();
}

#[tokio::test]
async fn kinds_of_istio_have_their_short_names_and_columns() {
    let cluster = Cluster::start().await;
    cluster
        .apply(
            "apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop}
spec: {hosts: [shop.example.com], gateways: [front], http: [{route: [{destination: {host: shop}}]}]}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: shop}
spec: {host: shop}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: front}
spec: {}
",
        )
        .await;
    let shown = cluster.ok(&["get", "vs,dr,gw"]).await;
    let tables: Vec<&str> = shown.split("\n\n").collect();
    assert_eq!(heading(tables[0]), ["NAME", "GATEWAYS", "HOSTS", "AGE"]);
    assert!(tables[0].contains("[\"front\"]") && tables[0].contains("[\"shop.example.com\"]"), "{shown}");
    assert_eq!(heading(tables[1]), ["NAME", "HOST", "AGE"]);
    assert_eq!(heading(tables[2]), ["NAME", "AGE"]);
}

#[tokio::test]
async fn objects_are_described_with_their_events() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    cluster
        .apply(
            "apiVersion: v1
kind: Event
metadata: {name: web.1, namespace: default}
involvedObject: {kind: Deployment, name: web, namespace: default, apiVersion: apps/v1}
reason: Scaled
message: Scaled up to 2
type: Normal
count: 1
source: {component: a-test}
firstTimestamp: \"2026-01-01T00:00:00Z\"
lastTimestamp: \"2026-01-01T00:00:00Z\"
",
        )
        .await;
    let deployment = cluster.ok(&["describe", "deployment", "web"]).await;
    assert!(deployment.contains("Replicas:") && deployment.contains("2 available"), "{deployment}");
    let pods = cluster.ok(&["describe", "pods", "-l", "app=web"]).await;
    let status = pods.lines().find(|line| line.starts_with("Status:")).unwrap();
    assert!(status.ends_with("Running") && pods.contains("web:1"), "{pods}");
    let events = cluster.ok(&["events", "--for", "deployment/web"]).await;
    assert!(events.contains("Scaled up to 2") && events.contains("Deployment/web"), "{events}");
    let listed = cluster.ok(&["get", "events"]).await;
    assert_eq!(heading(&listed), ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]);
    assert!(listed.contains("deployment/web"), "{listed}");
    cluster.apply(&rollout("shop:1", 3)).await;
    assert!(cluster.ok(&["describe", "rollout", "shop"]).await.contains("Set Weight:  20"));
}

#[tokio::test]
async fn fields_are_explained() {
    let cluster = Cluster::start().await;
    let canary = cluster.ok(&["explain", "rollout.spec.strategy.canary"]).await;
    assert!(canary.contains("KIND:       Rollout") && canary.contains("steps\t<[]Object>"), "{canary}");
    let pod = cluster.ok(&["explain", "pod.spec"]).await;
    assert!(pod.contains("FIELD: spec <PodSpec>") && pod.contains("containers\t<[]Container> -required-"), "{pod}");
    let image = cluster.ok(&["explain", "deployment.spec.template.spec.containers.image"]).await;
    assert!(image.contains("FIELD: image <string>"), "{image}");
    let unknown = cluster.refused(&["explain", "pod.spec.nope"]).await;
    assert!(unknown.contains("field \"nope\" does not exist"), "{unknown}");
}

#[tokio::test]
async fn the_kinds_are_listed_with_their_short_names() {
    let cluster = Cluster::start().await;
    let ours = cluster.ok(&["api-resources", "--api-group=argoproj.io", "-o", "wide"]).await;
    assert_eq!(ours.lines().count(), 6, "{ours}");
    assert!(ours.contains("rollouts") && ours.contains("ro"), "{ours}");
    let namespaced = cluster.ok(&["api-resources", "--namespaced", "-o", "name"]).await;
    assert!(namespaced.contains("deployments.apps") && !namespaced.contains("namespaces\n"), "{namespaced}");
    let versions = cluster.ok(&["api-versions"]).await;
    assert!(versions.contains("argoproj.io/v1alpha1") && versions.contains("apps/v1"), "{versions}");
    let version = cluster.ok(&["version"]).await;
    assert!(version.contains("Server Version: v1.36.3"), "{version}");
    assert!(cluster.ok(&["cluster-info"]).await.contains("Kubernetes control plane"));
    assert_eq!(cluster.ok(&["get", "--raw", "/readyz"]).await, "ok");
}
