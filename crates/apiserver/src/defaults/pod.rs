//! Defaults of pods and pod templates.

use serde_json::{Map, Value, json};

use super::each;
use crate::object::{at, child_mut, default_to, list, map_mut, text};

/// Everything a pod gets, including what admission adds to it.
pub(super) fn pod(object: &mut Value, new: bool) {
    spec(object, &["spec"]);
    let map = child_mut(object, &["spec"]);
    default_to(map, "enableServiceLinks", true);
    default_to(map, "preemptionPolicy", "PreemptLowerPriority");
    default_to(map, "priority", 0);
    // What cannot be waited for is as good as the shortest wait.
    if map.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|s| new && s < 0) {
        map.insert("terminationGracePeriodSeconds".to_owned(), json!(1));
    }
    tolerate_node_troubles(map);
    requests_from_limits(object);
    status(object);
}

/// What the status of a pod gets.
pub(super) fn status(object: &mut Value) {
    let class = at(object, &["status", "qosClass"]).is_none_or(Value::is_null).then(|| quality(object));
    let status = child_mut(object, &["status"]);
    default_to(status, "phase", "Pending");
    if let Some(class) = class {
        default_to(status, "qosClass", class);
    }
    if let Some(ip) = status.get("podIP").cloned() {
        default_to(status, "podIPs", json!([{"ip": ip}]));
    }
}

/// Pods stay five minutes on a node that is in trouble.
fn tolerate_node_troubles(spec: &mut Map<String, Value>) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covered = tolerations.iter().any(|t| {
            let own = text(t, &["key"]);
            let effect = text(t, &["effect"]);
            (own == key || own.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        });
        if !covered {
            let wait = json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
            tolerations.push(wait);
        }
    }
}

/// Defaults of a pod spec at a path, as templates and pods share them.
pub(super) fn spec(object: &mut Value, path: &[&str]) {
    let map = child_mut(object, path);
    default_to(map, "restartPolicy", "Always");
    default_to(map, "terminationGracePeriodSeconds", 30);
    default_to(map, "dnsPolicy", "ClusterFirst");
    default_to(map, "securityContext", json!({}));
    default_to(map, "schedulerName", "default-scheduler");
    if let Some(account) = map.get("serviceAccountName").cloned() {
        default_to(map, "serviceAccount", account);
    } else if let Some(account) = map.get("serviceAccount").cloned() {
        default_to(map, "serviceAccountName", account);
    }
    for field in ["initContainers", "containers"] {
        each(object, path, field, container);
    }
    each(object, path, "volumes", volume);
}

fn container(container: &mut Value) {
    let image = text(container, &["image"]).to_owned();
    let map = map_mut(container);
    default_to(map, "resources", json!({}));
    default_to(map, "terminationMessagePath", "/dev/termination-log");
    default_to(map, "terminationMessagePolicy", "File");
    default_to(map, "imagePullPolicy", pull_policy(&image));
    each(container, &[], "ports", |port| default_to(map_mut(port), "protocol", "TCP"));
    each(container, &[], "env", |variable| {
        if let Some(Value::Object(field)) = variable.get_mut("valueFrom").and_then(|v| v.get_mut("fieldRef")) {
            default_to(field, "apiVersion", "v1");
        }
    });
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(Value::Object(probe)) = container.get_mut(field) {
            for (name, value) in
                [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
            {
                default_to(probe, name, value);
            }
            if let Some(Value::Object(get)) = probe.get_mut("httpGet") {
                default_to(get, "scheme", "HTTP");
                default_to(get, "path", "/");
            }
        }
    }
}

/// Images without a tag, or with the tag `latest`, are always pulled.
fn pull_policy(image: &str) -> &'static str {
    let last = image.rsplit('/').next().unwrap_or_default();
    let pinned = last.contains('@') || last.rsplit_once(':').is_some_and(|(_, tag)| tag != "latest");
    if pinned { "IfNotPresent" } else { "Always" }
}

fn volume(volume: &mut Value) {
    for (source, mode) in [("secret", 420), ("configMap", 420), ("projected", 420), ("downwardAPI", 420)] {
        if let Some(Value::Object(map)) = volume.get_mut(source) {
            default_to(map, "defaultMode", mode);
        }
    }
    if let Some(Value::Object(map)) = volume.get_mut("hostPath") {
        default_to(map, "type", "");
    }
}

/// A limit without a request is a request too.
fn requests_from_limits(pod: &mut Value) {
    for field in ["initContainers", "containers"] {
        each(pod, &["spec"], field, |container| {
            let Some(limits) = at(container, &["resources", "limits"]).and_then(Value::as_object).cloned() else {
                return;
            };
            let requests = child_mut(container, &["resources", "requests"]);
            for (resource, amount) in limits {
                default_to(requests, &resource, amount);
            }
        });
    }
}

fn quality(pod: &Value) -> &'static str {
    let containers: Vec<&Value> =
        list(pod, &["spec", "initContainers"]).iter().chain(list(pod, &["spec", "containers"])).collect();
    let amounts = |container: &Value, kind: &str| -> Vec<(String, Value)> {
        let map = at(container, &["resources", kind]).and_then(Value::as_object);
        let relevant = map.into_iter().flatten().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory"));
        relevant.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    if containers.iter().all(|c| amounts(c, "limits").is_empty() && amounts(c, "requests").is_empty()) {
        return "BestEffort";
    }
    let guaranteed = |c: &&Value| amounts(c, "limits").len() == 2 && amounts(c, "limits") == amounts(c, "requests");
    if containers.iter().all(guaranteed) { "Guaranteed" } else { "Burstable" }
}
