//! No weight for a port that the canary's Service does not have.

use serde_json::{Value, json};
use tidegate_api::view::ServicePort;
use tidegate_traffic::router::{RouterError, ServicePorts};

use crate::setup::Setup;
use crate::world::World;

fn object(kind: &str, spec: Value) -> Value {
    json!({"kind": kind, "metadata": {"name": "web", "namespace": "prod"}, "spec": spec})
}

fn ingress(port: Value) -> Value {
    let backend = json!({"service": {"name": "shop-stable", "port": port}});
    object("Ingress", json!({"rules": [{"host": "a"}, {"http": {"paths": [{"path": "/", "backend": backend}]}}]}))
}

/// Each router with the canary behind this port.
fn routers(port: Value) -> Vec<(Setup, World, &'static str)> {
    let refs = |name: &str| json!({"name": name, "port": port, "kind": "Service"});
    let backends = |name: &str| json!({"serviceName": name, "servicePort": port});
    let both = |make: &dyn Fn(&str) -> Value| json!([make("shop-stable"), make("shop-canary")]);
    vec![
        (
            Setup::of(json!({"nginx": {"stableIngress": "web"}})),
            World::of([ingress(json!({"number": port}))]),
            "Ingress prod/web: spec.rules[1].http.paths[0].backend.service.port",
        ),
        (
            Setup::of(json!({"alb": {"ingress": "web", "servicePort": port}})),
            World::of([ingress(json!({"name": "use-annotation"}))]),
            "Rollout prod/shop: trafficRouting.alb.servicePort",
        ),
        (
            Setup::of(json!({"ambassador": {"mappings": ["web"]}})),
            World::of([object("Mapping", json!({"service": format!("http://shop-stable.prod:{port}")}))]),
            "Mapping prod/web: the port of spec.service",
        ),
        (
            Setup::of(json!({"traefik": {"weightedTraefikServiceName": "web"}})),
            World::of([object("TraefikService", json!({"weighted": {"services": both(&refs)}}))]),
            "TraefikService prod/web: spec.weighted.services[1].port",
        ),
        (
            Setup::of(json!({"apisix": {"route": {"name": "web"}}})),
            World::of([object("ApisixRoute", json!({"http": [{"name": "web", "backends": both(&backends)}]}))]),
            "ApisixRoute prod/web: spec.http[0].backends[1].servicePort",
        ),
        (
            Setup::of(json!({"plugins": {"argoproj-labs/gatewayAPI": {"grpcRoute": "web"}}})),
            World::of([object("GRPCRoute", json!({"rules": [{"backendRefs": both(&refs)}]}))]),
            "failed to set weight via plugin: GRPCRoute prod/web: spec.rules[0].backendRefs[1].port",
        ),
    ]
}

fn reach(setup: &Setup, world: &World, ports: &Value) -> Result<(), RouterError> {
    let ports: Vec<ServicePort> = serde_json::from_value(ports.clone()).unwrap();
    let services: ServicePorts<'_> = [("shop-canary", ports.as_slice())].into_iter().collect();
    setup.router().reach(&setup.look(world), &setup.wanted(), &services)
}

#[test]
fn a_port_that_the_canary_does_not_have_is_named_with_those_it_has() {
    let has = json!([{"name": "http", "port": 80}, {"name": "admin", "port": 9000}]);
    for (setup, world, _) in routers(json!(80)) {
        assert_eq!(reach(&setup, &world, &has), Ok(()));
    }
    for (setup, world, place) in routers(json!(8080)) {
        let told = reach(&setup, &world, &has).unwrap_err().to_string();
        assert_eq!(
            told,
            format!(
                "{place} is 8080, but Service 'shop-canary' has only 80 (http), 9000 (admin): requests to the canary \
                 would fail; correct one of them"
            )
        );
        // What is not known is no fault.
        assert_eq!(reach(&setup, &world, &json!([])), Ok(()));
    }
}

#[test]
fn the_port_of_pods_will_do_where_the_router_knows_it() {
    let has = json!([{"port": 80, "targetPort": 8080}]);
    let told: Vec<bool> =
        routers(json!(8080)).iter().map(|(setup, world, _)| reach(setup, world, &has).is_ok()).collect();
    // NGINX, ALB, Ambassador, Traefik, APISIX, the Gateway API.
    assert_eq!(told, [true, false, true, true, true, false]);
}

#[test]
fn a_port_may_be_named() {
    let has = json!([{"name": "http", "port": 80}]);
    let setup = Setup::of(json!({"nginx": {"stableIngress": "web"}}));
    assert_eq!(reach(&setup, &World::of([ingress(json!({"name": "http"}))]), &has), Ok(()));
    assert!(reach(&setup, &World::of([ingress(json!({"name": "grpc"}))]), &has).is_err());
}

#[test]
fn backends_of_another_namespace_or_kind_are_not_the_rollouts() {
    let has = json!([{"port": 80}]);
    let setup = Setup::of(json!({"plugins": {"argoproj-labs/gatewayAPI": {"httpRoute": "web"}}}));
    for foreign in [json!({"namespace": "edge"}), json!({"kind": "ServiceImport"})] {
        let mut canary = json!({"name": "shop-canary", "port": 8080});
        canary.as_object_mut().unwrap().extend(foreign.as_object().unwrap().clone());
        let refs = json!([{"name": "shop-stable", "port": 80}, canary]);
        let world = World::of([object("HTTPRoute", json!({"rules": [{"backendRefs": refs}]}))]);
        assert_eq!(reach(&setup, &world, &has), Ok(()), "{foreign}");
    }
}

#[test]
fn a_load_balancer_reads_its_weights_by_a_port_name_only() {
    let setup = Setup::of(json!({"alb": {"ingress": "web", "servicePort": 80}}));
    let told =
        reach(&setup, &World::of([ingress(json!({"number": 80}))]), &json!([{"port": 80}])).unwrap_err().to_string();
    assert_eq!(
        told,
        "Ingress prod/web: no path to Service 'shop-stable' has the port name use-annotation, so the load balancer does \
         not read the weights; set backend.service.port.name of that path"
    );
}
