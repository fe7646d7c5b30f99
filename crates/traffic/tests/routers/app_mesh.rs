//! Section 7.8.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, owned, span, told};
use crate::world::World;

fn with(routes: Value) -> Setup {
    let mut setup = Setup::of(json!({"appMesh": {
        "virtualService": {"name": "web", "routes": routes},
        "virtualNodeGroup": {"canaryVirtualNodeRef": {"name": "node-canary"}, "stableVirtualNodeRef": {"name": "node-stable"}},
    }}));
    setup.hashes = (Some("h1"), Some("h2"));
    setup
}

fn setup() -> Setup {
    with(json!([]))
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "appmesh.k8s.aws/v1beta2", "kind": kind,
        "metadata": {"name": name, "namespace": "prod", "resourceVersion": "7"}, "spec": spec,
    })
}

fn service() -> Value {
    let reference = json!({"name": "router"});
    object("VirtualService", "web", json!({"provider": {"virtualRouter": {"virtualRouterRef": reference}}}))
}

fn node(name: &str, hash: &str) -> Value {
    let labels = json!({"app": "shop", "rollouts-pod-template-hash": hash});
    object("VirtualNode", name, json!({"podSelector": {"matchLabels": labels}, "listeners": []}))
}

fn target(name: &str, weight: i64) -> Value {
    json!({"virtualNodeRef": {"name": name}, "weight": weight, "port": 80})
}

fn route(name: &str, kind: &str, stable: i64, canary: i64) -> Value {
    let targets = json!([target("node-canary", canary), target("node-stable", stable)]);
    json!({"name": name, kind: {"match": {"prefix": "/"}, "action": {"weightedTargets": targets}}})
}

fn router(routes: Value) -> Value {
    object("VirtualRouter", "router", json!({"routes": routes, "listeners": []}))
}

fn world(routes: Value, stable: &str, canary: &str) -> World {
    World::of([service(), router(routes), node("node-stable", stable), node("node-canary", canary)])
}

#[test]
fn weights_of_all_routes_follow_whatever_their_kind() {
    let kinds = ["httpRoute", "tcpRoute", "http2Route", "grpcRoute"];
    let before = world(json!(kinds.map(|kind| route(kind, kind, 100, 0))), "h1", "h2");
    let after = world(json!(kinds.map(|kind| route(kind, kind, 70, 30))), "h1", "h2");
    assert_eq!(setup().weight(30).after(&before), after);
    assert_eq!(setup().weight(30).edit(&after).unwrap(), []);
}

#[test]
fn only_routes_that_are_named_change() {
    let before = world(json!([route("a", "httpRoute", 100, 0), route("b", "httpRoute", 100, 0)]), "h1", "h2");
    let after = with(json!(["b"])).weight(30).after(&before);
    assert_eq!(after, world(json!([route("a", "httpRoute", 100, 0), route("b", "httpRoute", 70, 30)]), "h1", "h2"));
    assert_eq!(
        with(json!(["c"])).error(&before),
        "VirtualRouter prod/router: spec.routes with name 'c' is not there; correct it"
    );
}

#[test]
fn nodes_stand_for_the_pods_of_their_hash_and_never_for_the_same() {
    let before = world(json!([route("a", "httpRoute", 100, 0)]), "old", "older");
    let table = [
        ((Some("h1"), Some("h2")), ("h1", "h2")),
        ((Some("h1"), Some("h1")), ("h1", "canary-hash")),
        ((Some("h1"), Some("")), ("h1", "canary-hash")),
        ((Some(""), Some("h2")), ("stable-hash", "h2")),
        ((Some(""), Some("")), ("stable-hash", "canary-hash")),
        // Without pods to stand for they stay as they are, unless that is taken.
        ((Some("h1"), None), ("h1", "older")),
        ((None, Some("h2")), ("old", "h2")),
        ((None, None), ("old", "older")),
        ((Some("older"), None), ("older", "canary-hash")),
    ];
    for (hashes, (stable, canary)) in table {
        let mut setup = setup();
        setup.hashes = hashes;
        assert_eq!(setup.after(&before), world(json!([route("a", "httpRoute", 100, 0)]), stable, canary));
    }
    // One that stands for all pods loses none of them before there are others to name.
    let mut bare = before;
    for node in bare.0.values_mut().filter(|object| object["kind"] == "VirtualNode") {
        node["spec"]["podSelector"]["matchLabels"].as_object_mut().unwrap().remove("rollouts-pod-template-hash");
    }
    let mut setup = setup();
    setup.hashes = (None, None);
    assert_eq!(setup.after(&bare), bare);
}

#[test]
fn the_order_never_sends_traffic_to_other_pods_or_to_pods_that_are_gone() {
    let order = |setup: &Setup, world: &World| -> Vec<String> {
        setup.edit(world).unwrap().into_iter().map(|change| change.object.name).collect()
    };
    let idle = world(json!([route("a", "httpRoute", 100, 0)]), "h0", "canary-hash");
    assert_eq!(order(&setup().weight(10), &idle), ["node-stable", "node-canary", "router"]);
    let mut promoted = setup();
    promoted.hashes = (Some("h2"), Some("h2"));
    let full = world(json!([route("a", "httpRoute", 0, 100)]), "h1", "h2");
    assert_eq!(order(&promoted, &full), ["node-stable", "router", "node-canary"]);
}

#[test]
fn what_is_missing_is_told_in_the_words_of_the_contract() {
    let all = || world(json!([route("a", "httpRoute", 100, 0)]), "h1", "h2");
    let without = |kind: &str| World(all().0.into_iter().filter(|((other, _, _), _)| other != kind).collect());
    let table = [
        (without("VirtualService"), "VirtualServiceNotFound", "Virtual-service is missing"),
        (without("VirtualRouter"), "VirtualRouterNotFound", "Virtual-router is missing"),
        (without("VirtualNode"), "VirtualNodeNotFound", "Virtual-node is missing"),
        (
            World::of(all().0.into_values().chain([object("VirtualService", "web", json!({}))])),
            "VirtualRouterNotFound",
            "Virtual-service is not associated with virtual-router",
        ),
    ];
    for (world, reason, text) in table {
        let error = setup().edit(&world).unwrap_err();
        assert_eq!(error.to_string(), text);
        let events: Vec<_> = error.events().into_iter().map(told).collect();
        assert_eq!(events, owned(&[(&format!("Warning {reason}"), text)]));
        assert!(error.hint().unwrap().contains("prod/"), "{error}");
    }
}

#[test]
fn a_route_has_exactly_the_two_nodes_as_targets() {
    let form = "VirtualRouter prod/router: spec.routes[0].httpRoute.action.weightedTargets is not a list of exactly two \
                targets, one for each VirtualNode of the Rollout; correct it";
    let three = json!([target("node-canary", 0), target("node-stable", 90), target("x", 10)]);
    let far = json!([{"virtualNodeRef": {"name": "node-canary", "namespace": "far"}}, target("node-stable", 1)]);
    for targets in [three, far, json!([target("node-canary", 0)]), json!(null)] {
        let route = json!({"httpRoute": {"action": {"weightedTargets": targets}}});
        assert_eq!(setup().error(&world(json!([route]), "h1", "h2")), form);
    }
    assert!(setup().error(&world(json!([{}]), "h1", "h2")).contains("spec.routes[0] is not a route"));
}

#[test]
fn the_router_may_be_in_another_namespace() {
    let mut service = service();
    service["spec"]["provider"]["virtualRouter"]["virtualRouterRef"]["namespace"] = json!("mesh");
    let mut far = router(json!([route("a", "httpRoute", 100, 0)]));
    far["metadata"]["namespace"] = json!("mesh");
    let world = World::of([service, far, node("node-stable", "h1"), node("node-canary", "h2")]);
    let after = setup().weight(5).after(&world);
    assert_eq!(after.get("VirtualRouter", "router")["spec"]["routes"][0], route("a", "httpRoute", 95, 5));
}

#[test]
fn what_is_read_is_what_the_router_says() {
    let read = setup().weight(30).read(&world(json!([route("a", "httpRoute", 90, 10)]), "h1", "h2"));
    assert_eq!((read.canary(), read.stable(), read.is_as_wanted), (span(10), span(90), false));
}

fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    for route in object.pointer_mut("/spec/routes").and_then(Value::as_array_mut).into_iter().flatten() {
        for kind in ["httpRoute", "tcpRoute", "http2Route", "grpcRoute"] {
            let targets = route.pointer_mut(&format!("/{kind}/action/weightedTargets"));
            for target in targets.and_then(Value::as_array_mut).into_iter().flatten() {
                target.as_object_mut().into_iter().for_each(|fields| {
                    fields.remove("weight");
                });
            }
        }
    }
    if let Some(labels) = object.pointer_mut("/spec/podSelector/matchLabels").and_then(Value::as_object_mut) {
        labels.remove("rollouts-pod-template-hash");
    }
    for path in ["/spec/podSelector", "/spec", ""] {
        let fields = object.pointer_mut(path).and_then(Value::as_object_mut);
        fields.into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null() && *value != json!({})));
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut setup = seed.wishes(setup(), false);
        let hashes = [Some("h1"), Some("h2"), Some(""), None];
        setup.hashes = (*seed.of(&hashes), *seed.of(&hashes));
        let hash = |seed: &mut Seed| *seed.of(&["h1", "h2", "canary-hash"]);
        let kind = |seed: &mut Seed| *seed.of(&["httpRoute", "tcpRoute", "grpcRoute"]);
        let routes: Vec<Value> = (0..=seed.below(3))
            .map(|_| route("a", kind(&mut seed), seed.below(101) as i64, seed.below(101) as i64))
            .collect();
        let world = world(json!(routes), hash(&mut seed), hash(&mut seed));
        assert!(check(&setup, &world, strip));
        check_weights(&setup, &world, 100, false);
        check(&setup, &seed.mangled(&world), strip);
    }
}
