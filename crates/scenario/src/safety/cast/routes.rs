//! Routes that users may have: by Service and by subset, over HTTP, TLS and TCP, in one object or two, with others beside.

use serde_json::{Value, json};
use tidegate_sim::Random;

use super::super::routes::FOREIGN;
use super::Kind;

/// How long pods stay that are not needed any more, and whether stable pods make room for the canary's.
pub(super) fn delays(random: &mut Random) -> Value {
    if random.per_mille(250) {
        return json!({"dynamicStableScale": true, "abortScaleDownDelaySeconds": random.between(1, 5)});
    }
    json!({"scaleDownDelaySeconds": random.between(1, 8), "abortScaleDownDelaySeconds": random.between(1, 5)})
}

/// Fields of the strategy, and the objects.
pub(super) fn drawn(name: &str, kind: Kind, random: &mut Random) -> (Value, Vec<Value>) {
    let has_foreign = random.per_mille(250);
    let destination = |role: &str| match kind {
        Kind::Hosts => json!({"host": format!("{name}-{role}")}),
        _ => json!({"host": name, "subset": role}),
    };
    let split = || {
        let mut entries = vec![
            json!({"destination": destination("stable"), "weight": if has_foreign { 90 } else { 100 }}),
            json!({"destination": destination("canary"), "weight": 0}),
        ];
        if has_foreign {
            entries.push(json!({"destination": {"host": FOREIGN}, "weight": 10}));
        }
        json!(entries)
    };
    let mut objects = Vec::new();
    let mut names = Vec::new();
    let count = 1 + usize::from(random.per_mille(300));
    for place in ["edge", "mesh"].iter().take(count) {
        let object = format!("{name}-{place}");
        let mut spec =
            json!({"hosts": [format!("{name}.example")], "http": [{"name": "web", "timeout": "4s", "route": split()}]});
        if random.per_mille(300) {
            let fields = json!({"tls": [{"match": [{"port": 443, "sniHosts": ["a.example"]}], "route": split()}],
                "tcp": [{"match": [{"port": 8020}], "route": split()}]});
            spec = super::with(spec, fields);
        }
        objects.push(
            json!({"apiVersion": "networking.istio.io/v1alpha3", "kind": "VirtualService", "metadata": {"name": object},
            "spec": spec}),
        );
        names.push(json!({"name": object}));
    }
    let mut istio = json!({"virtualServices": names});
    if kind == Kind::Subsets {
        let rule = json!({"name": name, "canarySubsetName": "canary", "stableSubsetName": "stable"});
        istio = super::with(istio, json!({"destinationRule": rule}));
        let subset = |role: &str| json!({"name": role, "labels": {"app": name}});
        objects.push(json!({"apiVersion": "networking.istio.io/v1alpha3", "kind": "DestinationRule", "metadata": {"name": name},
            "spec": {"host": name, "subsets": [subset("stable"), subset("canary"), {"name": "batch", "labels": {"kind": "batch"}}]}}));
    }
    let mut fields = json!({"trafficRouting": {"istio": istio}});
    if kind == Kind::Hosts {
        let services = json!({"stableService": format!("{name}-stable"), "canaryService": format!("{name}-canary")});
        fields = super::with(fields, services);
    }
    (fields, objects)
}
