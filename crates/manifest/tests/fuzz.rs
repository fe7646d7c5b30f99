//! No bytes make a reader, the validation or a hash panic.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof};
use proptest::sample::Index;
use proptest::{prop_assert, proptest};
use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_hash::{pod_template_hash, step_hash_value};
use tidegate_manifest::{Document, DuplicateKeys, Source};

const YAML: &str = include_str!("good/canary.yaml");
const JSON: &str = include_str!("good/canary.json");

/// Reads, decodes, validates and hashes; returns how many documents came through.
fn exercise(bytes: &[u8]) -> Result<usize, String> {
    let mut decoded = 0;
    for duplicate_keys in [DuplicateKeys::Refuse, DuplicateKeys::LastWins] {
        for document in Source::new("fuzz.yaml", bytes).documents(duplicate_keys) {
            match document {
                Ok(document) => decoded += usize::from(exercise_document(&document)?),
                Err(errors) => check_message(&errors.to_string())?,
            }
        }
    }
    Ok(decoded)
}

fn exercise_document(document: &Document) -> Result<bool, String> {
    if let Err(errors) = document.decode_object() {
        check_message(&errors.to_string())?;
    }
    hash(document.value());
    let rollout = match document.decode_lenient::<Rollout>() {
        Ok(rollout) => rollout,
        Err(errors) => return check_message(&errors.to_string()).map(|()| false),
    };
    for error in tidegate_validate::spec::check(&rollout, None) {
        if error.to_string().is_empty() {
            return Err("an empty validation error".to_owned());
        }
    }
    if let Some(template) = &rollout.spec.template {
        // Decoding has checked the template, so that it must have a hash.
        pod_template_hash(template.as_raw_value(), None).map_err(|error| error.to_string())?;
    }
    Ok(true)
}

fn hash(value: &Value) {
    // Whether there is a hash does not matter here; that asking does not panic does.
    let _ = step_hash_value(&value["spec"]["strategy"]["canary"]["steps"]);
    let _ = tidegate_hash::pod_template_hash_value(&value["spec"]["template"], Some(1));
}

fn check_message(message: &str) -> Result<(), String> {
    if message.starts_with("fuzz.yaml") { Ok(()) } else { Err(format!("does not name the file: {message}")) }
}

/// One change of some bytes.
#[derive(Clone, Debug)]
enum Edit {
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Delete(Index, u8),
    Copy(Index, Index, u8),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let bits = |text: &'static str| proptest::sample::select(text.split(' ').collect::<Vec<_>>());
    let inserted = prop_oneof![
        vec(any::<u8>(), 1..4),
        bits("--- ... : - [ ] { } & * & a *a <<: ! | > ' \" # %").prop_map(|text| text.as_bytes().to_vec()),
        bits("null true 1e999 .nan 0x7f -1 99999999999999999999 1.5 \\u0000 \u{feff}")
            .prop_map(|text| text.as_bytes().to_vec()),
        bits("\n \t \n--- \n\n \r").prop_map(|text| text.as_bytes().to_vec()),
    ];
    let edit = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Flip(at, byte)),
        (any::<Index>(), inserted).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, count)| Edit::Delete(at, count)),
        (any::<Index>(), any::<Index>(), any::<u8>()).prop_map(|(from, to, count)| Edit::Copy(from, to, count)),
    ];
    vec(edit, 1..5)
}

fn apply(text: &str, edits: &[Edit]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for edit in edits {
        if bytes.is_empty() {
            return bytes;
        }
        let span = |at: &Index, count: u8, bytes: &[u8]| {
            let start = at.index(bytes.len());
            start..(start + usize::from(count % 40)).min(bytes.len())
        };
        match edit {
            Edit::Flip(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Edit::Insert(at, inserted) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, inserted.iter().copied());
            }
            Edit::Delete(at, count) => {
                bytes.drain(span(at, *count, &bytes));
            }
            Edit::Copy(from, to, count) => {
                let copied = bytes[span(from, *count, &bytes)].to_vec();
                let to = to.index(bytes.len());
                bytes.splice(to..to, copied);
            }
        }
    }
    bytes
}

/// Puts `new` in place of some node of the tree.
fn replace(tree: &mut Value, at: Index, new: Value) {
    let pointers = pointers(tree, "");
    if let Some(place) = tree.pointer_mut(&pointers[at.index(pointers.len())]) {
        *place = new;
    }
}

fn pointers(tree: &Value, prefix: &str) -> Vec<String> {
    let mut found = vec![prefix.to_owned()];
    match tree {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                found.extend(pointers(value, &format!("{prefix}/{name}")));
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                found.extend(pointers(value, &format!("{prefix}/{index}")));
            }
        }
        _ => {}
    }
    found
}

fn odd_value() -> impl Strategy<Value = Value> {
    let texts = ["", "x", "10%", "-1", "1Gi", "99999999999999999999m", "{{args.x}}", "\u{0}", "2020-01-01T00:00:00Z"];
    prop_oneof![
        proptest::sample::select(vec![
            json!(null),
            json!(true),
            json!({}),
            json!([]),
            json!([null]),
            json!({"": null}),
            json!([[[]]]),
            json!({"spec": {"spec": 1}}),
        ]),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        proptest::sample::select(texts.to_vec()).prop_map(Value::from),
    ]
}

#[test]
fn the_manifests_that_are_mutated_come_through_unchanged() {
    assert_eq!(exercise(YAML.as_bytes()), Ok(2));
    assert_eq!(exercise(JSON.as_bytes()), Ok(2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn raw_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        let outcome = exercise(&bytes);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    #[test]
    fn texts_of_yaml_signs_never_panic(text in "[-a-c:\\[\\]{}&*!|>'\"#%,?<=~ \n\t0-9.]{0,120}") {
        let outcome = exercise(text.as_bytes());
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    #[test]
    fn mutated_yaml_never_panics(edits in edits()) {
        let outcome = exercise(&apply(YAML, &edits));
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    #[test]
    fn mutated_json_never_panics(edits in edits()) {
        let outcome = exercise(&apply(JSON, &edits));
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    #[test]
    fn replaced_nodes_never_panic(changes in vec((any::<Index>(), odd_value()), 1..4)) {
        let mut tree: Value = serde_json::from_str(JSON).unwrap();
        for (at, new) in changes {
            replace(&mut tree, at, new);
        }
        let outcome = exercise(tree.to_string().as_bytes());
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }
}
