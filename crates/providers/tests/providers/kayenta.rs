//! Kayenta, its Swagger description: `canaryConfig` and `canary` controllers.

use jiff::SignedDuration;
use serde_json::{Value as Json, json};
use tidegate_api::analysis::Measurement;
use tidegate_providers::{Method, Turn};

use crate::dialog::{Dialog, body};

fn settings(scope: Json) -> Json {
    json!({"kayenta": {
        "address": "https://kayenta.example", "application": "guest book", "canaryConfigName": "my-test",
        "metricsAccountName": "wavefront-prod", "configurationAccountName": "intuit-kayenta", "storageAccountName": "s3",
        "threshold": {"pass": 90, "marginal": 75}, "scopes": [scope],
    }})
}

fn scope(times: Json) -> Json {
    let mut side = json!({"scope": "app=guestbook", "region": "us-west-2", "step": 60});
    side.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
    json!({"name": "default", "controlScope": side, "experimentScope": side})
}

#[test]
fn a_judgement_is_configured_started_and_asked_for() {
    let mut dialog = Dialog::new(settings(scope(json!({}))));
    let found = r#"[{"id":"other","name":"x"},{"id":"7e2a","name":"my-test"}]"#;
    let outcome = dialog.play(&[(200, found), (200, r#"{"canaryExecutionId":"01E4"}"#)]);
    assert_eq!(
        outcome.requests[0].url,
        "https://kayenta.example/canaryConfig?application=guest+book&configurationAccountName=s3"
    );
    let started = &outcome.requests[1];
    assert_eq!(started.method, Method::Post);
    assert_eq!(
        started.url,
        "https://kayenta.example/canary/7e2a?application=guest+book&metricsAccountName=wavefront-prod&\
         configurationAccountName=intuit-kayenta&storageAccountName=s3"
    );
    let side = json!({"scope": "app=guestbook", "location": "us-west-2", "step": 60,
        "start": "2026-03-01T11:50:00Z", "end": "2026-03-01T12:00:00Z"});
    let sent: Json = serde_json::from_str(&body(started)).unwrap();
    assert_eq!(
        sent,
        json!({"scopes": {"default": {"controlScope": side, "experimentScope": side}}, "thresholds": {"pass": 90, "marginal": 75}})
    );
    let Ok(Turn::Later { metadata, wait }) = outcome.end else { panic!("not under way") };
    assert_eq!((metadata["canaryExecutionId"].as_str(), wait), ("01E4", SignedDuration::from_secs(15)));

    dialog.measurement = Some(Measurement { metadata: Some(metadata), ..Measurement::default() });
    let answer =
        |score: &str| format!(r#"{{"complete":true,"result":{{"judgeResult":{{"score":{{"score":{score}}}}}}}}}"#);
    for (score, phase) in [("100", "Successful"), ("90.9", "Successful"), ("75", "Inconclusive"), ("74.9", "Failed")] {
        let outcome = dialog.play(&[(200, &answer(score))]);
        assert_eq!(outcome.requests[0].url, "https://kayenta.example/canary/01E4");
        let Ok(Turn::Judged { phase: judged, .. }) = outcome.end else { panic!("not judged") };
        assert_eq!(judged, phase);
    }
    let under_way = dialog.play(&[(200, r#"{"complete":false}"#)]);
    assert!(matches!(under_way.end, Ok(Turn::Later { .. })));
    assert_eq!(dialog.play(&[(200, "{}")]).error(), "Missing Complete Status");
    assert_eq!(dialog.play(&[(200, r#"{"complete":true}"#)]).error(), "Missing Score");
    assert_eq!(dialog.play(&[(500, "")]).error(), "Invalid Response");
}

#[test]
fn times_are_given_on_both_sides_or_none() {
    let given = json!({"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T01:00:00Z"});
    let found = r#"[{"id":"i","name":"my-test"}]"#;
    let outcome = Dialog::new(settings(scope(given))).play(&[(200, found)]);
    let sent: Json = serde_json::from_str(&body(&outcome.requests[1])).unwrap();
    assert_eq!(sent["scopes"]["default"]["controlScope"]["start"], "2026-01-01T00:00:00Z");
    let mut one_sided = scope(json!({}));
    one_sided["controlScope"]["start"] = json!("2026-01-01T00:00:00Z");
    let error = Dialog::new(settings(one_sided)).play(&[]).error();
    assert_eq!(error, "controlScope.start and experimentScope.start must both be set or be empty");
    let mut looking_back = settings(scope(json!({})));
    looking_back["kayenta"]["lookback"] = json!(true);
    let outcome = Dialog::new(looking_back).play(&[(200, found)]);
    let sent: Json = serde_json::from_str(&body(&outcome.requests[1])).unwrap();
    assert_eq!(sent["scopes"]["default"]["controlScope"]["start"], "2026-03-01T11:00:00Z");
}

#[test]
fn refusals_are_told_in_known_words() {
    let dialog = Dialog::new(settings(scope(json!({}))));
    assert_eq!(dialog.play(&[(503, "")]).error(), "Invalid Response: HTTP 503");
    assert_eq!(dialog.play(&[(200, "[]")]).error(), "Canary config not found");
    let found = r#"[{"id":"i","name":"my-test"}]"#;
    assert_eq!(dialog.play(&[(200, found), (400, "")]).error(), "Invalid Response");
    assert_eq!(dialog.play(&[(200, found), (200, "{}")]).error(), "Invalid canaryExecutionId");
    let mut without = Dialog::new(settings(scope(json!({}))));
    without.metric.interval = None;
    assert_eq!(without.play(&[]).error(), "Invalid duration \"\": time: invalid duration \"\"");
}
