//! The answers of a real API server, recorded in `tests/data/`, are ours too.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use serde_json::{Map, Value, json};
use tidegate_structural::{Cause, Schema};

/// What the API server does with an object: prune, default, validate.
fn process(schema: &Schema, object: &Value, old: Option<&Value>) -> Result<Value, Vec<Cause>> {
    let mut object = object.clone();
    schema.prune(&mut object);
    schema.default(&mut object);
    let causes = schema.validate(&object, old);
    if causes.is_empty() { Ok(object) } else { Err(causes) }
}

/// Numbers of JSON have no types: 1.0 is stored as 1.
fn normal(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(key, value)| (key.clone(), normal(value))).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The API server walks members in no order, so causes are compared sorted.
fn sorted(causes: impl Iterator<Item = [String; 3]>) -> Vec<[String; 3]> {
    let mut causes: Vec<[String; 3]> = causes.collect();
    causes.sort();
    causes
}

fn check(text: &str, at_least: usize) {
    let recorded: Value = serde_json::from_str(text).unwrap();
    let schema = Schema::read(&recorded["schema"]).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    for case in cases {
        let result = process(&schema, &case["object"], case.get("old"));
        match (result, case.get("causes")) {
            (Ok(result), None) => assert_eq!(normal(&result), normal(&case["result"]), "{}", case["object"]),
            (Err(causes), Some(expected)) => {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let expected = sorted(
                    expected
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|cause| [text(&cause[0]), text(&cause[1]), text(&cause[2])]),
                );
                let causes = sorted(causes.into_iter().map(|cause| [cause.field, cause.reason, cause.message]));
                assert_eq!(causes, expected, "{}", case["object"]);
            }
            (Ok(_), Some(expected)) => panic!("{} must be refused: {expected}", case["object"]),
            (Err(causes), None) => panic!("{} must be accepted: {causes:?}", case["object"]),
        }
    }
}

#[test]
fn given_one_wrong_value_then_the_causes_are_the_recorded_ones() {
    check(include_str!("data/values.json"), 190);
}

#[test]
fn given_alternatives_and_combinations_then_the_causes_are_the_recorded_ones() {
    check(include_str!("data/values-more.json"), 40);
}

#[test]
fn given_unknown_and_absent_fields_then_pruning_and_defaults_are_the_recorded_ones() {
    check(include_str!("data/defaults.json"), 15);
}

#[test]
fn given_rules_and_transitions_then_the_causes_are_the_recorded_ones() {
    check(include_str!("data/rules.json"), 25);
}

#[test]
fn given_other_errors_then_rules_are_skipped_as_recorded() {
    check(include_str!("data/rules-blocked.json"), 15);
}

#[test]
fn given_a_rule_per_feature_of_the_language_then_the_results_are_the_recorded_ones() {
    check(include_str!("data/rules-language.json"), 2);
}

/// Causes come in a fixed order: types, alternatives, text, format, numbers, elements, values, members.
#[test]
fn given_several_errors_of_one_value_then_they_come_in_the_recorded_order() {
    let recorded: Value = serde_json::from_str(include_str!("data/values-more.json")).unwrap();
    let schema = Schema::read(&recorded["schema"]).unwrap();
    let mut compared = 0;
    for case in recorded["cases"].as_array().unwrap() {
        let Some(expected) = case.get("causes") else { continue };
        let causes = process(&schema, &case["object"], None).unwrap_err();
        let messages: Vec<&str> = causes.iter().map(|cause| cause.message.as_str()).collect();
        let expected: Vec<&str> = expected.as_array().unwrap().iter().map(|cause| cause[2].as_str().unwrap()).collect();
        assert_eq!(messages, expected, "{}", case["object"]);
        compared += 1;
    }
    assert!(compared > 20);
}

/// Tried on a real API server: the schema was tightened under an object that it then no longer allowed.
#[test]
fn given_an_old_object_that_is_wrong_then_only_what_changes_must_be_right() {
    let word = json!({"type": "string", "pattern": "^[a-z]+$"});
    let schema = Schema::read(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string", "pattern": "^[a-z]+$",
            "x-kubernetes-validations": [{"rule": "self == 'z'", "message": "celz"}]},
        "b": {"type": "string"},
        "o": {"type": "object", "required": ["y"], "properties": {"x": word, "y": {"type": "string"}}},
        "l": {"type": "array", "maxItems": 1, "items": word},
        "m": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": word}}}
    }}}}))
    .unwrap();
    let old = json!({"spec": {"a": "A", "b": "b", "o": {"x": "X"}, "l": ["A", "b"],
        "m": [{"k": "1", "v": "A"}, {"k": "2", "v": "b"}]}});
    let blocked = "<nil>";
    for (field, value, expected) in [
        ("b", json!("c"), &[][..]),
        ("a", json!("B"), &["spec.a", "spec.a"]),
        ("o", json!({"x": "X", "y": "1"}), &[]),
        ("o", json!({"x": "Y"}), &["spec.o.x", "spec.o.y", blocked]),
        ("l", json!(["A", "c"]), &["spec.l[0]", "spec.l", blocked]),
        ("l", json!(["A"]), &["spec.l[0]"]),
        ("m", json!([{"k": "2", "v": "c"}, {"k": "1", "v": "A"}]), &[]),
        ("m", json!([{"k": "1", "v": "B"}]), &["spec.m[0].v"]),
    ] {
        let mut new = old.clone();
        new["spec"][field] = value;
        let causes = schema.validate(&new, Some(&old));
        let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!(fields, expected, "{new}");
    }
    assert_eq!(schema.validate(&old, Some(&old)), []);
    assert_eq!(schema.validate(&old, None).len(), 7);
}
