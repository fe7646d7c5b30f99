//! Datadog API reference: "Query timeseries points" (v1), "Query scalar data across multiple products" (v2), "Authentication".

use serde_json::{Value as Json, json};
use tidegate_expr::Value;
use tidegate_providers::{Method, secret_needed};

use crate::dialog::{Dialog, body, run};

fn dialog(settings: Json) -> Dialog {
    Dialog::new(json!({"datadog": settings})).with_credentials(&[("api-key", "k"), ("app-key", "a")])
}

#[test]
fn version_1_asks_for_points_and_takes_the_last_of_the_first_series() {
    let dialog = dialog(json!({"query": "avg:system.cpu.idle{*}", "interval": "10m"}));
    let request = dialog.request();
    assert_eq!(request.method, Method::Get);
    assert_eq!(
        request.url,
        "https://api.datadoghq.com/api/v1/query?from=1772365800&query=avg%3Asystem.cpu.idle%7B%2A%7D&to=1772366400"
    );
    assert_eq!(request.header_value("DD-API-KEY"), Some("k"));
    assert_eq!(request.header_value("DD-APPLICATION-KEY"), Some("a"));
    assert_eq!(request.timeout.as_secs(), 10);
    let answer = r#"{"status":"ok","res_type":"time_series","series":[{"metric":"system.cpu.idle","pointlist":
        [[1575317847000.0,0.5],[1575317847000.0,0.0003]],"scope":"host:foo"},{"pointlist":[[1,9]]}],"query":"q"}"#;
    let outcome = dialog.play(&[(200, answer)]);
    assert_eq!((outcome.result(), outcome.value().as_str()), (Value::Float(0.0003), "0.0003"));
    assert_eq!(dialog.play(&[(200, r#"{"series":[]}"#)]).reading().value, "[]");
    assert_eq!(dialog.play(&[(200, r#"{"series":null}"#)]).result(), Value::Nil);
    assert_eq!(
        dialog.play(&[(200, r#"{"series":[{"pointlist":[[1]]}]}"#)]).error(),
        "Datapoint does not have 2 values"
    );
}

#[test]
fn version_2_asks_for_scalars_with_formulas() {
    let settings = json!({"apiVersion": "v2", "queries": {"b": "sum:x{*}", "a": "sum:y{*}"}, "formula": "a / b", "aggregator": "sum"});
    let request = dialog(settings).request();
    assert_eq!((request.method, request.url.as_str()), (Method::Post, "https://api.datadoghq.com/api/v2/query/scalar"));
    let sent: Json = serde_json::from_str(&body(&request)).unwrap();
    let query =
        |name: &str, query: &str| json!({"aggregator": "sum", "data_source": "metrics", "name": name, "query": query});
    assert_eq!(
        sent,
        json!({"data": {"type": "scalar_request", "attributes": {
            "from": 1_772_366_100_000_i64, "to": 1_772_366_400_000_i64,
            "queries": [query("a", "sum:y{*}"), query("b", "sum:x{*}")], "formulas": [{"formula": "a / b"}],
        }}})
    );
    let single = dialog(json!({"apiVersion": "v2", "query": "q"})).request();
    let sent: Json = serde_json::from_str(&body(&single)).unwrap();
    assert_eq!(sent["data"]["attributes"]["queries"][0]["name"], "query");
    assert_eq!(sent["data"]["attributes"]["queries"][0]["aggregator"], "last");
    assert_eq!(sent["data"]["attributes"]["formulas"], json!([]));
}

#[test]
fn version_2_understands_plain_and_grouped_answers() {
    let dialog = dialog(json!({"apiVersion": "v2", "query": "q"}));
    let play = |columns: Json| {
        dialog.play(&[(
            200,
            &json!({"data": {"type": "scalar_response", "attributes": {"columns": columns}}}).to_string(),
        )])
    };
    let plain = play(json!([{"name": "query", "type": "number", "values": [0.7]}]));
    assert_eq!((plain.result(), plain.value().as_str()), (Value::Float(0.7), "0.7"));
    let grouped = play(json!([
        {"name": "region", "type": "group", "values": [["us-east"], ["eu"], ["x"]]},
        {"name": "host", "type": "group", "values": [["host-a"], ["host-b"], ["y"]]},
        {"name": "query", "type": "number", "values": [0.01, 0.2, null]},
    ]));
    assert_eq!((grouped.result(), grouped.value().as_str()), (Value::floats([0.01, 0.2]), "[0.01,0.2]"));
    let groups = r#"[{"name":"us-east,host-a","value":0.01},{"name":"eu,host-b","value":0.2}]"#;
    assert_eq!(grouped.reading().metadata["groups"], groups);
    let empty = play(json!([{"name": "query", "type": "number", "values": []}]));
    assert_eq!((empty.result(), empty.value().as_str()), (Value::Nil, "[]"));
    let names: Vec<Json> = (0..150).map(|index| json!([format!("h{index}")])).collect();
    let values: Vec<Json> = (0..150).map(|index| json!(index)).collect();
    let many = play(json!([{"name": "h", "type": "group", "values": names}, {"name": "q", "values": values}]));
    assert_eq!(many.reading().metadata["groups_truncated"], "true");
    let shown: Vec<Json> = serde_json::from_str(&many.reading().metadata["groups"]).unwrap();
    assert_eq!((shown.len(), &shown[49]["name"], &shown[50]["name"]), (100, &json!("h49"), &json!("h100")));
    let wrong = play(json!([{"name": "query", "type": "number", "values": ["x"]}])).error();
    assert!(wrong.starts_with("could not parse numeric value \"x\" in column \"query\""), "{wrong}");
    let unnamed =
        play(json!([{"name": "h", "type": "group", "values": [3]}, {"name": "q", "type": "number", "values": [1]}]));
    assert_eq!(unnamed.error(), "could not parse group label at index 0");
    let refused = dialog.play(&[(200, r#"{"data":{"errors":"bad query"}}"#)]);
    assert_eq!(refused.error(), "There were errors in your query: bad query");
}

#[test]
fn settings_and_refusals_are_told_in_known_words() {
    let review = "Please review the Analysis Template.";
    let table = [
        (json!({}), format!("Must have either a query or queries. {review}")),
        (json!({"query": "q", "queries": {"a": "b"}}), format!("Cannot have both a query and queries. {review}")),
        (
            json!({"queries": {"a": "b"}}),
            "Query is empty. API Version v1 only supports using the query parameter in your Analysis Template."
                .to_owned(),
        ),
        (
            json!({"apiVersion": "v2", "query": "q", "formula": "f"}),
            format!("Formula are only valid when queries are set. {review}"),
        ),
        (
            json!({"apiVersion": "v2", "queries": {"a": "b", "c": "d"}}),
            "When multiple queries are provided you must include a formula.".to_owned(),
        ),
        (json!({"query": "q", "aggregator": "sum"}), format!("Aggregator is not supported in v1. {review}")),
        (
            json!({"query": "q", "requestTimeout": "x"}),
            format!("Could not parse the request timeout: time: invalid duration \"x\". {review}"),
        ),
        (
            json!({"query": "q", "requestTimeout": "-1s"}),
            format!("Request timeout must be a positive duration (e.g. 30s). {review}"),
        ),
    ];
    for (settings, error) in table {
        assert_eq!(dialog(settings).play(&[]).error(), error);
    }
    let fine = dialog(json!({"query": "q"}));
    assert_eq!(fine.play(&[(403, "no")]).error(), "received authentication error response code: 403 no");
    assert_eq!(fine.play(&[(500, "x")]).error(), "received non 2xx response code: 500 x");
    assert!(fine.play(&[(200, "{")]).error().starts_with("Could not parse JSON body: "));
}

#[test]
fn keys_come_from_the_named_secret_the_environment_or_the_usual_secret() {
    let needed = |settings: Json, environment: &[(&str, &str)]| {
        let dialog = dialog(settings).with_environment(environment);
        let needed = secret_needed(&run(), &dialog.metric, &dialog.surroundings);
        needed.map(|found| found.map(|secret| (secret.namespace, secret.name))).map_err(|error| error.to_string())
    };
    let secret = |namespace: &str, name: &str| Ok(Some((namespace.to_owned(), name.to_owned())));
    let all = [("DD_API_KEY", "e"), ("DD_APP_KEY", "f"), ("DD_ADDRESS", "http://dd")];
    assert_eq!(needed(json!({"query": "q"}), &[]), secret("argo-rollouts", "datadog"));
    assert_eq!(needed(json!({"query": "q"}), &all), Ok(None));
    assert_eq!(needed(json!({"secretRef": {"name": "s"}}), &all), secret("argo-rollouts", "s"));
    assert_eq!(needed(json!({"secretRef": {"name": "s", "namespaced": true}}), &[]), secret("team", "s"));
    let error = needed(json!({"secretRef": {"namespaced": true}}), &[]).unwrap_err();
    assert_eq!(error, "secret name is required for namespaced credentials");
    let mut from_environment = dialog(json!({"query": "q"})).with_environment(&all).with_credentials(&[]);
    assert!(from_environment.request().url.starts_with("http://dd/api/v1/query?"));
    assert_eq!(from_environment.request().header_value("dd-api-key"), Some("e"));
    from_environment = from_environment.with_environment(&[]);
    assert_eq!(from_environment.play(&[]).error(), "failed to find the credentials for datadog metrics provider");
}
