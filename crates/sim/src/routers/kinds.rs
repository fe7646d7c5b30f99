//! The kinds of routers that a cluster does not serve by itself. Nothing but names: their contents are whatever users write.

use serde_json::{Value, json};

/// Group, version, kind and name in URLs.
const KINDS: [(&str, &str, &str, &str); 9] = [
    ("traefik.io", "v1alpha1", "TraefikService", "traefikservices"),
    ("split.smi-spec.io", "v1alpha1", "TrafficSplit", "trafficsplits"),
    ("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),
    ("gateway.networking.k8s.io", "v1", "TCPRoute", "tcproutes"),
    ("getambassador.io", "v2", "Mapping", "mappings"),
    ("apisix.apache.org", "v2", "ApisixRoute", "apisixroutes"),
    ("appmesh.k8s.aws", "v1beta2", "VirtualService", "virtualservices"),
    ("appmesh.k8s.aws", "v1beta2", "VirtualRouter", "virtualrouters"),
    ("appmesh.k8s.aws", "v1beta2", "VirtualNode", "virtualnodes"),
];

/// CRDs of all kinds that a cluster does not serve by itself, as small as they can be.
pub fn crds() -> Vec<Value> {
    KINDS.iter().map(|(group, version, kind, plural)| crd(group, version, kind, plural)).collect()
}

fn crd(group: &str, version: &str, kind: &str, plural: &str) -> Value {
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

/// Whether a request is about objects of some router.
pub(crate) fn is_path_of_one(path: &str) -> bool {
    let group = path.strip_prefix("/apis/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    matches!(group, "networking.istio.io" | "networking.k8s.io") || KINDS.iter().any(|(known, ..)| *known == group)
}
