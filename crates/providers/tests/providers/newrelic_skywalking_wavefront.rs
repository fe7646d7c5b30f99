//! New Relic documentation, "NerdGraph: query NRQL data"; Apache SkyWalking documentation, "Query Protocol"; Wavefront
//! REST API documentation, "Chart".

use serde_json::{Value as Json, json};
use tidegate_expr::Value;
use tidegate_providers::{Method, secret_needed};

use crate::dialog::{Dialog, body, run};

fn relic(more: Json) -> Dialog {
    let mut settings = json!({"query": "FROM Transaction SELECT count(*)"});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Dialog::new(json!({"newRelic": settings})).with_credentials(&[("personal-api-key", "NRAK"), ("account-id", "42")])
}

fn rows(rows: Json) -> String {
    json!({"data": {"actor": {"account": {"nrql": {"results": rows}}}}}).to_string()
}

#[test]
fn new_relic_is_asked_in_nrql_over_graphql() {
    let request = relic(json!({})).request();
    assert_eq!((request.method, request.url.as_str()), (Method::Post, "https://api.newrelic.com/graphql"));
    assert_eq!(request.header_value("api-key"), Some("NRAK"));
    let agent = "argo-rollouts/v1 (https://github.com/argoproj/argo-rollouts)";
    assert_eq!(request.header_value("user-agent"), Some(agent));
    let sent: Json = serde_json::from_str(&body(&request)).unwrap();
    let variables = json!({"accountId": 42, "query": "FROM Transaction SELECT count(*)", "timeout": 5});
    assert_eq!(sent["variables"], variables);
    let query = "query ($accountId: Int!, $query: Nrql!, $timeout: Seconds) { actor { account(id: $accountId) { \
                 nrql(query: $query, timeout: $timeout) { results } } } }";
    assert_eq!(sent["query"], query);
    assert_eq!(relic(json!({})).play(&[]).metadata["ResolvedNewRelicQuery"], "FROM Transaction SELECT count(*)");
    let keys = [("personal-api-key", "k"), ("account-id", "1"), ("region", "EU")];
    assert_eq!(relic(json!({})).with_credentials(&keys).request().url, "https://api.eu.newrelic.com/graphql");
}

#[test]
fn new_relic_gives_a_row_or_rows() {
    let play = |answer: &str| relic(json!({})).play(&[(200, answer)]);
    let one = play(&rows(json!([{"count": 3}])));
    assert_eq!((one.result(), one.value().as_str()), (Value::from_json(&json!({"count": 3})), "{\"count\":3}"));
    assert_eq!(play(&rows(json!([{"a": 1}, {"a": 2}]))).value(), "[{\"a\":1},{\"a\":2}]");
    for empty in [json!([]), json!([{}])] {
        assert_eq!(play(&rows(empty)).error(), "no results returned from NRQL query");
    }
    assert_eq!(play(r#"{"errors":[{"message":"NRQL Syntax Error"}]}"#).error(), "NRQL Syntax Error");
    let outcome = relic(json!({})).play(&[(500, ""), (429, ""), (200, &rows(json!([{"a": 1}])))]);
    assert_eq!(outcome.requests.len(), 3);
    assert_eq!(outcome.value(), "{\"a\":1}");
    let tired = relic(json!({})).play(&[(500, "x"); 5]);
    assert_eq!((tired.requests.len(), tired.error().as_str()), (4, "500 response returned: x"));
}

#[test]
fn new_relic_settings_are_checked() {
    assert_eq!(relic(json!({"timeout": -1})).play(&[]).error(), "timeout value needs to be a positive value");
    let missing = relic(json!({})).with_credentials(&[("account-id", "1")]);
    assert_eq!(missing.play(&[]).error(), "account ID or personal API key not found");
    let odd = relic(json!({})).with_credentials(&[("account-id", "x"), ("personal-api-key", "k")]).play(&[]).error();
    assert!(odd.starts_with("could not parse account ID: "), "{odd}");
    let dialog = relic(json!({"profile": "mine"}));
    let secret = secret_needed(&run(), &dialog.metric, &dialog.surroundings).unwrap().unwrap();
    assert_eq!(secret.name, "mine");
}

#[test]
fn skywalking_is_asked_in_graphql_for_minutes() {
    let dialog = Dialog::new(
        json!({"skywalking": {"address": "http://oap:12800", "query": "query queryData {x}", "interval": "3m"}}),
    );
    let request = dialog.request();
    assert_eq!((request.method, request.url.as_str()), (Method::Post, "http://oap:12800/graphql"));
    let sent: Json = serde_json::from_str(&body(&request)).unwrap();
    let duration = json!({"start": "2026-03-01 1157", "end": "2026-03-01 1200", "step": "MINUTE"});
    assert_eq!(sent, json!({"query": "query queryData {x}", "variables": {"duration": duration}}));
    let outcome = dialog.play(&[(200, r#"{"data":{"service_apdex":{"values":[1]}}}"#)]);
    assert_eq!(outcome.value(), r#"{"service_apdex":{"values":[1]}}"#);
    assert_eq!(dialog.play(&[(200, r#"{"data":null}"#)]).error(), "no results returned from SkyWalking query");
    assert_eq!(dialog.play(&[(200, r#"{"errors":[{"message":"bad"}]}"#)]).error(), "graphql: bad");
    assert!(dialog.play(&[(200, "<")]).error().starts_with("decoding response: "));
    let without = Dialog::new(json!({"skywalking": {"address": "http://oap", "query": "q"}}));
    assert_eq!(without.play(&[]).error(), "time: invalid duration \"\"");
}

#[test]
fn wavefront_gives_the_points_nearest_to_now() {
    let dialog = Dialog::new(json!({"wavefront": {"address": "w.example", "query": "sum(rate(ts(a)))"}}))
        .with_credentials(&[("w.example", "tok")]);
    let request = dialog.request();
    assert_eq!(
        request.url,
        "https://w.example/api/v2/chart/api?autoEvents=false&e=1772366400000&g=s&i=true&includeObsoleteMetrics=false&\
         listmode=false&p=1&q=sum%28rate%28ts%28a%29%29%29&s=1772366400000&strict=false"
    );
    assert_eq!(request.header_value("authorization"), Some("Bearer tok"));
    assert_eq!(request.header_value("accept"), Some("application/json"));
    let one = r#"{"warnings":"slow","timeseries":[{"data":[[1772366340,1],[1772366390,2.5],[1772366500,9]]}]}"#;
    let outcome = dialog.play(&[(200, one)]);
    assert_eq!((outcome.result(), outcome.value().as_str()), (Value::Float(2.5), "2.50"));
    let metadata = outcome.reading().metadata;
    assert_eq!(
        (metadata["timestamps"].as_str(), metadata["drift"].as_str(), metadata["warnings"].as_str()),
        ("1772366390", "10", "slow")
    );
    let two = r#"{"timeseries":[{"data":[[1772366400,1]]},{"data":[[1772366410,2.5]]}]}"#;
    let outcome = dialog.play(&[(200, two)]);
    assert_eq!((outcome.result(), outcome.value().as_str()), (Value::floats([1.0, 2.5]), "[1.00,2.50]"));
    assert_eq!(outcome.reading().metadata["drift"], "[0,-10]");
    for empty in ["{}", r#"{"timeseries":[]}"#, r#"{"timeseries":[{"data":[]}]}"#] {
        assert_eq!(dialog.play(&[(200, empty)]).error(), "No TimeSeries found in response from Wavefront");
    }
    assert_eq!(dialog.play(&[(401, "no")]).error(), "server returned 401 Unauthorized\nno\n");
    assert_eq!(dialog.with_credentials(&[]).play(&[]).error(), "API token not found");
}

#[test]
fn plugins_and_nothing_at_all_are_refused_clearly() {
    let plugin = Dialog::new(json!({"plugin": {"argoproj-labs/sample": {"a": 1}}})).play(&[]).error();
    assert!(plugin.starts_with("metric 'm' uses provider.plugin, and metric plugins are not supported"), "{plugin}");
    assert_eq!(Dialog::new(json!({})).play(&[]).error(), "no valid provider in metric 'm'");
}
