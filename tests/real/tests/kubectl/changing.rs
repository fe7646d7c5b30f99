//! Patches, labels, annotations, scale, and waiting for what comes of them.

use crate::cluster::{Cluster, rollout};

#[tokio::test]
async fn every_kind_of_patch_takes_effect() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    for (kind, patch) in [
        ("json", r#"[{"op": "replace", "path": "/spec/minReadySeconds", "value": 1}]"#),
        ("merge", r#"{"spec": {"revisionHistoryLimit": 3}}"#),
        (
            "strategic",
            r#"{"spec": {"template": {"spec": {"containers": [{"name": "web", "env": [{"name": "A", "value": "b"}]}]}}}}"#,
        ),
    ] {
        let told = cluster.ok(&["patch", "deployment", "web", "--type", kind, "-p", patch]).await;
        assert_eq!(told, "deployment.apps/web patched\n", "{kind}");
    }
    let spec = cluster.json("deployment/web").await["spec"].clone();
    assert_eq!((&spec["minReadySeconds"], &spec["revisionHistoryLimit"]), (&1.into(), &3.into()));
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!((&container["image"], &container["env"][0]["value"]), (&"web:1".into(), &"b".into()));
    let refused = cluster.refused(&["patch", "deployment", "web", "--type=json", "-p", "[{\"op\": \"x\"}]"]).await;
    assert!(refused.contains("the server rejected our request") || refused.contains("Unexpected kind"), "{refused}");
    let told = cluster.ok(&["set", "image", "deployment/web", "web=web:3"]).await;
    assert_eq!(told, "deployment.apps/web image updated\n");
}

#[tokio::test]
async fn labels_and_annotations_come_and_go() {
    let cluster = Cluster::start().await;
    cluster.apply(&rollout("shop:1", 1)).await;
    assert_eq!(cluster.ok(&["label", "rollout", "shop", "team=a"]).await, "rollout.argoproj.io/shop labeled\n");
    let again = cluster.refused(&["label", "rollout", "shop", "team=b"]).await;
    assert!(again.contains("--overwrite is false"), "{again}");
    cluster.ok(&["annotate", "rollout", "shop", "note=x"]).await;
    let metadata = cluster.json("rollout/shop").await["metadata"].clone();
    assert_eq!((&metadata["labels"]["team"], &metadata["annotations"]["note"]), (&"a".into(), &"x".into()));
    assert!(cluster.ok(&["get", "rollouts", "-l", "team=a", "-o", "name"]).await.contains("rollout.argoproj.io/shop"));
    assert_eq!(cluster.ok(&["get", "rollouts", "-l", "team!=a", "-o", "name"]).await, "");
    cluster.ok(&["label", "rollout", "shop", "team-"]).await;
    assert_eq!(cluster.json("rollout/shop").await["metadata"].get("labels"), None);
}

#[tokio::test]
async fn a_scaled_deployment_has_as_many_pods() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    assert_eq!(cluster.ok(&["scale", "deployment", "web", "--replicas=3"]).await, "deployment.apps/web scaled\n");
    let wait = ["wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=3", "--timeout=60s"];
    assert_eq!(cluster.ok(&wait).await, "deployment.apps/web condition met\n");
    assert_eq!(cluster.ok(&["get", "pods", "-o", "name"]).await.lines().count(), 3);
    let wrong = cluster.refused(&["scale", "deployment", "web", "--current-replicas=9", "--replicas=1"]).await;
    assert!(wrong.contains("Expected replicas to be 9, was 3"), "{wrong}");

    cluster.apply(&rollout("shop:1", 1)).await;
    assert_eq!(cluster.ok(&["scale", "rollout", "shop", "--replicas=4"]).await, "rollout.argoproj.io/shop scaled\n");
    assert_eq!(cluster.json("rollout/shop").await["spec"]["replicas"], 4);
}

#[tokio::test]
async fn a_rollout_of_a_deployment_is_followed_to_its_end() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    cluster.ok(&["set", "image", "deployment/web", "web=web:2"]).await;
    let told = cluster.ok(&["rollout", "status", "deployment/web", "--timeout=60s"]).await;
    assert!(told.ends_with("deployment \"web\" successfully rolled out\n"), "{told}");
    let available = ["wait", "--for=condition=Available", "deployment/web", "--timeout=60s"];
    assert_eq!(cluster.ok(&available).await, "deployment.apps/web condition met\n");
    let history = cluster.ok(&["rollout", "history", "deployment/web"]).await;
    assert!(history.contains("REVISION") && history.contains("\n2 "), "{history}");
    assert_eq!(cluster.ok(&["rollout", "undo", "deployment/web"]).await, "deployment.apps/web rolled back\n");
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    assert_eq!(cluster.ok(&["get", "deployment", "web", "-o", image]).await, "web:1");
    let missed = ["wait", "--for=condition=Nope", "deployment/web", "--timeout=1s"];
    assert!(cluster.refused(&missed).await.contains("timed out waiting for the condition"));
}
