//! TLS and TCP routes.

use serde_json::json;
use tidegate_mesh::{Protocol, Request};

use crate::cluster::{clean, ends, from_shop, percents, shop, shop_with, to, virtual_service, weighted};

fn tls(host: &str, port: u16) -> Request {
    Request { protocol: Protocol::Tls, port, ..Request::to(host).through("edge", "gw") }
}

#[test]
fn the_longest_sni_host_wins_at_its_port() {
    let mut objects = shop();
    objects.extend([
        json!({"kind": "Gateway", "metadata": {"namespace": "edge", "name": "gw"}}),
        virtual_service(json!({"hosts": ["*.example.com"], "gateways": ["edge/gw"], "tls": [
            {"match": [{"port": 443, "sniHosts": ["*.example.com"]}], "route": [to("stable")]},
            {"match": [{"port": 443, "sniHosts": ["a.example.com", "b.example.com"]}],
                "route": [weighted("stable", 70), weighted("canary", 30)]}]})),
    ]);
    let config = clean(&objects);
    assert_eq!(ends(&config, &tls("x.example.com", 443)), "old");
    assert_eq!(percents(&config, &tls("B.example.com", 443)), [("new".to_owned(), 30.0), ("old".to_owned(), 70.0)]);
    assert_eq!(ends(&config, &tls("a.example.com", 8443)), "NR");
    assert_eq!(ends(&config, &tls("a.example.org", 443)), "NR");
}

#[test]
fn a_tls_route_without_sni_hosts_is_left_out() {
    let mut objects = shop();
    objects.push(virtual_service(json!({"hosts": ["web"], "tls": [
        {"match": [{"port": 443}], "route": [to("stable")]}, {"route": [to("stable")]}]})));
    let config = crate::cluster::config(&objects);
    let problems: Vec<String> = config.problems().map(|problem| problem.what.clone()).collect();
    assert_eq!(
        problems,
        [
            "spec.tls[0].match[0].sniHosts: at least one is needed",
            "spec.tls[1].match: a TLS route needs one with sniHosts"
        ]
    );
}

#[test]
fn the_first_tcp_route_for_the_port_takes_the_connection() {
    let config = shop_with(json!({"hosts": ["web"], "tcp": [
        {"match": [{"port": 3000}], "route": [to("canary")]},
        {"match": [{"port": 80}], "route": [weighted("stable", 9), weighted("canary", 1)]}]}));
    let request = Request { protocol: Protocol::Tcp, ..from_shop("web") };
    assert_eq!(percents(&config, &request), [("new".to_owned(), 10.0), ("old".to_owned(), 90.0)]);
    assert_eq!(percents(&config, &from_shop("web")).len(), 2, "HTTP goes by the Service");
}

#[test]
fn at_a_gateway_a_connection_needs_no_host() {
    let mut objects = shop();
    objects.extend([
        json!({"kind": "Gateway", "metadata": {"namespace": "shop", "name": "gw"}}),
        virtual_service(
            json!({"hosts": ["*"], "gateways": ["gw"], "tcp": [{"match": [{"port": 3000}], "route": [to("canary")]}]}),
        ),
    ]);
    let config = clean(&objects);
    let at = |port| Request { protocol: Protocol::Tcp, port, ..Request::to("").through("shop", "gw") };
    assert_eq!((ends(&config, &at(3000)), ends(&config, &at(3001))), ("new".to_owned(), "NR".to_owned()));
}

#[test]
fn a_narrow_host_without_tls_routes_does_not_hide_those_of_a_wide_one() {
    let mut objects = shop();
    let mut narrow = virtual_service(
        json!({"hosts": ["a.example.com"], "gateways": ["edge/gw"], "http": [{"route": [to("canary")]}]}),
    );
    narrow["metadata"].as_object_mut().unwrap().insert("name".into(), json!("narrow"));
    objects.extend([
        json!({"kind": "Gateway", "metadata": {"namespace": "edge", "name": "gw"}}),
        narrow,
        virtual_service(json!({"hosts": ["*.example.com"], "gateways": ["edge/gw"], "tls": [
            {"match": [{"port": 443, "sniHosts": ["*.example.com"]}], "route": [to("stable")]}]})),
    ]);
    assert_eq!(ends(&clean(&objects), &tls("a.example.com", 443)), "old");
}

#[test]
fn nothing_is_served_at_a_port_that_the_service_lacks() {
    let config = shop_with(json!({"hosts": ["web"],
        "tcp": [{"route": [to("canary")]}], "http": [{"route": [to("canary")]}]}));
    for protocol in [Protocol::Tcp, Protocol::Tls, Protocol::Http] {
        assert_eq!(ends(&config, &Request { protocol, port: 3000, ..from_shop("web") }), "NR");
    }
}
