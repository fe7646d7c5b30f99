//! Our own CRDs: they are read, and they prune, default and validate.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tidegate_structural::Schema;

/// The schemas of `manifests/crds`, by kind.
fn schemas() -> BTreeMap<String, Schema> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/crds");
    let mut schemas = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let crd: Value = serde_saphyr::from_str(&text).unwrap();
        if crd["kind"] != "CustomResourceDefinition" {
            continue;
        }
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let schema = Schema::read(&version["schema"]["openAPIV3Schema"]).unwrap();
            schemas.insert(crd["spec"]["names"]["kind"].as_str().unwrap().to_owned(), schema);
        }
    }
    schemas
}

fn rollout() -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "web", "labels": {"a": "b"}},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}], "maxSurge": "25%"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
        }
    })
}

fn processed(schema: &Schema, object: &Value) -> Value {
    let mut object = object.clone();
    schema.prune(&mut object);
    schema.default(&mut object);
    object
}

#[test]
fn given_our_crds_then_all_of_them_are_read() {
    let kinds: Vec<String> = schemas().into_keys().collect();
    assert_eq!(kinds, ["AnalysisRun", "AnalysisTemplate", "ClusterAnalysisTemplate", "Experiment", "Rollout"]);
}

#[test]
fn given_a_good_rollout_then_it_stays_as_it_is_and_has_no_causes() {
    let schema = &schemas()["Rollout"];
    let object = processed(schema, &rollout());
    assert_eq!(object, rollout());
    assert_eq!(schema.validate(&object, None), []);
    assert_eq!(schema.validate(&object, Some(&object)), []);
}

#[test]
fn given_unknown_fields_then_they_are_removed_but_not_from_the_pod_template() {
    let schema = &schemas()["Rollout"];
    let mut object = rollout();
    object["bogus"] = json!(1);
    object["spec"]["bogus"] = json!({"a": 1});
    object["spec"]["strategy"]["canary"]["steps"][0]["bogus"] = json!([1]);
    object["spec"]["template"]["spec"]["containers"][0]["brandNew"] = json!(true);
    object["metadata"]["anything"] = json!("kept");
    let pruned = processed(schema, &object);
    let mut expected = rollout();
    expected["spec"]["template"]["spec"]["containers"][0]["brandNew"] = json!(true);
    expected["metadata"]["anything"] = json!("kept");
    assert_eq!(pruned, expected);
}

#[test]
fn given_a_datadog_metric_without_interval_then_it_gets_its_defaults() {
    let schema = &schemas()["AnalysisTemplate"];
    let object = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "a"},
        "spec": {"metrics": [{"name": "errors", "provider": {"datadog": {"query": "q", "interval": null}}}]}
    });
    let datadog = &processed(schema, &object)["spec"]["metrics"][0]["provider"]["datadog"];
    assert_eq!(datadog, &json!({"query": "q", "interval": "5m", "apiVersion": "v1", "requestTimeout": "10s"}));
}

#[test]
fn given_wrong_types_then_the_causes_name_field_reason_and_text() {
    let schema = &schemas()["Rollout"];
    for (path, value, field, reason, message) in [
        (
            "/spec/replicas",
            json!("string"),
            "spec.replicas",
            "FieldValueTypeInvalid",
            "Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
        ),
        (
            "/spec/replicas",
            json!(3_000_000_000_i64),
            "<nil>",
            "FieldValueInvalid",
            "Invalid value: \"\": Checked value must be of type integer with format int32 in spec.replicas",
        ),
        (
            "/spec/strategy/canary/steps",
            json!({}),
            "spec.strategy.canary.steps",
            "FieldValueTypeInvalid",
            "Invalid value: \"object\": spec.strategy.canary.steps in body must be of type array: \"object\"",
        ),
        (
            "/spec/strategy/canary/steps/0",
            json!({"setWeight": true}),
            "spec.strategy.canary.steps[0].setWeight",
            "FieldValueTypeInvalid",
            "Invalid value: \"\": spec.strategy.canary.steps[0].setWeight in body must be of type int32: \"\"",
        ),
    ] {
        let mut object = rollout();
        *object.pointer_mut(path).unwrap() = value;
        let causes = schema.validate(&object, None);
        assert!(
            causes.iter().any(|cause| (&*cause.field, &*cause.reason, &*cause.message) == (field, reason, message)),
            "{path}: {causes:?}"
        );
    }
}

#[test]
fn given_a_new_selector_then_an_update_is_refused_and_a_creation_is_not() {
    let schema = &schemas()["Rollout"];
    let old = rollout();
    let mut new = rollout();
    new["spec"]["selector"]["matchLabels"]["app"] = json!("other");
    assert_eq!(schema.validate(&new, None), []);
    let causes = schema.validate(&new, Some(&old));
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!(causes[0].field, "spec.selector");
    assert_eq!(causes[0].reason, "FieldValueInvalid");
    assert_eq!(causes[0].message, "Invalid value: .spec.selector is immutable");
    let mut without = rollout();
    without["spec"].as_object_mut().unwrap().remove("selector");
    assert_eq!(schema.validate(&new, Some(&without)), [], "nothing to compare with");
}
