//! How bodies are read: syntax, kinds, unknown fields and warnings.

use bytes::Bytes;
use serde_json::json;

use crate::support::{MAPS, get, make, raw, raw_bytes, raw_typed, server, warned};

#[tokio::test]
async fn unknown_fields_are_dropped_with_a_warning_refused_or_ignored_as_the_client_asks() {
    let server = server();
    let map = json!({"metadata": {"name": "a"}, "nope": 1});
    let text = "299 - \"unknown field \\\"nope\\\"\"".to_owned();
    assert_eq!(warned(&server, "POST", MAPS, map.clone()).await, (201, vec![text]));
    assert!(get(&server, &format!("{MAPS}/a")).await.1.get("nope").is_none());

    let strict = format!("{MAPS}?fieldValidation=Strict&dryRun=All");
    let (code, refused) = raw(&server, "POST", &strict, Some(map.clone())).await;
    let text =
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"nope\"";
    assert_eq!((code, &refused["message"]), (400, &json!(text)));

    let mut other = map;
    other["metadata"]["name"] = json!("b");
    assert_eq!(warned(&server, "POST", &format!("{MAPS}?fieldValidation=Ignore"), other).await, (201, Vec::new()));
}

#[tokio::test]
async fn malformed_bodies_are_refused_in_the_words_that_clients_know() {
    let server = server();
    let start =
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error:";
    for (body, why) in [
        ("", "unexpected end of JSON input (<empty>)"),
        ("{\"metadata\": ", "unexpected end of JSON input ({\"metadata\": )"),
        ("hello", "invalid character 'h' looking for beginning of value (68656c6c6f)"),
    ] {
        let (code, refused) = raw_bytes(&server, "POST", MAPS, Bytes::from(body), "application/json").await;
        assert_eq!((code, refused["message"].as_str().unwrap()), (400, format!("{start} {why}").as_str()));
    }
    let other = Some(json!({"kind": "Other", "apiVersion": "v1", "metadata": {"name": "a"}}));
    let (code, refused) = raw(&server, "POST", MAPS, other).await;
    let text = "Other in version \"v1\" cannot be handled as a ConfigMap: no kind \"Other\" is registered for version \"v1\" in \
                scheme \"pkg/runtime/scheme.go:111\"";
    assert_eq!((code, &refused["message"]), (400, &json!(text)));
}

#[tokio::test]
async fn a_patch_whose_result_cannot_be_read_is_invalid_and_not_malformed() {
    let server = server();
    make(&server, MAPS, json!({"metadata": {"name": "a"}})).await;
    let patch = Some(json!({"metadata": {"labels": [1]}}));
    let (code, refused) =
        raw_typed(&server, "PATCH", &format!("{MAPS}/a"), patch, "application/merge-patch+json").await;
    assert_eq!((code, &refused["details"]["causes"][0]["field"]), (422, &json!("patch")));
}

#[tokio::test]
async fn a_field_that_comes_twice_counts_once_and_is_told() {
    let server = server();
    let body = Bytes::from("{\"metadata\": {\"name\": \"a\", \"name\": \"b\"}}");
    let (code, made) = raw_bytes(&server, "POST", MAPS, body, "application/json").await;
    assert_eq!((code, &made["metadata"]["name"]), (201, &json!("b")));
}
