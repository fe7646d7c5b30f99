//! What is put into the cluster for one scenario: a Rollout, and Istio's objects around it.

use serde_json::{Value, json};

use crate::istio::GATEWAY_LABEL;
use crate::{gateway_api, waypoint};

/// The name of the Rollout, of its VirtualService and of its DestinationRule.
pub(crate) const SHOP: &str = "shop";
/// The name of the Gateway.
pub(crate) const GATEWAY: &str = "public";

/// How stable and canary are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Two Services.
    Host,
    /// Two subsets of one Service.
    Subset,
    /// Two Services in an HTTPRoute of the Gateway API.
    Route,
}

/// What clients call the shop through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The gateway, by a name of the outside.
    Gateway,
    /// A sidecar beside the client, by the name of the Service.
    Sidecar,
    /// A waypoint in front of the Service, by the name of the Service.
    Waypoint,
}

/// What connections carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    Http,
    Tls,
    Tcp,
}

/// One scenario's objects.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) level: Level,
    pub(crate) carries: Carries,
    pub(crate) steps: Value,
    /// `maxTrafficWeight`.
    pub(crate) total: Option<u64>,
    /// Names of header and mirror routes.
    pub(crate) managed: Vec<&'static str>,
    /// `headers` of the canary destination.
    pub(crate) canary_headers: Option<Value>,
    /// Whether old pods go as soon as they may, and at once. Only with the time for proxies that an annotation asks for.
    pub(crate) is_hasty: bool,
    pub(crate) way: Way,
}

impl Plan {
    /// HTTP through the gateway.
    pub(crate) fn new(level: Level, steps: Value) -> Self {
        Self {
            level,
            carries: Carries::Http,
            steps,
            total: None,
            managed: Vec::new(),
            canary_headers: None,
            is_hasty: false,
            way: Way::Gateway,
        }
    }
}

/// Where a scenario's objects live.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) namespace: String,
    /// The port of the proxy, which is that of the Services too for a sidecar.
    pub(crate) port: u16,
    /// The port of the servers in pods.
    pub(crate) pod_port: u16,
}

impl Place {
    /// The host that clients ask for.
    pub(crate) fn host(&self, plan: &Plan) -> String {
        match plan.way {
            Way::Gateway => format!("{}.shops.example", self.namespace),
            Way::Sidecar | Way::Waypoint => format!("{SHOP}.{}.svc.cluster.local", self.namespace),
        }
    }

    /// The port of the Services.
    pub(crate) fn service_port(&self, plan: &Plan) -> u16 {
        match plan.way {
            Way::Gateway | Way::Waypoint => 80,
            // A listener of a Sidecar serves the Services that have its port.
            Way::Sidecar => self.port,
        }
    }
}

/// All objects, in the order they are made.
pub(crate) fn all(plan: &Plan, place: &Place) -> Vec<Value> {
    let mut objects: Vec<Value> = services(plan).iter().map(|name| service(name, plan, place)).collect();
    if plan.level == Level::Subset {
        objects.push(rule(place));
    }
    objects.extend(entrance(plan, place));
    objects.push(match plan.level {
        Level::Route => gateway_api::route(plan, place),
        Level::Host | Level::Subset => virtual_service(plan, place),
    });
    objects.push(rollout(plan, place));
    objects
}

/// Who is called by the name of a Service has one of all versions.
fn services(plan: &Plan) -> &'static [&'static str] {
    match (plan.level, plan.way) {
        (Level::Subset, _) => &[SHOP],
        (Level::Host | Level::Route, Way::Gateway) => &["stable", "canary"],
        (Level::Host | Level::Route, Way::Sidecar | Way::Waypoint) => &["stable", "canary", SHOP],
    }
}

/// Where the proxy takes requests.
fn entrance(plan: &Plan, place: &Place) -> Vec<Value> {
    match (plan.way, plan.level) {
        (Way::Gateway, Level::Route) => gateway_api::gateway(place),
        (Way::Gateway, Level::Host | Level::Subset) => vec![gateway(plan, place)],
        (Way::Sidecar, _) => vec![sidecar(place)],
        (Way::Waypoint, _) => waypoint::objects(place),
    }
}

fn istio(kind: &str, name: &str, place: &Place, spec: Value) -> Value {
    json!({"apiVersion": "networking.istio.io/v1", "kind": kind,
        "metadata": {"name": name, "namespace": place.namespace}, "spec": spec})
}

fn protocol(plan: &Plan) -> &'static str {
    match plan.carries {
        Carries::Http => "http",
        Carries::Tls => "tls",
        Carries::Tcp => "tcp",
    }
}

fn service(name: &str, plan: &Plan, place: &Place) -> Value {
    let mut metadata = json!({"name": name, "namespace": place.namespace});
    if plan.way == Way::Waypoint {
        set(&mut metadata, "labels", waypoint::labels());
    }
    let port = place.service_port(plan);
    json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"selector": {"app": SHOP},
            "ports": [{"name": protocol(plan), "port": port, "targetPort": place.pod_port}]}})
}

fn rule(place: &Place) -> Value {
    let subset = |name: &str| json!({"name": name, "labels": {"app": SHOP}});
    istio("DestinationRule", SHOP, place, json!({"host": SHOP, "subsets": [subset("current"), subset("next")]}))
}

fn gateway(plan: &Plan, place: &Place) -> Value {
    let mut server = json!({"hosts": ["*"], "bind": "127.0.0.1",
        "port": {"number": place.port, "name": format!("{}-{}", protocol(plan), place.port),
            "protocol": protocol(plan).to_uppercase()}});
    if plan.carries == Carries::Tls {
        set(&mut server, "hosts", json!([place.host(plan)]));
        set(&mut server, "tls", json!({"mode": "PASSTHROUGH"}));
    }
    istio("Gateway", GATEWAY, place, json!({"selector": {GATEWAY_LABEL.0: GATEWAY_LABEL.1}, "servers": [server]}))
}

fn sidecar(place: &Place) -> Value {
    istio(
        "Sidecar",
        "client",
        place,
        json!({"workloadSelector": {"labels": {"app": "client"}}, "egress": [{
        "port": {"number": place.port, "name": "http", "protocol": "HTTP"}, "bind": "127.0.0.1",
        "captureMode": "NONE", "hosts": ["./*"]}]}),
    )
}

fn virtual_service(plan: &Plan, place: &Place) -> Value {
    let destination = |host: &str, subset: &str| match plan.level {
        Level::Host | Level::Route => json!({"host": host}),
        Level::Subset => json!({"host": SHOP, "subset": subset}),
    };
    let mut canary = json!({"destination": destination("canary", "next"), "weight": 0});
    if let Some(headers) = &plan.canary_headers {
        set(&mut canary, "headers", headers.clone());
    }
    let route = json!([{"destination": destination("stable", "current"), "weight": plan.total.unwrap_or(100)}, canary]);
    let host = place.host(plan);
    let routes = match plan.carries {
        // Istio would try twice more, and hide requests that failed.
        Carries::Http => json!([{"name": "primary", "retries": {"attempts": 0}, "route": route}]),
        Carries::Tls => json!([{"match": [{"port": place.port, "sniHosts": [host]}], "route": route}]),
        Carries::Tcp => json!([{"match": [{"port": place.port}], "route": route}]),
    };
    let hosts = if plan.carries == Carries::Tcp { "*" } else { &host };
    let gateways = if plan.way == Way::Gateway { GATEWAY } else { "mesh" };
    istio("VirtualService", SHOP, place, json!({"hosts": [hosts], "gateways": [gateways], protocol(plan): routes}))
}

fn rollout(plan: &Plan, place: &Place) -> Value {
    let selected = match plan.carries {
        Carries::Http => json!({"name": SHOP, "routes": ["primary"]}),
        Carries::Tls => json!({"name": SHOP, "tlsRoutes": [{"port": place.port, "sniHosts": [place.host(plan)]}]}),
        Carries::Tcp => json!({"name": SHOP, "tcpRoutes": [{"port": place.port}]}),
    };
    let managed: Vec<Value> = plan.managed.iter().map(|name| json!({"name": name})).collect();
    let mut routing = match plan.level {
        Level::Route => gateway_api::routing(place),
        Level::Host | Level::Subset => json!({"istio": {"virtualService": selected}}),
    };
    set(&mut routing, "managedRoutes", json!(managed));
    let mut canary = json!({"steps": plan.steps, "scaleDownDelaySeconds": 5, "abortScaleDownDelaySeconds": 5});
    if let Some(total) = plan.total {
        set(&mut routing, "maxTrafficWeight", json!(total));
    }
    if plan.level != Level::Subset {
        set(&mut canary, "stableService", json!("stable"));
        set(&mut canary, "canaryService", json!("canary"));
    } else if let Some(istio) = routing.get_mut("istio") {
        let subsets = json!({"name": SHOP, "canarySubsetName": "next", "stableSubsetName": "current"});
        set(istio, "destinationRule", subsets);
    }
    let mut metadata = json!({"name": SHOP, "namespace": place.namespace});
    if plan.is_hasty {
        set(&mut canary, "scaleDownDelaySeconds", json!(0));
        set(&mut metadata, "annotations", json!({"rollouts.tidegate.dev/traffic-propagation": "2s"}));
    }
    set(&mut canary, "trafficRouting", routing);
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": metadata,
        "spec": {"replicas": 4, "selector": {"matchLabels": {"app": SHOP}}, "template": template(plan, "1"),
            "strategy": {"canary": canary}}})
}

/// One more field; fields that are left out must not be null, which the API refuses.
fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

/// A version of the shop.
pub(crate) fn template(plan: &Plan, version: &str) -> Value {
    let delay = if plan.is_hasty { "0s" } else { "3s" };
    json!({"metadata": {"labels": {"app": SHOP}, "annotations": {"node-agent.tidegate.dev/stop-delay": delay}},
        "spec": {"containers": [{"name": "main", "image": format!("shop:{version}")}]}})
}
