//! What a template may cost, and where its errors are.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::time::{Duration, Instant};

use jiff::Timestamp;
use proptest::prelude::*;
use tidegate_expr::{Function, Value};
use tidegate_gotemplate::{MAX_OUTPUT, Template};

fn data() -> Value {
    Value::from_json(&serde_json::json!({
        "name": "web", "count": 3, "null": null, "list": ["a", "b"], "map": {"a": {"b": 1}},
        "long": "x".repeat(100_000),
    }))
}

fn render(template: &str) -> Result<String, String> {
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let template = Template::parse("message", template).map_err(|error| error.to_string())?;
    template.render(&data(), now).map_err(|error| error.to_string())
}

#[test]
fn errors_name_the_template_the_line_and_the_column() {
    let table = [
        ("{{if}}", "template: message:1:1: missing value for command"),
        ("a\nü{{ .name | nope }}", "template: message:2:13: function \"nope\" not defined"),
        ("a\n{{ .null.x }}", "template: message:2:4: nil pointer evaluating interface {}.x"),
        ("{{ range .list }}", "template: message:1:1: {{range}} has no {{end}}"),
        ("x{{ .name", "template: message:1:2: unclosed action"),
        ("{{ $x }}", "template: message:1:4: undefined variable \"$x\""),
        (
            "{{ upper .count }}",
            "template: message:1:4: error calling upper: wrong type for value; expected string; got float64",
        ),
    ];
    for (template, wanted) in table {
        assert_eq!(render(template), Err(wanted.to_owned()), "{template}");
    }
}

#[test]
fn time_is_what_the_caller_says_and_may_be_a_variable() {
    assert_eq!(render(r#"{{ now | date "2006-01-02T15:04" }}"#).unwrap(), "2026-03-01T12:00");
    assert_eq!(render(r#"{{ ago (toDate "2006-01-02" "2026-03-01") }}"#).unwrap(), "12h0m0s");
    let functions = [("Now", Function::TimeNow), ("Parse", Function::TimeParse)];
    let functions = functions.map(|(name, function)| (name.to_owned(), Value::Function(function)));
    let time = Value::Map(std::sync::Arc::new(functions.into_iter().collect()));
    let data = Value::Map(std::sync::Arc::new([("time".to_owned(), time)].into_iter().collect()));
    let write = |text: &str| Template::parse("t", text).unwrap().render(&data, Timestamp::UNIX_EPOCH);
    assert_eq!(write(r#"{{ (call .time.Now).Year }}"#).unwrap(), "1970");
    assert_eq!(write(r#"{{ (call .time.Parse "2026-03-01T12:00:00Z").Format "15:04" }}"#).unwrap(), "12:00");
    assert!(write(r#"{{ (call .time.Parse "soon").Year }}"#).is_err());
}

#[test]
fn everything_a_template_does_has_an_end() {
    let nested = "{{if 1}}".repeat(500) + &"{{end}}".repeat(500);
    let parentheses = format!("{{{{{}1{}}}}}", "(".repeat(500), ")".repeat(500));
    let many = format!("{{{{print{}}}}}", " .".repeat(100_000));
    let table = [
        r#"{{ repeat 1000000000 "x" }}"#,
        r#"{{ indent 1000000000 "x" }}"#,
        r#"{{ printf "%99999999999d" 1 | repeat 100000 }}"#,
        r#"{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}x{{ end }}{{ end }}{{ end }}"#,
        r#"{{ range until 100000 }}{{ $.long }}{{ end }}"#,
        r#"{{ until 1000000000 }}"#,
        r#"{{ range 1000000000 }}{{ end }}"#,
        r#"{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}"#,
        r#"{{ $x := list }}{{ range until 100000 }}{{ $x = list $x }}{{ end }}"#,
        r#"{{ $x := list 1 }}{{ range until 100000 }}{{ $x = concat $x $x }}{{ end }}"#,
        r#"{{ $x := "a" }}{{ range until 100000 }}{{ $x = print $x $x }}{{ end }}"#,
        r#"{{ range until 100000 }}{{ regexMatch "(a*)*b" $.long }}{{ end }}"#,
        r#"{{ range until 100000 }}{{ $x := toJson $ }}{{ end }}"#,
        nested.as_str(),
        parentheses.as_str(),
        many.as_str(),
    ];
    for template in table {
        let begin = Instant::now();
        let outcome = render(template);
        assert!(outcome.is_err(), "{}", &template[..template.len().min(80)]);
        assert!(begin.elapsed() < Duration::from_secs(20), "{template} took {:?}", begin.elapsed());
    }
    let most = format!("{{{{ repeat {MAX_OUTPUT} \"x\" }}}}");
    assert_eq!(render(&most).unwrap().len(), MAX_OUTPUT);
}

/// Pieces that make templates more often than chance does.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,6}",
        prop::sample::select(vec![
            "{{",
            "}}",
            "{{-",
            "-}}",
            " ",
            "if",
            "else",
            "end",
            "range",
            "with",
            "define",
            "template",
            "block",
            "break",
            ".",
            ".name",
            ".list",
            ".map.a.b",
            "$",
            "$x",
            ":=",
            "=",
            ",",
            "|",
            "(",
            ")",
            "\"a\"",
            "`b`",
            "'c'",
            "1",
            "1.5",
            "-2",
            "0x",
            "printf",
            "\"%*.*f %q\"",
            "index",
            "slice",
            "upper",
            "trunc",
            "substr",
            "-9223372036854775808",
            "div",
            "mod",
            "dict",
            "dig",
            "splitn",
            "regexFindAll",
            "round",
            "untilStep",
            "{{end}}",
            "{{if .list}}",
            "{{range .list}}",
            "/*",
            "*/",
            "ü",
            "\\",
            "nil",
            "call",
            "date",
            "now",
            "dateModify",
            "toDate",
            "durationRound",
            "abbrev",
            "wrap",
            "chunk",
            "join",
            "fromJson",
            "merge",
            "set",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(pieces in prop::collection::vec(piece(), 0..24), spaced in any::<bool>()) {
        let text = pieces.join(if spaced { " " } else { "" });
        if let Ok(written) = render(&text) {
            prop_assert!(written.len() <= MAX_OUTPUT);
        }
    }

    #[test]
    fn no_call_makes_it_panic(
        name in prop::sample::select(vec![
            "printf", "index", "slice", "trunc", "substr", "div", "mod", "round", "until", "untilStep", "seq", "repeat", "abbrev", "wrap",
            "splitn", "regexFindAll", "regexSplit", "chunk", "dateModify", "date", "durationRound", "duration", "indent", "add", "mul",
            "plural", "dig", "get", "ternary", "has", "replace", "toDate", "ago", "unixEpoch", "first", "initial", "b64dec", "atoi",
        ]),
        given in prop::collection::vec(
            prop_oneof![
                Just("9223372036854775807".to_owned()),
                Just("-9223372036854775808".to_owned()),
                Just("0".to_owned()),
                Just("3".to_owned()),
                Just("1e300".to_owned()),
                Just("\"ü€x\"".to_owned()),
                Just("\"\"".to_owned()),
                Just("\"-9223372036h\"".to_owned()),
                Just(".".to_owned()),
                Just(".list".to_owned()),
                Just(".missing".to_owned()),
                Just("now".to_owned()),
                Just("(list)".to_owned()),
                Just("\"%[1]d %-010.3f %x\"".to_owned()),
            ],
            0..5,
        ),
    ) {
        let text = format!("{{{{ {name} {} }}}}", given.join(" "));
        drop(render(&text));
    }
}
