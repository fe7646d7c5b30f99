//! Weights: sections 3.2 to 3.4, 5.3, 5.4 and the total of section 2.1.

use serde_json::{Value, json};
use tidegate_traffic::istio::Edit;
use tidegate_traffic::router::Written;

use crate::setup::{Setup, pair, subset, subset_pair, to, virtual_service};

fn http(route: Value) -> Value {
    json!({"http": [{"route": route}]})
}

#[test]
fn only_two_numbers_of_the_named_route_change() {
    let admin = json!({"name": "admin", "match": [{"uri": {"prefix": "/admin"}}], "route": [to("shop-stable", 0)]});
    let web = |stable, canary| json!({"name": "web", "timeout": "4s", "route": [to("shop-stable.prod", stable), to("shop-canary.prod", canary)]});

    let after = Setup::hosts(json!({"routes": ["web"]})).weight(35).after(json!({"http": [admin, web(100, 0)]}));

    assert_eq!(after, json!({"http": [admin, web(65, 35)]}));
}

#[test]
fn hosts_may_be_short_or_carry_a_namespace_or_be_complete() {
    let hosts =
        |stable, canary| json!([to("shop-stable.prod.svc.cluster.local", stable), to("shop-canary.prod", canary)]);
    assert_eq!(Setup::hosts(json!({})).weight(5).after(http(hosts(100, 0))), http(hosts(95, 5)));
}

#[test]
fn a_weight_that_is_right_is_not_written_again() {
    assert!(Setup::hosts(json!({})).weight(35).is_unchanged(http(pair(65, 35))));
    assert!(Setup::subsets(json!({})).weight(35).is_unchanged(http(subset_pair(65, 35))));
    let absent = json!([{"destination": {"host": "shop-canary"}}, to("shop-stable", 100)]);
    assert!(Setup::hosts(json!({})).is_unchanged(http(absent)));
}

#[test]
fn numbers_written_as_floats_are_the_same_numbers() {
    let floats = json!([{"destination": {"host": "shop-stable"}, "weight": 65.0}, {"destination": {"host": "shop-canary"}, "weight": 35.0}]);
    assert!(Setup::hosts(json!({})).weight(35).is_unchanged(http(floats.clone())));
    assert_eq!(Setup::hosts(json!({})).weight(36).after(http(floats)), http(pair(64, 36)));
}

#[test]
fn a_subset_the_user_declares_keeps_its_weight_and_stable_pays() {
    let mut setup = Setup::subsets(json!({})).weight(15);
    let istio = setup.canary.traffic_routing.as_mut().unwrap().istio.as_mut().unwrap();
    istio.destination_rule.as_mut().unwrap().additional_subset_names = Some(vec!["legacy".to_owned()]);
    let legacy = json!({"destination": {"host": "shop-legacy", "subset": "legacy"}, "weight": 12});
    let before = json!([subset("stable", 88), subset("canary", 0), legacy]);

    assert_eq!(setup.after(http(before)), http(json!([subset("stable", 73), subset("canary", 15), legacy])));
}

#[test]
fn a_destination_that_is_not_ours_is_kept_with_its_weight() {
    let before = json!([to("shop-stable", 80), to("partner", 20), to("shop-canary", 0), to("idle", 0)]);
    let after = json!([to("shop-stable", 50), to("partner", 20), to("shop-canary", 30), to("idle", 0)]);
    assert_eq!(Setup::hosts(json!({})).weight(30).after(http(before)), http(after));
}

#[test]
fn at_the_end_the_canary_gets_what_the_others_leave() {
    let before = json!([to("shop-stable", 60), to("partner", 20), to("shop-canary", 20)]);
    let after = json!([to("shop-stable", 0), to("partner", 20), to("shop-canary", 80)]);
    assert_eq!(Setup::hosts(json!({})).weight(100).after(http(before)), http(after));
}

#[test]
fn when_others_hold_everything_raising_is_refused_and_an_abort_still_works() {
    let route = json!([to("shop-stable", 40), to("shop-canary", 10), to("partner", 100)]);
    let error = Setup::hosts(json!({})).weight(30).error(http(route.clone()));
    assert_eq!(
        error,
        "VirtualService default/shop: HTTP route spec.http[0]: destinations partner are not this Rollout's and hold 100 \
         of 100, which leaves nothing for stable and canary; lower their weights so that they stay below 100 together"
    );
    let aborted = json!([to("shop-stable", 50), to("shop-canary", 0), to("partner", 100)]);
    assert_eq!(Setup::hosts(json!({})).after(http(route)), http(aborted));
}

#[test]
fn weights_never_leave_the_range() {
    assert_eq!(Setup::hosts(json!({})).weight(200).after(http(pair(50, 50))), http(pair(0, 100)));
    assert_eq!(Setup::hosts(json!({})).weight(-3).after(http(pair(50, 50))), http(pair(100, 0)));
}

#[test]
fn with_a_larger_total_weights_are_per_mille() {
    let mut setup = Setup::hosts(json!({})).weight(235);
    setup.total = 1000;
    assert_eq!(setup.after(http(pair(100, 0))), http(pair(765, 235)));
    assert_eq!(setup.weight(0).after(http(pair(765, 235))), http(pair(1000, 0)));
}

#[test]
fn with_services_and_a_rule_the_subset_decides() {
    let mut setup = Setup::subsets(json!({})).weight(10);
    setup.canary.canary_service = Some("shop".to_owned());
    setup.canary.stable_service = Some("shop-old".to_owned());
    assert_eq!(setup.after(http(subset_pair(100, 0))), http(subset_pair(90, 10)));
}

#[test]
fn of_two_destinations_of_one_role_the_first_gets_the_weight() {
    let port = |weight: i64| json!({"destination": {"host": "shop-canary", "port": {"number": 81}}, "weight": weight});
    let before = json!([to("shop-stable", 100), to("shop-canary", 0), port(7)]);
    let after = json!([to("shop-stable", 70), to("shop-canary", 30), port(0)]);
    assert_eq!(Setup::hosts(json!({})).weight(30).after(http(before)), http(after));
}

#[test]
fn ping_and_pong_change_roles_with_the_status() {
    let mut setup = Setup::of(json!({
        "pingPong": {"pingService": "ping", "pongService": "pong"},
        "trafficRouting": {"istio": {"virtualService": {"name": "shop"}}},
    }))
    .weight(30);
    let hosts = |ping, pong| http(json!([to("ping", ping), to("pong", pong)]));

    setup.status.stable_ping_pong = Some("ping".to_owned());
    assert_eq!(setup.after(hosts(100, 0)), hosts(70, 30));
    setup.status.stable_ping_pong = Some("pong".to_owned());
    assert_eq!(setup.after(hosts(0, 100)), hosts(30, 70));
    // Promotion: the host that has everything keeps it.
    assert!(setup.weight(0).is_unchanged(hosts(0, 100)));
}

#[test]
fn experiments_come_change_and_go_without_a_trace() {
    let base = Setup::hosts(json!({})).weight(30);
    let running = base.clone().experiment("shop-x-b", "h2", 6).experiment("shop-x-a", "h1", 4);
    let before = http(pair(70, 30));
    let with = |a, b| {
        let stable = 70 - a - b;
        http(json!([to("shop-stable", stable), to("shop-canary", 30), to("shop-x-a", a), to("shop-x-b", b)]))
    };

    assert_eq!(running.after(before.clone()), with(4, 6));
    let changed = base.clone().experiment("shop-x-a", "h1", 5).experiment("shop-x-b", "h2", 6);
    assert_eq!(changed.after(with(4, 6)), with(5, 6));
    let over = base.former("shop-x-a").former("shop-x-b");
    assert_eq!(over.after(with(5, 6)), before);
}

#[test]
fn one_experiment_is_added_and_one_without_weight_is_not() {
    let setup = Setup::hosts(json!({})).weight(10).experiment("shop-x", "h1", 20).experiment("shop-y", "h2", 0);
    let after = json!([to("shop-stable", 70), to("shop-canary", 10), to("shop-x", 20)]);
    assert_eq!(setup.after(http(pair(100, 0))), http(after));
}

#[test]
fn an_experiment_without_service_or_hash_is_never_written() {
    let setup = Setup::hosts(json!({})).weight(10).experiment("", "h1", 20).experiment("shop-x", "", 20);
    let setup = setup.experiment("shop-canary", "h2", 20).experiment(".x", "h3", 20);
    assert_eq!(setup.after(http(pair(100, 0))), http(pair(90, 10)));
}

#[test]
fn experiments_that_ask_for_too_much_get_what_is_left() {
    let setup = Setup::hosts(json!({})).weight(90).experiment("shop-x", "h1", 25);
    let after = json!([to("shop-stable", 0), to("shop-canary", 90), to("shop-x", 10)]);
    assert_eq!(setup.after(http(pair(100, 0))), http(after));
}

#[test]
fn destinations_without_a_host_are_taken_out() {
    let before = json!([to("shop-stable", 90), to("", 10), to("shop-canary", 0)]);
    assert_eq!(Setup::hosts(json!({})).after(http(before)), http(pair(100, 0)));
}

#[test]
fn unknown_fields_headers_and_conditions_survive_byte_for_byte() {
    let spec = |stable: i64, canary: i64| {
        json!({
            "hosts": ["shop.example"], "gateways": ["mesh", "ns/gw"], "exportTo": ["."], "futureField": {"b": [1, null], "a": 1.5},
            "http": [
                {"name": "web", "match": [{"headers": {"x": {"regex": ".*"}}, "ignoreUriCase": true}], "retries": {"attempts": 3},
                 "corsPolicy": {"allowOrigins": [{"exact": "*"}]}, "unknown": {"z": {}},
                 "route": [
                    {"destination": {"host": "shop-stable", "port": {"number": 80}}, "weight": stable, "headers": {"response": {"set": {"a": "b"}}}},
                    {"destination": {"host": "shop-canary"}, "weight": canary, "headers": {"response": {"add": {"set-cookie": "canary=1"}}}, "other": []},
                 ]},
                {"name": "old", "redirect": {"uri": "/new"}},
            ],
        })
    };
    let after = Setup::hosts(json!({"routes": ["web"]})).weight(40).after(spec(100, 0));
    assert_eq!(after.to_string(), spec(60, 40).to_string());
}

#[test]
fn what_was_written_can_be_told() {
    let setup = Setup::hosts(json!({})).weight(20);
    let Edit::Changed(change) = setup.edit(&virtual_service(http(pair(100, 0)))).unwrap() else {
        panic!("nothing was changed")
    };
    let lines: Vec<String> = change.written.iter().map(Written::to_string).collect();
    assert_eq!(
        lines,
        ["HTTP route spec.http[0]: shop-stable 100 -> 80", "HTTP route spec.http[0]: shop-canary 0 -> 20"]
    );
    assert_eq!(change.messages("shop", &setup.wanted()), ["VirtualService `shop` set to desiredWeight '20'"]);
    assert_eq!(change.object["metadata"]["resourceVersion"], "7");
}

#[test]
fn one_name_for_both_roles_is_refused() {
    let mut setup = Setup::hosts(json!({}));
    setup.canary.canary_service = Some("shop-stable".to_owned());
    let error = setup.error(http(pair(100, 0)));
    assert_eq!(
        error,
        "stable and canary are both Service 'shop-stable'; set canaryService and stableService to different names"
    );
}
