//! Header and mirror routes: section 6.

use serde_json::{Value, json};
use tidegate_traffic::istio::{Edit, ManagedForm, edit_virtual_service, remove_managed_routes};
use tidegate_traffic::router::{ManagedKind, Written};

use crate::setup::{Setup, pair, subset_pair, to, virtual_service};

fn testers() -> Value {
    json!({"name": "testers", "match": [{"headerName": "x-tester", "headerValue": {"exact": "yes"}}]})
}

fn shadow() -> Value {
    json!({"name": "shadow", "percentage": 25, "match": [{"method": {"exact": "GET"}, "path": {"prefix": "/api"}}]})
}

fn web(stable: i64, canary: i64) -> Value {
    json!({"name": "web", "route": pair(stable, canary)})
}

fn names(spec: &Value) -> Vec<&str> {
    spec["http"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap_or("-")).collect()
}

#[test]
fn a_header_route_sends_everything_to_the_canary_and_stands_first() {
    let setup = Setup::hosts(json!({"routes": ["web"]})).managed(&["testers"]).header("testers", testers());
    let after = setup.after(json!({"http": [web(100, 0)]}));
    let route = json!({
        "name": "testers", "match": [{"headers": {"x-tester": {"exact": "yes"}}}],
        "route": [to("shop-canary", 100)],
    });
    assert_eq!(after, json!({"http": [route, web(100, 0)]}));
}

#[test]
fn a_header_route_counts_in_parts_of_the_total_too() {
    let mut setup = Setup::hosts(json!({})).weight(235).managed(&["testers"]).header("testers", testers());
    setup.total = 1000;
    let after = setup.after(json!({"http": [web(1000, 0)]}));
    assert_eq!(after["http"][0]["route"], json!([to("shop-canary", 1000)]));
    assert_eq!(after["http"][1], web(765, 235));
}

#[test]
fn header_values_may_be_exact_a_prefix_or_a_regular_expression() {
    let step = json!({"name": "testers", "match": [
        {"headerName": "a", "headerValue": {"exact": "1"}}, {"headerName": "b", "headerValue": {"prefix": "2"}},
        {"headerName": "c", "headerValue": {"regex": ".*Canary.*"}},
    ]});
    let after =
        Setup::hosts(json!({})).managed(&["testers"]).header("testers", step).after(json!({"http": [web(100, 0)]}));
    let wanted = json!([{"headers": {"a": {"exact": "1"}}}, {"headers": {"b": {"prefix": "2"}}}, {"headers": {"c": {"regex": ".*Canary.*"}}}]);
    assert_eq!(after["http"][0]["match"], wanted);
}

#[test]
fn a_header_route_names_host_port_subset_and_headers_of_the_canary_destination() {
    let canary = json!({
        "destination": {"host": "shop.prod.svc.cluster.local", "port": {"number": 8080}, "subset": "canary"}, "weight": 0,
        "headers": {"response": {"add": {"set-cookie": "canary=1"}}},
    });
    let stable = json!({"destination": {"host": "shop.prod.svc.cluster.local", "subset": "stable"}, "weight": 100});
    let setup = Setup::subsets(json!({})).managed(&["testers"]).header("testers", testers());
    let after = setup.after(json!({"http": [{"route": [canary, stable]}]}));
    let mut wanted = canary;
    wanted.as_object_mut().unwrap().insert("weight".to_owned(), json!(100));
    assert_eq!(after["http"][0]["route"], json!([wanted]));
}

#[test]
fn managed_routes_carry_all_fields_and_conditions_of_the_base_route() {
    let base = json!({
        "name": "web", "timeout": "4s", "rewrite": {"uri": "/v2"}, "retries": {"attempts": 2}, "corsPolicy": {},
        "match": [{"uri": {"prefix": "/shop"}}, {"uri": {"exact": "/s"}, "headers": {"lang": {"exact": "de"}}}],
        "route": pair(100, 0),
    });
    let setup = Setup::hosts(json!({})).managed(&["testers"]).header("testers", testers());

    let after = setup.after(json!({"http": [base]}));

    let mut wanted = base.clone();
    let fields = wanted.as_object_mut().unwrap();
    fields.insert("name".to_owned(), json!("testers"));
    fields.insert("route".to_owned(), json!([to("shop-canary", 100)]));
    fields.insert(
        "match".to_owned(),
        json!([
            {"uri": {"prefix": "/shop"}, "headers": {"x-tester": {"exact": "yes"}}},
            {"uri": {"exact": "/s"}, "headers": {"lang": {"exact": "de"}, "x-tester": {"exact": "yes"}}},
        ]),
    );
    assert_eq!(after, json!({"http": [wanted, base]}));
}

#[test]
fn conditions_on_the_same_thing_are_narrowed_or_dropped() {
    let base = json!({"match": [
        {"uri": {"prefix": "/api/v1"}}, {"uri": {"prefix": "/other"}}, {"uri": {"exact": "/api/x"}}, {"uri": {"regex": ".*"}},
        {"method": {"exact": "POST"}},
    ], "route": pair(100, 0)});
    let setup = Setup::hosts(json!({})).managed(&["shadow"]).mirror("shadow", shadow());
    let after = setup.after(json!({"http": [base]}));
    let get = json!({"exact": "GET"});
    let wanted = json!([
        {"method": get, "uri": {"prefix": "/api/v1"}}, {"method": get, "uri": {"exact": "/api/x"}},
        {"method": get, "uri": {"prefix": "/api"}},
    ]);
    assert_eq!(after["http"][0]["match"], wanted);
}

#[test]
fn conditions_that_cannot_be_joined_are_an_error_and_never_a_route_for_all() {
    let setup = Setup::hosts(json!({})).managed(&["testers"]).header("testers", testers());
    let base = |value: Value| json!({"http": [{"match": [{"headers": {"X-Tester": value}}], "route": pair(100, 0)}]});
    assert_eq!(
        setup.error(base(json!({"exact": "no"}))),
        "[SetHeaderRoute] failed to reconcile header routes: step for route 'testers': its conditions and match of HTTP \
         route spec.http[0] of VirtualService default/shop exclude each other; change the step or that match"
    );
    assert!(setup.error(base(json!({"regex": "y.*"}))).contains("whether header x-tester can hold together"));
    assert_eq!(
        setup.after(base(json!({"exact": "yes"})))["http"][0]["match"],
        json!([{"headers": {"X-Tester": {"exact": "yes"}}}])
    );
}

#[test]
fn a_step_without_a_condition_is_an_error() {
    let empty = json!({"name": "testers", "match": [{"headerName": "a", "headerValue": {}}]});
    let setup = Setup::hosts(json!({})).managed(&["testers"]).header("testers", empty);
    assert_eq!(
        setup.error(json!({"http": [web(100, 0)]})),
        "[SetHeaderRoute] failed to reconcile header routes: step for route 'testers': match[0].headerValue has none of \
         exact, prefix, regex; set one"
    );
}

#[test]
fn a_mirror_route_copies_the_split_and_leaves_out_weights_of_zero() {
    let setup = Setup::hosts(json!({"routes": ["web"]})).managed(&["shadow"]).mirror("shadow", shadow());
    let port = |host: &str, weight: Option<i64>| {
        let mut entry = json!({"destination": {"host": host, "port": {"number": 8080}}});
        entry.as_object_mut().unwrap().extend(weight.map(|weight| ("weight".to_owned(), json!(weight))));
        entry
    };
    let base = |stable, canary| json!({"name": "web", "route": [port("shop-stable", Some(stable)), port("shop-canary", Some(canary))]});
    let route = |stable, canary| {
        json!({
            "name": "shadow", "match": [{"method": {"exact": "GET"}, "uri": {"prefix": "/api"}}],
            "route": [port("shop-stable", stable), port("shop-canary", canary)],
            "mirror": {"host": "shop-canary", "port": {"number": 8080}}, "mirrorPercentage": {"value": 25},
        })
    };

    let idle = setup.after(json!({"http": [base(100, 0)]}));
    assert_eq!(idle, json!({"http": [route(Some(100), None), base(100, 0)]}));
    let raised = setup.weight(45).after(idle);
    assert_eq!(raised, json!({"http": [route(Some(55), Some(45)), base(55, 45)]}));
}

#[test]
fn a_mirror_route_copies_everything_by_default_in_subset_mode_from_an_unnamed_base() {
    let step = json!({"name": "shadow", "match": [{"headers": {"a": {"exact": "b"}}}]});
    let setup = Setup::subsets(json!({})).weight(12).managed(&["shadow"]).mirror("shadow", step);
    let after = setup.after(json!({"http": [{"route": subset_pair(100, 0)}]}));
    assert_eq!(
        after["http"][0],
        json!({
            "name": "shadow", "match": [{"headers": {"a": {"exact": "b"}}}], "route": subset_pair(88, 12),
            "mirror": {"host": "shop", "subset": "canary"}, "mirrorPercentage": {"value": 100},
        })
    );
    assert_eq!(after["http"][1], json!({"route": subset_pair(88, 12)}));
}

#[test]
fn a_share_outside_of_a_percentage_is_brought_inside() {
    for (given, written) in [(250, 100), (-1, 0), (0, 0)] {
        let step = json!({"name": "shadow", "percentage": given, "match": [{"method": {"exact": "GET"}}]});
        let after =
            Setup::hosts(json!({})).managed(&["shadow"]).mirror("shadow", step).after(json!({"http": [web(100, 0)]}));
        assert_eq!(after["http"][0]["mirrorPercentage"], json!({"value": written}));
    }
}

#[test]
fn copies_the_user_has_made_go_on() {
    let base = json!({"route": pair(100, 0), "mirrors": [{"destination": {"host": "audit"}}]});
    let setup = Setup::hosts(json!({})).managed(&["shadow"]).mirror("shadow", shadow());
    let after = setup.after(json!({"http": [base]}));
    let wanted = json!([{"destination": {"host": "audit"}}, {"destination": {"host": "shop-canary"}, "percentage": {"value": 25}}]);
    assert_eq!(after["http"][0]["mirrors"], wanted);
    assert_eq!(after["http"][0].get("mirror"), None);
}

#[test]
fn the_plain_form_has_name_conditions_and_destinations_only() {
    let base = json!({"timeout": "4s", "match": [{"uri": {"prefix": "/"}}], "route": [
        {"destination": {"host": "shop-stable", "port": {"number": 80}}, "weight": 100, "headers": {}}, to("shop-canary", 0),
    ]});
    let setup = Setup::hosts(json!({}))
        .weight(10)
        .managed(&["testers", "shadow"])
        .header("testers", testers())
        .mirror("shadow", shadow());
    let mut wanted = setup.wanted();
    wanted.form = ManagedForm::Plain;
    let edit = edit_virtual_service(&virtual_service(json!({"http": [base]})), setup.reference(), &wanted).unwrap();
    let after = &edit.changed().unwrap().object["spec"]["http"];
    assert_eq!(
        after[0],
        json!({
            "name": "testers", "match": [{"headers": {"x-tester": {"exact": "yes"}}}], "route": [to("shop-canary", 100)],
        })
    );
    assert_eq!(
        after[1],
        json!({
            "name": "shadow", "match": [{"method": {"exact": "GET"}, "uri": {"prefix": "/api"}}],
            "route": [{"destination": {"host": "shop-stable", "port": {"number": 80}}, "weight": 90}, to("shop-canary", 10)],
            "mirror": {"host": "shop-canary"}, "mirrorPercentage": {"value": 25},
        })
    );
}

#[test]
fn managed_routes_stand_first_in_the_order_of_the_spec() {
    let step = |name: &str| json!({"name": name, "match": [{"headerName": "x", "headerValue": {"exact": name}}]});
    let setup = Setup::hosts(json!({"routes": ["web"]}))
        .managed(&["m2", "m3", "m1"])
        .header("m1", step("m1"))
        .header("m2", step("m2"));
    let api = json!({"name": "api", "route": [to("api", 100)]});
    let unnamed = json!({"route": [to("x", 100)]});
    let after = setup.after(json!({"http": [{"name": "m1"}, web(100, 0), {"name": "m2"}, api, unnamed, unnamed]}));
    assert_eq!(names(&after), ["m2", "m1", "web", "api", "-", "-"]);

    // Somebody moves them: they would no longer be reached, so they are moved back.
    let list = after["http"].as_array().unwrap();
    let moved = json!({"http": [list[2], list[1], list[0], list[3], list[4], list[5]]});
    let edit = setup.edit(&virtual_service(moved)).unwrap();
    let change = edit.changed().unwrap();
    assert_eq!(change.object["spec"], after);
    assert_eq!(change.written, [Written::Ordered]);
}

#[test]
fn a_managed_route_behind_the_route_it_was_made_from_is_moved_before_it() {
    let setup = Setup::hosts(json!({})).managed(&["testers"]).header("testers", testers());
    let after = setup.after(json!({"http": [web(100, 0)]}));
    let moved = json!({"http": [after["http"][1], after["http"][0]]});
    assert_eq!(setup.after(moved), after);
}

#[test]
fn the_managed_routes_of_two_rollouts_do_not_push_each_other_aside() {
    let setup = |name: &'static str, route: &str| {
        let step = json!({"name": name, "match": [{"headerName": "x", "headerValue": {"exact": name}}]});
        Setup::hosts(json!({"routes": [route]})).weight(10).managed(&[name]).header(name, step)
    };
    let (one, other) = (setup("m1", "web"), setup("m2", "api"));
    let both = other.after(one.after(json!({"http": [web(100, 0), {"name": "api", "route": pair(100, 0)}]})));
    assert_eq!(names(&both), ["m2", "m1", "web", "api"]);
    assert!(one.is_unchanged(both.clone()) && other.is_unchanged(both));
}

#[test]
fn every_weighted_route_gets_a_copy_until_one_takes_all_requests() {
    let base = |name: &str, path: Option<&str>| {
        let mut route = json!({"name": name, "route": pair(100, 0)});
        let matches = path.map(|path| ("match".to_owned(), json!([{"uri": {"prefix": path}}])));
        route.as_object_mut().unwrap().extend(matches);
        route
    };
    let setup = Setup::hosts(json!({"routes": ["c", "a", "b"]})).managed(&["shadow"]).mirror("shadow", shadow());
    let after = setup.after(json!({"http": [base("a", Some("/api/v1")), base("b", None), base("c", Some("/api/v2"))]}));
    assert_eq!(names(&after), ["shadow", "shadow", "a", "b", "c"]);
    assert_eq!(after["http"][0]["match"][0]["uri"], json!({"prefix": "/api/v1"}));
    assert_eq!(after["http"][1]["match"][0]["uri"], json!({"prefix": "/api"}));
    // One that can never be meant is passed over.
    let after = setup.after(json!({"http": [base("a", Some("/other")), base("b", Some("/api/v1")), base("c", None)]}));
    assert_eq!(names(&after), ["shadow", "shadow", "a", "b", "c"]);
    let gone = Setup::hosts(json!({"routes": ["a"]})).managed(&["shadow"]).after(after);
    assert_eq!(names(&gone), ["a", "b", "c"]);
}

#[test]
fn a_managed_route_that_was_removed_or_changed_by_others_comes_back() {
    let setup = Setup::hosts(json!({})).weight(20).managed(&["testers"]).header("testers", testers());
    let after = setup.after(json!({"http": [web(100, 0)]}));
    assert_eq!(setup.after(json!({"http": [web(80, 20)]})), after);
    let mut changed = after.clone();
    changed
        .pointer_mut("/http/0/route/0/destination")
        .unwrap()
        .as_object_mut()
        .unwrap()
        .insert("host".to_owned(), json!("evil"));
    assert_eq!(setup.after(changed), after);
    let twice = json!({"http": [after["http"][0], after["http"][0], after["http"][1]]});
    assert_eq!(setup.after(twice), after);
}

#[test]
fn a_managed_route_that_says_weight_zero_aloud_is_not_written_again() {
    let setup = Setup::hosts(json!({})).managed(&["shadow"]).mirror("shadow", shadow());
    let after = setup.after(json!({"http": [web(100, 0)]}));
    let mut aloud = after;
    aloud.pointer_mut("/http/0/route/1").unwrap().as_object_mut().unwrap().insert("weight".to_owned(), json!(0));
    assert!(setup.is_unchanged(aloud));
}

#[test]
fn one_of_three_is_removed_and_the_others_stay() {
    let step = |name: &str| json!({"name": name, "match": [{"method": {"exact": name}}]});
    let all = Setup::hosts(json!({}))
        .managed(&["a", "b", "c"])
        .mirror("a", step("a"))
        .mirror("b", step("b"))
        .mirror("c", step("c"));
    let three = all.after(json!({"http": [web(100, 0)]}));
    assert_eq!(names(&three), ["a", "b", "c", "web"]);
    let mut two = all;
    two.routes.as_mut().unwrap().remove("b");
    let edit = two.edit(&virtual_service(three)).unwrap();
    let change = edit.changed().unwrap();
    assert_eq!(names(&change.object["spec"]), ["a", "c", "web"]);
    assert_eq!(change.messages("shop", &two.wanted()), ["VirtualService `shop` set mirrorRoute 'b'"]);
}

#[test]
fn at_the_end_and_on_abort_all_go_and_the_users_routes_stay_as_they_are() {
    let user = json!({"name": "user", "match": [{"port": 1}], "future": {"x": [1]}, "route": [to("y", 1)]});
    let setup = Setup::hosts(json!({"routes": ["web"]})).weight(40).managed(&["testers", "shadow"]);
    let busy = setup.clone().header("testers", testers()).mirror("shadow", shadow());
    let during = busy.after(json!({"http": [web(100, 0), user]}));
    assert_eq!(names(&during), ["testers", "shadow", "web", "user"]);

    let aborted = setup.weight(0);
    let edit = aborted.edit(&virtual_service(during)).unwrap();
    let change = edit.changed().unwrap();
    assert_eq!(change.object["spec"], json!({"http": [web(100, 0), user]}));
    let wanted =
        ["VirtualService `shop` removed all managed routes.", "VirtualService `shop` set to desiredWeight '0'"];
    assert_eq!(change.messages("shop", &aborted.wanted()), wanted);
}

#[test]
fn routes_that_only_steps_name_are_removed_too() {
    let mut setup = Setup::hosts(json!({"routes": ["web"]}));
    setup.canary.steps =
        serde_json::from_value(json!([{"setHeaderRoute": testers()}, {"setMirrorRoute": shadow()}])).unwrap();
    let before = json!({"http": [{"name": "testers"}, {"name": "shadow", "mirror": {"host": "x"}}, web(100, 0)]});
    assert_eq!(setup.after(before), json!({"http": [web(100, 0)]}));
    // A header route made from one that has copies is still a header route.
    let copied = json!({"http": [{"name": "testers", "mirror": {"host": "audit"}}, web(100, 0)]});
    let edit = setup.edit(&virtual_service(copied)).unwrap();
    assert_eq!(edit.changed().unwrap().written, [Written::Removed(ManagedKind::Header, "testers".to_owned())]);
}

#[test]
fn the_weighted_route_is_never_removed_even_if_it_is_listed_as_managed() {
    let setup = Setup::hosts(json!({"routes": ["web"]})).managed(&["web"]);
    assert!(setup.is_unchanged(json!({"http": [web(100, 0)]})));
    let step = json!({"name": "web", "match": [{"headerName": "x", "headerValue": {"exact": "y"}}]});
    assert_eq!(
        setup.header("web", step).error(json!({"http": [web(100, 0)]})),
        "[SetHeaderRoute] failed to reconcile header routes: route 'web' of VirtualService default/shop is weighted by \
         this Rollout and named by managedRoutes or a step too; rename one of them"
    );
}

#[test]
fn a_virtual_service_without_http_takes_no_managed_route() {
    let tls = json!({"tls": [{"route": pair(100, 0)}]});
    let setup = Setup::hosts(json!({})).managed(&["testers", "shadow"]);
    assert!(setup.is_unchanged(tls.clone()));
    assert_eq!(
        setup.clone().header("testers", testers()).error(tls.clone()),
        "[SetHeaderRoute] failed to reconcile header routes: spec.http not found"
    );
    assert_eq!(
        setup.clone().mirror("shadow", shadow()).error(tls),
        "[SetMirrorRoute] failed reconcile virtual service for mirror routes: spec.http not found"
    );
    let odd = json!({"http": {"a": 1}, "tls": [{"route": pair(100, 0)}]});
    assert_eq!(
        setup.weight(5).error(odd),
        "[SetWeight] failed to order routes: VirtualService default/shop: spec.http is not a list; correct it"
    );
}

#[test]
fn an_empty_list_stays_one() {
    let setup = Setup::hosts(json!({})).weight(5).managed(&["testers"]);
    let before = json!({"http": [], "tls": [{"route": pair(100, 0)}]});
    assert_eq!(setup.after(before), json!({"http": [], "tls": [{"route": pair(95, 5)}]}));
}

#[test]
fn managed_routes_can_be_removed_when_the_weighted_route_is_gone() {
    let setup = Setup::hosts(json!({"routes": ["web"]})).managed(&["testers"]);
    let other = json!({"name": "other", "route": [to("x", 100)]});
    let object = virtual_service(json!({"http": [{"name": "testers", "route": [to("shop-canary", 100)]}, other]}));
    assert!(setup.edit(&object).is_err());

    let edit = remove_managed_routes(&object, setup.reference(), &setup.wanted()).unwrap();
    let change = edit.changed().unwrap();
    assert_eq!(change.object["spec"], json!({"http": [other]}));
    assert_eq!(remove_managed_routes(&change.object, setup.reference(), &setup.wanted()).unwrap(), Edit::Unchanged);

    let both = virtual_service(json!({"http": [{"name": "web"}, {"name": "testers"}, other]}));
    let listed = Setup::hosts(json!({"routes": ["web"]})).managed(&["testers", "web"]);
    let edit = remove_managed_routes(&both, listed.reference(), &listed.wanted()).unwrap();
    assert_eq!(edit.changed().unwrap().object["spec"], json!({"http": [{"name": "web"}, other]}));

    let odd = virtual_service(json!({"http": "x"}));
    let error = remove_managed_routes(&odd, setup.reference(), &setup.wanted()).unwrap_err();
    assert!(error.to_string().starts_with("[RemoveManagedRoutes] failed to get http routes from virtual service: "));
    let last = virtual_service(json!({"http": [{"name": "testers"}]}));
    assert_eq!(remove_managed_routes(&last, setup.reference(), &setup.wanted()).unwrap(), Edit::Unchanged);
}
