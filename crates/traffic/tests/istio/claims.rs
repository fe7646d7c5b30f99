//! One VirtualService named twice, by one Rollout or by several.

use serde_json::{Value, json};
use tidegate_api::rollout::IstioVirtualService;
use tidegate_traffic::istio::{Claim, Contest, Routing, contests, merged};

use crate::setup::{Setup, pair, virtual_service};

fn references(list: Value) -> Vec<IstioVirtualService> {
    serde_json::from_value(list).unwrap()
}

#[test]
fn entries_that_name_one_object_are_one_edit() {
    let all = references(json!([
        {"name": "edge.gw", "routes": ["a"], "tlsRoutes": [{"port": 443}]}, {"name": "mesh"}, {"name": ""},
        {"name": "edge.gw.svc.cluster.local", "routes": ["b", "a"], "tcpRoutes": [{"port": 1}]},
    ]));
    let merged = merged(&all, "prod");
    let names: Vec<(&str, &str)> = merged.iter().map(|(at, _)| (at.namespace.as_str(), at.name.as_str())).collect();
    assert_eq!(names, [("gw", "edge"), ("prod", "mesh")]);
    let wanted =
        json!({"name": "edge.gw", "routes": ["a", "b"], "tlsRoutes": [{"port": 443}], "tcpRoutes": [{"port": 1}]});
    assert_eq!(merged[0].1, serde_json::from_value(wanted).unwrap());
    assert_eq!(merged[1].1, all[1]);
}

#[test]
fn rollouts_that_share_an_object_but_no_route_do_not_meet() {
    let (one, other) = (Setup::hosts(json!({"routes": ["a"]})), Setup::hosts(json!({"routes": ["b"]})).managed(&["m"]));
    let object =
        virtual_service(json!({"http": [{"name": "a", "route": pair(1, 1)}, {"name": "b", "route": pair(1, 1)}]}));
    assert_eq!(found(&object, [&one, &other]), []);
}

#[test]
fn a_route_two_rollouts_weight_and_a_name_two_rollouts_manage_are_told() {
    let (one, other) =
        (Setup::hosts(json!({})).managed(&["m"]), Setup::hosts(json!({"routes": ["a"]})).managed(&["n", "m"]));
    let object = virtual_service(json!({"http": [{"name": "a", "route": pair(1, 1)}], "tcp": [{"route": pair(1, 1)}]}));
    let both = vec!["one".to_owned(), "other".to_owned()];
    let contest = |what: &str| Contest { what: what.to_owned(), rollouts: both.clone() };
    let wanted = [contest("HTTP route 'a'"), contest("TCP route spec.tcp[0]"), contest("managed route 'm'")];
    assert_eq!(found(&object, [&one, &other]), wanted);
}

fn found(object: &Value, [one, other]: [&Setup; 2]) -> Vec<Contest> {
    let routing = [one, other].map(|setup| Routing::of(&setup.canary, None));
    let claims = [
        Claim { rollout: "one", reference: one.reference(), routing: &routing[0] },
        Claim { rollout: "other", reference: other.reference(), routing: &routing[1] },
    ];
    contests(object, &claims)
}
