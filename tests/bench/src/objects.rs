//! What is put into the cluster.

use serde_json::{Value, json};

/// Where the Rollouts are. All in one namespace: whatever looks through a whole namespace for each shows here.
pub(crate) const NAMESPACE: &str = "fleet";
/// Where the one Rollout is whose Service is meddled with.
pub(crate) const PROBE: &str = "probe";
/// The label by which a Service tells revisions apart.
pub(crate) const HASH: &str = "rollouts-pod-template-hash";
/// How long the second pause lasts.
const PAUSE_SECONDS: u32 = 1;

/// The steps of the updates that are measured.
pub(crate) fn steps() -> Value {
    json!([{"setWeight": 20}, {"pause": {}}, {"setWeight": 60}, {"pause": {"duration": PAUSE_SECONDS}}])
}

/// The name of a Rollout.
pub(crate) fn name(number: usize) -> String {
    format!("shop-{number}")
}

/// A pod template of the size that real ones have.
fn template(app: &str, image: &str) -> Value {
    let probe = json!({"httpGet": {"path": "/ready", "port": 8080}});
    json!({
        "metadata": {"labels": {"app": app, "team": "checkout"}, "annotations": {"prometheus.io/scrape": "true"}},
        "spec": {"containers": [{
            "name": "main", "image": image,
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "env": [{"name": "MODE", "value": "production"}, {"name": "REGION", "value": "eu-central-1"},
                {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
            "readinessProbe": probe, "livenessProbe": probe,
        }]},
    })
}

/// A Rollout of the fleet.
pub(crate) fn rollout(number: usize, replicas: u32) -> Value {
    let name = name(number);
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}}, "strategy": {"canary": {"steps": steps()}},
        "template": template(&name, "shop:1"),
    }})
}

/// What changes the image of a Rollout.
pub(crate) fn image(number: usize, image: &str) -> Value {
    json!({"spec": {"template": template(&name(number), image)}})
}

/// What `promote` sends for a pause.
pub(crate) fn promote() -> Value {
    json!({"status": {"pauseConditions": null}})
}

/// What `abort` sends.
pub(crate) fn abort() -> Value {
    json!({"status": {"abort": true}})
}

/// The Rollout whose Service is meddled with.
pub(crate) fn probe() -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": PROBE, "namespace": PROBE}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": PROBE}}, "template": template(PROBE, "probe:1"),
        "strategy": {"canary": {"steps": steps(), "stableService": PROBE, "canaryService": "probe-canary"}},
    }})
}

/// A Service of the probe.
pub(crate) fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": PROBE},
        "spec": {"selector": {"app": PROBE}, "ports": [{"port": 80}]}})
}

/// A namespace.
pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// The controller may do everything: which role another controller needs is not ours to know.
pub(crate) fn grant(user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "bench"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

/// A ReplicaSet without a Rollout, for the time it takes without a controller of ours.
pub(crate) fn replica_set(number: usize, replicas: u32) -> Value {
    let name = format!("plain-{number}");
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(&name, "shop:1")}})
}
