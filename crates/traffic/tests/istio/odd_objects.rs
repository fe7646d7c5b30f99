//! Objects that no CRD lets through, and errors for them.

use serde_json::{Value, json};

use crate::setup::{Setup, pair, to, virtual_service};

#[test]
fn an_object_of_any_other_type_is_an_error() {
    let setup = Setup::hosts(json!({}));
    for object in [json!(null), json!([]), json!("x"), json!(7), json!({}), json!({"spec": []}), json!({"spec": 1.5})] {
        let error = setup.edit(&object).unwrap_err().to_string();
        assert_eq!(error, "Unable to get any of the HTTP, TCP or TLS routes for the Istio VirtualService", "{object}");
    }
}

#[test]
fn entries_of_another_type_are_errors_in_the_words_of_the_contract() {
    let setup = Setup::hosts(json!({}));
    let odd = json!({"http": [{"route": [to("shop-stable", 1), to("shop-canary", 1), "x"]}]});
    assert_eq!(
        setup.error(odd.clone()),
        "Invalid casting: field 'http[].route[].destination' is not of type 'map[string]interface'"
    );
    assert_eq!(setup.hint(odd), "VirtualService default/shop: correct spec.http[0]");
    assert_eq!(setup.error(json!({"http": ["x"]})), "Canary Service 'shop-canary' not found in route");
}

#[test]
fn weights_of_ours_that_are_no_numbers_are_put_right() {
    for weight in [json!("5"), json!(-5), json!(1.5), json!(1e300), json!(u64::MAX), json!([]), json!({}), json!(true)]
    {
        let route = json!([{"destination": {"host": "shop-stable"}, "weight": weight}, to("shop-canary", 3)]);
        let after = Setup::hosts(json!({})).weight(10).after(json!({"http": [{"route": route}]}));
        assert_eq!(after, json!({"http": [{"route": pair(90, 10)}]}));
    }
}

#[test]
fn weights_of_others_that_are_no_numbers_are_errors() {
    for weight in [json!("5"), json!(-5), json!(1.5), json!(1e300), json!(u64::MAX), json!([])] {
        let other = json!({"destination": {"host": "partner"}, "weight": weight});
        let spec = json!({"http": [{"route": [to("shop-stable", 1), to("shop-canary", 1), other]}]});
        assert_eq!(
            Setup::hosts(json!({})).error(spec),
            "VirtualService default/shop: spec.http[0].route[2].weight is not a whole number from 0 to 2147483647; \
             correct it"
        );
    }
}

#[test]
fn a_role_told_by_subset_without_a_host_does_not_count() {
    let spec = json!({"http": [{"route": [
        {"destination": {"subset": "canary"}}, {"destination": {"host": "shop", "subset": "stable"}, "weight": 100},
    ]}]});
    let error = Setup::subsets(json!({})).error(spec);
    assert_eq!(error, "Canary DestinationRule subset 'canary' not found in route");
}

#[test]
fn selectors_without_names_match_nothing() {
    let setup = Setup::of(json!({"trafficRouting": {"istio": {"virtualService": {"name": "shop"}}}}));
    let error = setup.edit(&virtual_service(json!({"http": [{"route": [to("", 1)]}]}))).unwrap_err();
    assert_eq!(error.to_string(), "Canary Service '' not found in route");
    assert_ne!(error.hint(), Some(""));
}

#[test]
fn a_host_that_begins_with_a_dot_is_nobodys() {
    let route = json!([to("shop-stable", 100), to("shop-canary", 0), to(".shop-canary", 0)]);
    let after = Setup::hosts(json!({})).weight(10).after(json!({"http": [{"route": route}]}));
    let wanted: Value = json!([to("shop-stable", 90), to("shop-canary", 10), to(".shop-canary", 0)]);
    assert_eq!(after["http"][0]["route"], wanted);
}
