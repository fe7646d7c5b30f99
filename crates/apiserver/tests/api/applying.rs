//! Server-side apply.

use serde_json::{Value, json};
use tidegate_apiserver::ApiServer;

use crate::support::{MAPS, get, make, raw, raw_typed, server};

const APPLY: &str = "application/apply-patch+yaml";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

async fn apply(server: &ApiServer, path: &str, manager: &str, object: Value) -> (u16, Value) {
    raw_typed(server, "PATCH", &format!("{path}?fieldManager={manager}"), Some(object), APPLY).await
}

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn managers(object: &Value) -> Vec<(String, String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    entries.iter().map(|e| (text(&e["manager"]), text(&e["operation"]), e["fieldsV1"].clone())).collect()
}

fn deployment(spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}]},
            },
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        object["spec"][key] = value.clone();
    }
    object
}

#[tokio::test]
async fn an_object_that_is_not_there_is_made() {
    let server = server();
    let path = format!("{MAPS}/a");
    let (code, made) = apply(&server, &path, "one", map(json!({"x": "1"}))).await;
    assert_eq!((code, &made["data"]), (201, &json!({"x": "1"})));
    assert_eq!(managers(&made), [("one".to_owned(), "Apply".to_owned(), json!({"f:data": {"f:x": {}}}))]);

    let (code, again) = apply(&server, &path, "one", map(json!({"x": "1"}))).await;
    assert_eq!(code, 200);
    assert_eq!(again["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn what_a_manager_applies_no_longer_goes_and_what_others_have_stays() {
    let server = server();
    let path = format!("{MAPS}/a");
    apply(&server, &path, "one", map(json!({"x": "1", "shared": "s"}))).await;
    let (code, both) = apply(&server, &path, "two", map(json!({"y": "2", "shared": "s"}))).await;
    assert_eq!((code, &both["data"]), (200, &json!({"x": "1", "y": "2", "shared": "s"})));

    let (_, less) = apply(&server, &path, "one", map(json!({}))).await;
    assert_eq!(less["data"], json!({"y": "2", "shared": "s"}));
    let (_, none) = apply(
        &server,
        &path,
        "two",
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        }),
    )
    .await;
    assert_eq!(none["data"], Value::Null);
}

#[tokio::test]
async fn a_field_of_another_manager_is_a_conflict_unless_it_is_taken_by_force() {
    let server = server();
    let path = format!("{DEPLOYMENTS}/web");
    make(&server, &format!("{DEPLOYMENTS}?fieldManager=hand"), deployment(json!({"replicas": 1}))).await;

    let (code, refused) = apply(&server, &path, "one", deployment(json!({"replicas": 3}))).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("Conflict")));
    assert_eq!(
        refused["message"],
        "Apply failed with 1 conflict: conflict with \"hand\" using apps/v1: .spec.replicas"
    );
    assert_eq!(
        refused["details"]["causes"],
        json!([{"reason": "FieldManagerConflict", "message": "conflict with \"hand\" using apps/v1",
            "field": ".spec.replicas"}])
    );

    let (code, forced) = apply(&server, &path, "one&force=true", deployment(json!({"replicas": 3}))).await;
    assert_eq!((code, &forced["spec"]["replicas"]), (200, &json!(3)));
    let found = managers(&forced);
    assert_eq!(found[0].2["f:spec"]["f:replicas"], json!({}));
    assert_eq!(found[1].2["f:spec"].get("f:replicas"), None);
    let item = &found[0].2["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"web\"}"];
    assert_eq!(
        *item,
        json!({".": {}, "f:name": {}, "f:image": {},
            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}})
    );
}

#[tokio::test]
async fn two_managers_share_a_list_whose_items_have_names() {
    let server = server();
    let path = format!("{DEPLOYMENTS}/web");
    apply(&server, &path, "one", deployment(json!({"replicas": 1}))).await;
    let sidecar = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}},
    });
    let (code, both) = apply(&server, &path, "two", sidecar.clone()).await;
    assert_eq!(code, 200, "{both}");
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        containers.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&both), ["web", "proxy"]);

    let mut without = sidecar;
    without["spec"]["template"]["spec"]["containers"] = json!([]);
    let (code, one) = apply(&server, &path, "two", without).await;
    assert_eq!((code, names(&one)), (200, vec!["web".to_owned()]));
    assert_eq!(one["spec"]["template"]["spec"]["containers"][0]["image"], "web:1");
}

#[tokio::test]
async fn lists_of_custom_kinds_are_shared_as_their_schema_says() {
    let server = server();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
            "items": {"type": "object", "required": ["id"], "properties": {
                "id": {"type": "string"}, "n": {"type": "integer"}}}},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "whole": {"type": "array", "items": {"type": "string"}},
    }}}});
    make(
        &server,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]},
        }),
    )
    .await;
    let path = "/apis/example.com/v1/namespaces/default/things/a";
    let thing =
        |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec});

    apply(&server, path, "one", thing(json!({"items": [{"id": "a", "n": 1}], "tags": ["x"], "whole": ["w"]}))).await;
    let (code, both) = apply(&server, path, "two", thing(json!({"items": [{"id": "b"}], "tags": ["y"]}))).await;
    assert_eq!(code, 200, "{both}");
    assert_eq!(both["spec"], json!({"items": [{"id": "a", "n": 1}, {"id": "b"}], "tags": ["x", "y"], "whole": ["w"]}));

    let (code, refused) = apply(&server, path, "two", thing(json!({"items": [{"id": "a", "n": 2}]}))).await;
    assert_eq!(code, 409);
    assert_eq!(refused["message"], "Apply failed with 1 conflict: conflict with \"one\": .spec.items[id=\"a\"].n");
    let (code, refused) = apply(&server, path, "two", thing(json!({"whole": ["v"], "tags": ["y"]}))).await;
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (409, &json!(".spec.whole")));

    let (_, unknown) = apply(&server, path, "two", thing(json!({"nope": 1}))).await;
    assert!(unknown["message"].as_str().unwrap().ends_with(".spec.nope: field not declared in schema"), "{unknown}");
}

#[tokio::test]
async fn an_apply_names_its_manager_and_is_read_as_yaml_too() {
    let server = server();
    let path = format!("{MAPS}/a");
    let (code, refused) = raw_typed(&server, "PATCH", &path, Some(map(json!({}))), APPLY).await;
    assert_eq!(code, 422);
    let expected =
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    assert_eq!(refused["message"], expected);

    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"1\"\n";
    let query = format!("{path}?fieldManager=one");
    let (code, made) = crate::support::raw_bytes(&server, "PATCH", &query, yaml.into(), APPLY).await;
    assert_eq!((code, &made["data"]["x"]), (201, &json!("1")));
    let (code, _) = crate::support::raw_bytes(&server, "PATCH", &query, "a: [".into(), APPLY).await;
    assert_eq!(code, 400);

    let mut odd = map(json!({}));
    odd["metadata"]["managedFields"] = json!([]);
    assert_eq!(apply(&server, &path, "one", odd).await.1["message"], "metadata.managedFields must be nil");
    let force = format!("{path}?force=true");
    let (code, _) = raw_typed(&server, "PATCH", &force, Some(json!({})), "application/merge-patch+json").await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn a_dry_run_tells_what_would_come_of_it_and_changes_nothing() {
    let server = server();
    let path = format!("{MAPS}/a");
    let (code, made) = apply(&server, &path, "one&dryRun=All", map(json!({"x": "1"}))).await;
    assert_eq!((code, &made["data"]["x"]), (201, &json!("1")));
    assert_eq!(get(&server, &path).await.0, 404);
}

#[tokio::test]
async fn the_status_is_applied_by_itself() {
    let server = server();
    let path = format!("{DEPLOYMENTS}/web");
    apply(&server, &path, "one", deployment(json!({"replicas": 1}))).await;
    let status = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 9}, "status": {"replicas": 2},
    });
    let (code, changed) = apply(&server, &format!("{path}/status"), "two", status.clone()).await;
    assert_eq!((code, &changed["status"]["replicas"], &changed["spec"]["replicas"]), (200, &json!(2), &json!(1)));
    let own = managers(&changed).into_iter().find(|(manager, ..)| manager == "two").unwrap();
    assert_eq!(own.2, json!({"f:status": {"f:replicas": {}}}));
    // Beside the object itself a status is not looked at.
    let mut both = deployment(json!({"replicas": 1}));
    both["status"] = json!({"replicas": 7});
    let (code, changed) = apply(&server, &path, "one", both).await;
    assert_eq!((code, &changed["status"]["replicas"]), (200, &json!(2)));
    assert_eq!(apply(&server, &format!("{DEPLOYMENTS}/none/status"), "two", status).await.0, 404);
}

#[tokio::test]
async fn kubectl_may_leave_to_the_server_what_it_merged_before() {
    let server = server();
    let path = format!("{MAPS}/a");
    let mut first = map(json!({"x": "1"}));
    first["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": map(json!({"x": "1"})).to_string()});
    make(&server, &format!("{MAPS}?fieldManager=kubectl-client-side-apply"), first).await;
    assert_eq!(apply(&server, &path, "other", map(json!({"x": "2"}))).await.0, 409);
    let (code, changed) = apply(&server, &path, "kubectl", map(json!({"x": "2"}))).await;
    assert_eq!((code, &changed["data"]["x"]), (200, &json!("2")), "{changed}");
    let noted = changed["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].as_str();
    assert!(noted.unwrap().contains("\"x\":\"2\""), "{noted:?}");
}

#[tokio::test]
async fn an_object_that_nobody_tracks_belongs_to_a_manager_of_its_own() {
    let server = server();
    let path = format!("{MAPS}/a");
    make(&server, MAPS, map(json!({"x": "1"}))).await;
    let untracked = json!({"metadata": {"managedFields": [{}]}});
    raw_typed(&server, "PATCH", &path, Some(untracked), "application/merge-patch+json").await;
    assert_eq!(raw(&server, "GET", &path, None).await.1["metadata"].get("managedFields"), None);

    let (code, refused) = apply(&server, &path, "one", map(json!({"x": "2"}))).await;
    assert_eq!(code, 409);
    let expected = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.x";
    assert_eq!(refused["message"], expected);
}
