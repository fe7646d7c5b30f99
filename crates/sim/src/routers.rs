//! Traffic routers besides Istio as users set them up: their kinds, and for each a Rollout's part and its objects.
//!
//! The Services are `stable` and `canary`, and whatever users name themselves is `shop`.

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

/// One router: how a Rollout names it, its objects as users write them, and how the canary's weight is read.
pub struct Way {
    /// Its name.
    pub name: &'static str,
    /// What stands under `trafficRouting`.
    pub routing: Value,
    /// What users have made.
    pub objects: Vec<Value>,
    /// Where the canary's weight is.
    pub place: Place,
}

/// Where the canary's weight is.
#[derive(Clone, Copy)]
pub struct Place {
    /// The kind of object.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// How to read it.
    pub read: fn(&Value) -> Option<i64>,
}

/// The weight of the canary's entry in a list.
fn entry(list: &Value, name: &str) -> Option<i64> {
    let found = list.as_array()?.iter().find(|entry| entry[name] == "canary")?;
    found["weight"].as_i64().or_else(|| found["weight"].as_str()?.parse().ok())
}

/// Traefik.
pub fn traefik() -> Way {
    Way {
        name: "traefik",
        routing: json!({"traefik": {"weightedTraefikServiceName": "shop"}}),
        objects: vec![
            json!({"apiVersion": "traefik.io/v1alpha1", "kind": "TraefikService", "metadata": {"name": "shop"},
            "spec": {"weighted": {"sticky": {"cookie": {"name": "x"}}, "services": [
                {"name": "stable", "port": 80}, {"name": "canary", "port": 80}]}}}),
        ],
        place: Place {
            kind: "TraefikService",
            name: "shop",
            read: |object| entry(&object["spec"]["weighted"]["services"], "name"),
        },
    }
}

/// The Service Mesh Interface.
pub fn smi() -> Way {
    Way {
        name: "smi",
        routing: json!({"smi": {"trafficSplitName": "shop"}}),
        objects: Vec::new(),
        place: Place {
            kind: "TrafficSplit",
            name: "shop",
            read: |object| entry(&object["spec"]["backends"], "service"),
        },
    }
}

/// The NGINX ingress controller.
pub fn nginx() -> Way {
    let backend = json!({"service": {"name": "stable", "port": {"number": 80}}});
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
    Way {
        name: "nginx",
        routing: json!({"nginx": {"stableIngress": "shop"}}),
        objects: vec![json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop"},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": "shop.example", "http": {"paths": paths}}]}})],
        place: Place {
            kind: "Ingress",
            name: "shop-shop-canary",
            read: |object| {
                object["metadata"]["annotations"]["nginx.ingress.kubernetes.io/canary-weight"].as_str()?.parse().ok()
            },
        },
    }
}

/// The Gateway API.
pub fn gateway_api() -> Way {
    gateway("gateway API", "httpRoute", "HTTPRoute")
}

/// The Gateway API below HTTP, whose routes clusters of today serve in another version than those the plugin asks for.
pub fn gateway_api_tcp() -> Way {
    gateway("gateway API TCP", "tcpRoute", "TCPRoute")
}

fn gateway(name: &'static str, field: &str, kind: &'static str) -> Way {
    let refs = json!([{"name": "stable", "port": 80, "weight": 100}, {"name": "canary", "port": 80, "weight": 0}]);
    Way {
        name,
        routing: json!({"plugins": {"argoproj-labs/gatewayAPI": {field: "shop", "namespace": "default"}}}),
        objects: vec![json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind, "metadata": {"name": "shop"},
            "spec": {"parentRefs": [{"name": "gate"}], "rules": [{"backendRefs": refs}]}})],
        place: Place { kind, name: "shop", read: |object| entry(&object["spec"]["rules"][0]["backendRefs"], "name") },
    }
}

/// The load balancer of AWS.
pub fn alb() -> Way {
    let backend = json!({"service": {"name": "stable", "port": {"name": "use-annotation"}}});
    let paths = json!([{"path": "/*", "pathType": "ImplementationSpecific", "backend": backend}]);
    Way {
        name: "alb",
        routing: json!({"alb": {"ingress": "shop", "servicePort": 80}}),
        objects: vec![json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop"},
            "spec": {"ingressClassName": "alb", "rules": [{"http": {"paths": paths}}]}})],
        place: Place {
            kind: "Ingress",
            name: "shop",
            read: |object| {
                let action = object["metadata"]["annotations"]["alb.ingress.kubernetes.io/actions.stable"].as_str()?;
                let action: Value = serde_json::from_str(action).ok()?;
                let group = action["ForwardConfig"]["TargetGroups"].as_array()?.first()?.clone();
                (group["ServiceName"] == "canary").then(|| group["Weight"].as_i64())?
            },
        },
    }
}

/// Ambassador.
pub fn ambassador() -> Way {
    Way {
        name: "ambassador",
        routing: json!({"ambassador": {"mappings": ["shop"]}}),
        objects: vec![json!({"apiVersion": "getambassador.io/v2", "kind": "Mapping", "metadata": {"name": "shop"},
            "spec": {"prefix": "/", "service": "stable:80"}})],
        place: Place { kind: "Mapping", name: "shop-canary", read: |object| object["spec"]["weight"].as_i64() },
    }
}

/// Apache APISIX.
pub fn apisix() -> Way {
    let backends = json!([{"serviceName": "stable", "servicePort": 80}, {"serviceName": "canary", "servicePort": 80}]);
    Way {
        name: "apisix",
        routing: json!({"apisix": {"route": {"name": "shop", "rules": ["web"]}}}),
        objects: vec![
            json!({"apiVersion": "apisix.apache.org/v2", "kind": "ApisixRoute", "metadata": {"name": "shop"},
            "spec": {"http": [{"name": "web", "match": {"paths": ["/*"]}, "backends": backends}]}}),
        ],
        place: Place {
            kind: "ApisixRoute",
            name: "shop",
            read: |object| {
                let backends = object["spec"]["http"][0]["backends"].as_array()?;
                backends.iter().find(|backend| backend["serviceName"] == "canary")?["weight"].as_i64()
            },
        },
    }
}

/// AWS App Mesh.
pub fn app_mesh() -> Way {
    let of = |kind: &str, name: &str, spec: Value| json!({"apiVersion": "appmesh.k8s.aws/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let node = |name: &str| of("VirtualNode", name, json!({"podSelector": {"matchLabels": {"app": "shop"}}}));
    let targets = json!([{"virtualNodeRef": {"name": "stable-node"}, "weight": 100}, {"virtualNodeRef": {"name": "canary-node"}, "weight": 0}]);
    let routes =
        json!([{"name": "web", "httpRoute": {"match": {"prefix": "/"}, "action": {"weightedTargets": targets}}}]);
    Way {
        name: "appMesh",
        routing: json!({"appMesh": {"virtualService": {"name": "shop"}, "virtualNodeGroup": {
            "canaryVirtualNodeRef": {"name": "canary-node"}, "stableVirtualNodeRef": {"name": "stable-node"}}}}),
        objects: vec![
            of(
                "VirtualService",
                "shop",
                json!({"provider": {"virtualRouter": {"virtualRouterRef": {"name": "shop"}}}}),
            ),
            of("VirtualRouter", "shop", json!({"routes": routes})),
            node("stable-node"),
            node("canary-node"),
        ],
        place: Place {
            kind: "VirtualRouter",
            name: "shop",
            read: |object| {
                let targets = object["spec"]["routes"][0]["httpRoute"]["action"]["weightedTargets"].as_array()?;
                targets.iter().find(|target| target["virtualNodeRef"]["name"] == "canary-node")?["weight"].as_i64()
            },
        },
    }
}

/// All of them.
pub fn all() -> Vec<Way> {
    vec![traefik(), smi(), nginx(), gateway_api(), gateway_api_tcp(), alb(), ambassador(), apisix(), app_mesh()]
}
