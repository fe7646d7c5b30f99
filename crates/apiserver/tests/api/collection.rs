//! Finalizers, owner references, namespaces.

use serde_json::{Value, json};

use crate::support::{MAPS, get, make, owned_by, raw, raw_typed, server};

async fn family(server: &tidegate_apiserver::ApiServer, blocking: bool) -> Value {
    let owner = make(server, MAPS, json!({"metadata": {"name": "owner"}})).await;
    let owners = json!([owned_by(&owner, blocking)]);
    make(server, MAPS, json!({"metadata": {"name": "child", "ownerReferences": owners}})).await;
    owner
}

async fn exists(server: &tidegate_apiserver::ApiServer, name: &str) -> bool {
    get(server, &format!("{MAPS}/{name}")).await.0 == 200
}

#[tokio::test]
async fn background_deletion_takes_the_dependents_along() {
    let server = server();
    family(&server, true).await;
    let (code, status) = raw(&server, "DELETE", &format!("{MAPS}/owner"), None).await;
    assert_eq!((code, status["status"].as_str()), (200, Some("Success")));
    assert!(!exists(&server, "owner").await && !exists(&server, "child").await);
}

#[tokio::test]
async fn orphaned_dependents_stay_without_their_owner() {
    let server = server();
    family(&server, true).await;
    let (code, left) = raw(&server, "DELETE", &format!("{MAPS}/owner?propagationPolicy=Orphan"), None).await;
    assert_eq!((code, &left["metadata"]["finalizers"]), (200, &json!(["orphan"])));
    assert!(!exists(&server, "owner").await);
    let (_, child) = get(&server, &format!("{MAPS}/child")).await;
    assert_eq!(child["metadata"].get("ownerReferences"), None);
}

#[tokio::test]
async fn foreground_deletion_waits_for_the_dependents_that_block() {
    let server = server();
    family(&server, true).await;
    let path = format!("{MAPS}/child");
    let hold = Some(json!({"metadata": {"finalizers": ["test.io/hold"]}}));
    raw_typed(&server, "PATCH", &path, hold, "application/merge-patch+json").await;

    let (_, left) = raw(&server, "DELETE", &format!("{MAPS}/owner?propagationPolicy=Foreground"), None).await;
    assert_eq!(left["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert!(exists(&server, "owner").await && exists(&server, "child").await);

    let release = Some(json!({"metadata": {"finalizers": null}}));
    raw_typed(&server, "PATCH", &path, release, "application/merge-patch+json").await;
    assert!(!exists(&server, "owner").await && !exists(&server, "child").await);
}

#[tokio::test]
async fn dependents_of_nobody_are_removed_and_those_with_another_owner_stay() {
    let server = server();
    let owner = family(&server, false).await;
    let mut ghost = owned_by(&owner, false);
    ghost["uid"] = json!("no-such-uid");
    ghost["controller"] = json!(false);
    make(&server, MAPS, json!({"metadata": {"name": "lost", "ownerReferences": [ghost]}})).await;
    assert!(!exists(&server, "lost").await);

    make(&server, MAPS, json!({"metadata": {"name": "two", "ownerReferences": [ghost, owned_by(&owner, false)]}}))
        .await;
    let (_, two) = get(&server, &format!("{MAPS}/two")).await;
    assert_eq!(two["metadata"]["ownerReferences"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn finalizers_hold_an_object_and_cannot_be_added_late() {
    let server = server();
    make(&server, MAPS, json!({"metadata": {"name": "f", "finalizers": ["a.b/c"]}})).await;
    let path = format!("{MAPS}/f");
    let (code, left) = raw(&server, "DELETE", &path, None).await;
    assert_eq!((code, &left["metadata"]["deletionGracePeriodSeconds"]), (200, &json!(0)));

    let more = Some(json!({"metadata": {"finalizers": ["a.b/c", "d.e/f"]}}));
    let (code, refused) = raw_typed(&server, "PATCH", &path, more, "application/merge-patch+json").await;
    assert_eq!(code, 422);
    assert!(refused["message"].as_str().unwrap().contains("no new finalizers can be added"));

    let none = Some(json!({"metadata": {"finalizers": null}}));
    let (code, _) = raw_typed(&server, "PATCH", &path, none, "application/merge-patch+json").await;
    assert_eq!((code, exists(&server, "f").await), (200, false));
}

#[tokio::test]
async fn a_deleted_namespace_goes_when_its_contents_are_gone() {
    let server = server();
    make(&server, "/api/v1/namespaces", json!({"metadata": {"name": "n"}})).await;
    let maps = "/api/v1/namespaces/n/configmaps";
    make(&server, maps, json!({"metadata": {"name": "held", "finalizers": ["a.b/c"]}})).await;
    make(&server, maps, json!({"metadata": {"name": "free"}})).await;

    let (code, left) = raw(&server, "DELETE", "/api/v1/namespaces/n", None).await;
    assert_eq!((code, left["status"]["phase"].as_str()), (200, Some("Terminating")));
    assert_eq!(get(&server, &format!("{maps}/free")).await.0, 404);
    let (code, late) = raw(&server, "POST", maps, Some(json!({"metadata": {"name": "late"}}))).await;
    assert_eq!((code, late["details"]["causes"][0]["reason"].as_str()), (403, Some("NamespaceTerminating")));

    let none = Some(json!({"metadata": {"finalizers": null}}));
    raw_typed(&server, "PATCH", &format!("{maps}/held"), none, "application/merge-patch+json").await;
    assert_eq!(get(&server, "/api/v1/namespaces/n").await.0, 404);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector_and_preconditions_are_kept() {
    let server = server();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        make(&server, MAPS, json!({"metadata": {"name": name, "labels": {"app": app}}})).await;
    }
    let (code, gone) = raw(&server, "DELETE", &format!("{MAPS}?labelSelector=app%3Dx"), None).await;
    assert_eq!((code, gone["items"].as_array().map(Vec::len)), (200, Some(2)));
    assert!(exists(&server, "b").await && !exists(&server, "a").await);

    let options = Some(json!({"preconditions": {"uid": "x"}}));
    let (code, refused) = raw(&server, "DELETE", &format!("{MAPS}/b"), options).await;
    assert_eq!(code, 409);
    assert!(refused["message"].as_str().unwrap().contains("the UID in the precondition (x) does not match"));
}
