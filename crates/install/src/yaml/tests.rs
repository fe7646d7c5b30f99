//! What the writer writes, and that a reader gets back what was written.

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::document;
use crate::tree::{Tree, list, map};

fn read(text: &str) -> serde_json::Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn assert_round_trip(tree: &Tree) {
    let written = document(tree);
    assert_eq!(read(&written), tree.to_json(), "written as:\n{written}");
}

#[test]
fn an_object_is_written_as_kubectl_prints_it() {
    let object = map! {
        "kind" => "Role",
        "rules" => list![map! { "apiGroups" => list!["", "apps"], "count" => 2 }, map! {}],
        "metadata" => map! { "labels" => map! { "on" => "yes" }, "empty" => list![] },
        "nested" => list![list!["a", "b"], list![]],
        "text" => "first\n  second\n\nlast\n",
        "done" => true,
    };

    let expected = "\
kind: Role
rules:
- apiGroups:
  - \"\"
  - apps
  count: 2
- {}
metadata:
  labels:
    \"on\": \"yes\"
  empty: []
nested:
- - a
  - b
- []
text: |
  first
    second

  last
done: true
";
    assert_eq!(document(&object), expected);
    assert_round_trip(&object);
}

#[test]
fn text_that_some_reader_takes_for_something_else_is_quoted() {
    let mistakable = [
        "",
        "y",
        "N",
        "yes",
        "No",
        "ON",
        "off",
        "true",
        "False",
        "null",
        "Null",
        "~",
        "1",
        "-1",
        "+1",
        "0x1f",
        "0o7",
        "1e3",
        "1_000",
        "1.5",
        ".5",
        "-.5",
        ".inf",
        "-.INF",
        ".NaN",
        "1:30",
        "2026-01-02",
        "2026-01-02T03:04:05Z",
        "<<",
        "=",
        "- a",
        "-",
        "--- a",
        "...",
        "? a",
        ": a",
        "a: b",
        "a #b",
        "a:",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "'a'",
        "\"a\"",
        "%a",
        "@a",
        "`a",
        "[a]",
        "{a}",
        ", a",
        " a",
        "a ",
        "\ta",
        "ä",
        "a\u{85}b",
        "\u{feff}a",
        "a\rb",
    ];
    for text in mistakable {
        let written = document(&map! { "key" => text });
        assert!(written.starts_with("key: \""), "{text:?} is written as {written}");
        assert_round_trip(&map! { text => text, "list" => list![text] });
    }
}

#[test]
fn ordinary_text_stays_unquoted() {
    for text in
        ["Rollout", "argoproj.io/v1alpha1", ".spec.replicas", "/healthz", "a:b", "a#b", "such as 30s, or {{x}}", "nope"]
    {
        assert_eq!(document(&map! { "key" => text }), format!("key: {text}\n"));
    }
}

#[test]
fn several_lines_become_a_block_only_if_it_gives_them_back() {
    for (text, block) in [
        ("a\nb\n", true),
        ("a\nb", true),
        ("--- a\n...\n", true),
        ("a\n\n  b\n", true),
        ("a\n\n", false),
        ("\na\n", false),
        (" a\nb\n", false),
        ("a \nb\n", false),
        ("a\n \nb\n", false),
        ("a\n\tb\n", false),
        ("a\r\nb\r\n", false),
    ] {
        let tree = map! { "key" => text, "next" => list![text, map! { "deep" => text }] };
        assert_eq!(document(&tree).starts_with("key: |"), block, "{text:?}");
        assert_round_trip(&tree);
        assert_round_trip(&Tree::from(text));
    }
}

/// Text made mostly of what matters to YAML.
fn tricky_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[-#:?,&*!|>'\"%@`{}\\[\\] \n\t.~=<0-9yYnNoOfFeExX_+]{1,6}",
        "(yes|no|on|off|true|false|null|2026-01-02|\\.inf|---|\\.\\.\\.)",
        "[a-z]{0,4}",
        "\\PC{0,4}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Tree::Bool),
        any::<i64>().prop_map(Tree::Number),
        tricky_text().prop_map(Tree::Text),
        Just(Tree::List(Vec::new())),
        Just(Tree::Map(Vec::new())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Tree::List),
            proptest::collection::btree_map(tricky_text(), inner, 0..4)
                .prop_map(|entries| Tree::Map(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_back_unchanged(text in tricky_text()) {
        assert_round_trip(&Tree::from(text.as_str()));
        assert_round_trip(&map! { text.as_str() => text.as_str() });
        assert_round_trip(&list![list![text.as_str()], map! { "key" => text.as_str() }]);
    }

    #[test]
    fn any_tree_is_read_back_unchanged(tree in any_tree()) {
        assert_round_trip(&tree);
    }
}
