//! What is put into the cluster.

use serde_json::{Value, json};

/// Where the Rollouts are. All in one namespace: whatever looks through a whole namespace for each shows here.
pub(crate) const NAMESPACE: &str = "fleet";
/// Where the one Rollout is whose Service is meddled with.
pub(crate) const PROBE: &str = "probe";
/// A Rollout of the probe and its VirtualServices.
pub(crate) struct Routed {
    pub(crate) name: &'static str,
    pub(crate) routes: &'static [&'static str],
}
/// One of them has two VirtualServices, the other, as most have, a single one.
pub(crate) const TWICE: Routed = Routed { name: "routed", routes: &["routed-one", "routed-two"] };
pub(crate) const ONCE: Routed = Routed { name: "once", routes: &["once"] };
/// A Rollout that no controller looks at.
pub(crate) const NOBODYS: &str = "nobodys";
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

/// A Rollout of the fleet, behind a VirtualService or without one.
pub(crate) fn rollout(number: usize, replicas: u32, is_routed: bool) -> Value {
    let name = name(number);
    let canary = if is_routed { routed(&name, &[&name]) } else { json!({"steps": steps()}) };
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}}, "strategy": {"canary": canary},
        "template": template(&name, "shop:1"),
    }})
}

/// The strategy of a Rollout whose weights are in VirtualServices.
fn routed(name: &str, virtual_services: &[&str]) -> Value {
    let named: Vec<Value> = virtual_services.iter().map(|name| json!({"name": name})).collect();
    json!({"steps": steps(), "stableService": format!("{name}-stable"), "canaryService": format!("{name}-canary"),
        "trafficRouting": {"istio": {"virtualServices": named}}})
}

/// A Rollout of the probe that has VirtualServices.
pub(crate) fn routed_probe(Routed { name, routes }: &Routed) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name, "namespace": PROBE}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template(name, "probe:1"),
        "strategy": {"canary": routed(name, routes)},
    }})
}

/// What gives such a Rollout a new version.
pub(crate) fn next_probe(Routed { name, .. }: &Routed) -> Value {
    json!({"spec": {"template": template(name, "probe:2")}})
}

/// A Rollout that belongs to a controller which is not there.
pub(crate) fn nobodys() -> Value {
    let mut rollout = routed_probe(&Routed { name: NOBODYS, routes: &[NOBODYS] });
    rollout["metadata"]["labels"] = json!({"argo-rollouts.argoproj.io/controller-instance-id": NOBODYS});
    rollout
}

/// The two Services of a Rollout whose weights are in VirtualServices. They have no address of their own: to give one out costs
/// the API server more than all else.
pub(crate) fn services(namespace: &str, name: &str) -> [Value; 2] {
    ["stable", "canary"].map(|role| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("{name}-{role}"), "namespace": namespace},
            "spec": {"clusterIP": "None", "selector": {"app": name}, "ports": [{"port": 80}]}})
    })
}

/// A VirtualService with the two Services of a Rollout.
pub(crate) fn virtual_service(namespace: &str, name: &str, rollout: &str) -> Value {
    json!({"apiVersion": "networking.istio.io/v1alpha3", "kind": "VirtualService",
        "metadata": {"name": name, "namespace": namespace}, "spec": {"hosts": [name], "http": routes(rollout, 0)}})
}

/// The routes of a VirtualService with so much weight on the canary.
pub(crate) fn routes(rollout: &str, canary: i64) -> Value {
    json!([{"name": "primary", "route": [
        {"destination": {"host": format!("{rollout}-stable")}, "weight": 100 - canary},
        {"destination": {"host": format!("{rollout}-canary")}, "weight": canary},
    ]}])
}

/// The two kinds of Istio that matter here, as small as they can be.
pub(crate) fn istio_crds() -> [Value; 2] {
    [("virtualservices", "VirtualService"), ("destinationrules", "DestinationRule")].map(|(plural, kind)| {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.networking.istio.io")},
            "spec": {"group": "networking.istio.io", "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{"name": "v1alpha3", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
    })
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

/// What `retry` sends.
pub(crate) fn retry() -> Value {
    json!({"status": {"abort": false}})
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
