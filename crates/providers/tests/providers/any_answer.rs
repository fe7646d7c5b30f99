//! No answer of a service makes a provider panic.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value as Json, json};
use tidegate_api::analysis::Measurement;

use crate::dialog::Dialog;

fn all() -> Vec<Dialog> {
    let keys = [
        ("api-key", "k"),
        ("app-key", "a"),
        ("personal-api-key", "p"),
        ("account-id", "1"),
        ("authToken", "t"),
        ("org", "o"),
        ("address", "http://influx"),
        ("w", "t"),
    ];
    let scope = json!({"name": "s", "controlScope": {}, "experimentScope": {}});
    let providers = [
        json!({"prometheus": {"address": "http://p", "query": "q"}}),
        json!({"web": {"url": "http://w", "jsonPath": "{$..value}"}}),
        json!({"datadog": {"query": "q"}}),
        json!({"datadog": {"query": "q", "apiVersion": "v2"}}),
        json!({"newRelic": {"query": "q"}}),
        json!({"wavefront": {"address": "w", "query": "q"}}),
        json!({"cloudWatch": {"metricDataQueries": []}}),
        json!({"graphite": {"address": "http://g", "query": "q"}}),
        json!({"influxdb": {"query": "q"}}),
        json!({"skywalking": {"address": "http://s", "query": "q", "interval": "1m"}}),
        json!({"kayenta": {"address": "http://k", "canaryConfigName": "c", "scopes": [scope]}}),
    ];
    let dialog = |provider| Dialog::new(provider).with_credentials(&keys).with_environment(&[("AWS_REGION", "r")]);
    let mut all: Vec<Dialog> = providers.into_iter().map(dialog).collect();
    let mut resumed = all[all.len() - 1].clone();
    resumed.measurement = Some(Measurement::default());
    all.push(resumed);
    all
}

/// JSON made of the names that providers look for.
fn answers() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        prop::sample::select(vec![
            "success", "error", "vector", "matrix", "scalar", "number", "group", "1", "NaN", "c", ""
        ])
        .prop_map(Json::from),
    ];
    let names = prop::sample::select(vec![
        "status",
        "data",
        "resultType",
        "result",
        "value",
        "values",
        "series",
        "pointlist",
        "attributes",
        "columns",
        "type",
        "errors",
        "actor",
        "account",
        "nrql",
        "results",
        "timeseries",
        "datapoints",
        "complete",
        "judgeResult",
        "score",
        "name",
        "id",
        "canaryExecutionId",
        "message",
        "warnings",
    ]);
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(names.clone(), inner, 0..5).prop_map(|fields| {
                Json::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }),
        ]
    })
    .prop_map(|json| json.to_string())
}

fn texts() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "<a>",
        "</a>",
        "<member>",
        "</member>",
        "<Values>",
        "<",
        ">",
        "&lt;",
        "\n",
        "\r\n",
        ",",
        "\"",
        "#datatype",
        "_value",
        "double",
        "long",
        "#default",
        "1",
        "x",
        "",
    ]);
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn no_answer_panics(
        first in prop_oneof![answers(), texts()], second in answers(), status in prop::sample::select(vec![200, 204, 302, 400, 403, 500]),
    ) {
        for dialog in all() {
            let outcome = dialog.play(&[(status, &first), (200, &second), (200, &first), (200, &second), (200, &first)]);
            assert!(!outcome.requests.is_empty());
        }
    }
}
