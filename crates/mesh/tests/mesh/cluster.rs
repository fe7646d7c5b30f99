//! A small cluster to route in: the namespace `shop` with Services `stable`, `canary` and `web` and a Rollout `web`.

use serde_json::{Value, json};
use tidegate_mesh::routing::{HeaderMap, Target};
use tidegate_mesh::{Config, Objects, Outcome, Request};

/// Reads objects that name their kinds.
pub(crate) fn config(objects: &[Value]) -> Config {
    Config::read(&Objects::sorted(objects))
}

/// The same, without any problem.
pub(crate) fn clean(objects: &[Value]) -> Config {
    let config = config(objects);
    assert_eq!(config.problems().collect::<Vec<_>>(), Vec::<&tidegate_mesh::Problem>::new());
    config
}

pub(crate) fn service(name: &str, selector: Value) -> Value {
    json!({"kind": "Service", "metadata": {"namespace": "shop", "name": name},
        "spec": {"selector": selector, "ports": [{"port": 80}]}})
}

/// A ready pod of the Rollout `web` with the hash as its version.
pub(crate) fn pod(name: &str, hash: &str) -> Value {
    json!({"kind": "Pod",
        "metadata": {"namespace": "shop", "name": name,
            "labels": {"app": "web", "rollouts-pod-template-hash": hash, "version": hash},
            "ownerReferences": [{"kind": "ReplicaSet", "name": format!("web-{hash}"), "controller": true}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}})
}

/// A VirtualService `vs` of the namespace `shop`.
pub(crate) fn virtual_service(spec: Value) -> Value {
    json!({"kind": "VirtualService", "metadata": {"namespace": "shop", "name": "vs"}, "spec": spec})
}

/// A DestinationRule for `web` with subsets by hash.
pub(crate) fn rule(subsets: &[(&str, &str)]) -> Value {
    let subset = |(name, hash): &(&str, &str)| json!({"name": name, "labels": {"rollouts-pod-template-hash": hash}});
    json!({"kind": "DestinationRule", "metadata": {"namespace": "shop", "name": "rule"},
        "spec": {"host": "web", "subsets": subsets.iter().map(subset).collect::<Vec<_>>()}})
}

/// Three Services and pods `s1`, `s2` of the hash `old` and `c1` of the hash `new`.
pub(crate) fn shop() -> Vec<Value> {
    vec![
        service("stable", json!({"app": "web", "rollouts-pod-template-hash": "old"})),
        service("canary", json!({"app": "web", "rollouts-pod-template-hash": "new"})),
        service("web", json!({"app": "web"})),
        pod("s1", "old"),
        pod("s2", "old"),
        pod("c1", "new"),
    ]
}

/// The shop and one VirtualService.
pub(crate) fn shop_with(spec: Value) -> Config {
    let mut objects = shop();
    objects.push(virtual_service(spec));
    clean(&objects)
}

pub(crate) fn to(host: &str) -> Value {
    json!({"destination": {"host": host}})
}

pub(crate) fn weighted(host: &str, weight: i64) -> Value {
    json!({"destination": {"host": host}, "weight": weight})
}

/// A request of a client in `shop`.
pub(crate) fn from_shop(host: &str) -> Request {
    Request { source_namespace: "shop".into(), ..Request::to(host) }
}

/// Where a request ends, in a word: the hash of the version, or what went wrong.
pub(crate) fn word(target: &Target) -> String {
    match target {
        Target::Pods { hash, .. } => hash.clone(),
        Target::NoHealthyUpstream(_) => "UH".into(),
        Target::UnknownCluster(_) => "NC".into(),
        Target::NotFound => "NR".into(),
        Target::Redirect => "redirect".into(),
        Target::Direct(status) => status.to_string(),
    }
}

/// Shares in percent, rounded to a thousandth, by word.
pub(crate) fn percents(config: &Config, request: &Request) -> Vec<(String, f64)> {
    let shares = config.shares(request);
    shares.iter().map(|(target, share)| (word(target), (share * 100_000.0).round() / 1000.0)).collect()
}

/// The only word.
pub(crate) fn ends(config: &Config, request: &Request) -> String {
    let shares = config.shares(request);
    assert_eq!(shares.len(), 1, "{shares:?}");
    word(shares.keys().next().unwrap())
}

/// The hash of the pod that serves a request.
pub(crate) fn served_hash(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Served { pod, .. } => pod.hash.clone(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn header(headers: &HeaderMap, name: &str) -> Vec<String> {
    headers.get(name).cloned().unwrap_or_default()
}
