//! No text and no value makes an expression panic, hang or grow.

use jiff::Timestamp;
use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use tidegate_expr::{Environment, ExprError, MAX_LENGTH, Value, evaluate};

fn run(text: &str) -> Result<Value, ExprError> {
    let result = serde_json::json!({"list": [1, 2, 3], "text": "abc", "nil": null, "map": {"a": [true, "x"]}});
    let environment = Environment { result: Some(Value::from_json(&result)), now: Timestamp::UNIX_EPOCH };
    evaluate(text, &environment)
}

fn is_refused(text: &str) -> bool {
    matches!(run(text), Err(ExprError::TooLarge(_)))
}

#[test]
fn a_hundred_kilobytes_are_refused_unread() {
    assert!(is_refused(&"1 + ".repeat(25_000)));
    assert!(is_refused(&" ".repeat(MAX_LENGTH + 1)));
}

#[test]
fn deep_nesting_of_every_kind_is_refused() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{a: ", "}"), ("len(", ")"), ("any([1], ", ")"), ("1[", "]")] {
        assert!(is_refused(&format!("{}1{}", open.repeat(5_000), close.repeat(5_000))), "{open}");
        assert!(is_refused(&open.repeat(5_000)), "{open}");
    }
    for prefix in ["-", "!", "not ", "true ? 1 : ", "let a = 1; ", "2 ** ", "if true {1} else if true {1} else "] {
        assert!(is_refused(&format!("{}1", prefix.repeat(1_500))), "{prefix}");
    }
    for suffix in [".a", "?.a", "[0]", "[1:2]", ".a()", " | len()", " ? 1 : 2"] {
        assert!(is_refused(&format!("result{}", suffix.repeat(2_000))), "{suffix}");
    }
}

#[test]
fn long_flat_expressions_are_fine() {
    let alternatives = vec!["result.list[0] == 9"; 900].join(" or ");
    assert_eq!(run(&alternatives), Ok(Value::Bool(false)));
    assert_eq!(run(&vec!["1"; 4_000].join(" + ")), Ok(Value::Int(4_000)));
}

#[test]
fn what_grows_without_end_is_stopped() {
    for text in [
        "1..9000000000",
        "repeat('x', 999999999)",
        "reduce(1..64, #acc + #acc, 'x')",
        "reduce(1..64, concat(#acc, #acc), [1])",
        "map(1..100000, map(1..100000, #))",
        "reduce(1..100000, [#acc], 0)",
        "reduce(1..100000, ({a: #acc}), 0)",
        "replace(repeat('a', 100000), 'a', repeat('b', 100000))",
        "uniq(1..1000000)",
        "let x = 1..100000; all(x, # in x)",
        "let x = 1..100000; all(1..100000, x == x)",
        "all(1..100000, 'x' not matches string(#))",
        "'x' matches repeat('(a{1000}){1000}', 10)",
    ] {
        let error = run(text).unwrap_err().to_string();
        assert!(
            ["memory budget", "too many steps", "nested deeper", "parsing regexp"]
                .iter()
                .any(|part| error.contains(part)),
            "{text}: {error}"
        );
    }
}

fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "result",
            "result.list",
            "result.text",
            "#",
            "#acc",
            "#index",
            ".a",
            "?.a",
            "[0]",
            "[-1]",
            "[1:2]",
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            ",",
            ":",
            ";",
            "?",
            "??",
            "..",
            "**",
            "|",
            "not",
            "in",
            "and",
            "or",
            "matches",
            "contains",
            "let x =",
            "x",
            "if",
            "else",
            "1",
            "0",
            "-1",
            "1.5",
            "'a'",
            "\"b\"",
            "nil",
            "true",
            "filter(",
            "map(",
            "reduce(",
            "sort(",
            "len(",
            "max(",
            "split(",
            "duration('1h')",
            "now()",
            ".Minutes()",
            "first(",
            "groupBy(",
            "sum(",
            "asInt(",
            "default(",
            "toJSON(",
            "date(",
            "bitshl(",
            "sortBy(",
            "take(",
            "==",
            "<",
            "+",
            "-",
            "*",
            "/",
            "%",
            "9223372036854775807",
            "flatten(",
            "fromPairs(",
            "string(",
            "round("
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(|c| c.to_string()),
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn no_sequence_of_words_panics(text in words()) {
        let _outcome = run(&text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _outcome = run(&text);
    }

    #[test]
    fn what_is_read_gives_the_same_answer_twice(text in words()) {
        let (first, second) = (run(&text), run(&text));
        // NaN is not equal to itself, so the texts are compared.
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }
}
