//! Which routes are weighted: sections 5.1, 5.2 and 5.4 (e), (f).

use serde_json::{Value, json};

use crate::setup::{Setup, pair, subset_pair, to};

const ONE_HTTP: &str = "spec.http[] should be set in VirtualService and it must have exactly one route when omitting \
                        spec.strategy.canary.trafficRouting.istio.virtualService.routes";

fn named(name: &str, stable: i64, canary: i64) -> Value {
    json!({"name": name, "route": pair(stable, canary)})
}

fn tls(port: i64, hosts: &[&str], stable: i64, canary: i64) -> Value {
    json!({"match": [{"port": port, "sniHosts": hosts}], "route": pair(stable, canary)})
}

fn tcp(port: i64, stable: i64, canary: i64) -> Value {
    json!({"match": [{"port": port}], "route": pair(stable, canary)})
}

#[test]
fn names_select_routes_and_the_first_of_equal_names() {
    let before = json!({"http": [named("a", 100, 0), named("b", 100, 0), named("a", 100, 0)]});
    let after = json!({"http": [named("a", 80, 20), named("b", 100, 0), named("a", 100, 0)]});
    assert_eq!(Setup::hosts(json!({"routes": ["a"]})).weight(20).after(before), after);
}

#[test]
fn a_name_given_twice_counts_once() {
    let third = |stable, canary, x| {
        let route = json!([to("shop-stable", stable), to("shop-x", x), to("shop-canary", canary), to("partner", 0)]);
        json!({"http": [{"name": "a", "route": route}]})
    };
    let setup = Setup::hosts(json!({"routes": ["a", "a"]})).weight(20).former("shop-x");
    let route = json!([to("shop-stable", 80), to("shop-canary", 20), to("partner", 0)]);
    assert_eq!(setup.after(third(90, 0, 10)), json!({"http": [{"name": "a", "route": route}]}));
}

#[test]
fn a_name_that_is_not_there_is_told_with_those_that_are() {
    let setup = Setup::hosts(json!({"routes": ["a", "nope"]})).weight(20);
    let spec = json!({"http": [named("a", 100, 0), named("b", 100, 0)]});
    assert_eq!(setup.error(spec.clone()), "HTTP Route 'nope' is not found in the defined Virtual Service.");
    assert_eq!(setup.hint(spec), "VirtualService default/shop: wanted route nope in spec.http; found a b");
    let none = Setup::hosts(json!({"routes": ["a"]})).error(json!({"http": [], "tcp": [tcp(1, 100, 0)]}));
    assert_eq!(none, "HTTP Route 'a' is not found in the defined Virtual Service.");
}

#[test]
fn without_names_the_only_route_is_taken_named_or_not() {
    let setup = Setup::hosts(json!({})).weight(20);
    assert_eq!(setup.after(json!({"http": [named("a", 100, 0)]})), json!({"http": [named("a", 80, 20)]}));
    assert_eq!(setup.after(json!({"http": [{"route": pair(100, 0)}]})), json!({"http": [{"route": pair(80, 20)}]}));
    assert_eq!(setup.error(json!({"http": [named("a", 100, 0), named("b", 100, 0)]})), ONE_HTTP);
}

#[test]
fn without_names_a_named_base_route_beside_managed_ones_is_still_weighted() {
    let setup = Setup::hosts(json!({}))
        .weight(20)
        .managed(&["testers"])
        .header("testers", json!({"name": "testers", "match": [{"headerName": "x", "headerValue": {"exact": "y"}}]}));
    let with_header = setup.after(json!({"http": [named("web", 100, 0)]}));
    assert_eq!(with_header["http"][1], named("web", 80, 20));
    let raised = setup.weight(50).after(with_header);
    assert_eq!(raised["http"][1], named("web", 50, 50));
}

#[test]
fn no_route_to_weight_is_an_error_and_never_silence() {
    let setup = Setup::hosts(json!({})).weight(20);
    assert_eq!(setup.error(json!({"http": []})), ONE_HTTP);
    let nothing = "Unable to get any of the HTTP, TCP or TLS routes for the Istio VirtualService";
    assert_eq!(setup.error(json!({"hosts": ["a"]})), nothing);
    assert_eq!(setup.error(json!({"http": "x"})), nothing);
    assert_eq!(setup.error(Value::Null), nothing);
}

#[test]
fn tls_routes_are_told_by_port_and_the_set_of_their_hosts() {
    let setup = Setup::hosts(json!({"tlsRoutes": [{"port": 8443, "sniHosts": ["a.example", "b.example"]}]})).weight(7);
    let entry = |matches: Value, stable, canary| json!({"match": matches, "route": pair(stable, canary)});
    let fitting = [
        json!([{"port": 8443, "sniHosts": ["b.example", "a.example"]}]),
        json!([{"port": 8443, "sniHosts": ["a.example"]}, {"port": 8443, "sniHosts": ["b.example"]}]),
    ];
    for matches in fitting {
        let after = setup.after(json!({"tls": [entry(matches.clone(), 100, 0)]}));
        assert_eq!(after, json!({"tls": [entry(matches, 93, 7)]}));
    }
    let others = [
        json!([{"port": 8443, "sniHosts": ["a.example"]}]),
        json!([{"port": 8443, "sniHosts": ["a.example", "b.example"]}, {"port": 9443, "sniHosts": ["a.example"]}]),
        json!([{"sniHosts": ["a.example", "b.example"]}]),
    ];
    for matches in others {
        let error = setup.error(json!({"tls": [entry(matches, 100, 0)]}));
        assert_eq!(error, "No matching TLS routes found in the defined Virtual Service.");
    }
}

#[test]
fn too_many_sni_hosts_are_refused_with_what_the_virtual_service_offers() {
    let setup = Setup::hosts(json!({"tlsRoutes": [{"port": 443, "sniHosts": ["a", "b"]}]}));
    let hint = setup.hint(json!({"tls": [tls(443, &["a"], 100, 0)]}));
    assert_eq!(hint, "VirtualService default/shop: wanted port 443, SNI a b; found port 443, SNI a");
}

#[test]
fn one_tls_item_may_fit_several_routes_and_a_port_alone_means_no_hosts() {
    let bare = |stable, canary| json!({"match": [{"port": 443}], "route": pair(stable, canary)});
    let setup = Setup::hosts(json!({"tlsRoutes": [{"port": 443}]})).weight(25);
    let after = setup.after(json!({"tls": [bare(100, 0), tls(443, &["a"], 100, 0), bare(50, 50)]}));
    assert_eq!(after, json!({"tls": [bare(75, 25), tls(443, &["a"], 100, 0), bare(75, 25)]}));
    let by_host = Setup::hosts(json!({"tlsRoutes": [{"sniHosts": ["a"]}]})).weight(25);
    let host = |stable, canary| json!({"match": [{"sniHosts": ["a"]}], "route": pair(stable, canary)});
    assert_eq!(by_host.after(json!({"tls": [host(100, 0)]})), json!({"tls": [host(75, 25)]}));
}

#[test]
fn tcp_routes_are_told_by_port() {
    let setup = Setup::hosts(json!({"tcpRoutes": [{"port": 3000}]})).weight(25);
    let after = setup.after(json!({"tcp": [tcp(3000, 100, 0), tcp(4000, 100, 0)]}));
    assert_eq!(after, json!({"tcp": [tcp(3000, 75, 25), tcp(4000, 100, 0)]}));
    let spec = json!({"tcp": [tcp(4000, 100, 0)]});
    assert_eq!(setup.error(spec.clone()), "No matching TCP routes found in the defined Virtual Service.");
    assert_eq!(setup.hint(spec), "VirtualService default/shop: wanted port 3000; found port 4000");
}

#[test]
fn without_selectors_the_only_tls_or_tcp_route_is_taken() {
    let setup = Setup::hosts(json!({})).weight(25);
    for kind in ["tls", "tcp"] {
        let before = json!({kind: [tcp(1, 100, 0)]});
        assert_eq!(setup.after(before), json!({kind: [tcp(1, 75, 25)]}));
        let error = setup.error(json!({kind: [tcp(1, 100, 0), tcp(2, 100, 0)]}));
        assert_eq!(
            error,
            format!(
                "spec.{kind}[] should be set in VirtualService and it must have exactly one route when omitting \
                 spec.strategy.canary.trafficRouting.istio.virtualService.{kind}Routes"
            )
        );
    }
}

#[test]
fn all_three_kinds_of_one_virtual_service_change_together() {
    let selectors =
        json!({"routes": ["web"], "tlsRoutes": [{"port": 443, "sniHosts": ["a"]}], "tcpRoutes": [{"port": 8020}]});
    let spec = |stable: i64, canary: i64| {
        json!({
            "http": [named("web", stable, canary), named("other", 100, 0)],
            "tls": [tls(443, &["a"], stable, canary), tls(444, &["a"], 100, 0)],
            "tcp": [tcp(8020, stable, canary), tcp(8021, 100, 0)],
        })
    };
    assert_eq!(Setup::hosts(selectors).weight(50).after(spec(100, 0)), spec(50, 50));
}

#[test]
fn an_absent_or_empty_kind_is_skipped_whatever_is_asked_of_it() {
    let selectors = json!({"tlsRoutes": [{"port": 443}], "tcpRoutes": [{"port": 1}]});
    let before = json!({"http": [named("a", 100, 0)], "tls": [], "tcp": null});
    let after = json!({"http": [named("a", 90, 10)], "tls": [], "tcp": null});
    assert_eq!(Setup::hosts(selectors).weight(10).after(before), after);
}

#[test]
fn a_tls_or_tcp_route_of_somebody_else_is_left_alone() {
    let foreign = json!({"match": [{"port": 9}], "route": [to("database", 100)]});
    let setup = Setup::hosts(json!({})).weight(10);
    let before = json!({"http": [named("a", 100, 0)], "tcp": [foreign]});
    assert_eq!(setup.after(before), json!({"http": [named("a", 90, 10)], "tcp": [foreign]}));
    // Asked for, it is meant.
    let asked = Setup::hosts(json!({"tcpRoutes": [{"port": 9}]}));
    let error = asked.error(json!({"http": [named("a", 100, 0)], "tcp": [foreign]}));
    assert_eq!(error, "Canary Service 'shop-canary' not found in route");
    // With one of the roles in it, it is meant, and incomplete.
    let half = json!({"match": [{"port": 9}], "route": [to("shop-canary", 100)]});
    let error = setup.error(json!({"http": [named("a", 100, 0)], "tcp": [half]}));
    assert_eq!(error, "Stable Service 'shop-stable' not found in route");
    // Alone, it is all there is to weight.
    assert_eq!(setup.error(json!({"tcp": [foreign]})), "Canary Service 'shop-canary' not found in route");
}

#[test]
fn a_route_without_a_role_is_named_canary_first() {
    let hosts = Setup::hosts(json!({}));
    let one = |host: &str| json!({"http": [{"route": [to(host, 100)]}]});
    assert_eq!(hosts.error(one("x")), "Canary Service 'shop-canary' not found in route");
    assert_eq!(hosts.error(one("shop-canary.prod")), "Stable Service 'shop-stable' not found in route");
    let subsets = Setup::subsets(json!({}));
    assert_eq!(subsets.error(one("shop")), "Canary DestinationRule subset 'canary' not found in route");
    let canary = json!({"http": [{"route": [{"destination": {"host": "shop", "subset": "canary"}}]}]});
    assert_eq!(subsets.error(canary), "Stable DestinationRule subset 'stable' not found in route");
}

#[test]
fn subsets_are_weighted_in_all_kinds_of_route() {
    let setup = Setup::subsets(json!({})).weight(5);
    for kind in ["http", "tls", "tcp"] {
        let spec = |stable, canary| json!({kind: [{"route": subset_pair(stable, canary)}]});
        assert_eq!(setup.after(spec(100, 0)), spec(95, 5), "{kind}");
    }
}
