//! What clients ask about the API itself: groups, versions, resources, health.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::{Method, Response, header, request::Parts};
use serde_json::{Value, json};

use crate::answer::{self, Body};
use crate::registry::{Registry, Resource};
use crate::status::StatusError;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The answer to a path that is about the API; none for the paths of resources.
pub(crate) fn answer(registry: &Registry, parts: &Parts, segments: &[String]) -> Option<Response<Body>> {
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    if !is_known(&path) {
        return None;
    }
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Some(answer::failure(&StatusError::method_not_allowed()));
    }
    let accept = parts.headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let aggregated = accept.contains("as=APIGroupDiscoveryList") && accept.contains("v=v2");
    Some(match path.as_slice() {
        [] => answer::json(
            200,
            &json!({"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]}),
        ),
        ["version"] => answer::json(200, &version()),
        ["api"] if aggregated => whole_discovery(registry, true),
        ["apis"] if aggregated => whole_discovery(registry, false),
        ["api"] => answer::json(
            200,
            &json!({
                "kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}],
            }),
        ),
        ["apis"] => answer::json(200, &groups(registry)),
        ["api", "v1"] => answer::json(200, &resources(registry, "", "v1")),
        ["apis", group] if registry.has_group(group, None) && !group.is_empty() => {
            let mut value = group_of(registry, group);
            value["kind"] = json!("APIGroup");
            value["apiVersion"] = json!("v1");
            answer::json(200, &value)
        }
        ["apis", group, version] if registry.has_group(group, Some(version)) => {
            answer::json(200, &resources(registry, group, version))
        }
        ["readyz" | "livez" | "healthz", ..] => answer::text(200, "ok"),
        _ => answer::failure(&StatusError::page_not_found()),
    })
}

fn is_known(path: &[&str]) -> bool {
    match path {
        [] | ["version"] | ["api"] | ["api", _] => true,
        ["apis", rest @ ..] => rest.len() <= 2,
        ["readyz" | "livez" | "healthz", ..] => true,
        _ => false,
    }
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "linux/amd64",
    })
}

/// Versions of a group, best first: stable before beta before alpha, then the larger number.
fn versions(registry: &Registry, group: &str) -> Vec<String> {
    let found: BTreeSet<String> = registry.all().filter(|r| r.group == group).map(|r| r.version.clone()).collect();
    let mut found: Vec<String> = found.into_iter().collect();
    found.sort_by_key(|version| std::cmp::Reverse(rank(version)));
    found
}

fn rank(version: &str) -> (u8, u32, u32) {
    let read = |text: &str| text.parse().unwrap_or(0);
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    if let Some((major, minor)) = rest.split_once("alpha") {
        (1, read(major), read(minor))
    } else if let Some((major, minor)) = rest.split_once("beta") {
        (2, read(major), read(minor))
    } else {
        (3, read(rest), 0)
    }
}

fn group_names(registry: &Registry) -> Vec<String> {
    let names: BTreeSet<String> = registry.all().map(|r| r.group.clone()).filter(|g| !g.is_empty()).collect();
    names.into_iter().collect()
}

fn group_of(registry: &Registry, group: &str) -> Value {
    let entries: Vec<Value> = versions(registry, group)
        .iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    json!({"name": group, "preferredVersion": entries.first(), "versions": entries})
}

fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> = group_names(registry).iter().map(|group| group_of(registry, group)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn verbs(resource: &Resource) -> Vec<&'static str> {
    if resource.absent {
        // Enough to be asked for by name; who looks for what can be listed does not find it.
        return vec!["create", "get", "patch"];
    }
    if resource.custom.is_some() {
        // Custom resources have always been listed in this order.
        return vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    }
    VERBS.into_iter().filter(|v| !(resource.id == "namespaces" && *v == "deletecollection")).collect()
}

/// Name, group, version, kind and verbs of the subresources.
fn subresources(resource: &Resource) -> Vec<(&'static str, &'static str, &'static str, String, Vec<&'static str>)> {
    let mut out = Vec::new();
    for action in &resource.actions {
        out.push(match *action {
            "binding" => ("binding", "", "v1", "Binding".to_owned(), vec!["create"]),
            "eviction" => ("eviction", "policy", "v1", "Eviction".to_owned(), vec!["create"]),
            "attach" => ("attach", "", "v1", "PodAttachOptions".to_owned(), vec!["create", "get"]),
            "exec" => ("exec", "", "v1", "PodExecOptions".to_owned(), vec!["create", "get"]),
            "log" => ("log", "", "", resource.kind.clone(), vec!["get"]),
            "portforward" => ("portforward", "", "v1", "PodPortForwardOptions".to_owned(), vec!["create", "get"]),
            "finalize" => ("finalize", "", "", resource.kind.clone(), vec!["update"]),
            other => (other, "", "", resource.kind.clone(), vec!["get", "patch", "update"]),
        });
    }
    if resource.scale.is_some() {
        out.push(("scale", "autoscaling", "v1", "Scale".to_owned(), vec!["get", "patch", "update"]));
    }
    if resource.status {
        out.push(("status", "", "", resource.kind.clone(), vec!["get", "patch", "update"]));
    }
    if resource.custom.is_some() {
        out.sort_by_key(|(name, ..)| std::cmp::Reverse(*name));
    }
    out
}

fn resources(registry: &Registry, group: &str, version: &str) -> Value {
    let mut list = Vec::new();
    for resource in registry.all().filter(|r| r.group == group && r.version == version) {
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": verbs(resource),
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if !resource.categories.is_empty() {
            entry["categories"] = json!(resource.categories);
        }
        list.push(entry);
        for (name, sub_group, sub_version, kind, verbs) in subresources(resource) {
            let mut entry = json!({
                "name": format!("{}/{name}", resource.plural), "singularName": "",
                "namespaced": resource.namespaced, "kind": kind, "verbs": verbs,
            });
            if !sub_group.is_empty() {
                entry["group"] = json!(sub_group);
                entry["version"] = json!(sub_version);
            }
            list.push(entry);
        }
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut value = json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": list});
    if !group.is_empty() {
        value["apiVersion"] = json!("v1");
    }
    value
}

/// The aggregated form: everything about the core group, or about all others, at once.
fn whole_discovery(registry: &Registry, core: bool) -> Response<Body> {
    let names = if core { vec![String::new()] } else { group_names(registry) };
    let items: Vec<Value> = names.iter().map(|group| aggregated_group(registry, group)).collect();
    let value = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    answer::whole(200, AGGREGATED, Bytes::from(value.to_string()))
}

fn aggregated_group(registry: &Registry, group: &str) -> Value {
    let mut by_version: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for resource in registry.all().filter(|r| r.group == group) {
        by_version.entry(resource.version.clone()).or_default().push(aggregated_resource(resource));
    }
    let versions: Vec<Value> = versions(registry, group)
        .into_iter()
        .map(|version| {
            let resources = by_version.remove(&version).unwrap_or_default();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(resource: &Resource) -> Value {
    // Built-in kinds leave group and version of the response kind empty: it is the one of the path.
    let (group, version) = match resource.custom {
        Some(_) => (resource.group.as_str(), resource.version.as_str()),
        None => ("", ""),
    };
    let mut entry = json!({
        "resource": resource.plural, "responseKind": {"group": group, "version": version, "kind": resource.kind},
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular, "verbs": verbs(resource),
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let below: Vec<Value> = subresources(resource)
        .into_iter()
        .map(|(name, sub_group, sub_version, kind, verbs)| {
            let own = sub_group.is_empty() && sub_version.is_empty();
            let (sub_group, sub_version) = if own { (group, version) } else { (sub_group, sub_version) };
            json!({
                "subresource": name, "verbs": verbs,
                "responseKind": {"group": sub_group, "version": sub_version, "kind": kind},
            })
        })
        .collect();
    if !below.is_empty() {
        entry["subresources"] = Value::Array(below);
    }
    entry
}
