//! The kinds of Istio that the simulated cluster serves. Nothing but names: their contents are whatever users write.

use serde_json::{Value, json};

/// CRDs of VirtualService, DestinationRule and Gateway, in the versions a real Istio serves.
pub fn crds() -> Vec<Value> {
    let kinds = [
        ("VirtualService", "virtualservices", "virtualservice", "vs"),
        ("DestinationRule", "destinationrules", "destinationrule", "dr"),
        ("Gateway", "gateways", "gateway", "gw"),
    ];
    kinds.iter().map(|(kind, plural, singular, short)| crd(kind, plural, singular, short)).collect()
}

/// What `kubectl get` shows of a kind beside its name.
fn columns(kind: &str) -> Value {
    let column = |name: &str, path: &str| json!({"name": name, "type": "string", "jsonPath": path});
    let age = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"});
    match kind {
        "VirtualService" => json!([column("Gateways", ".spec.gateways"), column("Hosts", ".spec.hosts"), age]),
        "DestinationRule" => json!([column("Host", ".spec.host"), age]),
        _ => json!([age]),
    }
}

fn crd(kind: &str, plural: &str, singular: &str, short: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let versions = ["v1", "v1beta1", "v1alpha3"].map(|name| {
        json!({
            "name": name, "served": true, "storage": name == "v1", "subresources": {"status": {}},
            "additionalPrinterColumns": columns(kind),
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
        })
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.networking.istio.io")},
        "spec": {
            "group": "networking.istio.io", "scope": "Namespaced", "versions": versions,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular,
                "shortNames": [short], "categories": ["istio-io"]},
        },
    })
}
