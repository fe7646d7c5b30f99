//! `kubectl apply` and `kubectl diff`, merged by kubectl itself.

use crate::cluster::{Cluster, deployment, rollout};

#[tokio::test]
async fn a_manifest_is_applied_then_unchanged_then_configured() {
    let cluster = Cluster::start().await;
    let manifest = |image: &str| format!("{}---\n{}", deployment(image, 2), rollout(image, 3));
    let first = cluster.apply(&manifest("web:1")).await;
    assert_eq!(first, "deployment.apps/web created\nrollout.argoproj.io/shop created\n");
    let again = cluster.apply(&manifest("web:1")).await;
    assert_eq!(again, "deployment.apps/web unchanged\nrollout.argoproj.io/shop unchanged\n");
    let changed = cluster.apply(&manifest("web:2")).await;
    assert_eq!(changed, "deployment.apps/web configured\nrollout.argoproj.io/shop configured\n");
    for what in ["deployment/web", "rollout/shop"] {
        let object = cluster.json(what).await;
        assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["image"], "web:2", "{what}");
        assert_eq!(object["metadata"]["generation"], 2, "{what}");
    }
}

#[tokio::test]
async fn a_field_that_nobody_knows_is_named() {
    let cluster = Cluster::start().await;
    cluster.file("odd.yaml", &deployment("web:1", 2).replace("replicas:", "replicaz:"));
    let refused = cluster.refused(&["apply", "-f", "odd.yaml"]).await;
    assert!(refused.contains("unknown field \"spec.replicaz\""), "{refused}");
    cluster.file("odd.yaml", &rollout("web:1", 2).replace("setWeight:", "setWait:"));
    let refused = cluster.refused(&["apply", "-f", "odd.yaml"]).await;
    assert!(refused.contains("setWait"), "{refused}");
}

#[tokio::test]
async fn a_diff_shows_what_an_apply_would_change() {
    let cluster = Cluster::start().await;
    cluster.apply(&deployment("web:1", 2)).await;
    cluster.file("manifest.yaml", &deployment("web:2", 2));
    let diff = cluster.run(&["diff", "-f", "manifest.yaml"]).await;
    assert!(!diff.succeeded && diff.out.contains("-      - image: web:1"), "{}{}", diff.out, diff.err);
    assert!(diff.out.contains("+      - image: web:2"), "{}", diff.out);
    let image = cluster.json("deployment/web").await;
    assert_eq!(image["spec"]["template"]["spec"]["containers"][0]["image"], "web:1");
    cluster.file("manifest.yaml", &deployment("web:1", 2));
    assert_eq!(cluster.ok(&["diff", "-f", "manifest.yaml"]).await, "");
}

#[tokio::test]
async fn objects_are_created_and_replaced_and_a_dry_run_is_only_told() {
    let cluster = Cluster::start().await;
    let dry = cluster.ok(&["create", "configmap", "a", "--from-literal=x=1", "--dry-run=server"]).await;
    assert_eq!(dry, "configmap/a created (server dry run)\n");
    assert!(cluster.refused(&["get", "configmap", "a"]).await.contains("configmaps \"a\" not found"));
    assert_eq!(cluster.ok(&["create", "configmap", "a", "--from-literal=x=1"]).await, "configmap/a created\n");
    let again = cluster.refused(&["create", "configmap", "a"]).await;
    assert!(again.contains("configmaps \"a\" already exists"), "{again}");
    cluster.file("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"2\"}\n");
    assert_eq!(cluster.ok(&["replace", "-f", "a.yaml"]).await, "configmap/a replaced\n");
    assert_eq!(cluster.ok(&["get", "configmap", "a", "-o", "jsonpath={.data.x}"]).await, "2");
    assert_eq!(cluster.ok(&["create", "namespace", "other"]).await, "namespace/other created\n");
}
