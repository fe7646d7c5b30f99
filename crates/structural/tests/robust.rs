//! Nothing panics: not on any schema, not on any object, not on any rule.

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use serde_json::{Map, Value, json};
use tidegate_structural::Schema;

const KEYWORDS: [&str; 40] = [
    "type",
    "properties",
    "items",
    "additionalProperties",
    "required",
    "default",
    "nullable",
    "enum",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "x-kubernetes-validations",
    "rule",
    "message",
    "messageExpression",
    "fieldPath",
    "reason",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "spec",
    "a",
    "metadata",
    "apiVersion",
    "kind",
];

const TEXTS: [&str; 24] = [
    "object",
    "array",
    "string",
    "integer",
    "number",
    "boolean",
    "int32",
    "date-time",
    "duration",
    "map",
    "set",
    "a",
    "é",
    "^a$",
    "[",
    "self == oldSelf",
    "self.a > 1",
    "self.all(x, x == self)",
    "has(self.a) && self.a / 0 == 1",
    ".a",
    "2020-01-01T00:00:00Z",
    "",
    "self[0] + self",
    "size(self) % 0 == 1",
];

/// JSON made of the words of schemas.
fn wild() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u64..4).prop_map(Value::from),
        proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(&KEYWORDS[..]), inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
            }),
        ]
    })
}

/// A schema that is structural in its bones, with anything hung on them.
fn schema() -> impl Strategy<Value = Value> {
    let kinds = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer", "format": "int32"})),
        Just(json!({"type": "number"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
    ];
    let decorated = (kinds, proptest::collection::vec((proptest::sample::select(&KEYWORDS[5..]), wild()), 0..2))
        .prop_map(|(mut schema, extra)| {
            for (key, value) in extra {
                schema[key] = value;
            }
            schema
        });
    let nested = decorated.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items, "x-kubernetes-list-type": "set"})),
            inner.clone().prop_map(|value| json!({"type": "object", "additionalProperties": value})),
            (inner.clone(), inner, proptest::sample::select(&TEXTS[..])).prop_map(|(a, spec, rule)| {
                json!({"type": "object", "properties": {"a": a, "spec": spec},
                    "x-kubernetes-validations": [{"rule": rule}]})
            }),
        ]
    });
    nested.prop_map(|spec| json!({"type": "object", "properties": {"spec": spec}}))
}

fn exercise(schema: &Value, object: &Value, old: &Value) {
    let Ok(schema) = Schema::read(schema) else { return };
    let mut object = object.clone();
    schema.prune(&mut object);
    schema.default(&mut object);
    let once = object.clone();
    schema.prune(&mut object);
    schema.default(&mut object);
    assert_eq!(once, object, "pruning and defaults are done after one time");
    let causes = schema.validate(&object, Some(old));
    assert!(causes.iter().all(|cause| !cause.message.is_empty() && cause.reason.starts_with("FieldValue")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_json_as_schema_and_object_makes_it_panic(schema in wild(), object in wild(), old in wild()) {
        exercise(&schema, &object, &old);
    }

    #[test]
    fn no_object_makes_a_schema_panic(schema in schema(), spec in wild(), old in wild()) {
        exercise(&schema, &json!({"spec": spec}), &json!({"spec": old}));
    }

    #[test]
    fn no_text_as_rule_makes_it_panic(rule in "[a-z0-9 .()\\[\\]{}!&|=<>+*/%?:,'\"\\\\é-]{0,40}") {
        let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}]});
        exercise(&schema, &json!({"a": 1}), &json!({}));
    }
}

#[test]
fn given_a_rule_that_takes_too_long_then_it_is_stopped_and_does_not_pass() {
    let schema = Schema::read(&json!({"type": "object", "properties": {"l": {
        "type": "array", "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", "message": "m"}]
    }}}))
    .unwrap();
    let causes = schema.validate(&json!({"l": vec![1; 1_000]}), None);
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].message, "Invalid value: \"array\": call cost exceeds limit for rule: m");
    assert_eq!(schema.validate(&json!({"l": vec![1; 10]}), None), []);
}
