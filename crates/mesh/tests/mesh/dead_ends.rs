//! Weight that leads nowhere is found.

use serde_json::json;
use tidegate_mesh::Protocol;
use tidegate_mesh::routing::Lack;

use crate::cluster::{clean, pod, rule, service, shop, shop_with, to, virtual_service, weighted};

#[test]
fn a_healthy_mesh_has_none_and_no_weight_is_no_dead_end() {
    let config = shop_with(json!({"hosts": ["web"], "http": [
        {"route": [weighted("stable", 100), weighted("nothing", 0)]}, {"redirect": {"uri": "/"}}]}));
    assert_eq!(config.dead_ends(), []);
}

#[test]
fn every_kind_of_lack_is_told_with_its_route() {
    let mut objects = shop();
    objects.extend([
        service("empty", json!({"app": "nothing"})),
        rule(&[("canary", "gone")]),
        virtual_service(json!({"hosts": ["web"],
            "http": [
                {"name": "a", "route": [weighted("stable", 1), weighted("empty", 1)]},
                {"name": "b", "route": [{"destination": {"host": "web", "subset": "canary"}}]},
                {"name": "c", "route": [{"destination": {"host": "web", "subset": "unknown"}}],
                    "mirror": {"host": "empty"}}],
            "tls": [{"match": [{"port": 443, "sniHosts": ["a"]}], "route": [to("missing")]}],
            "tcp": [{"route": [{"destination": {"host": "web", "port": {"number": 9}}}]}]})),
    ]);
    let found: Vec<_> = clean(&objects)
        .dead_ends()
        .into_iter()
        .map(|end| (end.route.protocol, end.route.index, end.route.name, end.upstream.subset, end.lack))
        .collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            (Protocol::Http, 0, "a".to_owned(), None, Lack::ReadyPods),
            (Protocol::Http, 1, "b".to_owned(), some("canary"), Lack::ReadyPods),
            (Protocol::Http, 2, "c".to_owned(), some("unknown"), Lack::Subset),
            (Protocol::Tls, 0, String::new(), None, Lack::Service),
            (Protocol::Tcp, 0, String::new(), None, Lack::Port),
        ]
    );
}

#[test]
fn a_service_of_several_ports_needs_none_named() {
    let mut many = service("web", json!({"app": "web"}));
    many["spec"].as_object_mut().unwrap().insert("ports".into(), json!([{"port": 80}, {"port": 81}]));
    let objects = [many, pod("a", "old"), virtual_service(json!({"hosts": ["web"], "http": [{"route": [to("web")]}]}))];
    assert_eq!(clean(&objects).dead_ends(), []);
}
