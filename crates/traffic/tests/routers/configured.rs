//! Section 7.1: which routers there are, in which order, and what is said without having looked.

use serde_json::json;
use tidegate_traffic::router::{Seen, routers};

use crate::setup::Setup;

fn all() -> Setup {
    Setup::of(json!({
        "apisix": {"route": {"name": "a"}}, "traefik": {}, "appMesh": {}, "ambassador": {"mappings": ["a"]}, "smi": {},
        "alb": {"ingress": "a"}, "nginx": {"stableIngress": "a"}, "istio": {"virtualService": {"name": "a"}},
        "plugins": {"z/other": {}, "argoproj-labs/gatewayAPI": {"httpRoute": "a"}},
    }))
}

#[test]
fn routers_come_in_a_fixed_order_and_foreign_plugins_are_left_out() {
    let setup = all();
    let names: Vec<&str> = routers(&setup.canary, &setup.versions).iter().map(|router| router.name()).collect();
    let gateway = "plugins[\"argoproj-labs/gatewayAPI\"]";
    assert_eq!(names, ["istio", "nginx", "alb", "smi", "ambassador", "appMesh", "traefik", "apisix", gateway]);
    let none = Setup::of(json!({"plugins": {"z/other": {}}}));
    assert_eq!(routers(&none.canary, &none.versions).len(), 0);
}

#[test]
fn nothing_is_written_and_no_weight_is_told_before_objects_were_read() {
    let mut setup = all();
    let routing = setup.canary.traffic_routing.as_mut().unwrap();
    let nodes = json!({"canaryVirtualNodeRef": {"name": "a"}, "stableVirtualNodeRef": {"name": "b"}});
    routing.app_mesh.as_mut().unwrap().virtual_node_group = serde_json::from_value(nodes).unwrap();
    for router in routers(&setup.canary, &setup.versions) {
        let error = router.edit(&Seen::default(), &setup.wanted()).unwrap_err().to_string();
        assert!(error.ends_with("has not been read yet"), "{}: {error}", router.name());
        assert!(router.read(&Seen::default(), &setup.wanted()).iter().all(Result::is_err), "{}", router.name());
    }
}

#[test]
fn services_are_needed_and_must_differ() {
    // Those that may tell versions by other means say so in words of their own.
    let by_pods = ["appMesh", "istio"];
    let mut setup = all();
    setup.canary.canary_service = Some("shop-stable".to_owned());
    for router in routers(&setup.canary, &setup.versions).iter().filter(|router| !by_pods.contains(&router.name())) {
        let error = router.edit(&Seen::default(), &setup.wanted()).unwrap_err().to_string();
        assert!(
            error.ends_with("stable and canary are both Service 'shop-stable'; set canaryService and stableService to different names"),
            "{}: {error}",
            router.name()
        );
    }
    setup.canary.canary_service = None;
    for router in routers(&setup.canary, &setup.versions).iter().filter(|router| !by_pods.contains(&router.name())) {
        let error = router.edit(&Seen::default(), &setup.wanted()).unwrap_err().to_string();
        assert!(
            error.ends_with("Canary service and Stable service must to be set to use Traffic Routing"),
            "{}: {error}",
            router.name()
        );
    }
}
