//! Section 7.9: the Gateway API.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};

use crate::generated::{Seed, check, check_weights};
use crate::setup::{Setup, exact, span};
use crate::world::World;

fn setup(config: Value) -> Setup {
    Setup::of(json!({
        "plugins": {"argoproj-labs/gatewayAPI": config, "other/plugin": {}},
        "managedRoutes": [{"name": "m1"}, {"name": "m2"}],
    }))
}

fn web() -> Setup {
    setup(json!({"httpRoute": "web"}))
}

fn backend(name: &str, weight: i64) -> Value {
    json!({"group": "", "kind": "Service", "name": name, "port": 80, "weight": weight})
}

fn pair(stable: i64, canary: i64) -> Value {
    json!([backend("shop-stable", stable), backend("shop-canary", canary)])
}

fn route(kind: &str, name: &str, rules: Value) -> Value {
    let version = if ["TCPRoute", "TLSRoute"].contains(&kind) { "v1alpha2" } else { "v1" };
    json!({
        "apiVersion": format!("gateway.networking.k8s.io/{version}"), "kind": kind,
        "metadata": {"name": name, "namespace": "prod", "resourceVersion": "7"},
        "spec": {"parentRefs": [{"name": "gw"}], "rules": rules},
    })
}

fn marked(mut route: Value) -> Value {
    route["metadata"]["labels"] = json!({"rollouts.argoproj.io/gatewayapi-canary": "in-progress"});
    route
}

fn book(data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argo-gatewayapi-configmap", "namespace": "prod"},
        "data": data,
    })
}

fn base(stable: i64, canary: i64) -> Value {
    json!({
        "matches": [{"path": {"type": "PathPrefix", "value": "/a"}, "queryParams": [{"name": "q", "value": "1"}]}],
        "filters": [{"type": "RequestHeaderModifier"}], "timeouts": {"request": "1s"}, "backendRefs": pair(stable, canary),
    })
}

fn header_rule(headers: Value) -> Value {
    json!({
        "matches": [{
            "path": {"type": "PathPrefix", "value": "/a"}, "queryParams": [{"name": "q", "value": "1"}], "headers": headers,
        }],
        "filters": [{"type": "RequestHeaderModifier"}],
        "backendRefs": [{"group": "", "kind": "Service", "name": "shop-canary", "port": 80}],
    })
}

fn user(name: &str) -> Value {
    header_rule(json!([{"type": "Exact", "name": "x-user", "value": name}]))
}

/// A rule of the user's that looks much like one of a step.
fn static_rule() -> Value {
    json!({"matches": [{"headers": [{"name": "x-test", "value": "1"}]}], "backendRefs": [backend("shop-canary", 1)]})
}

fn rules(world: &World) -> &Value {
    &world.get("HTTPRoute", "web")["spec"]["rules"]
}

fn positions(world: &World) -> &str {
    world.get("ConfigMap", "argo-gatewayapi-configmap")["data"]["httpManagedRoutes"].as_str().unwrap()
}

#[test]
fn weights_of_every_rule_with_both_services_change_and_nothing_else() {
    let lone = json!({"backendRefs": [backend("shop-stable", 1)]});
    let before = World::of([route("HTTPRoute", "web", json!([base(100, 0), lone, {"backendRefs": pair(100, 0)}]))]);
    let after = web().weight(30).after(&before);
    let wanted = route("HTTPRoute", "web", json!([base(70, 30), lone, {"backendRefs": pair(70, 30)}]));
    assert_eq!(after, World::of([marked(wanted)]));
}

#[test]
fn all_kinds_are_weighted_and_a_larger_total_counts() {
    let mut setup = setup(json!({
        "httpRoutes": [{"name": "a"}], "grpcRoute": "b", "tcpRoutes": [{"name": "c"}], "tlsRoute": "d",
        "disableInProgressLabel": true, "namespace": "edge",
    }))
    .weight(5);
    setup.canary.traffic_routing.as_mut().unwrap().max_traffic_weight = Some(1000);
    let objects = |stable, canary| {
        [("HTTPRoute", "a"), ("GRPCRoute", "b"), ("TCPRoute", "c"), ("TLSRoute", "d")].map(|(kind, name)| {
            let mut object = route(kind, name, json!([{"backendRefs": pair(stable, canary)}]));
            object["metadata"]["namespace"] = json!("edge");
            object
        })
    };
    assert_eq!(setup.after(&World::of(objects(100, 0))), World::of(objects(995, 5)));
}

#[test]
fn other_backends_keep_their_weight_and_stable_pays() {
    let refs =
        |stable, canary| json!([backend("shop-stable", stable), {"name": "partner"}, backend("shop-canary", canary)]);
    let before = World::of([route("HTTPRoute", "web", json!([{"backendRefs": refs(100, 0)}]))]);
    let after = web().weight(30).after(&before);
    assert_eq!(rules(&after)[0]["backendRefs"], refs(69, 30));
}

#[test]
fn experiments_are_added_to_http_routes_and_go_when_they_are_over() {
    let before = World::of([route("HTTPRoute", "web", json!([base(100, 0)]))]);
    let running = web().weight(10).experiment("shop-x", 5);
    let during = running.after(&before);
    let wanted = json!([backend("shop-stable", 85), backend("shop-canary", 10), backend("shop-x", 5)]);
    assert_eq!(rules(&during)[0]["backendRefs"], wanted);
    let read = running.read(&during);
    assert_eq!((read.canary(), read.stable(), read.additional("shop-x")), (span(10), span(85), span(5)));
    let mut over = web().weight(10);
    over.former.insert("shop-x".to_owned());
    assert_eq!(rules(&over.after(&during))[0]["backendRefs"], pair(90, 10));
}

#[test]
fn routes_found_by_label_are_weighted_too() {
    let setup = setup(json!({"httpRouteSelector": {"matchLabels": {"app": "shop"}}, "disableInProgressLabel": true}));
    let mut one = route("HTTPRoute", "one", json!([base(100, 0)]));
    one["metadata"]["labels"] = json!({"app": "shop"});
    let other = route("HTTPRoute", "other", json!([base(100, 0)]));
    let after = setup.weight(20).after(&World::of([one, other.clone()]));
    assert_eq!(after.get("HTTPRoute", "one")["spec"]["rules"][0], base(80, 20));
    assert_eq!(after.get("HTTPRoute", "other"), &other);
}

#[test]
fn the_label_is_there_while_the_canary_gets_traffic() {
    let config = json!({"httpRoute": "web", "inProgressLabelKey": "k", "inProgressLabelValue": "v"});
    let mut start = route("HTTPRoute", "web", json!([base(100, 0)]));
    start["metadata"]["labels"] = json!({"team": "a"});
    let during = setup(config.clone()).weight(10).after(&World::of([start.clone()]));
    assert_eq!(during.get("HTTPRoute", "web")["metadata"]["labels"], json!({"team": "a", "k": "v"}));
    assert_eq!(setup(config).after(&during), World::of([start]));
}

#[test]
fn a_header_route_is_a_rule_at_the_end_whose_position_is_remembered() {
    let before = World::of([route("HTTPRoute", "web", json!([static_rule(), base(100, 0)]))]);
    let matches = json!([
        {"headerName": "a", "headerValue": {"exact": "1"}},
        {"headerName": "b", "headerValue": {"prefix": "2"}},
        {"headerName": "c", "headerValue": {"regex": "3|4"}},
    ]);
    let setup = web().weight(10).header("m1", matches);

    let after = setup.after(&before);

    let headers = json!([
        {"type": "Exact", "name": "a", "value": "1"},
        {"type": "RegularExpression", "name": "b", "value": "2.*"},
        {"type": "RegularExpression", "name": "c", "value": "3|4"},
    ]);
    assert_eq!(rules(&after), &json!([static_rule(), base(90, 10), header_rule(headers)]));
    assert_eq!(positions(&after), "{\"m1\":{\"web\":2}}");
    assert_eq!(setup.edit(&before).unwrap()[0].object.resource.kind, "ConfigMap", "remembered before it comes");
    assert_eq!(web().edit(&after).unwrap().last().unwrap().object.resource.kind, "ConfigMap", "forgotten after");
}

#[test]
fn at_the_end_the_rules_of_steps_go_and_later_positions_move_up() {
    let rules_before = json!([base(90, 10), user("m1"), static_rule(), user("theirs"), user("m2")]);
    let data = json!({"httpManagedRoutes": "{\"m1\":{\"web\":1},\"m2\":{\"web\":4},\"theirs\":{\"else\":7,\"web\":3}}", "keep": "x"});
    let world = World::of([route("HTTPRoute", "web", rules_before), book(data)]);
    let after = web().after(&world);
    assert_eq!(rules(&after), &json!([base(100, 0), static_rule(), user("theirs")]));
    let data = json!({"httpManagedRoutes": "{\"theirs\":{\"else\":7,\"web\":2}}", "keep": "x"});
    assert_eq!(after.get("ConfigMap", "argo-gatewayapi-configmap")["data"], data);
    let one = web().weight(10).header("m2", exact("x-user", "m2")).after(&world);
    assert_eq!(rules(&one), &json!([base(90, 10), static_rule(), user("theirs"), user("m2")]));
    assert_eq!(positions(&one), "{\"m2\":{\"web\":3},\"theirs\":{\"else\":7,\"web\":2}}");
}

#[test]
fn a_half_done_update_of_the_plugin_is_taken_over_as_it_is() {
    // The API server has added what it adds by itself.
    let mut rule = user("m1");
    rule["backendRefs"][0]["weight"] = json!(1);
    let objects = [
        marked(route("HTTPRoute", "web", json!([base(90, 10), rule]))),
        book(json!({"httpManagedRoutes": "{\"m1\":{\"web\":1}}"})),
    ];
    let setup = web().weight(10).header("m1", exact("x-user", "m1"));
    assert_eq!(setup.edit(&World::of(objects)).unwrap(), []);
}

#[test]
fn a_step_with_other_headers_replaces_its_rule_in_place() {
    let before = web().weight(10).header("m1", exact("x-user", "m1"));
    let world = before.after(&World::of([route("HTTPRoute", "web", json!([base(100, 0)]))]));
    let after = web().weight(10).header("m1", exact("x-user", "other")).after(&world);
    assert_eq!(rules(&after), &json!([base(90, 10), user("other")]));
    assert_eq!(positions(&after), "{\"m1\":{\"web\":1}}");
}

#[test]
fn a_position_that_is_wrong_never_costs_a_rule_of_the_users() {
    // Somebody has applied the route anew: the rule of the step is gone, another one stands in its place.
    let mine =
        json!({"matches": [{"path": {"type": "Exact", "value": "/b"}}], "backendRefs": [backend("shop-canary", 1)]});
    let world = World::of([
        route("HTTPRoute", "web", json!([base(100, 0), mine])),
        book(json!({"httpManagedRoutes": "{\"m1\":{\"web\":1},\"m2\":{\"web\":9}}"})),
    ]);
    let idle = web().after(&world);
    assert_eq!((rules(&idle), positions(&idle)), (&json!([base(100, 0), mine]), "{}"));
    let during = web().weight(10).header("m1", exact("x-user", "m1")).after(&world);
    assert_eq!(rules(&during), &json!([base(90, 10), mine, user("m1")]));
    assert_eq!(positions(&during), "{\"m1\":{\"web\":2}}");
}

#[test]
fn a_rule_of_the_users_that_says_the_same_stays_when_the_step_is_over() {
    let start = World::of([route("HTTPRoute", "web", json!([base(100, 0), user("m1")]))]);
    let during = web().header("m1", exact("x-user", "m1")).after(&start);
    assert_eq!(rules(&during), &json!([base(100, 0), user("m1"), user("m1")]));
    assert_eq!(positions(&during), "{\"m1\":{\"web\":2}}");
    assert_eq!(rules(&web().after(&during)), rules(&start));
}

#[test]
fn a_crash_between_the_two_writes_does_no_harm() {
    let start = World::of([route("HTTPRoute", "web", json!([base(100, 0)]))]);
    let setup = web().weight(10).header("m1", exact("x-user", "m1"));
    let mut half = start.clone();
    half.apply(&setup.edit(&start).unwrap()[..1], 0);
    assert_eq!(setup.after(&half), setup.after(&start));
    assert_eq!(rules(&web().after(&half)), &json!([base(100, 0)]));
    let done = setup.after(&start);
    let mut half = done.clone();
    half.apply(&web().edit(&done).unwrap()[..1], 0);
    assert_eq!(web().after(&half), web().after(&done));
    assert_eq!(rules(&setup.after(&half)), rules(&done));
}

#[test]
fn headers_of_grpc_have_a_place_of_their_own() {
    let rule = json!({"matches": [{"method": {"service": "s"}}], "backendRefs": pair(100, 0)});
    let setup = setup(json!({"grpcRoutes": [{"name": "api", "useHeaderRoutes": true}, {"name": "b"}]}));
    let world = World::of(["api", "b"].map(|name| route("GRPCRoute", name, json!([rule]))));
    let after = setup.header("m1", exact("x", "y")).after(&world);
    let added = &after.get("GRPCRoute", "api")["spec"]["rules"][1];
    let headers = json!([{"type": "Exact", "name": "x", "value": "y"}]);
    assert_eq!(added["matches"], json!([{"method": {"service": "s"}, "headers": headers}]));
    assert_eq!(after.get("GRPCRoute", "b")["spec"]["rules"], json!([rule]));
    let data = json!({"grpcManagedRoutes": "{\"m1\":{\"api\":1}}"});
    assert_eq!(after.get("ConfigMap", "argo-gatewayapi-configmap")["data"], data);
}

#[test]
fn what_cannot_be_done_is_told_with_the_field() {
    let field = "spec.strategy.canary.trafficRouting.plugins[\"argoproj-labs/gatewayAPI\"]";
    let none = "failed to set weight via plugin: No routes configured. At least one of 'httpRoutes', 'grpcRoutes', \
                'tcpRoutes', 'httpRoute', 'grpcRoute' or 'tcpRoute' must be set";
    let wrong = |text: &str| format!("failed to set weight via plugin: {field}.{text}; correct it");
    let table = [
        (json!({}), none.to_owned()),
        (json!({"httpRoute": ""}), none.to_owned()),
        (json!({"httpRoute": 7}), wrong("httpRoute is not text")),
        (json!({"tcpRoutes": {}}), wrong("tcpRoutes is not a list")),
        (json!({"httpRoutes": [{"useHeaderRoutes": true}]}), wrong("httpRoutes[0].name is not the name of a route")),
        (
            json!({"httpRoutes": [{"name": "a", "useHeaderRoutes": "yes"}]}),
            wrong("httpRoutes[0].useHeaderRoutes is not true or false"),
        ),
        (
            json!({"tlsRouteSelector": {}}),
            wrong("tlsRouteSelector is not a label selector that names at least one label"),
        ),
        (
            json!({"httpRouteSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}),
            wrong("httpRouteSelector.matchExpressions[0].operator is not one of In, NotIn, Exists, DoesNotExist"),
        ),
        (
            json!({"httpRoute": "web"}),
            "failed to set weight via plugin: httproutes.gateway.networking.k8s.io \"web\" not found".to_owned(),
        ),
    ];
    for (config, text) in table {
        assert_eq!(setup(config).error(&World::default()), text);
    }
    let lone = World::of([route("HTTPRoute", "web", json!([{"backendRefs": [backend("shop-stable", 1)]}]))]);
    assert_eq!(web().error(&lone), "failed to set weight via plugin: backendRef was not found in httpRoute");
    assert_eq!(
        web().hint(&lone),
        "HTTPRoute prod/web: add backendRefs named shop-stable and shop-canary to one of spec.rules"
    );
    let torn = World::of([route("HTTPRoute", "web", json!([base(1, 0)])), book(json!({"httpManagedRoutes": "{"}))]);
    assert_eq!(
        web().error(&torn),
        "failed to remove managed routes via plugin: ConfigMap prod/argo-gatewayapi-configmap: data.httpManagedRoutes is \
         not JSON of the form {\"NAME\":{\"ROUTE\":INDEX}}; correct it"
    );
}

#[test]
fn steps_that_no_route_takes_are_refused_not_ignored() {
    let world = World::of([route("HTTPRoute", "web", json!([base(100, 0)]))]);
    let without = setup(json!({"httpRoutes": [{"name": "web"}]})).header("m1", exact("a", "b"));
    assert_eq!(
        without.error(&world),
        "failed to set header route via plugin: spec.strategy.canary.trafficRouting.plugins[\"argoproj-labs/gatewayAPI\"]\
         .httpRoutes[].useHeaderRoutes is not true for any route, as header steps need; correct it"
    );
    assert!(web().mirror("m1").error(&world).starts_with("mirrorRoute 'm1' cannot be made by trafficRouting.plugins"));
}

#[test]
fn selectors_are_told_as_the_api_takes_them() {
    let selector = json!({
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["x", "y"]}, {"key": "d", "operator": "NotIn", "values": ["z"]},
            {"key": "e", "operator": "Exists"}, {"key": "f", "operator": "DoesNotExist"},
        ],
    });
    let setup = setup(json!({"grpcRouteSelector": selector}));
    let needs = setup.router().needs(&Default::default(), &setup.wanted()).unwrap();
    let text = format!("{needs:?}");
    assert!(text.contains("\"a=1,b=2,c in (x,y),d notin (z),e,!f\""), "{text}");
}

#[test]
fn the_plugin_says_that_weights_are_in_force() {
    assert_eq!(web().router().verified(), Some(true));
}

/// Any rule to the canary alone that asks for headers, but for the user's own.
fn is_of_a_step(rule: &Value) -> bool {
    let refs = rule["backendRefs"].as_array().map_or(0, Vec::len);
    let text = rule.to_string();
    let to_canary = refs == 1 && rule["backendRefs"][0]["name"] == "shop-canary";
    text.contains("x-user") || (to_canary && text.contains("headers") && !text.contains("x-test"))
}

fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "ConfigMap" {
        if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
            data.remove("httpManagedRoutes");
        }
        object
            .as_object_mut()
            .unwrap()
            .retain(|name, value| name != "data" || (!value.is_null() && *value != json!({})));
        return object;
    }
    if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove("rollouts.argoproj.io/gatewayapi-canary");
    }
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null() && *value != json!({})));
    if let Some(rules) = object.pointer_mut("/spec/rules").and_then(Value::as_array_mut) {
        rules.retain(|rule| !is_of_a_step(rule));
        for rule in rules {
            let Some(refs) = rule.get_mut("backendRefs").and_then(Value::as_array_mut) else { continue };
            let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
            refs.retain(|entry| !name(entry).starts_with("shop-x"));
            for entry in refs.iter_mut().filter(|entry| name(entry).starts_with("shop-")) {
                entry.as_object_mut().unwrap().remove("weight");
            }
        }
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_gives_a_valid_one_or_a_clear_error(seed in any::<u64>()) {
        let mut seed = Seed(seed);
        let mut start = web();
        start.canary.traffic_routing.as_mut().unwrap().max_traffic_weight = *seed.of(&[None, Some(1000)]);
        let total = i64::from(*start.canary.traffic_routing.as_ref().unwrap().max_traffic_weight.as_ref().unwrap_or(&100));
        let mut refs = vec!["shop-stable", "shop-canary"];
        refs.extend(["partner", "shop-x-a", "shop-canary"].into_iter().filter(|_| seed.one_in(4)));
        seed.shuffle(&mut refs);
        let refs: Vec<Value> = refs.iter().map(|name| json!({"name": name, "port": 80, "weight": seed.weight()})).collect();
        let mut rules = vec![json!({"backendRefs": refs}), json!({}), static_rule()];
        rules.extend([base(10, 20), json!({"backendRefs": [backend("shop-stable", 3)]})].into_iter().filter(|_| seed.one_in(3)));
        seed.shuffle(&mut rules);
        let mut world = World::of([route("HTTPRoute", "web", json!(rules))]);
        for _ in 0..seed.below(3) {
            let before = seed.wishes(start.clone(), true);
            let Ok(changes) = before.edit(&world) else { continue };
            let cut = seed.below(changes.len() + 1);
            world.apply(&changes[..if seed.one_in(4) { cut } else { changes.len() }], 0);
        }
        let mut setup = seed.wishes(start, true);
        setup.former.extend(["shop-x-a", "shop-x-b"].map(str::to_owned));
        if check(&setup, &world, strip) {
            check_weights(&setup, &world, total, true);
            let after = setup.after(&world);
            let count = after.get("HTTPRoute", "web")["spec"]["rules"].to_string().matches("x-user").count();
            assert_eq!(count, setup.routes.as_ref().map_or(0, |routes| routes.len()), "{after:?}");
        }
        check(&setup, &seed.mangled(&world), strip);
    }
}
