//! Section 7.7.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, exact, owned, owner, span, told};
use crate::world::World;

fn with(route: Value) -> Setup {
    Setup::of(json!({"apisix": {"route": route}, "managedRoutes": [{"name": "m1"}, {"name": "m2"}]}))
}

fn setup() -> Setup {
    with(json!({"name": "web"}))
}

fn backend(service: &str, weight: i64) -> Value {
    json!({"serviceName": service, "servicePort": 80, "weight": weight})
}

fn rule(name: &str, backends: Value) -> Value {
    json!({"name": name, "match": {"hosts": ["a"], "paths": ["/*"]}, "backends": backends})
}

fn pair(stable: i64, canary: i64) -> Value {
    json!([backend("shop-stable", stable), backend("shop-canary", canary)])
}

fn route(rules: Value) -> Value {
    json!({
        "apiVersion": "apisix.apache.org/v2", "kind": "ApisixRoute",
        "metadata": {
            "name": "web", "namespace": "prod", "resourceVersion": "7", "uid": "u", "generation": 3, "managedFields": [],
            "creationTimestamp": "2024-01-01T00:00:00Z", "labels": {"team": "a"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "k": "v"},
        },
        "spec": {"ingressClassName": "apisix", "http": rules}, "status": {"conditions": []},
    })
}

#[test]
fn rules_that_are_named_get_their_weights() {
    let before =
        World::of([route(json!([rule("web", pair(100, 0)), rule("b", pair(100, 0)), rule("c", pair(100, 0))]))]);
    let one = route(json!([rule("web", pair(70, 30)), rule("b", pair(100, 0)), rule("c", pair(100, 0))]));
    assert_eq!(setup().weight(30).after(&before), World::of([one]));
    let two = route(json!([rule("web", pair(100, 0)), rule("b", pair(70, 30)), rule("c", pair(70, 30))]));
    assert_eq!(with(json!({"name": "web", "rules": ["b", "c"]})).weight(30).after(&before), World::of([two]));
}

#[test]
fn weights_that_are_right_are_not_written_again_and_others_keep_theirs() {
    let right = World::of([route(json!([rule("web", pair(70, 30))]))]);
    assert_eq!(setup().weight(30).edit(&right).unwrap(), []);
    let shared =
        |stable, canary| json!([backend("shop-stable", stable), backend("x", 20), backend("shop-canary", canary)]);
    let after = setup().weight(30).after(&World::of([route(json!([rule("web", shared(80, 0))]))]));
    assert_eq!(after.get("ApisixRoute", "web")["spec"]["http"][0]["backends"], shared(50, 30));
    assert_eq!(setup().weight(30).read(&right).canary(), span(30));
}

#[test]
fn what_cannot_be_edited_is_told_in_the_words_of_the_contract() {
    let table = [
        (route(json!(null)), "spec.http was not found in Apisix Route manifest"),
        (route(json!([rule("other", pair(1, 1))])), "Apisix http route rule web not found"),
        (route(json!([rule("web", json!(null))])), "Apisix http route backends not found"),
        (route(json!([rule("web", json!([{"weight": 1}]))])), "serviceName field was not found in backend"),
        (
            route(json!([rule("web", json!([backend("shop-stable", 1)]))])),
            "apisix route shop-canary backend was not found",
        ),
        (
            route(json!([rule("web", json!([backend("shop-canary", 1)]))])),
            "apisix route shop-stable backend was not found",
        ),
    ];
    for (object, text) in table {
        assert_eq!(setup().error(&World::of([object])), text);
    }
    assert_eq!(setup().error(&World::default()), "apisixroutes.apisix.apache.org \"web\" not found");
    let changes = setup().weight(1).edit(&World::of([route(json!([rule("web", pair(100, 0))]))])).unwrap();
    let event = told(changes[0].failure.as_ref().unwrap().event("no"));
    assert_eq!(vec![event], owned(&[("Warning ApisixRouteUpdateError", "Error updating apisix route \"web\": no")]));
}

#[test]
fn a_header_route_is_a_route_of_its_own_before_the_base() {
    let mut base = rule("web", json!([backend("shop-stable", 100), backend("x", 0), backend("shop-canary", 0)]));
    base["priority"] = json!(4);
    let matches = json!([
        {"headerName": "a", "headerValue": {"exact": "1"}}, {"headerName": "b", "headerValue": {"regex": "2|3"}},
        {"headerName": "c", "headerValue": {"prefix": "4"}},
    ]);
    let setup = setup().weight(10).header("m1", matches);
    let before = World::of([route(json!([base, rule("other", json!([]))]))]);

    let after = setup.after(&before);

    let exprs = json!([
        {"subject": {"scope": "Header", "name": "a"}, "op": "Equal", "value": "1"},
        {"subject": {"scope": "Header", "name": "b"}, "op": "RegexMatch", "value": "2|3"},
        {"subject": {"scope": "Header", "name": "c"}, "op": "RegexMatch", "value": "^4.*"},
    ]);
    let wanted = json!({
        "apiVersion": "apisix.apache.org/v2", "kind": "ApisixRoute",
        "metadata": {
            "name": "m1", "namespace": "prod", "ownerReferences": owner(), "labels": {"team": "a"}, "annotations": {"k": "v"},
        },
        "spec": {
            "ingressClassName": "apisix",
            "http": [{
                "name": "web", "match": {"hosts": ["a"], "paths": ["/*"], "exprs": exprs}, "priority": 5,
                "backends": [backend("shop-canary", 100)],
            }],
        },
    });
    assert_eq!(after.get("ApisixRoute", "m1"), &wanted);
    assert_eq!(after.get("ApisixRoute", "web")["spec"]["http"][0]["priority"], 4);
    let changed = setup.header("m1", exact("a", "other")).after(&after);
    let rule = &changed.get("ApisixRoute", "m1")["spec"]["http"][0];
    assert_eq!((rule["priority"].as_i64(), rule["match"]["exprs"].as_array().unwrap().len()), (Some(5), 1));

    let empty = crate::apisix::setup().weight(10).header("m1", json!([]));
    assert!(!empty.after(&after).has("ApisixRoute", "m1"));
    assert!(!crate::apisix::setup().after(&after).has("ApisixRoute", "m1"));
    assert!(!crate::apisix::setup().weight(10).read(&after).is_as_wanted, "the route still takes requests");
}

#[test]
fn conditions_of_the_base_hold_for_the_header_route_too() {
    let mut base = rule("web", pair(100, 0));
    base["match"]["exprs"] = json!([{"op": "Equal"}]);
    let after = setup().header("m1", exact("a", "1")).after(&World::of([route(json!([base]))]));
    let exprs = after.get("ApisixRoute", "m1")["spec"]["http"][0]["match"]["exprs"].as_array().unwrap().clone();
    assert_eq!((exprs.len(), &exprs[0]), (2, &json!({"op": "Equal"})));
}

#[test]
fn a_route_of_somebody_else_is_never_touched() {
    let mut foreign = route(json!([]));
    foreign["metadata"]["name"] = json!("m1");
    let world = World::of([route(json!([rule("web", pair(100, 0))])), foreign]);
    assert_eq!(setup().header("m1", exact("a", "1")).error(&world), "duplicate ApisixRoute [m1] already exists");
    assert_eq!(setup().edit(&world).unwrap(), []);
    assert_eq!(setup().header("web", exact("a", "1")).error(&world), "duplicate ApisixRoute [web] already exists");
}

#[test]
fn a_condition_is_needed_and_a_mirror_is_refused() {
    let world = World::of([route(json!([rule("web", pair(100, 0))]))]);
    let none = setup().header("m1", json!([{"headerName": "a", "headerValue": {}}]));
    assert_eq!(
        none.error(&world),
        "step for route 'm1': match[0].headerValue has none of exact, prefix, regex; set one"
    );
    assert!(setup().mirror("m1").error(&world).starts_with("mirrorRoute 'm1' cannot be made by trafficRouting.apisix"));
}

fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    let is_header = object["metadata"]["name"] != "web";
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut).filter(|_| is_header) {
        spec.remove("http");
    }
    object
        .as_object_mut()
        .into_iter()
        .for_each(|fields| fields.retain(|_, value| !value.is_null() && *value != json!({})));
    for rule in object.pointer_mut("/spec/http").and_then(Value::as_array_mut).into_iter().flatten() {
        for entry in rule.get_mut("backends").and_then(Value::as_array_mut).into_iter().flatten() {
            let is_ours = entry["serviceName"].as_str().is_some_and(|name| name.starts_with("shop-"));
            entry.as_object_mut().into_iter().filter(|_| is_ours).for_each(|fields| {
                fields.remove("weight");
            });
        }
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut names = vec!["shop-stable", "shop-canary"];
        names.extend(["partner", "shop-canary"].into_iter().filter(|_| seed.one_in(4)));
        seed.shuffle(&mut names);
        let backends: Vec<Value> = names.iter().map(|name| json!({"serviceName": name, "weight": seed.weight()})).collect();
        let mut world = World::of([route(json!([rule("b", json!([])), rule("web", json!(backends))]))]);
        for _ in 0..seed.below(3) {
            let before = seed.wishes(setup(), true);
            let changes = before.edit(&world).unwrap_or_default();
            world.apply(&changes, 0);
        }
        let setup = seed.wishes(setup(), true);
        if check(&setup, &world, strip) {
            check_weights(&setup, &world, 100, false);
            let after = setup.after(&world);
            for name in ["m1", "m2"] {
                let is_wanted = setup.routes.as_ref().is_some_and(|routes| routes.contains_key(name));
                assert_eq!(after.has("ApisixRoute", name), is_wanted);
            }
        }
        check(&setup, &seed.mangled(&world), strip);
    }
}
