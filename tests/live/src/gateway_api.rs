//! Gateway and HTTPRoute: the same proxy, told by other objects.

use serde_json::{Value, json};

use crate::istio::{GATEWAY_LABEL, SYSTEM};
use crate::objects::{Place, SHOP};

/// The group of its kinds.
pub(crate) const GROUP: &str = "gateway.networking.k8s.io";

/// The listener of the proxy, and the route behind it.
pub(crate) fn all(place: &Place, host: &str) -> Vec<Value> {
    // istiod makes no proxy of its own for a Gateway that names a Service: whatever that one selects is the gateway.
    let gate = format!("gate-{}", place.namespace);
    let ports = json!([{"name": "http", "port": place.port, "targetPort": place.port}]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": gate, "namespace": SYSTEM},
        "spec": {"selector": {GATEWAY_LABEL.0: GATEWAY_LABEL.1}, "ports": ports}});
    let address = json!({"type": "Hostname", "value": format!("{gate}.{SYSTEM}.svc.cluster.local")});
    let listener = json!({"name": "http", "port": place.port, "protocol": "HTTP",
        "allowedRoutes": {"namespaces": {"from": "All"}}});
    let gateway = object(
        "Gateway",
        &gate,
        SYSTEM,
        &json!({"gatewayClassName": "istio", "addresses": [address], "listeners": [listener]}),
    );
    let backend = |name: &str, weight: u64| json!({"name": name, "port": 80, "weight": weight});
    let route = json!({"parentRefs": [{"name": gate, "namespace": SYSTEM}], "hostnames": [host],
        "rules": [{"backendRefs": [backend("stable", 100), backend("canary", 0)]}]});
    vec![service, gateway, object("HTTPRoute", SHOP, &place.namespace, &route)]
}

/// What stands under `trafficRouting`, as users of the plugin write it.
pub(crate) fn routing(place: &Place) -> Value {
    json!({"plugins": {"argoproj-labs/gatewayAPI": {"httpRoute": SHOP, "namespace": place.namespace}}})
}

fn object(kind: &str, name: &str, namespace: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind,
        "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}
