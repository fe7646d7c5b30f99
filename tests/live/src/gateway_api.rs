//! Gateway and HTTPRoute: the same proxies, told by other objects.

use serde_json::{Value, json};

use crate::istio::{GATEWAY_LABEL, SYSTEM};
use crate::objects::{Place, Plan, SHOP, Way};

/// The group of its kinds.
pub(crate) const GROUP: &str = "gateway.networking.k8s.io";

/// The name of a shop's Gateway, which is in the namespace of the proxy.
fn gate(place: &Place) -> String {
    format!("gate-{}", place.namespace)
}

/// The listener of the gateway.
pub(crate) fn gateway(place: &Place) -> Vec<Value> {
    // istiod makes no proxy of its own for a Gateway that names a Service: whatever that one selects is the gateway.
    let gate = gate(place);
    let ports = json!([{"name": "http", "port": place.port, "targetPort": place.port}]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": gate, "namespace": SYSTEM},
        "spec": {"selector": {GATEWAY_LABEL.0: GATEWAY_LABEL.1}, "ports": ports}});
    let address = json!({"type": "Hostname", "value": format!("{gate}.{SYSTEM}.svc.cluster.local")});
    let listener = json!({"name": "http", "port": place.port, "protocol": "HTTP",
        "allowedRoutes": {"namespaces": {"from": "All"}}});
    let spec = json!({"gatewayClassName": "istio", "addresses": [address], "listeners": [listener]});
    vec![service, object("Gateway", &gate, SYSTEM, &spec)]
}

/// The route, whose parent is the Gateway, or the Service that clients call.
pub(crate) fn route(plan: &Plan, place: &Place) -> Value {
    let port = place.service_port(plan);
    let backend = |name: &str, weight: u64| json!({"name": name, "port": port, "weight": weight});
    let rules = json!([{"backendRefs": [backend("stable", 100), backend("canary", 0)]}]);
    let spec = match plan.way {
        Way::Gateway => json!({"parentRefs": [{"name": gate(place), "namespace": SYSTEM}],
            "hostnames": [place.host(plan)], "rules": rules}),
        Way::Sidecar | Way::Waypoint => json!({
            "parentRefs": [{"group": "", "kind": "Service", "name": SHOP, "port": port}], "rules": rules}),
    };
    object("HTTPRoute", SHOP, &place.namespace, &spec)
}

/// What stands under `trafficRouting`, as users of the plugin write it.
pub(crate) fn routing(place: &Place) -> Value {
    json!({"plugins": {"argoproj-labs/gatewayAPI": {"httpRoute": SHOP, "namespace": place.namespace}}})
}

pub(crate) fn object(kind: &str, name: &str, namespace: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind,
        "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}
