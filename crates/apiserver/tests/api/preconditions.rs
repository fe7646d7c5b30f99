//! What an update must bring, and what of it is kept.

use serde_json::{Value, json};

use crate::support::{MAPS, PODS, get, make, raw, raw_typed, server};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object["metadata"][field] = value;
    object
}

#[tokio::test]
async fn an_update_names_the_object_it_means_by_uid_and_version() {
    let server = server();
    let made = make(&server, MAPS, json!({"metadata": {"name": "a"}})).await;
    let path = format!("{MAPS}/a");

    let (code, refused) = raw(&server, "PUT", &path, Some(with(made.clone(), "uid", json!("other")))).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("Conflict")));
    assert!(refused["message"].as_str().unwrap().contains("Key: /registry/configmaps/default/a"), "{refused}");
    let (code, refused) = raw(&server, "PUT", &path, Some(with(made.clone(), "resourceVersion", json!("x")))).await;
    assert_eq!((code, &refused["message"]), (500, &json!("strconv.ParseUint: parsing \"x\": invalid syntax")));
    let (code, _) = raw(&server, "PUT", &path, Some(with(made, "resourceVersion", json!("")))).await;
    assert_eq!(code, 200);

    make(&server, LEASES, json!({"metadata": {"name": "a"}})).await;
    let lease = Some(json!({"metadata": {"name": "a"}}));
    let (code, refused) = raw(&server, "PUT", &format!("{LEASES}/a"), lease).await;
    let text = "Invalid value: 0: must be specified for an update";
    assert_eq!((code, &refused["details"]["causes"][0]["message"]), (422, &json!(text)));
}

#[tokio::test]
async fn some_kinds_are_made_by_updates_and_the_version_does_not_matter_then() {
    let server = server();
    let lease = json!({"metadata": {"name": "new", "resourceVersion": "5"}});
    assert_eq!(raw(&server, "PUT", &format!("{LEASES}/new"), Some(lease.clone())).await.0, 201);
    assert_eq!(raw(&server, "PUT", &format!("{MAPS}/new"), Some(lease)).await.0, 404);
}

#[tokio::test]
async fn a_generation_that_the_server_does_not_count_is_the_clients_own() {
    let server = server();
    let map = make(&server, MAPS, json!({"metadata": {"name": "a", "generation": 7}})).await;
    assert_eq!(map["metadata"]["generation"], json!(7));
    let changed = with(map, "generation", json!(99));
    assert_eq!(raw(&server, "PUT", &format!("{MAPS}/a"), Some(changed)).await.1["metadata"]["generation"], json!(7));
}

#[tokio::test]
async fn whoever_writes_the_scale_takes_over_the_number_of_replicas() {
    let server = server();
    let labels = json!({"app": "x"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "m", "image": "i"}]}});
    let set = json!({"metadata": {"name": "a"}, "spec": {"replicas": 1, "selector": {"matchLabels": labels},
        "template": template}});
    make(&server, &format!("{SETS}?fieldManager=one"), set).await;
    let scale = Some(json!({"metadata": {"name": "a"}, "spec": {"replicas": 3}}));
    let (code, _) = raw(&server, "PUT", &format!("{SETS}/a/scale?fieldManager=two"), scale).await;
    assert_eq!(code, 200);

    let (_, seen) = get(&server, &format!("{SETS}/a")).await;
    let entries = seen["metadata"]["managedFields"].as_array().unwrap();
    let entry = |manager: &str| entries.iter().find(|e| e["manager"] == manager).unwrap();
    assert_eq!(entry("two")["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(entry("two")["subresource"], json!("scale"));
    assert!(entry("one")["fieldsV1"]["f:spec"].get("f:replicas").is_none());
}

#[tokio::test]
async fn a_finished_object_is_last_seen_as_it_was_stored() {
    let server = server();
    let mut pod = json!({"metadata": {"name": "a", "finalizers": ["ex.io/hold"]}});
    pod["spec"] = json!({"containers": [{"name": "m", "image": "i"}]});
    make(&server, PODS, pod).await;
    raw(&server, "DELETE", &format!("{PODS}/a"), None).await;
    let free = Some(json!({"metadata": {"finalizers": null}}));
    let (code, last) = raw_typed(&server, "PATCH", &format!("{PODS}/a"), free, "application/merge-patch+json").await;
    assert_eq!((code, last["metadata"].get("finalizers")), (200, None));
    assert_eq!(get(&server, &format!("{PODS}/a")).await.0, 404);
}
