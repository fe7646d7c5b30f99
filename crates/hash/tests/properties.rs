//! What holds for every template: no crash, and no dependence on how the text was laid out.

use proptest::prelude::{
    BoxedStrategy, Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use serde_json::{Map, Value, value::RawValue};
use tidegate_hash::{
    HashError, canonical_pod_template, canonical_steps, pod_template_hash, pod_template_hash_with_null_timestamp,
    step_hash,
};

const POD_ROWS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/compat/vectors/pod-template-hash.jsonl"));

/// Names that the tables know, so that random documents reach every kind of value.
const NAMES: &[&str] = &[
    "metadata",
    "spec",
    "labels",
    "creationTimestamp",
    "managedFields",
    "fieldsV1",
    "containers",
    "volumes",
    "name",
    "image",
    "env",
    "resources",
    "limits",
    "requests",
    "livenessProbe",
    "grpc",
    "port",
    "httpGet",
    "overhead",
    "securityContext",
    "runAsUser",
    "steps",
    "pause",
    "duration",
    "setWeight",
    "plugin",
    "config",
    "experiment",
    "templates",
    "selector",
    "unknown",
];

fn document() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[0-9]{1,4}(m|Ki|Gi|e3)?".prop_map(Value::from),
        "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](Z|\\+[0-2][0-9]:[0-5][0-9])"
            .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 8, |inner| {
        let member = (prop::sample::select(NAMES), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(member, 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
            }),
        ]
    })
    .boxed()
}

/// A small generator for laying out text: splitmix64.
struct Layout(u64);

impl Layout {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % (bound as u64)).expect("below a usize")
    }

    fn space(&mut self) -> &'static str {
        ["", " ", "\n", "\t \r\n"][self.below(4)]
    }

    /// The same value with its members in another order and other whitespace.
    fn write(&mut self, value: &Value) -> String {
        let text = match value {
            Value::Object(members) => {
                let mut rest: Vec<_> = members.iter().collect();
                let mut parts = Vec::new();
                while !rest.is_empty() {
                    let (key, value) = rest.swap_remove(self.below(rest.len()));
                    let key = serde_json::to_string(key).expect("a string is JSON");
                    parts.push(format!("{}{key}{}:{}", self.space(), self.space(), self.write(value)));
                }
                format!("{{{}{}}}", parts.join(","), self.space())
            }
            Value::Array(items) => {
                let parts: Vec<_> = items.iter().map(|item| self.write(item)).collect();
                format!("[{}{}]", parts.join(","), self.space())
            }
            scalar => scalar.to_string(),
        };
        format!("{}{text}{}", self.space(), self.space())
    }
}

/// Inside one whitespace-trimmed raw value, as it stands in a stored object.
fn raw(text: &str) -> Box<RawValue> {
    serde_json::from_str(text).expect("the test writes JSON")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hashing_never_panics(value in document(), count in any::<Option<i32>>()) {
        let text = raw(&value.to_string());
        let hash = pod_template_hash(&text, count);
        prop_assert_eq!(hash.is_ok(), canonical_pod_template(&text).is_ok());
        prop_assert_eq!(hash.is_ok(), pod_template_hash_with_null_timestamp(&text, count).is_ok());
        let steps = raw(&format!("[{text}]"));
        prop_assert_eq!(step_hash(Some(&steps)).is_ok(), canonical_steps(Some(&steps)).is_ok());
    }

    #[test]
    fn hashing_any_json_text_gives_a_hash_or_an_error(
        inner in "[\\[\\]{}:,\"\\\\ude0-9.\\-+n]{0,12}",
        name in prop::sample::select(NAMES),
    ) {
        // Most such text is no JSON at all and never gets this far; what remains has odd numbers and escapes.
        let text = format!(r#"{{"spec":{{"{name}":[{inner}]}},"newer":["\ud8{}"]}}"#, inner.len() + 10);
        if let Ok(text) = RawValue::from_string(text) {
            match pod_template_hash(&text, None) {
                Ok(hash) => prop_assert!((1..=10).contains(&hash.len())),
                Err(error) => prop_assert!(matches!(error, HashError::Mismatch { .. }), "{}", error),
            }
        }
    }

    #[test]
    fn canonical_text_is_its_own_canonical_text(value in document()) {
        let spec = raw(&format!(r#"{{"spec":{value}}}"#));
        if let Ok(text) = canonical_pod_template(&spec) {
            prop_assert_eq!(canonical_pod_template(&raw(&text)).unwrap(), text);
        }
    }

    #[test]
    fn key_order_and_whitespace_never_matter(row in 0..300_usize, seed in any::<u64>()) {
        let line: Value = serde_json::from_str(POD_ROWS.lines().nth(row).unwrap()).unwrap();
        let mut template = line["template"].clone();
        template["spec"]["newer"] = serde_json::json!({"z": [1, {"b": 1, "a": "x y"}], "a": null});
        let plain = pod_template_hash(&raw(&template.to_string()), None).unwrap();
        let laid_out = Layout(seed).write(&template);
        prop_assert_eq!(pod_template_hash(&raw(&laid_out), None).unwrap(), plain);
    }
}
