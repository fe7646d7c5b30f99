//! Tables, as `kubectl get` asks for them.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tidegate_apiserver::ApiServer;
use tower_service::Service;

use crate::support::{MAPS, PODS, make, raw, server};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn request(path: &str) -> Request<Full<Bytes>> {
    Request::builder().uri(path).header("accept", TABLE).body(Full::default()).unwrap()
}

async fn table(server: &ApiServer, path: &str) -> Value {
    let response = server.clone().call(request(path)).await.unwrap();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

fn names(table: &Value, priority: i64) -> Vec<&str> {
    let columns = table["columnDefinitions"].as_array().unwrap().iter();
    columns.filter(|c| c["priority"] == priority).map(|c| c["name"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn pods_have_the_columns_that_kubectl_shows() {
    let server = server();
    make(
        &server,
        PODS,
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]},
        }),
    )
    .await;
    tokio::time::advance(std::time::Duration::from_secs(125)).await;
    let found = table(&server, PODS).await;
    assert_eq!((&found["kind"], &found["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(names(&found, 0), ["Name", "Ready", "Status", "Restarts", "Age"]);
    assert_eq!(names(&found, 1), ["IP", "Node", "Nominated Node", "Readiness Gates"]);
    let none = "<none>";
    assert_eq!(found["rows"][0]["cells"], json!(["a", "0/2", "Pending", "0", "2m5s", none, none, none, none]));
    assert_eq!(found["rows"][0]["object"]["kind"], "PartialObjectMetadata");

    let status = json!({"status": {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [
        {"name": "c", "ready": true, "restartCount": 2, "image": "", "imageID": "", "state": {"running": {}},
            "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:01:05Z"}}},
        {"name": "d", "ready": false, "restartCount": 0, "image": "", "imageID": "",
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
    ]}});
    let merge = "application/merge-patch+json";
    crate::support::raw_typed(&server, "PATCH", &format!("{PODS}/a/status"), Some(status), merge).await;
    let one = table(&server, &format!("{PODS}/a?includeObject=None")).await;
    let cells = json!(["a", "1/2", "CrashLoopBackOff", "2 (60s ago)", "2m5s", "10.0.0.1", none, none, none]);
    assert_eq!(one["rows"], json!([{"cells": cells, "object": null}]));

    raw(&server, "DELETE", &format!("{PODS}/a"), None).await;
}

#[tokio::test]
async fn every_built_in_kind_has_a_row_as_wide_as_its_columns() {
    let server = server();
    let mut checked = 0;
    for (path, object) in [
        (MAPS, json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}})),
        ("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "a"}})),
        ("/api/v1/namespaces", json!({"metadata": {"name": "a"}})),
        ("/api/v1/nodes", json!({"metadata": {"name": "a", "labels": {"node-role.kubernetes.io/worker": ""}}})),
        ("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": "a"}})),
        ("/api/v1/namespaces/default/endpoints", json!({"metadata": {"name": "a"}})),
        ("/api/v1/namespaces/default/services", json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})),
        (
            "/api/v1/namespaces/default/events",
            json!({"metadata": {"name": "a", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}),
        ),
        ("/apis/apps/v1/namespaces/default/deployments", workload()),
        ("/apis/apps/v1/namespaces/default/replicasets", workload()),
        (
            "/apis/batch/v1/namespaces/default/jobs",
            json!({"metadata": {"name": "a"}, "spec": {"template": {"spec":
            {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}),
        ),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", json!({"metadata": {"name": "a"}})),
        (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            json!({"metadata": {"name": "a"},
            "addressType": "IPv4", "endpoints": []}),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            json!({"metadata": {"name": "a"},
            "spec": {"rules": [{"host": "h"}]}}),
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            json!({"metadata": {"name": "a"},
            "spec": {"minAvailable": 1}}),
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            json!({"metadata": {"name": "a"},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}}),
        ),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", json!({"metadata": {"name": "a"}})),
    ] {
        make(&server, path, object).await;
        let found = table(&server, path).await;
        let columns = found["columnDefinitions"].as_array().unwrap();
        let rows = found["rows"].as_array().unwrap();
        assert!(!rows.is_empty() && columns.len() > 1, "{path}: {found}");
        for row in rows {
            assert_eq!(row["cells"].as_array().unwrap().len(), columns.len(), "{path}: {found}");
        }
        checked += 1;
    }
    assert_eq!(checked, 17);
    let services = table(&server, "/api/v1/namespaces/default/services").await;
    assert_eq!(services["rows"][0]["cells"][1], "ClusterIP");
    assert_eq!(services["rows"][0]["cells"][4], "80/TCP");
    let nodes = table(&server, "/api/v1/nodes").await;
    assert_eq!(nodes["rows"][0]["cells"][2], "worker");
}

fn workload() -> Value {
    json!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }})
}

#[tokio::test]
async fn a_custom_kind_has_the_columns_of_its_definition() {
    let server = server();
    let columns = json!([
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "description": "How large."},
    ]);
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    make(
        &server,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": open}}]},
        }),
    )
    .await;
    let path = "/apis/example.com/v1/namespaces/default/things";
    make(
        &server,
        path,
        json!({
            "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"},
            "spec": {"size": 3}, "status": {"phase": "Fine"},
        }),
    )
    .await;
    let found = table(&server, &format!("{path}?includeObject=Object")).await;
    assert_eq!((names(&found, 0), names(&found, 1)), (vec!["Name", "Phase"], vec!["Size"]));
    assert_eq!(found["rows"][0]["cells"], json!(["a", "Fine", 3]));
    assert_eq!(found["rows"][0]["object"]["spec"]["size"], 3);
}

#[tokio::test]
async fn a_watch_tells_the_columns_once() {
    let server = server();
    make(&server, MAPS, json!({"metadata": {"name": "a"}, "data": {"x": "1"}})).await;
    let response = server.clone().call(request(&format!("{MAPS}?watch=true"))).await.unwrap();
    let mut body = response.into_body();
    let mut next = async || {
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        serde_json::from_slice::<Value>(&frame).unwrap()
    };
    let first = next().await;
    assert_eq!((&first["type"], names(&first["object"], 0).len()), (&json!("ADDED"), 3));
    assert_eq!(first["object"]["rows"][0]["cells"][1], 1);
    make(&server, MAPS, json!({"metadata": {"name": "b"}})).await;
    let second = next().await;
    assert_eq!(second["object"]["columnDefinitions"], json!([]));
    assert_eq!(second["object"]["rows"][0]["cells"][0], "b");
}
