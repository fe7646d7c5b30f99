//! The paths of a resource: what can be sent there and with which parameters.

use serde_json::{Map, Value, json};

use super::kind_of;
use crate::registry::Resource;

/// Options of every write.
const WRITING: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

/// Adds the paths of a resource whose schema has this name.
pub(super) fn add(resource: &Resource, schema: &str, paths: &mut Map<String, Value>) {
    let root = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let base = match resource.namespaced {
        true => format!("{root}/namespaces/{{namespace}}/{}", resource.plural),
        false => format!("{root}/{}", resource.plural),
    };
    let with_body = |types: &[&str], parameters: &[&str], action: &str| {
        let schema = json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
        let content: Map<String, Value> = types.iter().map(|kind| ((*kind).to_owned(), schema.clone())).collect();
        let mut operation = operation(resource, parameters, action);
        operation["requestBody"] = json!({"content": content, "required": true});
        operation
    };
    let json = ["application/json"];
    paths.insert(
        base.clone(),
        json!({
            "get": operation(resource, &["labelSelector", "fieldSelector", "limit", "continue", "watch"], "list"),
            "post": with_body(&json, &WRITING, "post"),
            "delete": operation(resource, &["labelSelector", "fieldSelector", "dryRun"], "deletecollection"),
        }),
    );
    // Strategic merge patches are taken for built-in kinds, but kubectl would then look for their merge keys here; without
    // that it goes by its own, which are the same.
    let patches = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    let patching: Vec<&str> = WRITING.into_iter().chain(["force"]).collect();
    paths.insert(
        format!("{base}/{{name}}"),
        json!({
            "get": operation(resource, &[], "get"),
            "put": with_body(&json, &WRITING, "put"),
            "patch": with_body(&patches, &patching, "patch"),
            "delete": operation(resource, &["dryRun", "gracePeriodSeconds", "propagationPolicy"], "delete"),
        }),
    );
}

fn operation(resource: &Resource, parameters: &[&str], action: &str) -> Value {
    let parameters: Vec<Value> = parameters
        .iter()
        .map(|name| {
            let kind = match *name {
                "force" | "watch" => "boolean",
                "limit" | "gracePeriodSeconds" => "integer",
                _ => "string",
            };
            json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
        })
        .collect();
    json!({
        "operationId": format!("{action}{}{}", resource.group, resource.kind), "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind_of(resource),
    })
}
