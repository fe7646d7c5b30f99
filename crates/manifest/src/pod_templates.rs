//! Pod templates inside our kinds. Our types carry them as raw JSON; a person's manifest is checked all the same.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::to_raw_value;
use tidegate_hash::{HashError, canonical_pod_template};

use crate::error::{Finding, Problem};
use crate::known_fields::Watched;

/// The first wrong type of every pod template of an object of this kind.
pub(crate) fn wrong_types(kind: &str, object: &Value) -> Vec<Finding> {
    templates(kind, object).into_iter().filter_map(|(path, template)| wrong_type(&path, template)).collect()
}

/// Fields of pod templates that the newest Kubernetes we know does not have. The cluster may be newer than we are,
/// and the CRDs keep such fields, so these are for warnings.
pub(crate) fn unknown_fields(kind: &str, object: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, template) in templates(kind, object) {
        let watched = Watched::at(template, path);
        let found = watched.found();
        // Its opinion on types is not asked: the hash's tables decide.
        let _ = PodTemplateSpec::deserialize(watched);
        findings.append(&mut found.borrow_mut());
    }
    findings
}

/// The templates of an object, with their paths.
fn templates<'a>(kind: &str, object: &'a Value) -> Vec<(String, &'a Value)> {
    let spec = &object["spec"];
    let found = match kind {
        "Rollout" => vec![("spec.template".to_owned(), &spec["template"])],
        "Experiment" => {
            let sets = spec["templates"].as_array().map(Vec::as_slice).unwrap_or_default().iter().enumerate();
            sets.map(|(index, set)| (format!("spec.templates[{index}].template"), &set["template"])).collect()
        }
        _ => Vec::new(),
    };
    found.into_iter().filter(|(_, template)| !template.is_null()).collect()
}

/// The first value that the pod types cannot hold.
fn wrong_type(path: &str, template: &Value) -> Option<Finding> {
    if !template.is_object() {
        return Some(Finding::unfitting(path, "an object", crate::words::describe(template)));
    }
    let error = match to_raw_value(template) {
        Ok(raw) => canonical_pod_template(&raw).err()?,
        Err(error) => {
            return Some(Finding { field: path.to_owned(), problem: Problem::Refused(error.to_string()), hint: None });
        }
    };
    Some(match error {
        HashError::Mismatch { path: inner, expected, found } => {
            let unquoted = expected == "a string" && (found.contains("number") || found.contains("boolean"));
            let hint = unquoted.then_some("put it in quotes");
            Finding::unfitting(format!("{path}.{inner}"), expected, crate::words::cut(&found)).with_hint(hint)
        }
        other => Finding { field: path.to_owned(), problem: Problem::Refused(other.to_string()), hint: None },
    })
}
