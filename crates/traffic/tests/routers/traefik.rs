//! Section 7.6.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, exact, span, told};
use crate::world::World;

fn setup() -> Setup {
    Setup::of(json!({"traefik": {"weightedTraefikServiceName": "web"}}))
}

fn service(name: &str, weight: i64) -> Value {
    json!({"name": name, "port": 80, "weight": weight})
}

fn object(spec: Value) -> Value {
    json!({
        "apiVersion": "traefik.io/v1alpha1", "kind": "TraefikService",
        "metadata": {"name": "web", "namespace": "prod", "resourceVersion": "7"}, "spec": spec,
    })
}

fn world(services: Value) -> World {
    World::of([object(json!({"weighted": {"services": services, "sticky": {"cookie": {}}}}))])
}

#[test]
fn the_two_services_get_their_weights_and_nothing_else_changes() {
    let before = world(json!([service("shop-stable", 100), service("shop-canary", 0)]));
    let setup = setup().weight(30);
    assert_eq!(setup.after(&before), world(json!([service("shop-stable", 70), service("shop-canary", 30)])));
    assert_eq!(
        setup.written(&before),
        ["spec.weighted.services: shop-stable 100 -> 70", "spec.weighted.services: shop-canary 0 -> 30"]
    );
}

#[test]
fn weights_that_are_right_are_not_written_again() {
    let before = world(json!([service("shop-stable", 70), service("shop-canary", 30)]));
    assert_eq!(setup().weight(30).edit(&before).unwrap(), []);
}

#[test]
fn a_third_service_keeps_its_weight_and_stable_pays() {
    let before = world(json!([service("shop-stable", 80), service("partner", 20), service("shop-canary", 0)]));
    let after = world(json!([service("shop-stable", 50), service("partner", 20), service("shop-canary", 30)]));
    assert_eq!(setup().weight(30).after(&before), after);
    let full = world(json!([service("shop-stable", 1), service("partner", 100), service("shop-canary", 0)]));
    assert_eq!(
        setup().weight(30).error(&full),
        "TraefikService prod/web: spec.weighted.services: destinations partner are not this Rollout's and hold 100 of \
         100, which leaves nothing for stable and canary; lower their weights so that they stay below 100 together"
    );
}

#[test]
fn a_larger_total_is_told_in_hundredths() {
    let mut setup = setup().weight(250);
    setup.canary.traffic_routing.as_mut().unwrap().max_traffic_weight = Some(1000);
    let before = world(json!([service("shop-stable", 100), service("shop-canary", 0)]));
    assert_eq!(setup.after(&before), world(json!([service("shop-stable", 75), service("shop-canary", 25)])));
}

#[test]
fn what_cannot_be_edited_is_told_in_the_words_of_the_contract() {
    let table = [
        (json!({}), "spec.weighted.services was not found in traefik service manifest"),
        (json!({"weighted": {"services": {}}}), "spec.weighted.services was not found in traefik service manifest"),
        (json!({"weighted": {"services": [service("shop-stable", 1)]}}), "traefik canary service was not found"),
        (json!({"weighted": {"services": [service("shop-canary", 1)]}}), "traefik stable service was not found"),
        (json!({"weighted": {"services": [{"weight": 1}]}}), "name field was not found in service"),
    ];
    for (spec, text) in table {
        assert_eq!(setup().error(&World::of([object(spec)])), text);
    }
    let missing = setup().edit(&World::default()).unwrap_err();
    assert_eq!(
        missing.explained(),
        "traefikservices.traefik.io \"web\" not found (TraefikService prod/web: create it, or correct \
         spec.strategy.canary.trafficRouting.traefik.weightedTraefikServiceName)"
    );
}

#[test]
fn a_write_that_fails_is_told() {
    let before = world(json!([service("shop-stable", 100), service("shop-canary", 0)]));
    let changes = setup().weight(30).edit(&before).unwrap();
    let event = changes[0].failure.as_ref().unwrap().event("conflict");
    let wanted = ("Warning TraefikServiceUpdateError", "Error updating traefik service \"web\": conflict");
    assert_eq!(told(event), (wanted.0.to_owned(), wanted.1.to_owned()));
}

#[test]
fn the_group_is_a_flag() {
    let mut setup = setup();
    setup.versions.traefik_group = "traefik.containo.us".to_owned();
    assert_eq!(setup.error(&World::default()), "traefikservices.traefik.containo.us \"web\" not found");
}

#[test]
fn a_header_or_mirror_route_is_refused_not_ignored() {
    let before = world(json!([service("shop-stable", 100), service("shop-canary", 0)]));
    assert_eq!(
        setup().header("m1", exact("a", "b")).error(&before),
        "headerRoute 'm1' cannot be made by trafficRouting.traefik, and requests on that way would not follow it; take \
         the step or that router out of the Rollout"
    );
    assert!(setup().mirror("m1").error(&before).starts_with("mirrorRoute 'm1' cannot"));
    assert_eq!(setup().header("m1", json!([])).edit(&before).unwrap(), []);
}

#[test]
fn what_is_read_is_what_the_object_says() {
    let read = setup().weight(30).read(&world(json!([service("shop-stable", 90), {"name": "shop-canary"}])));
    assert_eq!((read.canary(), read.stable(), read.is_as_wanted), (span(1), span(90), false));
}

fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    let services = object.pointer_mut("/spec/weighted/services").and_then(Value::as_array_mut);
    for entry in services.into_iter().flatten().filter_map(Value::as_object_mut) {
        if entry.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with("shop-")) {
            entry.remove("weight");
        }
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let setup = seed.wishes(setup(), false);
        let mut names = vec!["shop-stable", "shop-canary"];
        names.extend(["partner", "legacy", "shop-canary"].into_iter().filter(|_| seed.one_in(4)));
        seed.shuffle(&mut names);
        let services: Vec<Value> =
            names.iter().map(|name| json!({"name": name, "kind": "Service", "weight": seed.weight()})).collect();
        let world = world(json!(services));
        if check(&setup, &world, strip) {
            check_weights(&setup, &world, 100, false);
        }
        check(&setup, &seed.mangled(&world), strip);
    }
}
