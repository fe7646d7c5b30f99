//! The web provider: what is sent, and what comes of the answer.

use serde_json::{Value as Json, json};
use tidegate_expr::Value;
use tidegate_providers::Method;

use crate::dialog::{Dialog, body};

fn dialog(more: Json) -> Dialog {
    let mut settings = json!({"url": "http://x/y?z=1"});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Dialog::new(json!({"web": settings}))
}

#[test]
fn method_headers_and_bodies_are_sent_as_written() {
    let plain = dialog(json!({})).request();
    assert_eq!((plain.method, plain.url.as_str(), plain.timeout.as_secs()), (Method::Get, "http://x/y?z=1", 10));
    let headers = json!([{"key": "Content-Type", "value": "text/x"}, {"key": "A", "value": "b"}]);
    let posted = dialog(json!({"method": "POST", "body": "text", "headers": headers, "timeoutSeconds": 3})).request();
    assert_eq!((posted.method, body(&posted).as_str(), posted.timeout.as_secs()), (Method::Post, "text", 3));
    assert_eq!((posted.header_value("content-type"), posted.header_value("a")), (Some("text/x"), Some("b")));
    let put = dialog(json!({"method": "PUT", "jsonBody": {"k": ["v", 1]}, "headers": headers})).request();
    assert_eq!((put.method, body(&put).as_str()), (Method::Put, r#"{"k":["v",1]}"#));
    assert_eq!(put.header_value("content-type"), Some("application/json"));
}

#[test]
fn what_cannot_be_sent_is_told() {
    let both = dialog(json!({"method": "POST", "body": "a", "jsonBody": {}}));
    assert_eq!(both.play(&[]).error(), "use either Body or JSONBody; both cannot exists for WebMetric payload");
    for more in [json!({"body": "a"}), json!({"jsonBody": {}})] {
        let error = "Body/JSONBody can only be used with POST or PUT WebMetric Method types";
        assert_eq!(dialog(more).play(&[]).error(), error);
    }
    assert_eq!(dialog(json!({"method": "DELETE"})).play(&[]).error(), "method \"DELETE\" is none of GET, POST, PUT");
    assert_eq!(dialog(json!({"jsonPath": "{$.a[}"})).play(&[]).error(), "unterminated array");
}

#[test]
fn the_first_value_of_the_path_is_the_result() {
    let play = |path: &str, text: &str| dialog(json!({"jsonPath": path})).play(&[(200, text)]);
    let table = [
        ("{$.a}", r#"{"a": 1.0}"#, Value::Float(1.0), "1"),
        ("{$.a}", r#"{"a": "1"}"#, Value::text("1"), "\"1\""),
        ("{$.a}", r#"{"a": null}"#, Value::Nil, "null"),
        ("{$.a[1]}", r#"{"a": [1, 2]}"#, Value::Float(2.0), "2"),
        ("{$.a[*]}", r#"{"a": [3, 2]}"#, Value::Float(3.0), "3"),
        ("$.a", r#"{"a": 1}"#, Value::text("$.a"), "\"$.a\""),
        ("", "null", Value::Nil, "null"),
        ("", "true", Value::Bool(true), "true"),
        ("", "OK", Value::text("OK"), "OK"),
        ("", "", Value::text(""), ""),
        ("{$.a}", "not json", Value::text("not json"), "not json"),
    ];
    for (path, text, result, value) in table {
        let outcome = play(path, text);
        assert_eq!((outcome.result(), outcome.value().as_str()), (result, value), "{path} of {text}");
    }
    assert_eq!(play("{$}", r#"{"b": "<", "a": [1.5]}"#).value(), r#"{"a":[1.5],"b":"\u003c"}"#);
    assert_eq!(play("{$.b}", r#"{"a": 1}"#).error(), "Could not find JSONPath in body: b is not found");
    assert_eq!(play("{$.a[*]}", r#"{"a": []}"#).error(), "result of web metric produced no value");
}

#[test]
fn only_success_is_success() {
    for status in [199, 300, 404, 500] {
        let error = dialog(json!({})).play(&[(status, "{}")]).error();
        assert_eq!(error, format!("received non 2xx response code: {status}"));
    }
    assert_eq!(dialog(json!({})).play(&[(204, "")]).value(), "");
}
