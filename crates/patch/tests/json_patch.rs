//! JSON patch: the answers of a real API server, RFC 6902 where the two agree, and the bounds.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};
use tidegate_patch::{MAX_OPERATIONS, PatchError, json_patch};

fn recorded() -> Value {
    serde_json::from_str(include_str!("data/json-patch.json")).unwrap()
}

#[test]
fn given_a_recorded_patch_when_applied_then_the_result_is_the_one_of_the_real_server() {
    let recorded = recorded();
    let document = json!({"metadata": {"name": "a"}, "spec": recorded["spec"]});
    let cases = recorded["cases"].as_array().unwrap();
    assert!(cases.len() > 90, "only {} cases", cases.len());
    for case in cases {
        let result = json_patch(&document, &case["patch"]);
        let patch = &case["patch"];
        match case["code"].as_u64().unwrap() {
            200 => {
                let result = result.unwrap_or_else(|error| panic!("{patch}: {error}"));
                assert_eq!(result.get("spec").unwrap_or(&Value::Null), &case["spec"], "{patch}");
            }
            400 => {
                assert_eq!(result, Err(PatchError::Malformed(case["message"].as_str().unwrap().to_owned())), "{patch}");
            }
            _ => assert!(matches!(result, Err(PatchError::Unfitting(_))), "{patch}: {result:?}"),
        }
    }
}

#[test]
fn given_more_operations_than_allowed_then_it_is_too_large() {
    let operation = json!({"op": "test", "path": "/a", "value": 1});
    let document = json!({"a": 1});
    assert_eq!(json_patch(&document, &Value::Array(vec![operation.clone(); MAX_OPERATIONS])), Ok(document.clone()));
    assert_eq!(
        json_patch(&document, &Value::Array(vec![operation; MAX_OPERATIONS + 1])),
        Err(PatchError::TooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001".to_owned()
        ))
    );
}

#[test]
fn given_copies_of_a_million_bytes_then_the_fourth_is_refused() {
    let document = json!({"big": "x".repeat(1_000_000)});
    let copies = |count| Value::Array(vec![json!({"op": "copy", "from": "/big", "path": "/c"}); count]);
    assert!(json_patch(&document, &copies(3)).is_ok());
    assert!(matches!(json_patch(&document, &copies(4)), Err(PatchError::Unfitting(_))));
}

#[test]
fn given_copies_into_themselves_then_the_depth_stays_bounded() {
    let mut operations = Vec::new();
    let mut path = "/a".to_owned();
    for _ in 0..200 {
        operations.push(json!({"op": "copy", "from": "/a", "path": format!("{path}/a")}));
        path.push_str("/a");
    }
    let error = json_patch(&json!({"a": {"a": {}}}), &Value::Array(operations)).unwrap_err();
    assert!(matches!(error, PatchError::Malformed(_)), "{error}");
}

#[test]
fn given_endless_moves_of_a_large_list_then_the_work_is_bounded() {
    let document = json!({"a": vec![0; 100_000]});
    let moves: Vec<Value> = (0..5_000)
        .flat_map(|_| {
            [json!({"op": "move", "from": "/a", "path": "/b"}), json!({"op": "move", "from": "/b", "path": "/a"})]
        })
        .collect();
    assert!(matches!(json_patch(&document, &Value::Array(moves)), Err(PatchError::Unfitting(_))));
}

fn path() -> impl Strategy<Value = String> {
    let step = prop_oneof![Just("/a"), Just("/b"), Just("/l"), Just("/0"), Just("/1"), Just("/-")];
    proptest::collection::vec(step, 1..4).prop_map(|steps| steps.concat())
}

fn operation() -> impl Strategy<Value = Value> {
    let names = prop_oneof![Just("add"), Just("remove"), Just("replace"), Just("move"), Just("copy"), Just("test")];
    (names, path(), path(), any::<u8>())
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
}

proptest! {
    /// The API server is more lenient than the RFC, never stricter.
    #[test]
    fn what_the_rfc_allows_has_the_result_of_the_rfc(operations in proptest::collection::vec(operation(), 0..6)) {
        let document = json!({"a": {"a": 1, "l": [1, {"b": 2}]}, "b": [3, 4], "l": [[5], {"a": 6}]});
        let patch = Value::Array(operations);
        let mut expected = document.clone();
        let rfc: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
        if json_patch::patch_unsafe(&mut expected, &rfc).is_ok() {
            assert_eq!(json_patch(&document, &patch), Ok(expected));
        } else {
            // No panic, and an error leaves nothing behind: the document is only borrowed.
            let _answer = json_patch(&document, &patch);
        }
    }
}
