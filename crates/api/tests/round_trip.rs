//! Nothing a user or another version wrote gets lost on its way through our types.

use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use tidegate_api::experiment::Experiment;
use tidegate_api::kind::{API_VERSION, Kind};
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Field, Shape};

/// A small deterministic generator: the same seed makes the same object.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn text(&mut self) -> String {
        let texts =
            ["", "web", "10%", "<&>", "line\nbreak", "\u{2028}ü\u{1f600}", "2026-01-01T00:00:00Z", "{{args.x}}"];
        texts[self.roll(texts.len() as u64) as usize].to_owned()
    }

    /// Any JSON: what stands in pod templates, plugin settings and fields of later versions.
    fn anything(&mut self, depth: u64) -> Value {
        match self.roll(if depth == 0 { 6 } else { 8 }) {
            0 => json!(self.roll(2) == 0),
            1 => json!(self.roll(u64::MAX)),
            2 => json!(-(self.roll(1 << 40) as i64)),
            3 => json!(self.roll(1000) as f64 / 8.0 + 0.1),
            4 | 5 => json!(self.text()),
            6 => (0..self.roll(4)).map(|_| self.anything(depth - 1)).collect(),
            _ => {
                let entries = self.roll(4);
                Value::Object((0..entries).map(|i| (format!("k{i}"), self.anything(depth - 1))).collect())
            }
        }
    }

    fn of(&mut self, shape: &Shape) -> Value {
        match shape {
            Shape::Object(fields) => self.object(fields),
            Shape::List(item) => (0..self.roll(3)).map(|_| self.of(item)).collect(),
            Shape::Map(item) => {
                let entries = self.roll(3);
                Value::Object((0..entries).map(|i| (format!("key-{i}"), self.of(item))).collect())
            }
            Shape::Text | Shape::DateTime => json!(self.text()),
            Shape::Int32 => json!(self.roll(1 << 32) as i64 - (1 << 31)),
            Shape::Int64 => json!(self.roll(u64::MAX) as i64),
            Shape::Bool => json!(self.roll(2) == 0),
            Shape::IntOrString => match self.roll(2) {
                0 => json!(self.roll(200) as i64 - 100),
                _ => json!(self.text()),
            },
            Shape::Free => Value::Object(Map::from_iter([("free".to_owned(), self.anything(4))])),
            Shape::ObjectMeta => json!({
                "name": "web", "namespace": "default", "generation": self.roll(9), "labels": {"app": self.text()},
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u", "controller": true}],
            }),
        }
    }

    fn object(&mut self, fields: &[Field]) -> Value {
        let mut object = Map::new();
        for field in fields {
            if self.roll(3) == 0 || matches!(field.name, "spec" | "metadata") {
                object.insert(field.name.to_owned(), self.of(&field.shape));
            }
        }
        if self.roll(4) == 0 {
            object.insert("fromALaterVersion".to_owned(), self.anything(3));
        }
        Value::Object(object)
    }
}

fn check<K: Kind + Serialize + DeserializeOwned>(seed: u64) -> Result<(), proptest::test_runner::TestCaseError> {
    let mut given = Dice(seed | 1).of(&K::shape());
    given["apiVersion"] = json!(API_VERSION);
    given["kind"] = json!(K::KIND);

    let through_text: K = serde_json::from_str(&given.to_string()).expect("an object of the declared shape is read");
    let through_value: K = serde_json::from_value(given.clone()).expect("an object of the declared shape is read");

    prop_assert_eq!(&serde_json::to_value(&through_text).expect("it is written"), &given);
    prop_assert_eq!(&serde_json::to_value(&through_value).expect("it is written"), &given);
    let text = serde_json::to_string(&through_text).expect("it is written");
    prop_assert_eq!(&serde_json::from_str::<Value>(&text).expect("it is JSON"), &given);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_round_trip_drops_no_field_and_changes_no_value(seed in any::<u64>()) {
        check::<Rollout>(seed)?;
        check::<AnalysisTemplate>(seed)?;
        check::<ClusterAnalysisTemplate>(seed)?;
        check::<AnalysisRun>(seed)?;
        check::<Experiment>(seed)?;
    }
}

#[test]
fn raw_parts_keep_their_very_bytes() {
    let template = r#"{"spec":{"z":1.50,"a":1e3,"newPodField":[ 1,2 ]},"metadata":{}}"#;
    let given = format!(r#"{{"spec":{{"template":{template}}}}}"#);

    let rollout: Rollout = serde_json::from_str(&given).unwrap();

    assert_eq!(rollout.spec.template.as_ref().unwrap().json(), template);
    assert!(serde_json::to_string(&rollout).unwrap().contains(template));
}

#[test]
fn explicit_null_means_absence() {
    let rollout: Rollout =
        serde_json::from_str(r#"{"metadata":null,"spec":{"selector":null,"strategy":null},"status":null}"#).unwrap();
    assert_eq!(rollout, Rollout::default());
}

#[test]
fn unknown_fields_are_named_by_their_path_wherever_they_stand() {
    let rollout: Rollout = serde_json::from_value(json!({
        "spec": {
            "replicaz": 3,
            "template": {"anything": "goes"},
            "strategy": {"canary": {"steps": [{"pause": {}}, {"setWeigth": 3}],
                "trafficRouting": {"plugins": {"any/thing": {}}}}},
        },
        "extra": 1,
    }))
    .unwrap();
    assert_eq!(rollout.unknown_fields(), ["extra", "spec.replicaz", "spec.strategy.canary.steps[1].setWeigth"]);
}

#[test]
fn an_object_of_another_kind_is_refused() {
    let error = serde_json::from_str::<Rollout>(r#"{"kind":"Deployment"}"#).unwrap_err();
    assert!(error.to_string().starts_with(r#"expected "Rollout", found "Deployment""#), "{error}");
}

#[test]
fn a_value_of_the_wrong_type_is_an_error_and_not_a_panic() {
    for bad in [
        r#"{"spec":{"replicas":"three"}}"#,
        r#"{"spec":{"replicas":99999999999}}"#,
        r#"{"spec":{"replicas":1.5}}"#,
        r#"{"spec":[]}"#,
        r#"{"spec":{"strategy":{"canary":{"maxSurge":1.5}}}}"#,
        r#"{"spec":{"strategy":{"canary":{"steps":{}}}}}"#,
        r#"{"metadata":{"labels":{"a":1}}}"#,
    ] {
        assert!(serde_json::from_str::<Rollout>(bad).is_err(), "{bad}");
    }
}
