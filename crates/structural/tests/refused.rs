//! Schemas and rules that cannot be used are refused when they are read.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use serde_json::{Value, json};
use tidegate_structural::{MAX_DEPTH, Schema};

fn error(schema: &Value) -> String {
    Schema::read(schema).map(drop).unwrap_err().to_string()
}

/// Tried on a real API server, which says the same (its path starts with `spec.validation`).
#[test]
fn given_a_schema_that_is_not_structural_then_the_problem_is_named_as_the_real_server_does() {
    for (spec, expected) in [
        (json!({}), "properties[spec].type: Required value: must not be empty for specified object fields"),
        (json!({"type": "array"}), "properties[spec].items: Required value: must be specified"),
        (
            json!({"type": "bogus"}),
            "properties[spec].type: Unsupported value: \"bogus\": supported values: \"array\", \"boolean\", \
             \"integer\", \"number\", \"object\", \"string\"",
        ),
        (
            json!({"type": "integer", "default": "x"}),
            "properties[spec].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
        ),
        (json!({"$ref": "#/a"}), "properties[spec].$ref: Forbidden: $ref is not supported"),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
            "properties[spec].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity \
             becomes quadratic",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}),
            "properties[spec].x-kubernetes-list-map-keys: Required value: must not be empty if \
             x-kubernetes-list-type is map",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "bogus", "items": {"type": "object"}}),
            "properties[spec].x-kubernetes-list-type: Unsupported value: \"bogus\": supported values: \"atomic\", \
             \"set\", \"map\"",
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true}),
            "properties[spec].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true \
             without x-kubernetes-preserve-unknown-fields",
        ),
    ] {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        assert_eq!(error(&schema), format!("openAPIV3Schema.{expected}"));
    }
    assert_eq!(error(&json!({})), "openAPIV3Schema.type: Required value: must not be empty at the root");
    assert_eq!(
        error(&json!({"type": "string"})),
        "openAPIV3Schema.type: Invalid value: \"string\": must be object at the root"
    );
}

fn with_rule(rule: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "properties": {
            "a": {"type": "string"}, "n": {"type": "integer"}, "d": {"type": "number"},
            "l": {"type": "array", "items": {"type": "string"}}, "p": {"x-kubernetes-preserve-unknown-fields": true},
            "ios": {"x-kubernetes-int-or-string": true}, "t": {"type": "string", "format": "date-time"},
            "m": {"type": "object", "additionalProperties": {"type": "string"}}, "namespace": {"type": "string"},
            "x-y": {"type": "string"}
        },
        "x-kubernetes-validations": [rule]
    }}})
}

#[test]
fn given_a_rule_that_the_real_server_accepts_and_we_can_evaluate_then_it_is_read() {
    for rule in [
        "size(self.a) > 1 && self.n < 1.5",
        "self.d > 1",
        "self.ios == 1",
        "self.ios == 'a' || true",
        "type(self.ios) == int",
        "self.__namespace__ == 'a'",
        "self.namespace == 'a'",
        "self.x__dash__y == 'q'",
        "self.m['a'] == 'b'",
        "self.m.a == 'b'",
        "self.l[0] == 'x'",
        "self.l.exists_one(x, x == 'a')",
        "'a' in self.m",
        "'a' in self.l",
        "self.l.map(x, x + 'b').size() > 0",
        "self.a.matches('^a')",
        "int(self.a) > 1",
        "string(self.n) == '1'",
        "-self.n < 0",
        "self.a.size() > 2 ? true : false",
        "self.l == ['a']",
        "self.m == {'a':'b'}",
        "dyn(self.n) == 1.0",
        "true < false",
        "has(self.m.a)",
        "self.l.all(x, self.l.exists(y, x == y))",
        "[1,2,3].filter(x, x > 1).size() == 2",
        r"r'\d' == 'a'",
        "'''a''' == 'a'",
        "0x10 == 16",
        "1e3 == 1000.0",
        "self.a.split(',').size() > 1",
        "self.l.join(',') == 'a'",
        "self.a != oldSelf.a",
        "self.t == oldSelf.t",
    ] {
        assert!(Schema::read(&with_rule(json!({"rule": rule}))).is_ok(), "{rule}");
    }
}

#[test]
fn given_a_rule_that_the_real_server_refuses_then_it_is_refused() {
    for (rule, expected) in [
        ("self.a == 1", "found no matching overload for '_==_' applied to '(string, int)'"),
        ("self.zz == 'a'", "undefined field 'zz'"),
        ("self.a ==", "<input>:1:10: Syntax error: mismatched input"),
        ("self.n == self.d", "found no matching overload for '_==_' applied to '(int, double)'"),
        ("self.p.x == 1", "undefined field 'p'"),
        ("self.a.matches('[')", "invalid matches argument"),
        ("self.a + 1 == 'b'", "found no matching overload for '_+_' applied to '(string, int)'"),
        ("has(self.a) ? self.a : 3", "found no matching overload for '_?_:_'"),
        ("self.n", "cel expression must evaluate to a bool"),
        ("self.n == null", "found no matching overload for '_==_' applied to '(int, null)'"),
        ("self.l.contains('a')", "found no matching overload for 'contains'"),
        ("has(self)", "invalid argument to has() macro"),
        ("has(self.a.b)", "type 'string' does not support field selection"),
        ("self['a'] == 'x'", "found no matching overload for '_[_]'"),
        ("self.l.all(x, x)", "expected type 'bool' but found 'string'"),
        ("undefined == 1", "undeclared reference to 'undefined' (in container '')"),
        ("", "Required value: rule is not specified"),
        ("  ", "Required value: rule is not specified"),
    ] {
        let error = error(&with_rule(json!({"rule": rule})));
        assert!(error.contains(expected), "{rule}: {error}");
        assert!(error.starts_with("openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: "), "{error}");
    }
}

/// The real server evaluates these.
#[test]
fn given_a_rule_that_we_cannot_evaluate_then_it_is_refused_and_never_passes() {
    for rule in [
        "duration('5m') > duration('1m')",
        "self.l.isSorted()",
        "self.n == int(1u)",
        "b'a' == b'a'",
        "self.a.find('a') == 'a'",
        "timestamp('2020-01-01T00:00:00Z') < self.t",
        "self.t < oldSelf.t",
        "url(self.a).getHost() == 'x'",
        "self.?a.orValue('x') == 'y'",
        "'a%s'.format([self.a]) == 'a'",
        "quantity('1').isGreaterThan(quantity('2'))",
    ] {
        let error = error(&with_rule(json!({"rule": rule})));
        assert!(error.contains("not supported by this API"), "{rule}: {error}");
    }
    let optional = with_rule(json!({"rule": "self.a == oldSelf.a", "optionalOldSelf": true}));
    assert!(error(&optional).contains("not supported by this API"));
}

#[test]
fn given_the_other_parts_of_a_rule_then_they_are_checked_too() {
    let rule = "self.n > 0";
    for (rule, expected) in [
        (json!({"rule": rule, "messageExpression": "'a' + self.n"}), "messageExpression compilation failed"),
        (json!({"rule": rule, "messageExpression": "self.n"}), "messageExpression must evaluate to a string"),
        (json!({"rule": rule, "message": "a\nb"}), "message: Invalid value: \"a\\nb\": must not contain line breaks"),
        (json!({"rule": rule, "reason": "Bogus"}), "reason: Unsupported value: \"Bogus\": supported values: "),
        (json!({"rule": rule, "fieldPath": ".zz"}), "fieldPath: Invalid value: \".zz\": must be a valid path"),
        (json!({"rule": rule, "fieldPath": "zz"}), "fieldPath: Invalid value: \"zz\": must be a valid path"),
        (json!("self.n > 0"), "a rule must be an object"),
        (json!({"rule": 5}), "rule: Invalid value: must be a string"),
    ] {
        let error = error(&with_rule(rule));
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn given_a_transition_rule_in_a_list_without_keys_then_it_is_refused() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "array", "items": {
        "type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]
    }}}});
    assert!(error(&schema).contains("oldSelf cannot be used on the uncorrelatable portion of the schema"));
}

#[test]
fn given_a_rule_or_default_inside_an_alternative_then_it_is_refused() {
    for part in [json!({"default": 1}), json!({"x-kubernetes-validations": [{"rule": "true"}]})] {
        let schema = json!({"type": "object", "anyOf": [part]});
        assert!(error(&schema).contains("Forbidden: must be empty to be structural"));
    }
}

#[test]
fn given_a_schema_deeper_than_the_bound_then_it_is_refused() {
    let deep = (0..=MAX_DEPTH)
        .fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    assert!(error(&deep).contains("nested deeper"));
    let patterned = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "["}}});
    assert!(error(&patterned).contains("must be a valid regular expression"));
    for rule in ["(".repeat(5_000), "!".repeat(5_000), "-".repeat(5_000), "self.a+".repeat(2_000), "a".repeat(20_000)] {
        assert!(Schema::read(&with_rule(json!({"rule": rule}))).is_err());
    }
}
