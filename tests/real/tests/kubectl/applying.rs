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

#[tokio::test]
async fn what_kubectl_makes_itself_is_taken_whole() {
    let cluster = Cluster::start().await;
    for (arguments, what, path, expected) in [
        ("create deployment web --image=web:1 --replicas=2 --port=80", "deployment/web", "/spec/replicas", "2"),
        ("create secret generic s --from-literal=k=v", "secret/s", "/data/k", "\"dg==\""),
        ("create service clusterip c --tcp=80:8080", "service/c", "/spec/ports/0/targetPort", "8080"),
        ("expose deployment web --port=81 --name=e", "service/e", "/spec/selector/app", "\"web\""),
        ("run one --image=one:1 --restart=Never --env=A=b", "pod/one", "/spec/containers/0/env/0/value", "\"b\""),
        ("create job j --image=j:1 -- echo hi", "job/j", "/spec/template/spec/containers/0/command/1", "\"hi\""),
        ("create ingress i --rule=example.com/=c:80", "ingress/i", "/spec/rules/0/host", "\"example.com\""),
        ("create serviceaccount a", "serviceaccount/a", "/metadata/name", "\"a\""),
        ("create role r --verb=get --resource=pods", "role/r", "/rules/0/resources/0", "\"pods\""),
        ("create rolebinding b --role=r --user=jane", "rolebinding/b", "/subjects/0/name", "\"jane\""),
        ("create pdb p --selector=app=web --min-available=50%", "pdb/p", "/spec/minAvailable", "\"50%\""),
        ("autoscale deployment web --min=2 --max=5", "hpa/web", "/spec/maxReplicas", "5"),
    ] {
        let printed = cluster.run(&arguments.split_whitespace().collect::<Vec<_>>()).await;
        assert!(printed.succeeded, "{arguments}: {}{}", printed.out, printed.err);
        let object = cluster.json(what).await;
        assert_eq!(object.pointer(path).map(ToString::to_string).as_deref(), Some(expected), "{arguments}: {object}");
    }
    cluster.ok(&["rollout", "status", "deployment/web", "--timeout=60s"]).await;
    let pods = cluster.ok(&["get", "pods", "-l", "app=web", "-o", "name"]).await;
    assert_eq!(pods.lines().count(), 2, "{pods}");
}
