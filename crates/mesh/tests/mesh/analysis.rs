//! What an analysis would see: queries about a canary under load.

use serde_json::{Value, json};
use tidegate_mesh::{Config, Delays, Load, Mesh, Proxies, promql};

use crate::cluster::{clean, from_shop, pod, rule, service, virtual_service};
use crate::load::{noted, numbers};

fn canary(weight: u32) -> Config {
    clean(&[
        service("web", json!({"app": "web"})),
        rule(&[("stable", "old"), ("canary", "new")]),
        pod("s1", "old"),
        pod("s2", "old"),
        noted(
            pod("c1", "new"),
            json!({"sim.tidegate.dev/error-rate": "10%", "sim.tidegate.dev/latency": "100ms-250ms"}),
        ),
        virtual_service(json!({"hosts": ["web"], "http": [{"route": [
            {"destination": {"host": "web", "subset": "stable"}, "weight": 100 - weight},
            {"destination": {"host": "web", "subset": "canary"}, "weight": weight}]}]})),
    ])
}

/// The only value of a query.
fn ask(mesh: &Mesh, query: &str) -> f64 {
    let parameters = [("query".to_owned(), query.to_owned())];
    let reply = promql::answer(mesh.store(), "/api/v1/query", &parameters, mesh.now());
    assert_eq!(reply.status, 200, "{}", reply.body);
    let result = reply.body.pointer("/data/result").and_then(Value::as_array).unwrap().clone();
    assert_eq!(result.len(), 1, "{query}: {result:?}");
    result[0].pointer("/value/1").and_then(Value::as_str).unwrap().parse().unwrap()
}

const SUCCESS: &str = r#"
    sum(rate(istio_requests_total{reporter="source",destination_workload="web",destination_version="new",response_code!~"5.*"}[1m]))
    / sum(rate(istio_requests_total{reporter="source",destination_workload="web",destination_version="new"}[1m]))"#;
const SHARE: &str = r#"
    sum(rate(istio_requests_total{reporter="source",destination_version="new"}[1m]))
    / sum(rate(istio_requests_total{reporter="source"}[1m]))"#;

#[test]
fn queries_tell_success_share_and_latency_of_a_canary() {
    let mut mesh = Mesh::new(Proxies::new([Delays { routes: 300, clusters: 100 }; 4]), 0);
    mesh.publish(canary(0));
    mesh.loads.push(Load::of(from_shop("web"), 200.0));
    let mut random = numbers();
    mesh.advance(60_000, &mut random);
    mesh.publish(canary(20));
    mesh.advance(180_000, &mut random);
    let between = |value: f64, low: f64, high: f64| assert!((low..=high).contains(&value), "{value}");
    between(ask(&mesh, SUCCESS), 0.87, 0.93);
    between(ask(&mesh, SHARE), 0.18, 0.22);
    between(ask(&mesh, "sum(rate(istio_requests_total{reporter=\"source\"}[1m]))"), 199.0, 201.0);
    let quantile = |version: &str, part: f64| {
        let buckets = format!(
            "istio_request_duration_milliseconds_bucket{{reporter=\"source\",destination_version={version:?}}}"
        );
        ask(&mesh, &format!("histogram_quantile({part}, sum(rate({buckets}[1m])) by (le))"))
    };
    between(quantile("new", 0.5), 165.0, 185.0);
    between(quantile("old", 0.99), 10.0, 25.0);
    mesh.publish(canary(0));
    mesh.advance(300_000, &mut random);
    assert_eq!(ask(&mesh, SHARE), 0.0);
    assert!(ask(&mesh, SUCCESS).is_nan(), "nothing of nothing");
}
