//! What may be reported: weights as read, hashes still named.

use serde_json::{Value, json};
use tidegate_traffic::istio::{Read, Seen, read_back, warnings};
use tidegate_traffic::router::Span;

use crate::setup::{Setup, pair, subset, subset_pair, to, virtual_service};

fn seen(setup: &Setup, specs: &[Value], rule: Option<&Value>) -> Seen {
    let objects: Vec<Value> = specs.iter().cloned().map(virtual_service).collect();
    let all: Vec<Read<'_>> = objects.iter().map(|object| Read { reference: setup.reference(), object }).collect();
    read_back(&all, rule, &setup.wanted())
}

#[test]
fn weights_are_those_of_the_objects_and_not_the_wanted_ones() {
    let setup = Setup::hosts(json!({})).weight(50).experiment("shop-x", "h", 5);
    let route = json!([to("shop-stable", 70), to("shop-canary", 20), to("shop-x", 10), to("partner", 3)]);
    let seen = seen(&setup, &[json!({"http": [{"name": "web", "route": route}]})], None);
    assert_eq!(seen.canary(), Some(Span { lowest: 20, highest: 20 }));
    assert_eq!(seen.stable(), Some(Span { lowest: 70, highest: 70 }));
    assert_eq!(seen.additional("shop-x"), Some(Span { lowest: 10, highest: 10 }));
    assert_eq!(seen.additional("other"), Some(Span { lowest: 0, highest: 0 }));
    assert_eq!((seen.routes[0].route.as_str(), seen.routes[0].total), ("HTTP route 'web'", 103));
    assert!(!seen.is_as_wanted);
}

#[test]
fn over_several_routes_and_objects_the_lowest_and_the_highest_count() {
    let setup = Setup::hosts(json!({})).weight(30);
    let one = json!({"http": [{"route": pair(70, 30)}], "tcp": [{"route": pair(90, 10)}]});
    let other = json!({"http": [{"route": pair(60, 40)}]});
    let seen = seen(&setup, &[one, other], None);
    assert_eq!(seen.canary(), Some(Span { lowest: 10, highest: 40 }));
    assert_eq!(seen.stable(), Some(Span { lowest: 60, highest: 90 }));
    assert_eq!(seen.routes.len(), 3);
}

#[test]
fn weights_are_as_wanted_only_when_no_edit_is_left() {
    let setup = Setup::hosts(json!({})).weight(30);
    let right = json!({"http": [{"route": pair(70, 30)}]});
    assert!(seen(&setup, &[right.clone(), right.clone()], None).is_as_wanted);
    assert!(!seen(&setup, &[right.clone(), json!({"http": [{"route": pair(71, 29)}]})], None).is_as_wanted);
    let step = json!({"name": "h", "match": [{"headerName": "a", "headerValue": {"exact": "b"}}]});
    assert!(!seen(&setup.managed(&["h"]).header("h", step), &[right], None).is_as_wanted);
}

#[test]
fn a_route_that_cannot_be_matched_is_told_and_gives_no_weight() {
    let setup = Setup::hosts(json!({"routes": ["web"]})).weight(30);
    let seen = seen(&setup, &[json!({"http": [{"name": "other", "route": pair(70, 30)}]})], None);
    assert_eq!(seen.canary(), None);
    assert!(!seen.is_as_wanted);
    let texts: Vec<String> = seen.problems.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["HTTP Route 'web' is not found in the defined Virtual Service."]);
}

#[test]
fn a_weight_that_is_no_number_is_told_with_its_place() {
    let setup = Setup::hosts(json!({}));
    let route = json!([to("shop-stable", 100), {"destination": {"host": "shop-canary"}, "weight": "half"}]);
    let seen = seen(&setup, &[json!({"http": [{"route": route}]})], None);
    assert_eq!(
        seen.problems[0].to_string(),
        "VirtualService default/shop: spec.http[0].route[1].weight is not a whole number from 0 to 2147483647; correct it"
    );
}

#[test]
fn hashes_are_named_by_subsets_and_weighted_by_any_route() {
    let labelled = |name: &str, hash: &str| json!({"name": name, "labels": {"rollouts-pod-template-hash": hash}});
    let rule = json!({"spec": {"host": "shop.prod", "subsets": [
        labelled("stable", "h1"), labelled("canary", "h2"), labelled("old", "h3"), labelled("shadow", "h4"), {"name": "plain"},
    ]}});
    let setup = Setup::subsets(json!({"routes": ["web"]}));
    let web = json!({"name": "web", "route": subset_pair(100, 0)});
    let other = json!({"name": "x", "route": [{"destination": {"host": "shop", "subset": "old"}}], "mirror": {"host": "shop", "subset": "shadow"}});
    let elsewhere = json!({"name": "y", "route": [{"destination": {"host": "else", "subset": "canary"}}]});
    let seen = seen(&setup, &[json!({"http": [web, other, elsewhere]})], Some(&rule));
    assert_eq!(seen.named.iter().collect::<Vec<_>>(), ["h1", "h2", "h3", "h4"]);
    assert_eq!(seen.weighted.iter().collect::<Vec<_>>(), ["h1", "h3", "h4"]);
}

#[test]
fn without_a_rule_no_hash_is_named() {
    let seen = seen(&Setup::subsets(json!({})), &[json!({"http": [{"route": subset_pair(100, 0)}]})], None);
    assert!(seen.named.is_empty() && seen.weighted.is_empty());
}

#[test]
fn hosts_of_other_namespaces_and_weights_of_others_are_pointed_out() {
    let setup = Setup::hosts(json!({}));
    let route = json!([to("shop-stable.prod.svc.cluster.local", 80), to("shop-canary", 0), to("partner", 20)]);
    let object = virtual_service(json!({"http": [{"name": "web", "route": route}]}));
    let told = warnings(&object, setup.reference(), &setup.wanted(), "default");
    assert_eq!(
        told,
        [
            "VirtualService default/shop: HTTP route 'web': host shop-stable.prod.svc.cluster.local is in namespace prod, \
             the Rollout in default; it is weighted as the Rollout's own Service",
            "VirtualService default/shop: HTTP route 'web': destination partner is not the Rollout's; its weight is kept \
             and counts as parts of 100",
        ]
    );
    let mut declared = Setup::subsets(json!({}));
    let istio = declared.canary.traffic_routing.as_mut().unwrap().istio.as_mut().unwrap();
    istio.destination_rule.as_mut().unwrap().additional_subset_names = Some(vec!["legacy".to_owned()]);
    let route = json!([subset("stable", 80), subset("canary", 0), subset("legacy", 20)]);
    let object = virtual_service(json!({"http": [{"route": route}]}));
    assert!(warnings(&object, declared.reference(), &declared.wanted(), "default").is_empty());
}
