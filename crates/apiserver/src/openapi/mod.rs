//! OpenAPI: what kubectl asks before it applies, and what `kubectl explain` prints. One document per group and version, made
//! when somebody asks. Version 2 of the format is an empty document: kubectl reads it only for kinds that it does not find in
//! version 3, and then wants to learn that they are not there.

mod paths;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, header, request::Parts};
use serde_json::{Map, Value, json};

use crate::answer::{self, Body};
use crate::registry::Resource;
use crate::state::State;
use crate::status::StatusError;

/// The answer to a path below `/openapi`; none for others.
pub(crate) fn answer(state: &State, parts: &Parts, segments: &[String]) -> Option<Response<Body>> {
    let (first, rest) = segments.split_first()?;
    if first != "openapi" {
        return None;
    }
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Some(answer::failure(&StatusError::method_not_allowed()));
    }
    if rest == ["v2"] {
        return Some(version_2(parts));
    }
    let found = match rest.as_slice() {
        ["v3"] => Some(Bytes::from(index(state).to_string())),
        ["v3", "api", version] => document(state, "", version),
        ["v3", "apis", group, version] if !group.is_empty() => document(state, group, version),
        _ => None,
    };
    Some(match found {
        Some(document) => answer::whole(200, "application/json", document),
        None => answer::failure(&StatusError::page_not_found()),
    })
}

/// A document without anything in it, in the form that is asked for.
fn version_2(parts: &Parts) -> Response<Body> {
    let accept = parts.headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if accept.contains("proto-openapi.spec.v2") {
        // Field 1, the version of the format, as text. Clients cannot read the name of the type that they ask for.
        return answer::whole(200, "application/octet-stream", Bytes::from_static(b"\x0a\x032.0"));
    }
    answer::json(200, &json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.3"}, "paths": {}}))
}

/// Where the documents are. Clients keep them by their address, so that names what is in them.
fn index(state: &State) -> Value {
    let versions: BTreeSet<(&str, &str)> =
        state.registry.all().map(|resource| (resource.group.as_str(), resource.version.as_str())).collect();
    let mut paths = Map::new();
    for (group, version) in versions {
        let Some(document) = document(state, group, version) else { continue };
        let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        let address = format!("/openapi/v3/{path}?hash={:016X}", mark(&document));
        paths.insert(path, json!({"serverRelativeURL": address}));
    }
    json!({"paths": paths})
}

/// A number that tells documents apart (FNV-1a).
fn mark(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.iter().fold(start, |mark, byte| (mark ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn document(state: &State, group: &str, version: &str) -> Option<Bytes> {
    let is_meant = |resource: &&Arc<Resource>| resource.group == group && resource.version == version;
    let resources: Vec<&Arc<Resource>> = state.registry.all().filter(is_meant).collect();
    if resources.is_empty() {
        return None;
    }
    let (mut found, mut routes) = (BTreeMap::new(), Map::new());
    for resource in resources {
        let name = schemas::add(state, resource, &mut found);
        paths::add(resource, &name, &mut routes);
    }
    let document = json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.3"},
        "paths": routes, "components": {"schemas": found},
    });
    Some(Bytes::from(document.to_string()))
}

/// Group, version and kind as the documents name them.
fn kind_of(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}
