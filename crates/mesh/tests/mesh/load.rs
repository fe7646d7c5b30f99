//! Load on the mesh, and what the counters say of it.

use serde_json::{Value, json};
use tidegate_mesh::telemetry::{Limits, Totals, VersionKey};
use tidegate_mesh::{Config, Delays, Load, Mesh, Protocol, Proxies, Request, Store};

use crate::cluster::{clean, from_shop, pod, shop, to, virtual_service, weighted};

/// Numbers in a fixed order (a multiplicative generator is enough to spread them).
pub(crate) fn numbers() -> impl FnMut() -> u64 {
    let mut state = 0x1234_5678_9ABC_DEF0_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 29)
    }
}

pub(crate) fn noted(mut pod: Value, notes: Value) -> Value {
    pod["metadata"].as_object_mut().unwrap().insert("annotations".into(), notes);
    pod
}

fn split(stable: i64, canary: i64) -> Config {
    let mut objects = shop();
    objects.retain(|object| object["kind"] != "Pod");
    objects.extend([
        pod("s", "old"),
        noted(pod("c", "new"), json!({"sim.tidegate.dev/error-rate": "0.25", "sim.tidegate.dev/latency": "40ms-60ms"})),
        virtual_service(
            json!({"hosts": ["web"], "http": [{"route": [weighted("stable", stable), weighted("canary", canary)]}]}),
        ),
    ]);
    clean(&objects)
}

fn mesh(config: Config) -> Mesh {
    let mut mesh = Mesh::new(Proxies::new([Delays::default(); 3]), 0);
    mesh.publish(config);
    mesh
}

fn totals(mesh: &Mesh, version: &str) -> Totals {
    let key = VersionKey { namespace: "shop".into(), workload: "web".into(), version: version.into() };
    mesh.telemetry().totals().get(&key).copied().unwrap_or_default()
}

/// The last value of a metric with these labels, summed over the series.
fn last(store: &Store, wanted: &[(&str, &str)]) -> f64 {
    let fits = |labels: &tidegate_mesh::telemetry::Labels| {
        wanted.iter().all(|(name, value)| labels.get(*name).map(String::as_str) == Some(*value))
    };
    store
        .series()
        .filter(|series| fits(&series.labels))
        .filter_map(|series| series.samples().last())
        .map(|s| s.value)
        .sum()
}

#[test]
fn versions_get_their_share_and_fail_and_tarry_as_annotated() {
    let mut mesh = mesh(split(80, 20));
    mesh.loads.push(Load::of(from_shop("web"), 100.0));
    mesh.advance(100_000, &mut numbers());
    let (old, new) = (totals(&mesh, "old"), totals(&mesh, "new"));
    let requests = new.successes + new.errors;
    assert_eq!((old.errors, old.successes + requests), (0, 10_000));
    assert!((1850..2150).contains(&requests), "{requests}");
    let rate = new.errors as f64 / requests as f64;
    assert!((0.21..0.29).contains(&rate), "{rate}");
    let mean = new.latency / requests as f64;
    assert!((49.0..51.0).contains(&mean), "{mean}");
}

#[test]
fn what_a_load_met_is_counted_by_template_also_when_routes_change_and_no_metrics_are_kept() {
    let mut mesh = mesh(split(100, 0));
    mesh.keeps_metrics = false;
    mesh.loads.push(Load::of(from_shop("web"), 100.0));
    mesh.loads.push(Load::of(from_shop("nobody"), 10.0));
    let mut random = numbers();
    let met = |mesh: &Mesh, load: usize, hash: &str| mesh.met()[load].get(hash).copied().unwrap_or_default();
    mesh.advance(10_000, &mut random);
    assert_eq!((met(&mesh, 0, "old").requests, met(&mesh, 0, "new").requests), (1000, 0));
    assert_eq!((met(&mesh, 1, "").requests, met(&mesh, 1, "").failed), (100, 100));
    // A plan is not kept longer than the routes it was made of.
    mesh.publish(split(0, 100));
    mesh.advance(20_000, &mut random);
    let (old, new) = (met(&mesh, 0, "old"), met(&mesh, 0, "new"));
    assert_eq!((old.requests, old.failed, new.requests), (1000, 0, 1000));
    assert!((180..320).contains(&new.failed) && (40_000.0..60_000.0).contains(&new.latency), "{new:?}");
    assert_eq!((mesh.telemetry().totals().len(), mesh.store().series().count()), (0, 0));
}

#[test]
fn samples_have_the_names_labels_and_buckets_of_istio() {
    let mut mesh = mesh(split(0, 100));
    mesh.loads.push(Load::of(from_shop("web"), 50.0));
    mesh.advance(20_000, &mut numbers());
    let labels = [
        ("destination_service", "canary.shop.svc.cluster.local"),
        ("destination_service_name", "canary"),
        ("destination_service_namespace", "shop"),
        ("destination_workload", "web"),
        ("destination_version", "new"),
        ("destination_canonical_revision", "new"),
    ];
    let value = |name: &str, reporter: &str, more: &[(&str, &str)]| {
        let mut wanted = vec![("__name__", name), ("reporter", reporter)];
        wanted.extend(labels);
        wanted.extend(more);
        last(mesh.store(), &wanted)
    };
    for reporter in ["source", "destination"] {
        let (ok, failed) = (
            value("istio_requests_total", reporter, &[("response_code", "200")]),
            value("istio_requests_total", reporter, &[("response_code", "500")]),
        );
        assert_eq!(ok + failed, 1000.0);
        assert!(failed > 200.0, "{failed}");
        let bucket = |le| value("istio_request_duration_milliseconds_bucket", reporter, &[("le", le)]);
        assert_eq!([bucket("25"), bucket("100"), bucket("+Inf")], [0.0, 1000.0, 1000.0]);
        assert!((400.0..600.0).contains(&bucket("50")), "{}", bucket("50"));
        assert_eq!(value("istio_request_duration_milliseconds_count", reporter, &[]), 1000.0);
        let mean = value("istio_request_duration_milliseconds_sum", reporter, &[]) / 1000.0;
        assert!((48.0..52.0).contains(&mean), "{mean}");
    }
    let bounds =
        mesh.store().series().filter_map(|series| series.labels.get("le")).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(bounds.len(), 20);
}

#[test]
fn samples_are_taken_every_five_seconds() {
    let mut mesh = mesh(split(50, 50));
    mesh.loads.push(Load::of(from_shop("web"), 10.0));
    let mut random = numbers();
    for moment in [3000, 4999, 12_345, 20_000] {
        mesh.advance(moment, &mut random);
    }
    let moments: Vec<i64> = mesh.store().series().next().unwrap().samples().map(|sample| sample.at).collect();
    assert_eq!(moments, [5000, 10_000, 15_000, 20_000]);
}

#[test]
fn failures_of_the_mesh_are_reported_by_the_client_alone() {
    let mut objects = shop();
    objects.push(virtual_service(json!({"hosts": ["web"], "http": [
        {"match": [{"uri": {"exact": "/uh"}}], "route": [{"destination": {"host": "empty"}}]},
        {"match": [{"uri": {"exact": "/nc"}}], "route": [to("missing")]},
        {"match": [{"uri": {"exact": "/direct"}}], "directResponse": {"status": 418}}]})));
    objects.push(crate::cluster::service("empty", json!({"app": "nothing"})));
    let mut mesh = mesh(clean(&objects));
    for path in ["/uh", "/nc", "/direct", "/nr"] {
        mesh.loads.push(Load::of(Request { path: path.into(), ..from_shop("web") }, 10.0));
    }
    mesh.advance(10_000, &mut numbers());
    let count = |more: &[(&str, &str)]| {
        let mut wanted = vec![("__name__", "istio_requests_total"), ("destination_workload", "unknown")];
        wanted.extend(more);
        last(mesh.store(), &wanted)
    };
    assert_eq!(count(&[("reporter", "source")]), 400.0);
    assert_eq!(count(&[("reporter", "destination")]), 0.0);
    assert_eq!(
        count(&[("response_code", "503"), ("response_flags", "UH"), ("destination_service_name", "empty")]),
        100.0
    );
    assert_eq!(
        count(&[("response_code", "503"), ("response_flags", "NC"), ("destination_service_name", "unknown")]),
        100.0
    );
    assert_eq!(count(&[("response_code", "404"), ("response_flags", "NR")]), 100.0);
    assert_eq!(count(&[("response_code", "418")]), 100.0);
}

#[test]
fn connections_are_counted_as_such() {
    let mut objects = shop();
    objects.push(virtual_service(
        json!({"hosts": ["web"], "tcp": [{"route": [weighted("stable", 70), weighted("canary", 30)]}]}),
    ));
    let mut mesh = mesh(clean(&objects));
    mesh.loads.push(Load::of(Request { protocol: Protocol::Tcp, ..from_shop("web") }, 100.0));
    mesh.advance(20_000, &mut numbers());
    let opened = |version| {
        let name = ("__name__", "istio_tcp_connections_opened_total");
        last(mesh.store(), &[name, ("reporter", "source"), ("destination_version", version)])
    };
    assert_eq!(opened("old") + opened("new"), 2000.0);
    assert!((500.0..700.0).contains(&opened("new")), "{}", opened("new"));
    assert_eq!(last(mesh.store(), &[("__name__", "istio_requests_total")]), 0.0);
}

#[test]
fn slow_proxies_send_by_the_old_weights_for_a_while() {
    let delays = [Delays::default(), Delays { routes: 10_000, clusters: 0 }];
    let mut mesh = Mesh::new(Proxies::new(delays), 0);
    mesh.publish(split(100, 0));
    mesh.loads.push(Load::of(from_shop("web"), 100.0));
    let mut random = numbers();
    mesh.advance(1000, &mut random);
    mesh.publish(split(0, 100));
    mesh.advance(11_000, &mut random);
    let between = totals(&mesh, "old").successes;
    assert!((500..700).contains(&between), "{between}");
    mesh.advance(21_000, &mut random);
    assert_eq!(totals(&mesh, "old").successes, between);
}

#[test]
fn the_same_numbers_give_the_same_samples() {
    let run = || {
        let mut mesh = mesh(split(60, 40));
        mesh.loads.push(Load::mixed(vec![(from_shop("web"), 3.0), (from_shop("stable"), 1.0)], 33.3));
        mesh.advance(60_000, &mut numbers());
        let values = mesh.store().series().map(|series| (series.labels.clone(), series.samples().collect::<Vec<_>>()));
        values.collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

#[test]
fn the_store_stays_within_its_limits_and_forgets_what_is_over() {
    let limits = Limits { series: 50, retention: 60_000 };
    let mut mesh = Mesh::with(Proxies::new([Delays::default()]), 0, 5000, limits);
    mesh.publish(split(50, 50));
    mesh.loads.push(Load::of(from_shop("web"), 50.0));
    mesh.advance(200_000, &mut numbers());
    assert_eq!(mesh.store().series().count(), 50);
    assert!(mesh.store().refused() > 0);
    assert!(mesh.store().series().all(|series| series.samples().count() <= 13));
    mesh.loads.clear();
    mesh.advance(300_000, &mut numbers());
    assert_eq!(mesh.store().series().count(), 0);
}
