//! Go-compatible hashes of pod templates and canary steps: the value of the label `rollouts-pod-template-hash`
//! and of `status.currentStepHash`. Both are FNV-1a sums of the JSON text that Go prints for the typed object, so
//! this crate holds the field order of those types, the printing rules, and nothing else. It must never change a
//! hash that a running cluster already carries (that would start an update of every workload), never write an
//! object, and never panic on any input.
//!
//! Input is the JSON text as stored ([`RawValue`]), because the `config` of a plugin step counts byte for byte and
//! a parsed value loses key order, number form and escapes.

mod canonical;
mod error;
mod fnv;
mod go_text;
mod json;
mod pod_types;
pub mod quantity;
mod schema;
mod step_types;
mod time;

use serde_json::Value;
use serde_json::value::RawValue;

use canonical::{Options, Writer};
pub use error::HashError;
use schema::{Kind, Schema};

/// Today's form of a pod template: fields that the tables do not know are appended, so that a change of a newer
/// pod field still makes a new revision.
const POD_TEMPLATE: Options = Options { keep_unknown: true, null_timestamps: false };

/// The form of releases built with Kubernetes libraries before 0.34.
const OLD_POD_TEMPLATE: Options = Options { keep_unknown: true, null_timestamps: true };

/// Steps: unknown fields are dropped as Go drops them. A step hash that differs from the stored one restarts an
/// update in flight, so here exactness comes before noticing newer fields.
const STEPS: Options = Options { keep_unknown: false, null_timestamps: false };

/// Text as a JSON string the way Go writes it: `<`, `>`, `&` and the two line separators are escaped.
pub fn go_json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    go_text::push_string(&mut out, text);
    out
}

/// The pod template hash: the value of the label `rollouts-pod-template-hash`.
///
/// `collision_count` is `status.collisionCount`; a present 0 is different from an absent one.
///
/// # Errors
/// A value that the Kubernetes types cannot hold, see [`HashError`].
pub fn pod_template_hash(template: &RawValue, collision_count: Option<i32>) -> Result<String, HashError> {
    Ok(fnv::safe_hash(&pod_template_text(template.get(), POD_TEMPLATE)?, collision_count))
}

/// [`pod_template_hash`] of a parsed value, for templates built in memory.
///
/// # Errors
/// As [`pod_template_hash`].
pub fn pod_template_hash_value(template: &Value, collision_count: Option<i32>) -> Result<String, HashError> {
    Ok(fnv::safe_hash(&pod_template_text(&template.to_string(), POD_TEMPLATE)?, collision_count))
}

/// The hash that older releases gave the same template: they print `"creationTimestamp":null` in object metadata.
/// ReplicaSets made by them carry it.
///
/// # Errors
/// As [`pod_template_hash`].
pub fn pod_template_hash_with_null_timestamp(
    template: &RawValue,
    collision_count: Option<i32>,
) -> Result<String, HashError> {
    Ok(fnv::safe_hash(&pod_template_text(template.get(), OLD_POD_TEMPLATE)?, collision_count))
}

/// The text that [`pod_template_hash`] sums up. Two templates with equal text are the same revision.
///
/// # Errors
/// As [`pod_template_hash`].
pub fn canonical_pod_template(template: &RawValue) -> Result<String, HashError> {
    pod_template_text(template.get(), POD_TEMPLATE)
}

/// [`pod_template_hash`] of a template whose [canonical text](canonical_pod_template) is at hand.
pub fn hash_of_canonical(text: &str, collision_count: Option<i32>) -> String {
    fnv::safe_hash(text, collision_count)
}

/// The canary step hash: the value of `status.currentStepHash`. Absent, null and empty steps hash alike.
///
/// # Errors
/// A value that the step types cannot hold, see [`HashError`].
pub fn step_hash(steps: Option<&RawValue>) -> Result<String, HashError> {
    Ok(fnv::safe_hash(&canonical_steps(steps)?, None))
}

/// [`step_hash`] of a parsed value. Only for steps built in memory: a plugin `config` that went through [`Value`]
/// no longer has the text that Go hashes.
///
/// # Errors
/// As [`step_hash`].
pub fn step_hash_value(steps: &Value) -> Result<String, HashError> {
    Ok(fnv::safe_hash(&steps_text(&steps.to_string())?, None))
}

/// The text that [`step_hash`] sums up.
///
/// # Errors
/// As [`step_hash`].
pub fn canonical_steps(steps: Option<&RawValue>) -> Result<String, HashError> {
    steps.map_or_else(|| Ok("null".to_owned()), |steps| steps_text(steps.get()))
}

fn pod_template_text(text: &str, options: Options) -> Result<String, HashError> {
    let template = json::parse(text)?;
    let schema = Schema::shared();
    Writer::new(schema, options).document(&schema.kind_of("PodTemplateSpec"), &template, "")
}

fn steps_text(text: &str) -> Result<String, HashError> {
    let steps = json::parse(text)?;
    let schema = Schema::shared();
    let list = Kind::List(Box::new(schema.kind_of("CanaryStep")));
    let text = Writer::new(schema, STEPS).document(&list, &steps, "steps")?;
    // The list is optional, and the normalising round trip before hashing drops an empty one.
    Ok(if text == "[]" { "null".to_owned() } else { text })
}

#[cfg(test)]
mod tests {
    use super::{OLD_POD_TEMPLATE, pod_template_text};

    #[test]
    fn older_releases_print_the_null_timestamp_in_every_object_metadata() {
        let template = r#"{"metadata":{"labels":{"a":"b"},"name":"n"},
            "spec":{"containers":[],"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{}}}]}}"#;
        assert_eq!(
            pod_template_text(template, OLD_POD_TEMPLATE).unwrap(),
            concat!(
                r#"{"metadata":{"name":"n","creationTimestamp":null,"labels":{"a":"b"}},"spec":{"volumes":[{"name":"v","#,
                r#""ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},"spec":{"resources":{}}}}}],"#,
                r#""containers":[]}}"#
            )
        );
    }
}
