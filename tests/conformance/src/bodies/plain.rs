//! Objects without a pod template.

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::random::Random;

pub(super) fn object(random: &mut Random, kind: Kind) -> Option<Value> {
    Some(match kind.resource {
        "configmaps" => config_map(random),
        "secrets" => secret(random),
        "services" => service(random),
        "serviceaccounts" => json!({}),
        "leases" => json!({"spec": {"holderIdentity": random.pick(&["me", "you"]), "leaseDurationSeconds": 15,
            "renewTime": "2020-01-01T00:00:00.000000Z"}}),
        "endpoints" => {
            json!({"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80, "name": "http"}]}]})
        }
        "endpointslices" => json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"],
            "conditions": {"ready": random.chance(50)}}], "ports": [{"name": "http", "port": 80}]}),
        "events" => json!({"involvedObject": {"kind": "Pod", "namespace": "${ns}", "name": random.pick(&["a", "b"])},
            "reason": random.pick(&["Started", "Stopped"]), "message": "it did", "type": "Normal", "count": 1,
            "source": {"component": "conformance"}}),
        "roles" => json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]}),
        "rolebindings" => json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": random.pick(&["a", "b"])},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "${ns}"}]}),
        "poddisruptionbudgets" => disruption_budget(random),
        "horizontalpodautoscalers" => autoscaler(random),
        "ingresses" => ingress(random),
        _ => return None,
    })
}

fn config_map(random: &mut Random) -> Value {
    let mut object = json!({"data": {"key": random.pick(&["one", "two"]), "other": "x"}});
    if random.chance(10) {
        object["immutable"] = json!(true);
    }
    if random.chance(10) {
        object["binaryData"] = json!({"raw": "AAEC"});
    }
    object
}

fn secret(random: &mut Random) -> Value {
    match random.below(3) {
        0 => json!({"stringData": {"user": "me"}, "data": {"password": "cGFzcw=="}}),
        1 => json!({"type": "kubernetes.io/basic-auth", "stringData": {"username": "me", "password": "x"}}),
        _ => json!({"data": {"password": "cGFzcw=="}}),
    }
}

fn service(random: &mut Random) -> Value {
    let mut spec = json!({"selector": {"app": random.pick(&["x", "y"])}, "ports": [{"port": 80}]});
    match random.below(6) {
        0 => spec["clusterIP"] = json!("None"),
        1 => spec["type"] = json!("NodePort"),
        2 => spec = json!({"type": "ExternalName", "externalName": "example.com"}),
        3 => {
            spec["ports"] = json!([{"name": "http", "port": 80, "targetPort": "http"},
                {"name": "dns", "port": 53, "protocol": "UDP"}]);
        }
        4 => spec["sessionAffinity"] = json!("ClientIP"),
        _ => {}
    }
    json!({"spec": spec})
}

fn disruption_budget(random: &mut Random) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": random.pick(&["x", "y"])}}});
    let limit = random.pick(&[json!(1), json!("50%"), json!(0)]).clone();
    spec[*random.pick(&["minAvailable", "maxUnavailable"])] = limit;
    json!({"spec": spec})
}

fn autoscaler(random: &mut Random) -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": random.pick(&["a", "b"])});
    let mut spec = json!({"scaleTargetRef": target, "maxReplicas": random.between(2, 5)});
    if random.chance(50) {
        spec["minReplicas"] = json!(2);
    }
    if random.chance(50) {
        spec["metrics"] = json!([{"type": "Resource", "resource":
            {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]);
    }
    json!({"spec": spec})
}

fn ingress(random: &mut Random) -> Value {
    let backend = json!({"service": {"name": random.pick(&["a", "b"]), "port": {"number": 80}}});
    let path = json!({"path": "/", "pathType": random.pick(&["Prefix", "Exact"]), "backend": backend});
    match random.below(2) {
        0 => json!({"spec": {"rules": [{"host": "example.com", "http": {"paths": [path]}}]}}),
        _ => json!({"spec": {"defaultBackend": backend}}),
    }
}
