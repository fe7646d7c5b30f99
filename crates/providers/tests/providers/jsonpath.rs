//! Kubernetes documentation, "JSONPath Support", and the dialect's errors.

use proptest::prelude::{Strategy, prop, proptest};
use serde_json::{Value, json};
use tidegate_providers::jsonpath::JsonPath;

fn find(path: &str) -> Result<Vec<Value>, String> {
    let json = json!({
        "kind": "List",
        "items": [
            {"kind": "None", "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "127.0.0.1"}},
             "status": {"capacity": {"cpu": "4"}, "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.1"}]}},
            {"kind": "None", "metadata": {"name": "127.0.0.2"},
             "status": {"capacity": {"cpu": "8"}, "addresses": [
                {"type": "LegacyHostIP", "address": "127.0.0.2"}, {"type": "another", "address": "127.0.0.3"}]}},
        ],
        "users": [{"name": "myself", "user": {}, "n": 3}, {"name": "e2e", "user": {"username": "admin", "password": "secret"}, "n": 5}],
        "numbers": [0, 1, 2, 3, 4], "flag": true, "nothing": null,
    });
    JsonPath::parse(path).and_then(|path| path.find(&json)).map_err(|error| error.to_string())
}

#[test]
fn the_examples_of_the_documentation_find_what_it_says() {
    let table = [
        ("{.kind}", json!(["List"])),
        ("{$.kind}", json!(["List"])),
        ("{['kind']}", json!(["List"])),
        ("{..name}", json!(["127.0.0.1", "127.0.0.2", "myself", "e2e"])),
        ("{.items[*].metadata.name}", json!(["127.0.0.1", "127.0.0.2"])),
        ("{.users[0].name}", json!(["myself"])),
        (r#"{.users[?(@.name=="e2e")].user.password}"#, json!(["secret"])),
        (r"{.items[0].metadata.labels.kubernetes\.io/hostname}", json!(["127.0.0.1"])),
        ("{.items[*]['metadata.name', 'kind']}", json!(null)),
        (
            "{range .items[*]}[{.metadata.name}, {.status.capacity.cpu}] {end}",
            json!(["[", "127.0.0.1", ", ", "4", "] ", "[", "127.0.0.2", ", ", "8", "] "]),
        ),
        ("{range .items[*]}{.metadata.name}{\"\\t\"}{end}", json!(["127.0.0.1", "\t", "127.0.0.2", "\t"])),
        ("{.items[-1:].kind}", json!(["None"])),
    ];
    for (path, wanted) in table {
        match wanted {
            Value::Null => assert!(find(path).is_err(), "{path}"),
            wanted => assert_eq!(find(path).map(Value::Array), Ok(wanted), "{path}"),
        }
    }
}

#[test]
fn items_slices_unions_and_filters_are_chosen() {
    let table = [
        ("{.numbers[0]}", json!([0])),
        ("{.numbers[-1]}", json!([4])),
        ("{.numbers[1:3]}", json!([1, 2])),
        ("{.numbers[::2]}", json!([0, 2, 4])),
        ("{.numbers[0,2]}", json!([0, 2])),
        ("{.numbers[*]}", json!([0, 1, 2, 3, 4])),
        ("{.numbers[?(@>3.0)]}", json!([4])),
        ("{.users[?(@.n>=5.0)].name}", json!(["e2e"])),
        ("{.users[?(@.n<4.5)].name}", json!(["myself"])),
        ("{.users[?(@.user.username)].name}", json!(["e2e"])),
        ("{.users[?(@.name!='e2e')].name}", json!(["myself"])),
        ("{.items[0].metadata.*}", json!([{"kubernetes.io/hostname": "127.0.0.1"}, "127.0.0.1"])),
        ("{.nothing}", json!([null])),
        ("{.nothing.deeper}", json!([])),
        ("{'text'}", json!(["text"])),
        ("{@.flag}", json!([true])),
        ("a{.flag}b", json!(["a", true, "b"])),
    ];
    for (path, wanted) in table {
        assert_eq!(find(path).map(Value::Array), Ok(wanted), "{path}");
    }
}

#[test]
fn what_is_wrong_is_told_in_known_words() {
    let table = [
        ("{.nope}", "nope is not found"),
        ("{.numbers[9]}", "array index out of bounds: index 9, length 5"),
        ("{.kind[0]}", "string is not array or slice"),
        ("{items}", "unrecognized identifier items"),
        ("{.a", "unclosed action"),
        ("{.a[0}", "unterminated array"),
        ("{.a[?(@.x}", "unterminated filter"),
        ("{.a[x]}", "invalid array index x"),
        ("{.a;}", "a; is not found"),
        ("{.users[?(@.n==3)]}", "incompatible types for comparison"),
        ("{end}", "not in range, nothing to end"),
        ("{range .items[*]}", "unclosed range"),
        ("{.a)}", "unrecognized character in action: U+0029 ')'"),
    ];
    for (path, error) in table {
        assert_eq!(find(path), Err(error.to_owned()), "{path}");
    }
}

#[test]
fn no_path_walks_a_document_over_and_over() {
    let path = format!("{{{}}}", "..".repeat(2_000));
    let error = find(&path).unwrap_err();
    assert_eq!(error, "the path looks at too many values");
    let filters = format!("{{.users[{}*]}}", "?(@".repeat(40));
    assert!(find(&filters).is_err());
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "?(",
        ")",
        "@",
        "$",
        ".",
        "..",
        "*",
        "name",
        "users",
        "items",
        "numbers",
        "0",
        "-1",
        ":",
        ",",
        "'",
        "\"",
        "\\",
        "==",
        "<",
        "3.0",
        "range ",
        "end",
        " ",
        "{.users[*]}",
        "{..name}",
        "ü",
    ]);
    prop::collection::vec(word, 0..25).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_path_panics(path in words()) {
        assert_eq!(find(&path), find(&path));
    }
}
