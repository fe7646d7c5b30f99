//! A waypoint: the proxy that Istio's ambient mode puts in front of a Service, and what plays its neighbours.
//!
//! Where a request goes is istiod's own: the listener behind the tunnel, its routes with their weights, its clusters.
//! The tunnels themselves need certificates and Istio's own filters, so both ends of them are ours.

use serde_json::{Value, json};

use crate::gateway_api::{GROUP, object};
use crate::istio::{Proxy, SYSTEM};
use crate::objects::Place;

/// The class of its Gateway.
const CLASS: &str = "istio-waypoint";
/// The name of the Gateway and of its Service.
const WAYPOINT: &str = "waypoint";
/// The label by which Istio knows whose proxy it is.
const LABEL: &str = "gateway.networking.k8s.io/gateway-name";
/// The address of the proxy as istiod knows it; nobody calls it.
const ADDRESS: &str = "127.2.0.1";
/// The port of tunnels, the only one that Istio takes.
const TUNNEL: u16 = 15008;

/// What a Service says that has it in front.
pub(crate) fn labels() -> Value {
    json!({"istio.io/use-waypoint": WAYPOINT})
}

/// The waypoint: its Gateway, the Service that Gateway names, and what stands for its pod.
pub(crate) fn objects(place: &Place) -> Vec<Value> {
    let namespace = &place.namespace;
    let metadata = json!({"name": WAYPOINT, "namespace": namespace});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"selector": {LABEL: WAYPOINT}, "ports": [{"name": "tcp", "port": TUNNEL}]}});
    let pod = json!({"apiVersion": "networking.istio.io/v1", "kind": "WorkloadEntry", "metadata": metadata,
        "spec": {"address": ADDRESS, "labels": {LABEL: WAYPOINT}}});
    // As for the gateway: a Gateway that names a Service gets no proxy from istiod.
    let address = json!({"type": "Hostname", "value": format!("{WAYPOINT}.{namespace}.svc.cluster.local")});
    let listener = json!({"name": "mesh", "port": TUNNEL, "protocol": "HBONE"});
    let spec = json!({"gatewayClassName": CLASS, "addresses": [address], "listeners": [listener]});
    vec![service, pod, object("Gateway", WAYPOINT, namespace, &spec)]
}

/// Takes one filter of Istio out of all waypoints, which no setting of istiod leaves out and no upstream Envoy has. It is
/// only for metrics.
pub(crate) fn filter() -> Value {
    let filter = json!({"name": "envoy.filters.network.http_connection_manager",
        "subFilter": {"name": "waypoint_upstream_peer_metadata"}});
    let listener = json!({"name": "main_internal", "filterChain": {"filter": filter}});
    let patch = json!({"applyTo": "HTTP_FILTER", "patch": {"operation": "REMOVE"},
        "match": {"context": "SIDECAR_INBOUND", "listener": listener}});
    json!({"apiVersion": "networking.istio.io/v1alpha3", "kind": "EnvoyFilter",
        "metadata": {"name": WAYPOINT, "namespace": SYSTEM}, "spec": {
            "targetRefs": [{"group": GROUP, "kind": "GatewayClass", "name": CLASS}], "configPatches": [patch]}})
}

/// The proxy of the waypoint, for a Service at this address.
pub(crate) fn proxy<'a>(place: &'a Place, service: &str) -> Proxy<'a> {
    Proxy {
        address: ADDRESS,
        listeners: vec![entrance(place.port, service)],
        clusters: vec![exit()],
        ..Proxy::new(WAYPOINT, "waypoint", &place.namespace, (LABEL, WAYPOINT))
    }
}

/// Stands where the tunnel ends, under the name of the listener that it takes the place of. It says what a tunnel would
/// have said, the address that was called, and hands the connection to istiod's listener as that one does.
fn entrance(port: u16, service: &str) -> Value {
    let called = json!({"object_key": "envoy.filters.listener.original_dst.local_ip", "shared_with_upstream": "ONCE",
        "format_string": {"text_format_source": {"inline_string": format!("{service}:80")}}});
    let state = json!({"name": "envoy.filters.network.set_filter_state", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.set_filter_state.v3.Config",
        "on_new_connection": [called]}});
    let pass_on = json!({"name": "envoy.filters.network.tcp_proxy", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
        "stat_prefix": "entrance", "cluster": "main_internal"}});
    json!({"name": "connect_terminate", "filter_chains": [{"filters": [state, pass_on]}],
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}})
}

/// Takes the place of the cluster of tunnels to pods, which would wait for certificates. Pods here have no tunnels.
fn exit() -> Value {
    json!({"name": "connect_originate", "type": "STATIC", "load_assignment": {"cluster_name": "connect_originate"}})
}
