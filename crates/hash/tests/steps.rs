//! The rules of the canary step hash.

use serde_json::value::RawValue;
use tidegate_hash::{HashError, canonical_steps, step_hash, step_hash_value};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("the test writes JSON")
}

fn hash(text: &str) -> String {
    step_hash(Some(&raw(text))).expect("steps")
}

fn canonical(text: &str) -> String {
    canonical_steps(Some(&raw(text))).expect("steps")
}

#[test]
fn absent_null_and_empty_steps_hash_the_text_null() {
    assert_eq!(step_hash(None).unwrap(), "5ffbfbbd64");
    assert_eq!(hash("null"), "5ffbfbbd64");
    assert_eq!(hash(" [ ] "), "5ffbfbbd64");
}

#[test]
fn the_worked_examples_hash_to_their_given_values() {
    assert_eq!(hash(r#"[{"pause":{}}]"#), "6b9b86fbd5");
    assert_eq!(hash(r#"[{"pause":{}},{"pause":{}}]"#), "79c9b9f6bf");
    assert_eq!(step_hash_value(&serde_json::json!([{"pause": {}}])).unwrap(), "6b9b86fbd5");
}

#[test]
fn a_pause_duration_stays_a_number_or_a_text() {
    assert_eq!(canonical(r#"[{"pause":{"duration":30}}]"#), r#"[{"pause":{"duration":30}}]"#);
    assert_eq!(canonical(r#"[{"pause":{"duration":"30"}}]"#), r#"[{"pause":{"duration":"30"}}]"#);
    assert_eq!(canonical(r#"[{"pause":{"duration":null}}]"#), r#"[{"pause":{}}]"#);
}

#[test]
fn members_that_are_always_there_print_their_unset_form() {
    assert_eq!(
        canonical(r#"[{"experiment":{"templates":[{}]}},null,{"setHeaderRoute":{"match":[{}]}},{"experiment":{}}]"#),
        concat!(
            r#"[{"experiment":{"templates":[{"name":"","specRef":"","metadata":{}}],"analysisRunMetadata":{}}},{},"#,
            r#"{"setHeaderRoute":{"match":[{"headerName":"","headerValue":null}]}},"#,
            r#"{"experiment":{"templates":null,"analysisRunMetadata":{}}}]"#
        )
    );
}

#[test]
fn a_plugin_config_keeps_its_text_but_for_whitespace_and_html_escapes() {
    let steps = "[{\"plugin\":{\"config\": { \"b\" : 1.50, \"a\\u0041\\/\": [ 1e3, \"x  <y>&\u{2028}\\\" \" ], \"b\":2 } ,\"name\":\"p\"}}]";
    assert_eq!(
        canonical(steps),
        r#"[{"plugin":{"name":"p","config":{"b":1.50,"a\u0041\/":[1e3,"x  \u003cy\u003e\u0026\u2028\" "],"b":2}}}]"#
    );
}

#[test]
fn a_plugin_config_may_be_any_json_value() {
    for config in ["0", "\"\"", "[]", "{}", "false", "null"] {
        let steps = format!(r#"[{{"plugin":{{"name":"p","config":{config}}}}}]"#);
        assert_eq!(canonical(&steps), steps);
    }
}

#[test]
fn fields_that_no_step_has_do_not_count() {
    assert_eq!(canonical(r#"[{"pause":{"newer":1},"other":2}]"#), r#"[{"pause":{}}]"#);
}

#[test]
fn steps_of_the_wrong_type_are_refused_with_their_path() {
    let error = |text: &str| step_hash(Some(&raw(text))).unwrap_err().to_string();
    assert_eq!(error("{}"), "steps: expected a list, found an object");
    assert_eq!(error(r#"[{"setWeight":"5"}]"#), "steps[0].setWeight: expected a 32-bit integer, found a string");
    assert_eq!(
        error(r#"[{},{"pause":{"duration":true}}]"#),
        "steps[1].pause.duration: expected an integer or a string, found the boolean true"
    );
    let deep = format!(r#"[{{"plugin":{{"config":{}1{}}}}}]"#, "[".repeat(5000), "]".repeat(5000));
    assert!(matches!(step_hash(Some(&raw(&deep))), Err(HashError::TooDeep { .. })));
}
