//! OpenAPI documents.

use serde_json::{Value, json};

use crate::support::{get, make, raw, server};

/// All names that a document refers to.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                found.push(name.trim_start_matches("#/components/schemas/").to_owned());
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_document_of_the_index_is_there_and_whole() {
    let server = server();
    let (code, index) = get(&server, "/openapi/v3").await;
    assert_eq!(code, 200);
    let paths = index["paths"].as_object().unwrap();
    assert!(paths.contains_key("api/v1") && paths.contains_key("apis/apps/v1"), "{index}");
    for entry in paths.values() {
        let address = entry["serverRelativeURL"].as_str().unwrap();
        let (code, document) = get(&server, address).await;
        assert_eq!(code, 200, "{address}");
        let mut names = Vec::new();
        references(&document, &mut names);
        for name in names {
            assert!(document["components"]["schemas"].get(&name).is_some(), "{address}: {name}");
        }
    }
    let (_, core) = get(&server, "/openapi/v3/api/v1").await;
    let pod = &core["components"]["schemas"]["io.k8s.api.Pod"];
    assert_eq!(pod["x-kubernetes-group-version-kind"], json!([{"group": "", "version": "v1", "kind": "Pod"}]));
    assert_eq!(pod["properties"]["spec"]["allOf"][0]["$ref"], "#/components/schemas/io.k8s.api.PodSpec");
    let patch = &core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|p| p["name"] == "fieldValidation" && p["in"] == "query"), "{patch}");
}

#[tokio::test]
async fn a_custom_kind_is_described_as_its_definition_does_and_has_another_address_when_that_changes() {
    let server = server();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = |text: &str| {
        let spec = json!({"type": "object", "description": text, "properties": {"size": {"type": "integer"}}});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]},
        })
    };
    let made = make(&server, definitions, definition("One text.")).await;
    let address = async || {
        let (_, index) = get(&server, "/openapi/v3").await;
        index["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().unwrap().to_owned()
    };
    let first = address().await;
    let (_, document) = get(&server, &first).await;
    let thing = &document["components"]["schemas"]["com.example.v1.Thing"];
    assert_eq!(thing["properties"]["spec"]["description"], "One text.");
    assert_eq!(thing["properties"]["kind"]["type"], "string");

    let mut changed = definition("Another text.");
    let (_, now) = get(&server, &format!("{definitions}/things.example.com")).await;
    assert_eq!(now["metadata"]["uid"], made["metadata"]["uid"]);
    changed["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"].clone();
    let (code, _) = raw(&server, "PUT", &format!("{definitions}/things.example.com"), Some(changed)).await;
    assert_eq!(code, 200);
    assert_ne!(address().await, first);
}

#[tokio::test]
async fn what_is_not_described_is_not_found() {
    let server = server();
    let (code, old) = get(&server, "/openapi/v2").await;
    assert_eq!((code, &old["paths"]), (200, &json!({})));
    for path in ["/openapi/v1", "/openapi/v3/apis/nope/v1", "/openapi", "/openapi/v3/api/v2"] {
        assert_eq!(get(&server, path).await.0, 404, "{path}");
    }
    assert_eq!(raw(&server, "POST", "/openapi/v3", Some(json!({}))).await.0, 405);
}
