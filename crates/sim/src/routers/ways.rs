//! Each router as users set it up.

use serde_json::{Value, json};

use super::{Names, Place, Way};

fn place(kind: &'static str, name: &str, canary: &str) -> Place {
    Place { kind, name: name.to_owned(), canary: canary.to_owned() }
}

fn object(api: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// Traefik.
pub fn traefik(names: &Names<'_>) -> Way {
    let Names { own, stable, canary } = *names;
    let services = json!([{"name": stable, "port": 80}, {"name": canary, "port": 80}]);
    let spec = json!({"weighted": {"sticky": {"cookie": {"name": "x"}}, "services": services}});
    Way {
        name: "traefik",
        routing: json!({"traefik": {"weightedTraefikServiceName": own}}),
        objects: vec![object("traefik.io/v1alpha1", "TraefikService", own, spec)],
        place: place("TraefikService", own, canary),
    }
}

/// The Service Mesh Interface.
pub fn smi(names: &Names<'_>) -> Way {
    Way {
        name: "smi",
        routing: json!({"smi": {"trafficSplitName": names.own}}),
        objects: Vec::new(),
        place: place("TrafficSplit", names.own, names.canary),
    }
}

/// The NGINX ingress controller.
pub fn nginx(names: &Names<'_>) -> Way {
    let Names { own, stable, canary } = *names;
    let backend = json!({"service": {"name": stable, "port": {"number": 80}}});
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
    let spec = json!({"ingressClassName": "nginx", "rules": [{"host": "shop.example", "http": {"paths": paths}}]});
    let ingress = format!("{own}-web");
    Way {
        name: "nginx",
        routing: json!({"nginx": {"stableIngress": ingress}}),
        objects: vec![object("networking.k8s.io/v1", "Ingress", &ingress, spec)],
        place: place("Ingress", &format!("{own}-{ingress}-canary"), canary),
    }
}

/// The Gateway API.
pub fn gateway_api(names: &Names<'_>) -> Way {
    gateway("gateway API", "httpRoute", "HTTPRoute", names)
}

/// The Gateway API below HTTP, whose routes clusters of today serve in another version than those the plugin asks for.
pub fn gateway_api_tcp(names: &Names<'_>) -> Way {
    gateway("gateway API TCP", "tcpRoute", "TCPRoute", names)
}

/// Further routes of the Gateway API. They are written as those above are, so that seeds need not draw them.
pub fn more_gateway_api(names: &Names<'_>) -> Vec<Way> {
    let mut tls = gateway("gateway API TLS", "tlsRoute", "TLSRoute", names);
    tls.objects.iter_mut().for_each(|route| route["spec"]["hostnames"] = json!(["shop.example"]));
    vec![gateway("gateway API GRPC", "grpcRoute", "GRPCRoute", names), tls]
}

fn gateway(name: &'static str, field: &str, kind: &'static str, names: &Names<'_>) -> Way {
    let Names { own, stable, canary } = *names;
    let refs = json!([{"name": stable, "port": 80, "weight": 100}, {"name": canary, "port": 80, "weight": 0}]);
    let spec = json!({"parentRefs": [{"name": "gate"}], "rules": [{"backendRefs": refs}]});
    Way {
        name,
        routing: json!({"plugins": {"argoproj-labs/gatewayAPI": {field: own, "namespace": "default"}}}),
        objects: vec![object("gateway.networking.k8s.io/v1", kind, own, spec)],
        place: place(kind, own, canary),
    }
}

/// The load balancer of AWS.
pub fn alb(names: &Names<'_>) -> Way {
    let Names { own, stable, canary } = *names;
    let backend = json!({"service": {"name": stable, "port": {"name": "use-annotation"}}});
    let paths = json!([{"path": "/*", "pathType": "ImplementationSpecific", "backend": backend}]);
    let spec = json!({"ingressClassName": "alb", "rules": [{"http": {"paths": paths}}]});
    Way {
        name: "alb",
        routing: json!({"alb": {"ingress": own, "servicePort": 80}}),
        objects: vec![object("networking.k8s.io/v1", "Ingress", own, spec)],
        place: place("Ingress", own, canary),
    }
}

/// Ambassador.
pub fn ambassador(names: &Names<'_>) -> Way {
    let Names { own, stable, canary } = *names;
    let spec = json!({"prefix": "/", "service": format!("{stable}:80")});
    Way {
        name: "ambassador",
        routing: json!({"ambassador": {"mappings": [own]}}),
        objects: vec![object("getambassador.io/v2", "Mapping", own, spec)],
        place: place("Mapping", &format!("{own}-canary"), canary),
    }
}

/// Apache APISIX.
pub fn apisix(names: &Names<'_>) -> Way {
    let Names { own, stable, canary } = *names;
    let backend = |service: &str| json!({"serviceName": service, "servicePort": 80});
    let rule = json!({"name": "web", "match": {"paths": ["/*"]}, "backends": [backend(stable), backend(canary)]});
    Way {
        name: "apisix",
        routing: json!({"apisix": {"route": {"name": own, "rules": ["web"]}}}),
        objects: vec![object("apisix.apache.org/v2", "ApisixRoute", own, json!({"http": [rule]}))],
        place: place("ApisixRoute", own, canary),
    }
}

/// AWS App Mesh: nodes are called like the Services, with `-node` behind.
pub fn app_mesh(names: &Names<'_>) -> Way {
    let own = names.own;
    let (stable, canary) = (format!("{}-node", names.stable), format!("{}-node", names.canary));
    let of = |kind: &str, name: &str, spec: Value| object("appmesh.k8s.aws/v1beta2", kind, name, spec);
    let node = |name: &str| of("VirtualNode", name, json!({"podSelector": {"matchLabels": {"app": own}}}));
    let targets =
        json!([{"virtualNodeRef": {"name": stable}, "weight": 100}, {"virtualNodeRef": {"name": canary}, "weight": 0}]);
    let routes =
        json!([{"name": "web", "httpRoute": {"match": {"prefix": "/"}, "action": {"weightedTargets": targets}}}]);
    let provider = json!({"provider": {"virtualRouter": {"virtualRouterRef": {"name": own}}}});
    Way {
        name: "appMesh",
        routing: json!({"appMesh": {"virtualService": {"name": own}, "virtualNodeGroup": {
            "canaryVirtualNodeRef": {"name": canary}, "stableVirtualNodeRef": {"name": stable}}}}),
        objects: vec![
            of("VirtualService", own, provider),
            of("VirtualRouter", own, json!({"routes": routes})),
            node(&stable),
            node(&canary),
        ],
        place: place("VirtualRouter", own, &canary),
    }
}

/// All of them.
pub fn all(names: &Names<'_>) -> Vec<Way> {
    let makers = [traefik, smi, nginx, gateway_api, gateway_api_tcp, alb, ambassador, apisix, app_mesh]
        .map(|make| make as fn(&Names<'_>) -> Way);
    makers.iter().map(|make| make(names)).collect()
}
