//! HTTP routes.

use serde_json::{Value, json};
use tidegate_mesh::config::Redirect;
use tidegate_mesh::{Config, Outcome, Request};

use crate::cluster::{
    clean, ends, from_shop, header, percents, pod, rule, served_hash, service, shop, shop_with, to, virtual_service,
    weighted,
};

fn hash_of(config: &Config, request: &Request, random: u64) -> String {
    served_hash(&config.route(request, random).outcome)
}

#[test]
fn without_a_virtual_service_the_pods_of_the_service_share_all() {
    let config = clean(&shop());
    let whole = vec![("new".to_owned(), 33.333), ("old".to_owned(), 66.667)];
    for name in ["web", "web.shop", "web.shop.svc", "web.shop.svc.cluster.local", "web:80", "WEB.shop"] {
        assert_eq!(percents(&config, &from_shop(name)), whole, "{name}");
    }
    assert_eq!(ends(&config, &Request::to("web")), "NR", "a short name is one of the client's own namespace");
    assert_eq!(percents(&config, &Request::to("web.shop")), whole);
    assert_eq!(ends(&config, &Request { port: 81, ..from_shop("web") }), "NR");
    assert_eq!(ends(&config, &from_shop("nothing")), "NR");
}

#[test]
fn weights_split_requests_in_proportion_to_their_sum() {
    let split = |weights: &[(&str, i64)]| {
        let route: Vec<Value> = weights.iter().map(|(host, weight)| weighted(host, *weight)).collect();
        percents(&shop_with(json!({"hosts": ["web"], "http": [{"route": route}]})), &from_shop("web"))
    };
    let shares = |canary, stable| vec![("new".to_owned(), canary), ("old".to_owned(), stable)];
    assert_eq!(split(&[("stable", 80), ("canary", 20)]), shares(20.0, 80.0));
    assert_eq!(split(&[("stable", 765), ("canary", 235)]), shares(23.5, 76.5));
    assert_eq!(split(&[("stable", 1), ("canary", 2)]), shares(66.667, 33.333));
    assert_eq!(split(&[("stable", 100), ("canary", 0)]), [("old".to_owned(), 100.0)]);
    assert_eq!(split(&[("canary", 0)]), [("new".to_owned(), 100.0)], "a single destination gets all");
}

#[test]
fn draws_follow_the_weights_and_the_number_decides() {
    let config =
        shop_with(json!({"hosts": ["web"], "http": [{"route": [weighted("stable", 75), weighted("canary", 25)]}]}));
    let drawn = (0..10_000).filter(|random| hash_of(&config, &from_shop("web"), *random) == "new").count();
    assert!((2350..2650).contains(&drawn), "{drawn}");
    assert_eq!(config.route(&from_shop("web"), 7), config.route(&from_shop("web"), 7));
}

#[test]
fn subsets_are_the_pods_with_the_labels_of_the_rule() {
    let spec = json!({"hosts": ["web"], "http": [{"route": [
        {"destination": {"host": "web", "subset": "stable"}, "weight": 90},
        {"destination": {"host": "web.shop.svc.cluster.local", "subset": "canary"}, "weight": 10}]}]});
    let split = |subsets: &[(&str, &str)]| {
        let mut objects = shop();
        objects.extend([virtual_service(spec.clone()), rule(subsets)]);
        percents(&clean(&objects), &from_shop("web"))
    };
    let shares = |one: &str, other: &str| vec![(one.to_owned(), 10.0), (other.to_owned(), 90.0)];
    assert_eq!(split(&[("stable", "old"), ("canary", "new")]), shares("new", "old"));
    let mut gone = split(&[("stable", "old"), ("canary", "gone")]);
    gone.reverse();
    assert_eq!(gone, shares("UH", "old"));
    let mut unknown = split(&[("stable", "old")]);
    unknown.reverse();
    assert_eq!(unknown, shares("NC", "old"));
}

#[test]
fn a_host_with_namespace_but_without_the_rest_is_no_service_for_istiod() {
    let config = shop_with(json!({"hosts": ["web"], "http": [{"route": [to("stable.shop")]}]}));
    assert_eq!(ends(&config, &from_shop("web")), "NC");
}

#[test]
fn a_port_that_the_service_lacks_is_an_unknown_cluster() {
    let route = json!([{"destination": {"host": "stable", "port": {"number": 8080}}}]);
    let config = shop_with(json!({"hosts": ["web"], "http": [{"route": route}]}));
    assert_eq!(ends(&config, &from_shop("web")), "NC");
}

#[test]
fn the_first_route_with_a_match_that_holds_takes_the_request() {
    let config = shop_with(json!({"hosts": ["web"], "http": [
        {"name": "both", "match": [{"uri": {"prefix": "/api"}, "headers": {"X-Beta": {"exact": "yes"}}}], "route": [to("canary")]},
        {"name": "either", "match": [{"method": {"exact": "PUT"}}, {"uri": {"exact": "/canary"}}], "route": [to("canary")]},
        {"name": "rest", "route": [to("stable")]},
        {"name": "never", "route": [to("canary")]}]}));
    let name = |request: &Request| config.route(request, 0).route.unwrap().name;
    let beta = |path: &str| Request { path: path.into(), ..from_shop("web").with_header("x-beta", "yes") };
    assert_eq!(name(&beta("/api/x")), "both");
    assert_eq!(name(&beta("/other")), "rest");
    assert_eq!(name(&Request { path: "/api".into(), ..from_shop("web") }), "rest");
    assert_eq!(name(&Request { method: "PUT".into(), ..from_shop("web") }), "either");
    assert_eq!(name(&Request { path: "/canary?x=1".into(), ..from_shop("web") }), "either");
    assert_eq!(config.route(&from_shop("web"), 0).route.unwrap().virtual_service, "shop/vs");
}

/// Whether a request is taken by a route with this match.
fn is_taken(condition: Value, request: &Request) -> bool {
    let config = shop_with(json!({"hosts": ["web"], "http": [
        {"match": [condition], "route": [to("canary")]}, {"route": [to("stable")]}]}));
    ends(&config, request) == "new"
}

#[test]
fn every_kind_of_condition_holds_or_not() {
    let request = Request {
        path: "/Shop/cart?user=7&empty".into(),
        method: "POST".into(),
        scheme: "https".into(),
        source_labels: [("app".to_owned(), "front".to_owned())].into(),
        ..from_shop("web:80").with_header("Cookie", "a=b; canary=yes")
    };
    let table = [
        (json!({"uri": {"exact": "/Shop/cart"}}), true),
        (json!({"uri": {"exact": "/shop/cart"}}), false),
        (json!({"uri": {"exact": "/shop/CART"}, "ignoreUriCase": true}), true),
        (json!({"uri": {"prefix": "/sh"}, "ignoreUriCase": true}), true),
        (json!({"uri": {"regex": "/Shop/.*"}}), true),
        (json!({"uri": {"regex": "/Shop"}}), false),
        (json!({"scheme": {"exact": "https"}}), true),
        (json!({"method": {"regex": "PUT|POST"}}), true),
        (json!({"authority": {"exact": "web"}}), false),
        (json!({"authority": {"prefix": "web"}}), true),
        (json!({"headers": {"cookie": {"regex": "^(.*?; ?)?(canary=yes)(;.*)?$"}}}), true),
        (json!({"headers": {"cookie": {}}}), true),
        (json!({"headers": {"x-other": {}}}), false),
        (json!({"withoutHeaders": {"x-other": {}}}), true),
        (json!({"withoutHeaders": {"cookie": {"prefix": "a="}}}), false),
        (json!({"queryParams": {"user": {"exact": "7"}}}), true),
        (json!({"queryParams": {"user": {"exact": "8"}}}), false),
        (json!({"queryParams": {"empty": {}}}), true),
        (json!({"queryParams": {"none": {}}}), false),
        (json!({"port": 80}), true),
        (json!({"port": 8080}), false),
        (json!({"sourceLabels": {"app": "front"}}), true),
        (json!({"sourceLabels": {"app": "back"}}), false),
        (json!({"sourceNamespace": "shop"}), true),
        (json!({"sourceNamespace": "other"}), false),
        (json!({"gateways": ["mesh"]}), true),
        (json!({"gateways": ["edge"]}), false),
        (json!({}), true),
    ];
    for (condition, holds) in table {
        assert_eq!(is_taken(condition.clone(), &request), holds, "{condition}");
    }
}

#[test]
fn when_no_route_fits_the_answer_is_404_but_when_no_route_is_for_this_port_the_service_answers() {
    let with = |condition: Value| {
        shop_with(json!({"hosts": ["web"], "http": [{"match": [condition], "route": [to("canary")]}]}))
    };
    assert_eq!(ends(&with(json!({"uri": {"prefix": "/x"}})), &from_shop("web")), "NR");
    assert_eq!(percents(&with(json!({"port": 8080})), &from_shop("web")).len(), 2);
    let only_tcp = shop_with(json!({"hosts": ["web"], "tcp": [{"route": [to("canary")]}]}));
    assert_eq!(percents(&only_tcp, &from_shop("web")).len(), 2);
}

fn named(name: &str, created: &str, spec: Value) -> Value {
    json!({"kind": "VirtualService",
        "metadata": {"namespace": "shop", "name": name, "creationTimestamp": created}, "spec": spec})
}

#[test]
fn the_longest_host_wins_and_then_the_oldest_object() {
    let all = |host: &str, to_host: &str| json!({"hosts": [host], "http": [{"route": [to(to_host)]}]});
    let mut objects = shop();
    objects.extend([
        named("any", "2026-01-01T00:00:00Z", all("*", "canary")),
        named("wide", "2026-01-02T00:00:00Z", all("*.example.com", "canary")),
        named("narrow", "2026-01-03T00:00:00Z", all("a.example.com", "stable")),
        named("late", "2026-01-05T00:00:00Z", all("web", "canary")),
        named("early", "2026-01-04T00:00:00Z", all("web.shop.svc.cluster.local", "stable")),
    ]);
    let config = clean(&objects);
    let who = |host: &str| config.route(&from_shop(host), 0).route.unwrap().virtual_service;
    assert_eq!(who("a.example.com"), "shop/narrow");
    assert_eq!(who("b.example.com:443"), "shop/wide");
    assert_eq!(who("example.com"), "shop/any");
    assert_eq!(who("web"), "shop/early");
}

#[test]
fn gateways_take_only_what_is_bound_to_them_and_merge_it() {
    let gateway = json!({"kind": "Gateway", "metadata": {"namespace": "edge", "name": "gw"}});
    let mut objects = shop();
    objects.extend([
        gateway,
        named(
            "one",
            "2026-01-01T00:00:00Z",
            json!({"hosts": ["shop.example"], "gateways": ["edge/gw", "edge/missing"],
            "http": [{"route": [to("stable")]}]}),
        ),
        named(
            "two",
            "2026-01-02T00:00:00Z",
            json!({"hosts": ["shop.example"], "gateways": ["edge/gw"],
            "http": [{"match": [{"uri": {"prefix": "/new"}}], "route": [to("canary")]}, {"route": [to("canary")]}]}),
        ),
        named(
            "own",
            "2026-01-02T00:00:00Z",
            json!({"hosts": ["own.example"], "gateways": ["gw"], "http": [{"route": [to("canary")]}]}),
        ),
    ]);
    let config = clean(&objects);
    let at = |host: &str, path: &str| Request { path: path.into(), ..Request::to(host).through("edge", "gw") };
    assert_eq!(ends(&config, &at("shop.example", "/")), "old");
    assert_eq!(ends(&config, &at("shop.example", "/new")), "new");
    assert_eq!(ends(&config, &at("own.example", "/")), "NR", "a name without namespace is one of its own");
    assert_eq!(ends(&config, &at("web.shop", "/")), "NR", "a gateway serves no Service by itself");
    assert_eq!(ends(&config, &Request::to("shop.example").through("edge", "missing")), "NR");
    assert_eq!(ends(&config, &from_shop("shop.example")), "NR", "not bound to the mesh");
}

#[test]
fn what_is_not_exported_is_not_seen_elsewhere() {
    let config = shop_with(json!({"hosts": ["web"], "exportTo": ["."], "http": [{"route": [to("canary")]}]}));
    assert_eq!(ends(&config, &from_shop("web")), "new");
    assert_eq!(percents(&config, &Request::to("web.shop")).len(), 2);
}

#[test]
fn redirects_and_direct_responses_are_answers_of_the_proxy() {
    let config = shop_with(json!({"hosts": ["web"], "http": [
        {"match": [{"uri": {"prefix": "/old"}}], "redirect": {"uri": "/new", "authority": "shop.example", "redirectCode": 308}},
        {"directResponse": {"status": 503, "body": {"string": "later"}}}]}));
    let outcome = |path: &str| config.route(&Request { path: path.into(), ..from_shop("web") }, 0).outcome;
    let redirect = Redirect {
        code: 308,
        uri: Some("/new".into()),
        authority: Some("shop.example".into()),
        scheme: None,
        port: None,
    };
    assert_eq!(outcome("/old"), Outcome::Redirect(redirect));
    assert_eq!(outcome("/"), Outcome::Direct(503));
}

#[test]
fn headers_of_a_destination_are_edited_only_on_that_way_and_the_route_has_the_last_word() {
    let config = shop_with(json!({"hosts": ["web"], "http": [{
        "headers": {"request": {"set": {"X-Way": "route"}}, "response": {"add": {"via": "mesh"}}},
        "route": [
            {"destination": {"host": "stable"}, "weight": 50},
            {"destination": {"host": "canary"}, "weight": 50, "headers": {
                "request": {"set": {"x-way": "canary", "x-new": "1"}, "remove": ["X-Secret"]},
                "response": {"add": {"Set-Cookie": "canary=yes; Path=/"}}}}]}]}));
    let request = from_shop("web").with_header("x-secret", "s");
    let mut seen = std::collections::BTreeSet::new();
    for random in 0..50 {
        let routed = config.route(&request, random);
        let hash = served_hash(&routed.outcome);
        let (sent, got) = (&routed.request_headers, &routed.response_headers);
        assert_eq!((header(sent, "x-way"), header(got, "via")), (vec!["route".to_owned()], vec!["mesh".to_owned()]));
        let is_canary = hash == "new";
        assert_eq!(header(got, "set-cookie").len(), usize::from(is_canary));
        assert_eq!(header(sent, "x-new").len(), usize::from(is_canary));
        assert_eq!(header(sent, "x-secret").len(), usize::from(!is_canary));
        seen.insert(hash);
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_user_who_got_the_cookie_of_the_canary_stays_there() {
    let config = shop_with(json!({"hosts": ["web"], "http": [
        {"match": [{"headers": {"cookie": {"regex": "^(.*?; ?)?(canary=yes)(;.*)?$"}}}], "route": [to("canary")]},
        {"route": [weighted("stable", 95),
            {"destination": {"host": "canary"}, "weight": 5, "headers": {"response": {"add": {"set-cookie": "canary=yes"}}}}]}]}));
    let cookie =
        (0..).find_map(|random| header(&config.route(&from_shop("web"), random).response_headers, "set-cookie").pop());
    let request = from_shop("web").with_header("cookie", &cookie.unwrap());
    assert!((0..100).all(|random| hash_of(&config, &request, random) == "new"));
}

#[test]
fn mirrors_get_copies_at_their_rates_and_change_no_shares() {
    let config = shop_with(json!({"hosts": ["web"], "http": [{"route": [to("stable")],
        "mirror": {"host": "canary"}, "mirrorPercentage": {"value": 20},
        "mirrors": [{"destination": {"host": "nothing"}}]}]}));
    assert_eq!(ends(&config, &from_shop("web")), "old");
    let copies = |random| config.route(&from_shop("web"), random).mirrored;
    let copied = (0..5000).filter(|random| copies(*random).len() == 2).count();
    assert!((850..1150).contains(&copied), "{copied}");
    assert!((0..100).all(|random| matches!(copies(random).last(), Some(Outcome::UnknownCluster(_)))));
}

#[test]
fn a_rule_of_the_clients_namespace_comes_before_that_of_the_service() {
    let mut own = rule(&[("v", "new")]);
    own["metadata"].as_object_mut().unwrap().insert("namespace".into(), json!("front"));
    own["spec"].as_object_mut().unwrap().insert("host".into(), json!("*.shop.svc.cluster.local"));
    let route = json!([{"destination": {"host": "web", "subset": "v"}}]);
    let objects = [
        service("web", json!({"app": "web"})),
        pod("s", "old"),
        pod("c", "new"),
        rule(&[("v", "old")]),
        own,
        virtual_service(json!({"hosts": ["web"], "http": [{"route": route}]})),
    ];
    let config = clean(&objects);
    assert_eq!(ends(&config, &from_shop("web")), "old");
    assert_eq!(ends(&config, &Request { source_namespace: "front".into(), ..Request::to("web.shop") }), "new");
}
