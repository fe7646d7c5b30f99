//! Istio behind the form that all routers have; what its edits are is told in the tests of its own.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, span, told};
use crate::world::World;

fn by_host() -> Setup {
    Setup::of(json!({"istio": {"virtualService": {"name": "web"}}, "managedRoutes": [{"name": "m1"}, {"name": "m2"}]}))
}

fn by_subset() -> Setup {
    let rule = json!({"name": "web", "canarySubsetName": "canary", "stableSubsetName": "stable"});
    Setup::of(json!({"istio": {"virtualService": {"name": "web"}, "destinationRule": rule}}))
}

fn object(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "networking.istio.io/v1", "kind": kind,
        "metadata": {"name": "web", "namespace": "prod", "resourceVersion": "7"}, "spec": spec})
}

fn routes(list: Value) -> Value {
    object("VirtualService", json!({"hosts": ["web"], "http": [{"name": "main", "route": list}]}))
}

fn subset(name: &str, weight: i64) -> Value {
    json!({"destination": {"host": "web", "subset": name}, "weight": weight})
}

fn subsets(stable: &str, canary: &str, canary_weight: i64) -> World {
    let label = |hash: &str| json!({"rollouts-pod-template-hash": hash});
    let rule = json!({"host": "web", "subsets": [
        {"name": "stable", "labels": label(stable)}, {"name": "canary", "labels": label(canary)}]});
    World::of([
        routes(json!([subset("stable", 100 - canary_weight), subset("canary", canary_weight)])),
        object("DestinationRule", rule),
    ])
}

fn order(setup: &Setup, world: &World) -> Vec<String> {
    setup.edit(world).unwrap().iter().map(|change| change.object.resource.kind.clone()).collect()
}

#[test]
fn weight_comes_to_a_subset_after_it_names_its_pods_and_leaves_it_before() {
    // A canary begins.
    let mut raised = by_subset().weight(20);
    raised.hashes = (Some("old"), Some("new"));
    assert_eq!(order(&raised, &subsets("old", "old", 0)), ["DestinationRule", "VirtualService"]);
    // Another version comes in the middle of it.
    let mut replaced = by_subset().weight(0);
    replaced.hashes = (Some("old"), Some("newer"));
    assert_eq!(order(&replaced, &subsets("old", "new", 20)), ["VirtualService", "DestinationRule"]);
    // It is promoted: stable names the new pods before it gets everything.
    let mut promoted = by_subset().weight(0);
    promoted.hashes = (Some("new"), Some("new"));
    assert_eq!(order(&promoted, &subsets("old", "new", 100)), ["DestinationRule", "VirtualService"]);
    // It is aborted: only weight moves.
    let mut aborted = by_subset().weight(0);
    aborted.hashes = (Some("old"), Some("new"));
    let world = subsets("old", "new", 50);
    let mut marked = aborted.after(&world);
    assert_eq!(order(&aborted, &marked), Vec::<String>::new());
    marked = raised.after(&marked);
    assert_eq!(order(&aborted, &marked), ["VirtualService"]);
}

#[test]
fn what_is_written_is_told_in_the_words_of_the_contract() {
    let mut setup = by_subset().weight(20);
    setup.hashes = (Some("old"), Some("new"));
    let events: Vec<(String, String)> =
        setup.edit(&subsets("old", "old", 0)).unwrap().into_iter().flat_map(|change| change.events).map(told).collect();
    let wanted = [
        ("UpdatedDestinationRule", "DestinationRule web subset updated (canary: new, stable: old)"),
        ("Updated VirtualService", "VirtualService `web` set to desiredWeight '20'"),
    ];
    assert_eq!(events, wanted.map(|(reason, message)| (reason.to_owned(), message.to_owned())));
}

#[test]
fn objects_that_are_missing_or_do_not_fit_are_told_with_what_to_do() {
    assert_eq!(by_host().error(&World::default()), "virtualservices.networking.istio.io \"web\" not found");
    assert!(by_host().hint(&World::default()).contains("trafficRouting.istio.virtualService"));
    let host = |name: &str, weight: i64| json!({"destination": {"host": name}, "weight": weight});
    let foreign = World::of([routes(json!([host("a", 50), host("b", 50)]))]);
    assert!(by_host().hint(&foreign).contains("VirtualService prod/web"), "{}", by_host().hint(&foreign));
    let no_rule = World::of([routes(json!([subset("stable", 100), subset("canary", 0)]))]);
    assert_eq!(by_subset().error(&no_rule), "destinationrules.networking.istio.io \"web\" not found");
}

#[test]
fn weights_are_read_from_every_route() {
    let read = by_subset().weight(20).read(&subsets("old", "new", 20));
    assert_eq!((read.canary(), read.stable()), (span(20), span(80)));
    assert!(!by_subset().weight(30).read(&subsets("old", "new", 20)).is_as_wanted);
}

/// All but what the controller may change: weights of its destinations, experiments, managed routes, labels of subsets, its mark.
fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    let own = |entry: &Value| {
        entry.pointer("/destination/host").and_then(Value::as_str).is_some_and(|host| host.starts_with("shop-"))
    };
    let has_host = |entry: &Value| {
        let host = entry.pointer("/destination/host").and_then(Value::as_str);
        host.is_some_and(|host| !host.is_empty())
    };
    if let Some(list) = object.pointer_mut("/spec/http").and_then(Value::as_array_mut) {
        list.retain(|route| route["name"] != "m1" && route["name"] != "m2");
        for entries in list.iter_mut().filter_map(|route| route.get_mut("route")?.as_array_mut()) {
            // Whatever has no host is what a defect of the original leaves behind.
            entries.retain(|entry| !entry.to_string().contains("shop-x-") && has_host(entry));
            for entry in entries.iter_mut().filter(|entry| own(entry)) {
                entry.as_object_mut().unwrap().remove("weight");
            }
        }
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let setup = seed.wishes(by_host(), true);
        let mut names = vec!["shop-stable", "shop-canary"];
        names.extend(["partner", "shop-x-a", "shop-x-b"].into_iter().filter(|_| seed.one_in(4)));
        seed.shuffle(&mut names);
        let entries: Vec<Value> = names
            .iter()
            .map(|name| json!({"destination": {"host": name, "port": {"number": 80}}, "weight": seed.below(40)}))
            .collect();
        let mut route = routes(json!(entries));
        if seed.one_in(3) {
            let managed = json!({"name": "m1", "match": [{"uri": {"prefix": "/"}}], "route": [{"destination": {"host": "shop-canary"}}]});
            route["spec"]["http"].as_array_mut().unwrap().insert(0, managed);
        }
        let world = World::of([route]);
        if check(&setup, &world, strip) {
            check_weights(&setup, &world, 100, true);
        }
        check(&setup, &seed.mangled(&world), strip);
    }
}
