//! The life of a custom resource definition.

use serde_json::{Value, json};

use crate::support::{get, make, raw, raw_typed, server};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FOOS: &str = "/apis/ex.io/v1/namespaces/default/foos";

fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": open, "status": open}});
    json!({"metadata": {"name": "foos.ex.io"}, "spec": {
        "group": "ex.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r", "labelSelectorPath": ".status.s"}}}],
    }})
}

fn foo(name: &str) -> Value {
    json!({"apiVersion": "ex.io/v1", "kind": "Foo", "metadata": {"name": name}, "spec": {"r": 1}, "status": {"r": 7}})
}

#[tokio::test]
async fn a_definition_is_established_served_and_cleared_away() {
    let server = server();
    assert_eq!(get(&server, FOOS).await.0, 404);
    let made = make(&server, CRDS, definition()).await;
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    let (_, seen) = get(&server, &format!("{CRDS}/foos.ex.io")).await;
    let kinds: Vec<&Value> = seen["status"]["conditions"].as_array().unwrap().iter().map(|c| &c["type"]).collect();
    assert_eq!(kinds, [&json!("NamesAccepted"), &json!("Established")]);
    assert_eq!(seen["status"]["acceptedNames"]["listKind"], json!("FooList"));

    make(&server, FOOS, foo("a")).await;
    assert_eq!(get(&server, FOOS).await.1["items"][0]["kind"], json!("Foo"));
    let (code, gone) = raw(&server, "DELETE", &format!("{CRDS}/foos.ex.io"), None).await;
    assert_eq!((code, gone["kind"].as_str()), (200, Some("CustomResourceDefinition")));
    assert_eq!(get(&server, FOOS).await.0, 404);
    assert_eq!(get(&server, &format!("{CRDS}/foos.ex.io")).await.0, 404);

    make(&server, CRDS, definition()).await;
    assert_eq!(get(&server, FOOS).await.1["items"], json!([]));
}

#[tokio::test]
async fn status_and_scale_are_written_only_through_their_subresources() {
    let server = server();
    make(&server, CRDS, definition()).await;
    let made = make(&server, FOOS, foo("a")).await;
    assert_eq!((made.get("status"), &made["metadata"]["generation"]), (None, &json!(1)));
    let merge = "application/merge-patch+json";
    let path = format!("{FOOS}/a");

    let both = Some(json!({"spec": {"r": 9}, "status": {"r": 2, "s": "app=x"}}));
    let (_, seen) = raw_typed(&server, "PATCH", &format!("{path}/status"), both.clone(), merge).await;
    assert_eq!(
        (&seen["spec"]["r"], &seen["status"]["r"], &seen["metadata"]["generation"]),
        (&json!(1), &json!(2), &json!(1))
    );
    let scale = Some(json!({"spec": {"replicas": 4}}));
    let (_, scaled) = raw_typed(&server, "PATCH", &format!("{path}/scale"), scale, merge).await;
    assert_eq!(
        (&scaled["spec"]["replicas"], &scaled["status"]),
        (&json!(4), &json!({"replicas": 2, "selector": "app=x"}))
    );
    let (_, seen) = get(&server, &path).await;
    assert_eq!((&seen["spec"]["r"], &seen["metadata"]["generation"]), (&json!(4), &json!(2)));

    let strategic = "application/strategic-merge-patch+json";
    assert_eq!(raw_typed(&server, "PATCH", &path, both, strategic).await.0, 415);
    let bare = Some(json!({"apiVersion": "ex.io/v1", "kind": "Foo", "metadata": {"name": "a"}}));
    let (code, refused) = raw(&server, "PUT", &path, bare).await;
    assert_eq!(code, 422);
    assert!(
        refused["message"].as_str().unwrap().contains("metadata.resourceVersion: Invalid value: 0: must be specified")
    );
}

#[tokio::test]
async fn a_definition_with_the_wrong_name_is_refused() {
    let server = server();
    let mut wrong = definition();
    wrong["metadata"]["name"] = json!("bars.ex.io");
    let (code, refused) = raw(&server, "POST", CRDS, Some(wrong)).await;
    assert_eq!(code, 422);
    assert!(refused["message"].as_str().unwrap().contains("must be spec.names.plural+\".\"+spec.group"));
}
