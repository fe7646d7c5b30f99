//! What is not in the recorded answers: refusals, the ends of series, and the shapes of bodies.

use serde_json::json;
use tidegate_mesh::promql::{answer, instant_body, parse, range_body};
use tidegate_mesh::telemetry::{Labels, Limits, STALE, Store};

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn store(samples: &[(i64, f64)]) -> Store {
    let mut store = Store::new(Limits::default());
    for (at, value) in samples {
        assert!(store.append(&labels(&[("__name__", "up"), ("job", "a")]), *at, *value));
    }
    store
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let refused = [
        ("holt_winters(a[5m], 0.5, 0.5)", "1:1: parse error: function `holt_winters` is not supported here"),
        ("1 + time()", "1:5: parse error: function `time` is not supported here"),
        ("topk(3, a)", "1:1: parse error: function `topk` is not supported here"),
        ("quantile by (b) (0.5, a)", "1:1: parse error: aggregation `quantile` is not supported here"),
        ("a @ 5", "1:3: parse error: the `@` modifier is not supported here"),
        ("rate(a[5m:1m])", "1:10: parse error: a subquery is not supported here"),
        ("a / on (b) group_left c", "1:12: parse error: `group_left` is not supported here"),
        ("a atan2 b", "1:3: parse error: operator `atan2` is not supported here"),
    ];
    for (query, error) in refused {
        assert_eq!(parse(query).unwrap_err().to_string(), error);
    }
}

#[test]
fn queries_that_are_too_long_or_too_deep_are_refused() {
    let error = |query: &str| parse(query).unwrap_err().to_string();
    assert!(error(&"(".repeat(5000)).contains("100 deep at most"));
    assert!(error(&"-".repeat(5000)).contains("100 deep at most"));
    assert!(error(&vec!["1"; 5000].join("+")).contains("250 operators at most"));
    assert!(error(&vec!["1"; 5000].join("^")).contains("100 deep at most"));
    assert!(error(&" ".repeat(20_000)).contains("16384 bytes at most"));
    assert!(parse(&vec!["1"; 200].join("+")).is_ok());
    assert!(parse(&format!("{}1{}", "(".repeat(90), ")".repeat(90))).is_ok());
}

#[test]
fn a_series_that_has_ended_is_gone_at_once() {
    let store = store(&[(0, 1.0), (15_000, 2.0), (30_000, STALE), (45_000, 9.0)]);
    let found = |at| instant_body(&store, "up", at)["data"]["result"].as_array().unwrap().len();
    assert_eq!([found(29_999), found(30_000), found(44_999), found(45_000)], [1, 0, 0, 1]);
    let body = instant_body(&store, "up[1m]", 45_000);
    assert_eq!(body["data"]["result"][0]["values"], json!([[0, "1"], [15, "2"], [45, "9"]]));
}

#[test]
fn bodies_are_shaped_like_those_of_prometheus() {
    let store = store(&[(0, 1.0), (1500, 0.25)]);
    let metric = json!({"__name__": "up", "job": "a"});
    assert_eq!(
        instant_body(&store, "up", 1500),
        json!({"status": "success", "data": {"resultType": "vector", "result": [{"metric": metric, "value": [1.5, "0.25"]}]}})
    );
    assert_eq!(
        range_body(&store, "up", (0, 2000), 1000),
        json!({"status": "success", "data": {"resultType": "matrix",
            "result": [{"metric": metric, "values": [[0, "1"], [1, "1"], [2, "0.25"]]}]}})
    );
    assert_eq!(
        instant_body(&store, "1 / 0", 0),
        json!({"status": "success", "data": {"resultType": "scalar", "result": [0, "+Inf"]}})
    );
    assert_eq!(
        instant_body(&store, "sum(", 0),
        json!({"status": "error", "errorType": "bad_data",
            "error": "invalid parameter \"query\": 1:5: parse error: unexpected end of input"})
    );
}

#[test]
fn a_query_without_a_time_is_about_now_and_other_paths_are_not_found() {
    let store = store(&[(0, 1.0)]);
    let query = [("query".to_owned(), "up".to_owned())];
    let found = |now| answer(&store, "/api/v1/query", &query, now).body["data"]["result"].as_array().unwrap().len();
    assert_eq!([found(-1), found(0), found(600_000)], [0, 1, 0]);
    let reply = answer(&store, "/api/v1/labels", &query, 0);
    assert_eq!((reply.status, &reply.body["errorType"]), (404, &json!("not_found")));
}
