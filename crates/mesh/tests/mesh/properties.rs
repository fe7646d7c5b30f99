//! What holds for any objects.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tidegate_mesh::routing::{Target, Upstream};
use tidegate_mesh::{Config, Objects, Outcome, Protocol, Request};

use crate::cluster::{config, from_shop, rule, shop, virtual_service};

/// A destination that may or may not exist, with any weight.
fn destination() -> impl Strategy<Value = Value> {
    let hosts = prop::sample::select(vec!["stable", "canary", "web", "missing", "web.shop.svc.cluster.local"]);
    let subsets = prop::option::of(prop::sample::select(vec!["one", "two", "none"]));
    let ports = prop::option::of(prop::sample::select(vec![80, 81]));
    (hosts, subsets, ports, prop::option::of(0_u32..1000)).prop_map(|(host, subset, port, weight)| {
        let port = port.map(|number| json!({"number": number}));
        json!({"destination": {"host": host, "subset": subset, "port": port}, "weight": weight})
    })
}

fn http_route() -> impl Strategy<Value = Value> {
    let condition = prop::sample::select(vec![
        json!(null),
        json!([{"uri": {"prefix": "/a"}}]),
        json!([{"headers": {"x": {"exact": "y"}}}, {"port": 80}]),
        json!([{"method": {"exact": "GET"}, "queryParams": {"q": {}}}]),
    ]);
    let answer = prop_oneof![
        9 => prop::collection::vec(destination(), 1..4).prop_map(|route| ("route", json!(route))),
        1 => Just(("redirect", json!({"uri": "/x"}))),
        1 => Just(("directResponse", json!({"status": 418}))),
    ];
    (condition, answer).prop_map(|(condition, (field, value))| json!({"match": condition, field: value}))
}

fn any_spec() -> impl Strategy<Value = Value> {
    let routes = prop::collection::vec(http_route(), 0..5);
    let tcp = prop::collection::vec(prop::collection::vec(destination(), 1..3), 0..2);
    (routes, tcp).prop_map(|(http, tcp)| {
        let tcp: Vec<Value> = tcp.into_iter().map(|route| json!({"route": route})).collect();
        json!({"hosts": ["web"], "http": http, "tcp": tcp})
    })
}

fn any_request() -> impl Strategy<Value = Request> {
    let paths = prop::sample::select(vec!["/", "/a/b", "/?q=1"]);
    let protocols = prop::sample::select(vec![Protocol::Http, Protocol::Tcp, Protocol::Tls]);
    (paths, protocols, any::<bool>()).prop_map(|(path, protocol, header)| {
        let request = Request { path: path.into(), protocol, ..from_shop("web") };
        if header { request.with_header("x", "y") } else { request }
    })
}

/// The share an outcome is part of.
fn target(outcome: Outcome) -> Target {
    match outcome {
        Outcome::Served { pod, upstream } => {
            Target::Pods { upstream, workload: pod.workload.clone(), hash: pod.hash.clone() }
        }
        Outcome::NoHealthyUpstream(upstream) => Target::NoHealthyUpstream(upstream),
        Outcome::UnknownCluster(upstream) => Target::UnknownCluster(upstream),
        Outcome::NotFound => Target::NotFound,
        Outcome::Redirect(_) => Target::Redirect,
        Outcome::Direct(status) => Target::Direct(status),
    }
}

fn cluster(spec: Value) -> Config {
    let mut objects = shop();
    objects.extend([virtual_service(spec), rule(&[("one", "old"), ("two", "nobody")])]);
    config(&objects)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_sum_to_one(spec in any_spec(), request in any_request()) {
        let sum: f64 = cluster(spec).shares(&request).values().sum();
        prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn drawing_comes_close_to_the_shares(spec in any_spec(), request in any_request(), seed in any::<u32>()) {
        let config = cluster(spec);
        let shares = config.shares(&request);
        let mut counts = std::collections::BTreeMap::<Target, f64>::new();
        let draws = 2000_u32;
        for number in 0..draws {
            let random = u64::from(seed) << 32 | u64::from(number);
            *counts.entry(target(config.route(&request, random).outcome)).or_default() += 1.0 / f64::from(draws);
        }
        for (drawn, part) in &counts {
            // Six standard deviations of a fair coin, the widest there is.
            prop_assert!((part - shares.get(drawn).copied().unwrap_or(-1.0)).abs() < 0.067, "{drawn:?} {part} {shares:?}");
        }
    }

    #[test]
    fn a_request_fails_for_its_destination_only_if_the_route_is_a_dead_end(spec in any_spec(), request in any_request()) {
        let config = cluster(spec);
        let ends = config.dead_ends();
        for target in config.shares(&request).keys() {
            if let Target::NoHealthyUpstream(upstream) | Target::UnknownCluster(upstream) = target {
                let known = |end: &Upstream| end == upstream;
                prop_assert!(ends.iter().any(|end| known(&end.upstream)), "{target:?} {ends:?}");
            }
        }
    }

    #[test]
    fn no_json_makes_it_panic(kind in 0..6_usize, value in any_json(), request in any_request(), random in any::<u64>()) {
        let web = shop();
        let mut objects = Objects::sorted(&web);
        match kind {
            0 => objects.virtual_services.push(&value),
            1 => objects.destination_rules.push(&value),
            2 => objects.gateways.push(&value),
            3 => objects.services.push(&value),
            4 => objects.endpoint_slices = Some(vec![&value]),
            _ => objects.pods.push(&value),
        }
        let config = Config::read(&objects);
        let sum: f64 = config.shares(&request).values().sum();
        prop_assert!((sum - 1.0).abs() < 1e-9);
        prop_assert!(config.dead_ends().len() < 1000 && config.problems().count() < 1000);
        prop_assert_eq!(config.route(&request, random), config.route(&request, random));
    }
}

/// JSON that often has the names that are looked for.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "metadata",
        "spec",
        "hosts",
        "http",
        "tls",
        "tcp",
        "route",
        "destination",
        "host",
        "weight",
        "match",
        "uri",
        "headers",
        "request",
        "set",
        "subsets",
        "labels",
        "name",
        "ports",
        "port",
        "selector",
        "endpoints",
        "addresses",
        "status",
        "conditions",
        "annotations",
        "ownerReferences",
        "sniHosts",
        "mirror",
        "redirect",
        "number",
        "regex",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["web", "*", "", "(", "mesh", "stable", "5%"]).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..5).prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
            }),
        ]
    })
}
