//! What holds for any query.

use proptest::prelude::*;
use tidegate_mesh::promql::{answer, evaluate, instant_body, parse};

use crate::recorded::store;

/// Words of the language in any order.
fn any_words() -> impl Strategy<Value = String> {
    let words = vec![
        "gauge",
        "http_requests_total",
        "rate",
        "sum",
        "by",
        "without",
        "on",
        "ignoring",
        "bool",
        "offset",
        "and",
        "or",
        "unless",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "5m",
        "1",
        "0.5",
        "NaN",
        "\"a\"",
        "+",
        "-",
        "*",
        "/",
        "%",
        "^",
        "==",
        "!=",
        "<",
        ">=",
        "=~",
        "!~",
        "=",
        ",",
        "kind",
        "le",
        "histogram_quantile",
        "absent",
        "scalar",
        "vector",
        "round",
        "#",
        "\n",
        "@",
        ":",
        "ü",
        "\\",
        "'",
        "`",
        "0x",
    ];
    prop::collection::vec(prop::sample::select(words), 0..24).prop_map(|words| words.join(" "))
}

/// Queries that can be read.
fn any_query() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "gauge".to_owned(),
        "rate(http_requests_total[2m])".to_owned(),
        "h_bucket".to_owned(),
        "nothing".to_owned(),
        "vector(2)".to_owned(),
        "once offset -1m".to_owned(),
    ]);
    leaf.prop_recursive(4, 24, 2, |inner| {
        let operators = vec!["+", "-", "*", "/", "%", "^", "> bool", "<", "==", "and", "or", "unless", "/ on (job)"];
        prop_oneof![
            (inner.clone(), prop::sample::select(operators), inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (prop::sample::select(vec!["sum", "avg", "min", "max", "count"]), inner.clone())
                .prop_map(|(name, of)| format!("{name} by (job, kind, le) ({of})")),
            inner.clone().prop_map(|of| format!("histogram_quantile(0.9, {of})")),
            inner.clone().prop_map(|of| format!("clamp_min({of}, scalar({of}))")),
            inner.prop_map(|of| format!("-{of}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        prop_assert!(parse(&text).is_ok() || !parse(&text).unwrap_err().to_string().is_empty());
    }

    #[test]
    fn no_order_of_words_makes_the_parser_panic(text in any_words()) {
        prop_assert!(parse(&text).is_ok() || !parse(&text).unwrap_err().to_string().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_can_be_read_can_be_answered_and_twice_alike(query in any_query(), at in 1_699_999_000_000_i64..1_700_002_000_000) {
        let store = store();
        let parsed = parse(&query);
        prop_assert!(parsed.is_ok(), "{query}: {parsed:?}");
        let status = instant_body(&store, &query, at)["status"].clone();
        prop_assert_eq!(evaluate(&store, &parsed.unwrap(), at).is_ok(), status == "success");
        prop_assert_eq!(instant_body(&store, &query, at), instant_body(&store, &query, at));
    }

    #[test]
    fn any_parameters_get_an_answer(path in "/api/v1/query(_range)?", time in ".{0,12}", step in "[0-9a-z.-]{0,5}") {
        let pairs = [("query", "1"), ("time", &time), ("start", &time), ("end", &time), ("step", &step)];
        let parameters: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let reply = answer(&store(), &path, &parameters, 0);
        prop_assert!([200, 400, 422].contains(&reply.status));
    }
}
