//! `kubectl apply --server-side`.

use crate::cluster::{Cluster, deployment, rollout};

const APPLY: [&str; 4] = ["apply", "--server-side", "-f", "manifest.yaml"];

#[tokio::test]
async fn two_people_disagree_until_one_of_them_insists() {
    let cluster = Cluster::start().await;
    cluster.file("manifest.yaml", &rollout("shop:1", 3));
    assert_eq!(cluster.ok(&APPLY).await, "rollout.argoproj.io/shop serverside-applied\n");
    assert_eq!(cluster.ok(&["scale", "rollout", "shop", "--replicas=5"]).await, "rollout.argoproj.io/shop scaled\n");

    let refused = cluster.refused(&APPLY).await;
    let expected = "Apply failed with 1 conflict: conflict with \"kubectl\" with subresource \"scale\" using \
                    argoproj.io/v1alpha1: .spec.replicas";
    assert!(refused.contains(expected), "{refused}");
    assert_eq!(cluster.json("rollout/shop").await["spec"]["replicas"], 5);

    let forced = cluster.ok(&[&APPLY[..], &["--force-conflicts"]].concat()).await;
    assert_eq!(forced, "rollout.argoproj.io/shop serverside-applied\n");
    assert_eq!(cluster.json("rollout/shop").await["spec"]["replicas"], 3);
}

#[tokio::test]
async fn what_is_no_longer_applied_goes() {
    let cluster = Cluster::start().await;
    let map = |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{{data}}}\n");
    cluster.file("manifest.yaml", &map("x: \"1\", y: \"2\""));
    cluster.ok(&APPLY).await;
    cluster.ok(&["patch", "configmap", "a", "-p", "{\"data\": {\"z\": \"3\"}}"]).await;
    cluster.file("manifest.yaml", &map("x: \"1\""));
    cluster.ok(&APPLY).await;
    let data = cluster.json("configmap/a").await["data"].clone();
    assert_eq!(data, serde_json::json!({"x": "1", "z": "3"}));
}

#[tokio::test]
async fn what_kubectl_merged_itself_is_taken_over_without_a_quarrel() {
    let cluster = Cluster::start().await;
    cluster.apply(&deployment("web:1", 2)).await;
    cluster.file("manifest.yaml", &deployment("web:2", 2));
    assert_eq!(cluster.ok(&APPLY).await, "deployment.apps/web serverside-applied\n");
    let object = cluster.json("deployment/web").await;
    assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["image"], "web:2");
    let diff = cluster.run(&["diff", "--server-side", "-f", "manifest.yaml"]).await;
    assert!(diff.succeeded && diff.out.is_empty(), "{}{}", diff.out, diff.err);
    let dry = cluster.ok(&[&APPLY[..], &["--dry-run=server"]].concat()).await;
    assert_eq!(dry, "deployment.apps/web serverside-applied (server dry run)\n");
}
