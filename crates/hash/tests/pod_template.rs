//! The rules of the pod template hash, one by one, on the bytes that are hashed.

use serde_json::value::RawValue;
use tidegate_hash::{
    HashError, canonical_pod_template, pod_template_hash, pod_template_hash_value,
    pod_template_hash_with_null_timestamp,
};

const FIRST: &str = r#"{"metadata":{"labels":{"foo":"bar"}},"spec":{"containers":[{"name":"container-name","image":"foo/bar","resources":
{"limits":{"cpu":"2","memory":"8192M"},"requests":{"cpu":"150m","memory":"8192M"}}}]}}"#;
const SECOND: &str = r#"{"metadata":{"labels":{"app":"canary-scaledowndelay"}},"spec":{"containers":[{"name":"canary-scaledowndelay","image":"nginx:1.19-alpine",
"ports":[{"name":"http","containerPort":80,"protocol":"TCP"}],"resources":{"requests":{"cpu":"5m","memory":"16Mi"}}}]}}"#;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("the test writes JSON")
}

fn hash(text: &str) -> String {
    pod_template_hash(&raw(text), None).expect("a template")
}

fn canonical(text: &str) -> String {
    canonical_pod_template(&raw(text)).expect("a template")
}

fn error(text: &str) -> HashError {
    canonical_pod_template(&raw(text)).expect_err("no template")
}

/// The canonical text of one container, given its members besides the name.
fn container(members: &str) -> String {
    let text = canonical(&format!(r#"{{"spec":{{"containers":[{{"name":"c",{members}}}]}}}}"#));
    let inner =
        text.strip_prefix(r#"{"metadata":{},"spec":{"containers":[{"name":"c","#).expect("the start of a container");
    inner.strip_suffix("}]}}").expect("the end of a container").to_owned()
}

/// The canonical text of the pod spec members that follow `containers`.
fn pod_spec(members: &str) -> String {
    let text = canonical(&format!(r#"{{"spec":{{"containers":[],{members}}}}}"#));
    let inner = text.strip_prefix(r#"{"metadata":{},"spec":{"#).expect("the start of a pod spec");
    inner
        .strip_suffix("}}")
        .expect("the end of a pod spec")
        .replace(r#""containers":[],"#, "")
        .replace(r#""containers":[]"#, "")
}

fn third() -> String {
    SECOND
        .replace("canary-scaledowndelay", "dynamic-stable-scale")
        .replace("}]}}", r#"}],"readinessGates":[{"conditionType":"argoproj.io/e2e-readiness"}]}}"#)
}

#[test]
fn the_worked_examples_hash_to_their_given_values() {
    assert_eq!(hash(FIRST), "6f496f9f78");
    assert_eq!(hash(SECOND), "674d8cf959");
    assert_eq!(hash(&third()), "6b56c8cdb4");
}

#[test]
fn the_worked_examples_of_older_releases_hash_with_a_null_creation_timestamp() {
    let old = |text: &str| pod_template_hash_with_null_timestamp(&raw(text), None).unwrap();
    assert_eq!(old(FIRST), "6c5667f666");
    assert_eq!(old(SECOND), "66597877b7");
    assert_eq!(old(&third()), "868d98995b");
}

#[test]
fn templates_whose_quantities_print_alike_share_their_hash() {
    assert_eq!(hash(&FIRST.replace(r#""2""#, r#""2000m""#)), hash(FIRST));
    assert_eq!(hash(&FIRST.replace(r#""2""#, "2")), hash(FIRST));
    assert_eq!(hash(&FIRST.replace("8192M", "1024Mi")), hash(&FIRST.replace("8192M", "1Gi")));
}

#[test]
fn templates_whose_quantities_print_differently_differ() {
    let with = |quantity: &str| hash(&FIRST.replace("8192M", quantity));
    assert_ne!(with("1.5"), with("1.500"));
    assert_ne!(with("1e3"), with("1k"));
    assert_ne!(with("1Gi"), with("1073741824"));
}

#[test]
fn a_collision_count_changes_the_hash_even_when_it_is_zero() {
    let with = |count| pod_template_hash(&raw(FIRST), count).unwrap();
    assert_ne!(with(Some(0)), with(None));
    assert_ne!(with(Some(1)), with(None));
    assert_ne!(with(Some(1)), with(Some(0)));
    assert_ne!(with(Some(-1)), with(Some(1)));
}

#[test]
fn a_parsed_value_hashes_like_its_text() {
    let value: serde_json::Value = serde_json::from_str(FIRST).unwrap();
    assert_eq!(pod_template_hash_value(&value, None).unwrap(), hash(FIRST));
}

#[test]
fn an_absent_template_prints_the_members_that_are_always_there() {
    let zero = r#"{"metadata":{},"spec":{"containers":null}}"#;
    assert_eq!(canonical("null"), zero);
    assert_eq!(canonical("{}"), zero);
    assert_eq!(canonical(r#"{"metadata":null,"spec":{"containers":null}}"#), zero);
}

#[test]
fn members_print_in_declaration_order_and_maps_by_key() {
    assert_eq!(
        container(r#""tty":true,"image":"i","command":["b","a"],"resources":{"requests":{"b":"1","a":"2"}}"#),
        r#""image":"i","command":["b","a"],"resources":{"requests":{"a":"2","b":"1"}},"tty":true"#
    );
}

#[test]
fn zero_values_disappear_and_pointers_stay() {
    assert_eq!(
        container(r#""image":"","args":[],"stdin":false,"securityContext":{},"restartPolicy":"""#),
        r#""resources":{},"restartPolicy":"","securityContext":{}"#
    );
    assert_eq!(
        pod_spec(r#""priority":0,"hostUsers":false,"nodeSelector":{},"hostname":"","hostPID":false"#),
        r#""priority":0,"hostUsers":false"#
    );
}

#[test]
fn members_that_are_always_there_print_their_unset_form() {
    assert_eq!(
        container(r#""readinessProbe":{"grpc":{}},"livenessProbe":{"httpGet":{},"periodSeconds":0}"#),
        r#""resources":{},"livenessProbe":{"httpGet":{"port":0}},"readinessProbe":{"grpc":{"port":0,"service":null}}"#
    );
    assert_eq!(
        container(r#""env":[{"valueFrom":{"resourceFieldRef":{}}}]"#),
        r#""env":[{"name":"","valueFrom":{"resourceFieldRef":{"resource":"","divisor":"0"}}}],"resources":{}"#
    );
    assert_eq!(
        pod_spec(r#""volumes":[{"projected":{}},{"scaleIO":{}},{"rbd":{"monitors":[]}}]"#),
        r#""volumes":[{"name":"","projected":{"sources":null}},{"name":"","scaleIO":{"gateway":"","system":"","secretRef":null}},{"name":"","rbd":{"monitors":[],"image":""}}],"#
    );
}

#[test]
fn an_empty_list_stays_where_it_is_always_printed() {
    assert_eq!(canonical(r#"{"spec":{"containers":[]}}"#), r#"{"metadata":{},"spec":{"containers":[]}}"#);
}

#[test]
fn an_explicit_null_equals_absence() {
    assert_eq!(
        container(r#""securityContext":null,"image":null,"env":null,"resources":null,"livenessProbe":null"#),
        r#""resources":{}"#
    );
    assert_eq!(container(r#""livenessProbe":{"tcpSocket":{"port":null}}"#), {
        r#""resources":{},"livenessProbe":{"tcpSocket":{"port":0}}"#
    });
}

#[test]
fn a_null_list_element_or_map_value_is_the_zero_value_of_its_type() {
    assert_eq!(
        container(r#""args":[null,"a"],"env":[null],"resources":{"limits":{"cpu":null}}"#),
        r#""args":["","a"],"env":[{"name":""}],"resources":{"limits":{"cpu":"0"}}"#
    );
    assert_eq!(pod_spec(r#""nodeSelector":{"a":null}"#), r#""nodeSelector":{"a":""}"#);
    assert_eq!(
        pod_spec(r#""securityContext":{"supplementalGroups":[null,7]}"#),
        r#""securityContext":{"supplementalGroups":[0,7]}"#
    );
}

#[test]
fn strings_are_escaped_the_go_way() {
    assert_eq!(
        container(r#""image":"\"\\\/\n\r\t\b\f\u0001\u007f<>&\u2028\u2029\ud800x\ud83d\ude00é""#),
        "\"image\":\"\\\"\\\\/\\n\\r\\t\\b\\f\\u0001\u{7f}\\u003c\\u003e\\u0026\\u2028\\u2029\u{fffd}x\u{1f600}é\",\"resources\":{}"
    );
}

#[test]
fn ports_print_as_number_or_text_like_they_were_written() {
    assert_eq!(container(r#""livenessProbe":{"tcpSocket":{"port":"80"}}"#), {
        r#""resources":{},"livenessProbe":{"tcpSocket":{"port":"80"}}"#
    });
    assert_eq!(container(r#""livenessProbe":{"tcpSocket":{"port":8.0e1}}"#), {
        r#""resources":{},"livenessProbe":{"tcpSocket":{"port":80}}"#
    });
}

#[test]
fn times_print_in_utc_with_whole_seconds() {
    let meta = |time: &str| canonical(&format!(r#"{{"metadata":{{"creationTimestamp":{time},"name":"n"}}}}"#));
    let want = |time: &str| {
        format!(r#"{{"metadata":{{"name":"n","creationTimestamp":"{time}"}},"spec":{{"containers":null}}}}"#)
    };
    assert_eq!(meta(r#""2026-03-01T01:30:00.987+02:00""#), want("2026-02-28T23:30:00Z"));
    assert_eq!(meta(r#""2024-02-29T23:59:59Z""#), want("2024-02-29T23:59:59Z"));
    assert_eq!(meta("null"), r#"{"metadata":{"name":"n"},"spec":{"containers":null}}"#);
    assert_eq!(meta(r#""0001-01-01T00:00:00Z""#), r#"{"metadata":{"name":"n"},"spec":{"containers":null}}"#);
}

#[test]
fn a_volume_claim_template_has_object_metadata_of_its_own() {
    assert_eq!(
        pod_spec(
            r#""volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"resources":{"requests":{"storage":"1024Mi"}},"dataSource":{"name":"d"}}}}}]"#
        ),
        r#""volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{},"spec":{"resources":{"requests":{"storage":"1Gi"}},"dataSource":{"apiGroup":null,"kind":"","name":"d"}}}}}],"#
    );
}

#[test]
fn an_ephemeral_container_is_a_container_with_a_target() {
    assert_eq!(
        pod_spec(r#""ephemeralContainers":[{"targetContainerName":"t","name":"d","tty":true}]"#),
        r#""ephemeralContainers":[{"name":"d","resources":{},"tty":true,"targetContainerName":"t"}]"#
    );
}

#[test]
fn a_set_creation_timestamp_prints_alike_in_both_variants() {
    let text = r#"{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}}"#;
    assert_eq!(pod_template_hash_with_null_timestamp(&raw(text), None).unwrap(), hash(text));
}

#[test]
fn an_unknown_field_changes_the_hash_and_its_absence_keeps_it() {
    let newer = FIRST.replace(r#""image":"foo/bar""#, r#""image":"foo/bar","newerField":{"b":[1,null],"a":"<"}"#);
    assert_ne!(hash(&newer), hash(FIRST));
    assert_ne!(hash(&newer.replace("[1,", "[2,")), hash(&newer));
    let unset = FIRST.replace(r#""image":"foo/bar""#, r#""image":"foo/bar","newerField":null"#);
    assert_eq!(hash(&unset), "6f496f9f78");
}

#[test]
fn unknown_fields_follow_the_known_ones_sorted_by_key() {
    assert_eq!(
        container(r#""zed":{"b":[1.0, null , 2.50],"a":"<"},"Image":true,"image":"i""#),
        r#""image":"i","resources":{},"Image":true,"zed":{"a":"\u003c","b":[1,null,2.50]}"#
    );
    assert_eq!(pod_spec(r#""securityContext":{"newer":{}}"#), r#""securityContext":{"newer":{}}"#);
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_its_path() {
    let cases = [
        (r#"{"metadata":"x"}"#, "metadata: expected an object, found a string"),
        (r#"{"spec":{"containers":{}}}"#, "spec.containers: expected a list, found an object"),
        (r#"{"spec":{"containers":[{"name":1}]}}"#, "spec.containers[0].name: expected a string, found the number 1"),
        (
            r#"{"metadata":{"labels":{"a.b/c":true}}}"#,
            "metadata.labels[\"a.b/c\"]: expected a string, found the boolean true",
        ),
        (r#"{"spec":{"hostPID":"true"}}"#, "spec.hostPID: expected a boolean, found a string"),
        (r#"{"spec":{"priority":1.5}}"#, "spec.priority: expected a 32-bit integer, found the number 1.5"),
        (
            r#"{"spec":{"priority":2147483648}}"#,
            "spec.priority: expected a 32-bit integer, found the number 2147483648",
        ),
        (
            r#"{"spec":{"activeDeadlineSeconds":9223372036854775808}}"#,
            "spec.activeDeadlineSeconds: expected a 64-bit integer, found the number 9223372036854775808",
        ),
        (
            r#"{"metadata":{"creationTimestamp":"yesterday"}}"#,
            "metadata.creationTimestamp: expected an RFC 3339 time such as 2026-01-31T10:00:00Z, found \"yesterday\"",
        ),
        (
            r#"{"spec":{"overhead":{"cpu":"1KB"}}}"#,
            "spec.overhead[\"cpu\"]: expected a quantity such as 500m or 1Gi, found \"1KB\"",
        ),
        (r#"[]"#, "template: expected an object, found a list"),
    ];
    for (text, message) in cases {
        assert_eq!(error(text).to_string(), message, "{text}");
    }
}

#[test]
fn the_ends_of_the_integer_ranges_are_accepted() {
    assert_eq!(pod_spec(r#""priority":-2147483648"#), r#""priority":-2147483648"#);
    assert_eq!(
        pod_spec(r#""activeDeadlineSeconds":9223372036854775807"#),
        r#""activeDeadlineSeconds":9223372036854775807"#
    );
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let deep = |levels: usize| format!(r#"{{"newer":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    assert!(canonical_pod_template(&raw(&deep(100))).is_ok());
    assert!(matches!(error(&deep(200)), HashError::TooDeep { .. }));
    assert!(matches!(error(&deep(200_000)), HashError::TooDeep { .. }));
}
