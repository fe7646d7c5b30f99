//! The kinds of the routers, as small as they can be.

use serde_json::{Value, json};

/// Group, version, kind and name in URLs.
pub(crate) const ALL: [(&str, &str, &str, &str); 8] = [
    ("traefik.io", "v1alpha1", "TraefikService", "traefikservices"),
    ("split.smi-spec.io", "v1alpha1", "TrafficSplit", "trafficsplits"),
    ("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),
    ("getambassador.io", "v2", "Mapping", "mappings"),
    ("apisix.apache.org", "v2", "ApisixRoute", "apisixroutes"),
    ("appmesh.k8s.aws", "v1beta2", "VirtualService", "virtualservices"),
    ("appmesh.k8s.aws", "v1beta2", "VirtualRouter", "virtualrouters"),
    ("appmesh.k8s.aws", "v1beta2", "VirtualNode", "virtualnodes"),
];

/// Their CRDs.
pub(crate) fn crds() -> Vec<Value> {
    ALL.iter().map(|(group, version, kind, plural)| crd(group, version, kind, plural)).collect()
}

pub(crate) fn crd(group: &str, version: &str, kind: &str, plural: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}]},
    })
}
