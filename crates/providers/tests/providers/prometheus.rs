//! Prometheus documentation, "HTTP API": instant queries, range queries, format overview.

use serde_json::json;
use tidegate_expr::Value;
use tidegate_providers::{Authorization, Method};

use crate::dialog::{Dialog, body};

fn dialog() -> Dialog {
    Dialog::new(json!({"prometheus": {"address": "http://prometheus:9090/base/", "query": "up{job=\"a b\"}"}}))
}

#[test]
fn an_instant_query_is_a_form_with_query_and_time() {
    let request = dialog().request();
    assert_eq!((request.method, request.url.as_str()), (Method::Post, "http://prometheus:9090/base/api/v1/query"));
    assert_eq!(body(&request), "query=up%7Bjob%3D%22a+b%22%7D&time=1772366400");
    assert_eq!(request.header_value("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(request.timeout.as_secs(), 30);
    let metadata = dialog().play(&[]).metadata;
    assert_eq!(metadata["ResolvedPrometheusQuery"], "up{job=\"a b\"}");
}

#[test]
fn a_range_query_has_ends_that_are_expressions_and_a_step_in_seconds() {
    let range = json!({"start": "now() - duration('1h')", "end": "now()", "step": "90s"});
    let with = |range| Dialog::new(json!({"prometheus": {"address": "http://p", "query": "q", "rangeQuery": range}}));
    let request = with(range).request();
    assert_eq!(request.url, "http://p/api/v1/query_range");
    assert_eq!(body(&request), "query=q&start=1772362800&end=1772366400&step=90");
    let bad = [
        (
            json!({"start": "1", "end": "now()", "step": "1s"}),
            "failed to parse rangeQuery.start as time: expected time.Time, but got int",
        ),
        (json!({"start": "now()", "end": "x", "step": "1s"}), "failed to parse rangeQuery.end as time: unknown name x"),
        (
            json!({"start": "now()", "end": "now()", "step": "1"}),
            "failed to parse rangeQuery.step as duration: time: missing unit in duration \"1\"",
        ),
    ];
    for (range, error) in bad {
        assert_eq!(with(range).play(&[]).error(), error);
    }
}

#[test]
fn every_kind_of_result_is_understood() {
    let answer = |data: &str| format!(r#"{{"status":"success","data":{data}}}"#);
    let play = |data: &str| dialog().play(&[(200, &answer(data))]);
    let vector = r#"{"resultType":"vector","result":[
        {"metric":{"__name__":"up","job":"prometheus"},"value":[1435781451.781,"1"]},
        {"metric":{"__name__":"up","job":"node"},"value":[1435781451.781,"0.25"]}]}"#;
    assert_eq!(play(vector).result(), Value::floats([1.0, 0.25]));
    assert_eq!(play(vector).value(), "[1,0.25]");
    let matrix = r#"{"resultType":"matrix","result":[
        {"metric":{},"values":[[1435781430.781,"1"],[1435781445.781,"2"]]},{"metric":{},"values":[[1,"3"]]}]}"#;
    assert_eq!(play(matrix).value(), "[1,2,3]");
    let scalar = r#"{"resultType":"scalar","result":[1435781460.781,"0.5"]}"#;
    assert_eq!((play(scalar).result(), play(scalar).value()), (Value::Float(0.5), "0.5".to_owned()));
    let empty = r#"{"resultType":"vector","result":[]}"#;
    assert_eq!((play(empty).result(), play(empty).value()), (Value::floats([]), "[]".to_owned()));
    let odd = r#"{"resultType":"vector","result":[{"value":[1,"NaN"]},{"value":[1,"+Inf"]},{"value":[1,"-Inf"]}]}"#;
    assert_eq!(play(odd).value(), "[NaN,+Inf,-Inf]");
    assert!(play(r#"{"resultType":"string","result":[1,"x"]}"#).error().contains("unexpected value type \"string\""));
    assert_eq!(play(r#"{"resultType":"other"}"#).error(), "Prometheus metric type not supported");
}

#[test]
fn warnings_are_kept_and_errors_are_told_in_known_words() {
    let warned = r#"{"status":"success","warnings":["a","b"],"data":{"resultType":"vector","result":[]}}"#;
    assert_eq!(dialog().play(&[(200, warned)]).reading().metadata["warnings"], r#""a", "b""#);
    let explained = r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
    let table = [
        (400, explained, "bad_data: parse error"),
        (422, explained, "bad_data: parse error"),
        (200, explained, "bad_data: parse error"),
        (400, r#"{"status":"success"}"#, "bad_response: inconsistent body for response code"),
        (404, "", "client_error: client error: 404"),
        (503, "", "server_error: server error: 503"),
        (302, "", "bad_response: bad response code 302"),
    ];
    for (status, text, error) in table {
        assert_eq!(dialog().play(&[(status, text)]).error(), error);
    }
    assert!(dialog().play(&[(200, "<html>")]).error().starts_with("bad_response: "));
}

#[test]
fn a_server_that_takes_no_post_is_asked_again_with_get() {
    for status in [403, 405, 501] {
        let outcome =
            dialog().play(&[(status, ""), (200, r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#)]);
        let again = &outcome.requests[1];
        assert_eq!(again.method, Method::Get);
        assert_eq!(again.url, "http://prometheus:9090/base/api/v1/query?query=up%7Bjob%3D%22a+b%22%7D&time=1772366400");
        assert!(again.body.is_empty() && again.header_value("content-type").is_none());
        assert_eq!(outcome.value(), "[]");
    }
    assert_eq!(dialog().play(&[(403, ""), (403, "")]).error(), "client_error: client error: 403");
}

#[test]
fn headers_and_proofs_of_who_asks_are_sent() {
    let with = |more: serde_json::Value| {
        let mut settings =
            json!({"address": "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/w", "query": "q"});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Dialog::new(json!({"prometheus": settings}))
    };
    let request =
        with(json!({"headers": [{"key": "X-Scope-OrgID", "value": "t"}], "insecure": true, "timeout": 7})).request();
    assert_eq!(request.header_value("x-scope-orgid"), Some("t"));
    assert!(request.insecure && request.timeout.as_secs() == 7);
    let basic = |user: &str, password: &str| {
        with(json!({"authentication": {"basicAuth": {"username": user, "password": password}}}))
    };
    let both = with(json!({"headers": [{"key": "authorization", "value": "Bearer x"}],
        "authentication": {"basicAuth": {"username": "u", "password": "p"}}}));
    assert_eq!(both.request().header_value("authorization"), Some("Bearer x"));
    assert_eq!(basic("user", "pass").request().header_value("authorization"), Some("Basic dXNlcjpwYXNz"));
    assert_eq!(
        basic("", "p").play(&[]).error(),
        "missing mandatory parameter in metric for basic auth setup: username"
    );
    assert_eq!(
        basic("u", "").play(&[]).error(),
        "missing mandatory parameter in metric for basic auth setup: password"
    );
    let signed = with(json!({"authentication": {"sigv4": {"region": "eu-west-1", "roleArn": "r"}}})).request();
    let Authorization::Aws(signature) = signed.authorization else { panic!("not signed") };
    assert_eq!(
        (signature.service.as_str(), signature.region.as_str(), signature.role_arn.as_str()),
        ("aps", "eu-west-1", "r")
    );
    let error = with(json!({"authentication": {"sigv4": {"roleArn": "r"}}})).play(&[]).error();
    assert_eq!(error, "region not configured in sigv4 or in default credentials chain");
    let oauth = |id: &str| {
        with(
            json!({"authentication": {"oauth2": {"tokenUrl": "http://t", "clientId": id, "clientSecret": "s", "scopes": ["a", "b"]}}}),
        )
    };
    let Authorization::OAuth2(credentials) = oauth("i").request().authorization else { panic!("no OAuth 2") };
    assert_eq!(credentials.scopes, ["a", "b"]);
    assert!(!format!("{credentials:?}").contains("\"s\""));
    assert_eq!(oauth("").play(&[]).error(), "missing mandatory parameter in metric for OAuth2 setup");
}

#[test]
fn the_address_may_come_from_the_environment_and_must_be_one() {
    let at = |address: &str| Dialog::new(json!({"prometheus": {"address": address, "query": "q"}}));
    let with = at("").with_environment(&[("ARGO_ROLLOUTS_PROMETHEUS_ADDRESS", "http://env:9090")]);
    assert_eq!(with.request().url, "http://env:9090/api/v1/query");
    assert_eq!(at("").play(&[]).error(), "prometheus address is not configured");
    for address in ["prometheus:9090", "/x", "http://"] {
        assert_eq!(at(address).play(&[]).error(), "prometheus address is not is url format", "{address}");
    }
    let negative = Dialog::new(json!({"prometheus": {"address": "http://p", "query": "q", "timeout": -1}}));
    assert_eq!(negative.play(&[]).error(), "prometheus timeout should not be negative");
}
