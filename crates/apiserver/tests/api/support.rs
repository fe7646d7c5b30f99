//! A server, a client on it, and raw requests.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::{Value, json};
use tidegate_apiserver::{ApiServer, Options};
use tidegate_clock::Clock;
use tower_service::Service;

/// A server in simulated time; call it inside a runtime.
pub(crate) fn server() -> ApiServer {
    ApiServer::new(Options::new(Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap())))
}

pub(crate) fn client(server: &ApiServer) -> Client {
    Client::new(server.clone(), "default")
}

pub(crate) fn config_maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(client(server))
}

pub(crate) fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"app": name}}, "data": {"k": "v"}})).unwrap()
}

/// A request as it is; answers with code and body.
pub(crate) async fn raw(server: &ApiServer, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    raw_typed(server, method, path, body, "application/json").await
}

pub(crate) async fn raw_typed(
    server: &ApiServer,
    method: &str,
    path: &str,
    body: Option<Value>,
    content_type: &str,
) -> (u16, Value) {
    let bytes = body.map(|b| Bytes::from(b.to_string())).unwrap_or_default();
    raw_bytes(server, method, path, bytes, content_type).await
}

pub(crate) async fn raw_bytes(
    server: &ApiServer,
    method: &str,
    path: &str,
    bytes: Bytes,
    content_type: &str,
) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .header("user-agent", "suite/1.0 (test)")
        .body(Full::new(bytes))
        .unwrap();
    let response = server.clone().call(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let value = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
    (code, value)
}

/// A request whose warnings are wanted.
pub(crate) async fn warned(server: &ApiServer, method: &str, path: &str, body: Value) -> (u16, Vec<String>) {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
    let response = server.clone().call(request).await.unwrap();
    let warnings = response.headers().get_all("warning").iter().map(|v| v.to_str().unwrap().to_owned()).collect();
    let code = response.status().as_u16();
    (code, warnings)
}

/// Creates an object and insists that it worked.
pub(crate) async fn make(server: &ApiServer, path: &str, object: Value) -> Value {
    let (code, value) = raw(server, "POST", path, Some(object)).await;
    assert_eq!(code, 201, "{value}");
    value
}

pub(crate) async fn get(server: &ApiServer, path: &str) -> (u16, Value) {
    raw(server, "GET", path, None).await
}

/// An owner reference to an object.
pub(crate) fn owned_by(owner: &Value, blocking: bool) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": blocking,
    })
}

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
