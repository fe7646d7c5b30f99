//! Deletion, and what becomes of the dependents.

use crate::cluster::Cluster;

async fn names(cluster: &Cluster, kind: &str) -> Vec<String> {
    let listed = cluster.ok(&["get", kind, "-o", "name"]).await;
    listed.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn in_the_background_dependents_follow() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    let told = cluster.ok(&["delete", "deployment", "web", "--cascade=background"]).await;
    assert!(told.starts_with("deployment.apps \"web\" deleted"), "{told}");
    cluster.ok(&["wait", "--for=delete", "pod", "-l", "app=web", "--timeout=60s"]).await;
    assert!(names(&cluster, "replicasets").await.is_empty());
    assert!(names(&cluster, "pods").await.is_empty());
}

#[tokio::test]
async fn in_the_foreground_the_owner_goes_last() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    cluster.ok(&["delete", "deployment", "web", "--cascade=foreground", "--timeout=60s"]).await;
    assert!(names(&cluster, "pods").await.is_empty());
    assert!(names(&cluster, "deployments,replicasets").await.is_empty());
}

#[tokio::test]
async fn orphans_stay() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    cluster.ok(&["delete", "deployment", "web", "--cascade=orphan"]).await;
    let sets = cluster.json("replicasets").await;
    assert_eq!(sets["items"][0]["metadata"].get("ownerReferences"), None);
    assert_eq!(names(&cluster, "pods").await.len(), 2);
}

#[tokio::test]
async fn a_manifest_and_a_namespace_are_deleted_whole() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    cluster.ok(&["delete", "-f", "manifest.yaml"]).await;
    let gone = cluster.refused(&["get", "deployment", "web"]).await;
    assert!(gone.contains("deployments.apps \"web\" not found"), "{gone}");
    assert_eq!(cluster.ok(&["delete", "-f", "manifest.yaml", "--ignore-not-found"]).await, "");

    cluster.ok(&["create", "namespace", "other"]).await;
    cluster.ok(&["create", "configmap", "a", "-n", "other"]).await;
    cluster.ok(&["delete", "namespace", "other", "--timeout=60s"]).await;
    assert!(cluster.refused(&["get", "namespace", "other"]).await.contains("namespaces \"other\" not found"));
    assert_eq!(names(&cluster, "configmaps").await.len(), 0);
}
