//! Strategic merge patch: the answers of a real API server, the keys of each kind, and the bounds.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Map, Value, json};
use tidegate_patch::{MAX_DEPTH, PatchError, strategic_merge_patch};

fn at<'a>(value: &'a Value, path: &Value) -> &'a Value {
    path.as_array().unwrap().iter().fold(value, |here, step| match step {
        Value::String(key) => &here[key],
        step => &here[usize::try_from(step.as_u64().unwrap()).unwrap()],
    })
}

/// The types of the API server leave out what is empty; we have none.
fn omit_empty(value: &Value) -> &Value {
    match value {
        Value::Array(items) if items.is_empty() => &Value::Null,
        Value::Object(members) if members.is_empty() => &Value::Null,
        other => other,
    }
}

#[test]
fn given_a_recorded_patch_when_applied_then_the_result_is_the_one_of_the_real_server() {
    let recorded: Value = serde_json::from_str(include_str!("data/strategic-deployment.json")).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    assert!(cases.len() > 100, "only {} cases", cases.len());
    for case in cases {
        let patch = &case["patch"];
        let result = strategic_merge_patch("Deployment", &recorded["document"], patch);
        let message = case["message"].as_str().unwrap_or_default().to_owned();
        match case["code"].as_u64().unwrap() {
            400 => assert_eq!(result, Err(PatchError::Malformed(message)), "{patch}"),
            500 => assert_eq!(result, Err(PatchError::Internal(message)), "{patch}"),
            _ => {
                let result = result.unwrap_or_else(|error| panic!("{patch}: {error}"));
                let found = at(&result, &case["at"]);
                if case["names"] == true {
                    let names: Vec<&Value> = found.as_array().unwrap().iter().map(|item| &item["name"]).collect();
                    assert_eq!(json!(names), case["is"], "{patch}");
                } else {
                    assert_eq!(omit_empty(found), omit_empty(&case["is"]), "{patch}");
                }
            }
        }
    }
}

#[test]
fn given_the_ports_of_a_service_then_the_number_is_the_key() {
    let document = json!({"spec": {"ports": [
        {"name": "x", "port": 80}, {"name": "y", "port": 80, "protocol": "UDP"}, {"name": "z", "port": 81}
    ]}});
    for (ports, expected) in [
        (
            json!([{"port": 80, "targetPort": "w"}]),
            json!([{"name": "x", "port": 80, "targetPort": "w"}, {"name": "y", "port": 80, "protocol": "UDP"},
                {"name": "z", "port": 81}]),
        ),
        (
            json!([{"port": 82, "name": "q"}]),
            json!([{"name": "q", "port": 82}, {"name": "x", "port": 80}, {"name": "y", "port": 80, "protocol": "UDP"},
                {"name": "z", "port": 81}]),
        ),
        (json!([{"port": 80, "$patch": "delete"}]), json!([{"name": "z", "port": 81}])),
    ] {
        let patch = json!({"spec": {"ports": ports}});
        assert_eq!(strategic_merge_patch("Service", &document, &patch).unwrap()["spec"]["ports"], expected, "{patch}");
    }
}

#[test]
fn given_a_keyed_list_of_a_kind_then_an_element_is_changed_in_place() {
    for (kind, path, key) in [
        ("Pod", vec!["status", "conditions"], "type"),
        ("Pod", vec!["status", "podIPs"], "ip"),
        ("Pod", vec!["status", "hostIPs"], "ip"),
        ("Pod", vec!["spec", "schedulingGates"], "name"),
        ("Pod", vec!["spec", "resourceClaims"], "name"),
        ("Pod", vec!["spec", "ephemeralContainers"], "name"),
        ("ReplicaSet", vec!["status", "conditions"], "type"),
        ("ReplicaSet", vec!["spec", "template", "spec", "initContainers"], "name"),
        ("StatefulSet", vec!["spec", "template", "spec", "volumes"], "name"),
        ("Job", vec!["spec", "template", "metadata", "ownerReferences"], "uid"),
        ("Namespace", vec!["status", "conditions"], "type"),
        ("Node", vec!["status", "addresses"], "type"),
        ("ServiceAccount", vec!["secrets"], "name"),
        ("CronJob", vec!["spec", "jobTemplate", "spec", "template", "spec", "containers"], "name"),
        ("ConfigMap", vec!["metadata", "ownerReferences"], "uid"),
        ("Anything", vec!["metadata", "ownerReferences"], "uid"),
    ] {
        let wrap = |list: Value| path.iter().rev().fold(list, |inner, step| json!({ *step: inner }));
        let document = wrap(json!([{key: "a", "old": 1}, {key: "b", "old": 1}]));
        let patch = wrap(json!([{key: "b", "new": 2}]));
        let expected = wrap(json!([{key: "a", "old": 1}, {key: "b", "old": 1, "new": 2}]));
        assert_eq!(strategic_merge_patch(kind, &document, &patch), Ok(expected), "{kind} {path:?}");
    }
}

#[test]
fn given_a_list_without_a_key_then_it_is_replaced() {
    for (kind, path) in [
        ("Pod", vec!["spec", "tolerations"]),
        ("Pod", vec!["spec", "readinessGates"]),
        ("Pod", vec!["status", "containerStatuses"]),
        ("StatefulSet", vec!["spec", "volumeClaimTemplates"]),
        ("Endpoints", vec!["subsets"]),
        ("ServiceAccount", vec!["imagePullSecrets"]),
        ("Anything", vec!["spec", "containers"]),
    ] {
        let wrap = |list: Value| path.iter().rev().fold(list, |inner, step| json!({ *step: inner }));
        let result = strategic_merge_patch(kind, &wrap(json!([{"name": "a"}])), &wrap(json!([{"name": "b"}])));
        assert_eq!(result, Ok(wrap(json!([{"name": "b"}]))), "{kind} {path:?}");
    }
}

#[test]
fn given_the_selector_of_a_disruption_budget_then_it_is_replaced() {
    let selector = |labels: Value| json!({"spec": {"selector": {"matchLabels": labels}, "maxUnavailable": 1}});
    let patch = json!({"spec": {"selector": {"matchLabels": {"b": "2"}}}});
    assert_eq!(
        strategic_merge_patch("PodDisruptionBudget", &selector(json!({"a": "1"})), &patch),
        Ok(selector(json!({"b": "2"})))
    );
}

#[test]
fn given_a_patch_deeper_than_the_bound_then_it_is_refused() {
    let deep = (0..=MAX_DEPTH).fold(json!(1), |inner, _| json!({"a": inner}));
    assert!(matches!(strategic_merge_patch("Pod", &json!({}), &deep), Err(PatchError::Malformed(_))));
    assert!(matches!(strategic_merge_patch("Pod", &deep, &json!({})), Err(PatchError::Malformed(_))));
}

/// Patches with all directives in all places.
fn wild(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i8>().prop_map(Value::from),
        prop_oneof![Just("delete"), Just("replace"), Just("merge"), Just("a"), Just("b")].prop_map(Value::from),
    ];
    let keys = prop_oneof![
        Just("$patch"),
        Just("$retainKeys"),
        Just("$setElementOrder/containers"),
        Just("$setElementOrder/finalizers"),
        Just("$deleteFromPrimitiveList/finalizers"),
        Just("$deleteFromPrimitiveList/containers"),
        Just("metadata"),
        Just("finalizers"),
        Just("spec"),
        Just("containers"),
        Just("name"),
        Just("env"),
    ];
    leaf.prop_recursive(depth, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((keys.clone(), inner), 0..5).prop_map(|members| {
                Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_patch_makes_it_panic_or_leaves_a_directive(document in wild(5), patch in wild(5)) {
        let clean = strategic_merge_patch("Pod", &json!({}), &document).unwrap_or_default();
        if let Ok(result) = strategic_merge_patch("Pod", &clean, &patch) {
            assert!(!result.to_string().contains("\"$"), "{result}");
        }
        let _answer = strategic_merge_patch("Pod", &document, &patch);
    }
}
