//! What the embedded cluster has not, and how people learn of it.

use crate::cluster::Cluster;

#[tokio::test]
async fn logs_name_the_pod_and_commands_inside_it_are_refused_with_a_way_out() {
    let cluster = Cluster::start().await;
    cluster.with_web().await;
    let pod = cluster.ok(&["get", "pods", "-o", "jsonpath={.items[0].metadata.name}"]).await;
    let log = cluster.ok(&["logs", &pod]).await;
    assert!(log.contains(&pod) && log.contains("web:1"), "{log}");
    let log = cluster.ok(&["logs", "deployment/web", "--all-pods=true", "--tail=1"]).await;
    assert!(log.contains("web:1"), "{log}");
    assert!(cluster.ok(&["logs", "-f", &pod]).await.contains(&pod));

    let exec = cluster.refused(&["exec", &pod, "--", "ls"]).await;
    assert!(exec.contains("is simulated") && exec.contains(&format!("kubectl logs {pod}")), "{exec}");
    let forward = cluster.refused(&["port-forward", &pod, "0:80"]).await;
    assert!(forward.contains("is simulated") && forward.contains("curl"), "{forward}");
    let attach = cluster.refused(&["attach", &pod]).await;
    assert!(attach.contains("is simulated"), "{attach}");
}

#[tokio::test]
async fn kinds_that_are_not_simulated_are_named() {
    let cluster = Cluster::start().await;
    cluster.file(
        "cron.yaml",
        "apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: \"0 0 * * *\"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
",
    );
    let refused = cluster.refused(&["apply", "-f", "cron.yaml"]).await;
    assert!(refused.contains("CronJob is not simulated"), "{refused}");
    let refused = cluster.refused(&["get", "netpol"]).await;
    assert!(refused.contains("NetworkPolicy is not simulated"), "{refused}");
    cluster.file("odd.yaml", "apiVersion: example.com/v1\nkind: Nope\nmetadata: {name: a}\n");
    let refused = cluster.refused(&["apply", "-f", "odd.yaml"]).await;
    assert!(refused.contains("no matches for kind \"Nope\" in version \"example.com/v1\""), "{refused}");

    cluster.file(
        "set.yaml",
        "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: a, image: a}]}}
",
    );
    let printed = cluster.run(&["apply", "-f", "set.yaml"]).await;
    assert!(
        printed.succeeded && printed.err.contains("Warning: StatefulSet is stored but not simulated"),
        "{}",
        printed.err
    );
    // Who asks for everything gets no complaints about what is not there.
    assert!(cluster.ok(&["get", "all"]).await.contains("statefulset.apps/db"));
}

#[tokio::test]
async fn who_has_no_token_is_kept_out() {
    let cluster = Cluster::start().await;
    let config = std::fs::read_to_string(cluster.path("kubeconfig")).unwrap();
    cluster.file("stranger", &config.replace("a-token-of-the-test", "another"));
    let refused = cluster.refused(&["--kubeconfig", "stranger", "get", "pods"]).await;
    assert!(refused.contains("Unauthorized") || refused.contains("You must be logged in"), "{refused}");
    assert!(cluster.world().server().revision() > 0);
}
