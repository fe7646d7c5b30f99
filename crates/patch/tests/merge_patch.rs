//! Merge patch: the examples of the RFC, the answers of a real API server, and diffs.

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Map, Value, json};
use tidegate_patch::{PatchError, check_merge_patch, merge_patch};

#[test]
fn given_an_example_of_the_rfc_then_the_result_is_as_stated_there() {
    for (document, patch, expected) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), json!(null), json!(null)),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ] {
        assert_eq!(merge_patch(&document, &patch), expected, "{document} {patch}");
    }
}

#[test]
fn given_a_patch_tried_on_a_real_server_then_the_result_is_the_same() {
    let document = json!({"l": [1, 2, 3], "n": 1, "nul": null, "o": {"a": {"b": "c"}}});
    for (patch, expected) in [
        (
            json!({"n": null, "new": {"a": null, "b": {"c": null}}, "l": [null, {"x": null}]}),
            json!({"l": [null, {}], "new": {"b": {}}, "nul": null, "o": {"a": {"b": "c"}}}),
        ),
        (json!({"n": {"a": null}}), json!({"l": [1, 2, 3], "n": {}, "nul": null, "o": {"a": {"b": "c"}}})),
        (
            json!({"q": [[{"x": null}], {"y": {"z": null}}]}),
            json!({"l": [1, 2, 3], "n": 1, "nul": null, "o": {"a": {"b": "c"}}, "q": [[{}], {"y": {}}]}),
        ),
        (
            json!({"nul": {"z": null, "k": 1}, "l": {"z": null, "k": 1}}),
            json!({"l": {"k": 1}, "n": 1, "nul": {"k": 1}, "o": {"a": {"b": "c"}}}),
        ),
    ] {
        assert_eq!(merge_patch(&document, &patch), expected, "{patch}");
    }
}

#[test]
fn given_a_patch_that_is_no_object_then_the_message_is_the_real_one() {
    for (patch, message) in [
        (
            json!([1]),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            json!("x"),
            "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
        ),
        (json!(3), "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (json!(null), "Invalid JSON Patch"),
    ] {
        assert_eq!(check_merge_patch(&patch), Err(PatchError::Malformed(message.to_owned())));
    }
    assert_eq!(check_merge_patch(&json!({"a": 1})), Ok(()));
}

/// Values without null members: a merge patch cannot express those.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![any::<i32>().prop_map(Value::from), "[a-c]{0,2}".prop_map(Value::from), Just(json!(true))];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn diff(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in to {
        match from.get(key) {
            Some(old) if old == value => {}
            // An object in place of something else starts empty, so the whole of it is the patch.
            Some(old) => {
                patch.insert(key.clone(), diff(old, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

proptest! {
    #[test]
    fn the_patch_of_a_difference_reproduces_the_target(from in value(), to in value()) {
        assert_eq!(merge_patch(&from, &diff(&from, &to)), to);
    }

    #[test]
    fn a_patch_applied_twice_changes_nothing_more(from in value(), patch in value()) {
        let once = merge_patch(&from, &patch);
        assert_eq!(merge_patch(&once, &patch), once);
    }
}
