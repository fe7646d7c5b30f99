//! Rules for metadata, the same for every kind.

use serde_json::{Value, json};

use super::names::{
    label_problems, label_value_problem, path_segment_problems, qualified_name_problem, subdomain_problems,
};
use crate::object::{at, finalizers, is_terminating, list, name, text};
use crate::registry::Resource;
use crate::status::Cause;

/// What is wrong with the metadata of an object.
pub(crate) fn metadata(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old.is_none() {
        check_name(resource, object, &mut causes);
    }
    check_keys(object, &mut causes);
    check_finalizers(object, &mut causes);
    check_owners(object, &mut causes);
    if let Some(old) = old {
        check_immutable(object, old, &mut causes);
    }
    causes
}

fn check_name(resource: &Resource, object: &Value, causes: &mut Vec<Cause>) {
    let own = name(object);
    let problems = match resource.id.as_str() {
        _ if resource.group == "rbac.authorization.k8s.io" => path_segment_problems(own),
        "namespaces" | "services" => label_problems(own),
        _ => subdomain_problems(own),
    };
    causes.extend(problems.iter().map(|text| Cause::invalid("metadata.name", &json!(own), text)));
}

fn check_keys(object: &Value, causes: &mut Vec<Cause>) {
    for (key, value) in at(object, &["metadata", "labels"]).and_then(Value::as_object).into_iter().flatten() {
        if let Some(text) = qualified_name_problem(key) {
            causes.push(Cause::invalid("metadata.labels", &json!(key), &text));
        }
        if let Some(text) = label_value_problem(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid("metadata.labels", value, &text));
        }
    }
    let annotations = at(object, &["metadata", "annotations"]).and_then(Value::as_object);
    let mut size = 0_usize;
    for (key, value) in annotations.into_iter().flatten() {
        // Keys of annotations are compared in lower case, so upper case is allowed in their prefix.
        if let Some(text) = qualified_name_problem(&key.to_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", &json!(key), &text));
        }
        size = size.saturating_add(key.len()).saturating_add(value.as_str().map_or(0, str::len));
    }
    if size > 256 * 1024 {
        let message = "Too long: may not be more than 262144 bytes".to_owned();
        let field = "metadata.annotations".to_owned();
        causes.push(Cause { reason: "FieldValueTooLong".to_owned(), message, field });
    }
}

fn check_finalizers(object: &Value, causes: &mut Vec<Cause>) {
    let names = finalizers(object);
    for (index, finalizer) in names.iter().enumerate() {
        let field = format!("metadata.finalizers[{index}]");
        if let Some(text) = qualified_name_problem(finalizer) {
            causes.push(Cause::invalid(field, &json!(finalizer), &text));
        } else if !finalizer.contains('/') && !is_standard(finalizer) {
            let text = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(field, &json!(finalizer), text));
        }
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let text = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid("metadata.finalizers", &json!(names), text));
    }
}

fn is_standard(finalizer: &str) -> bool {
    matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion") || finalizer == crate::crd::CLEANUP
}

fn check_owners(object: &Value, causes: &mut Vec<Cause>) {
    let mut controllers = 0;
    for owner in list(object, &["metadata", "ownerReferences"]) {
        let field = |part: &str| format!("metadata.ownerReferences.{part}");
        if text(owner, &["apiVersion"]).is_empty() {
            causes.push(Cause::invalid(field("apiVersion"), &json!(""), "version must not be empty"));
        }
        for (part, word) in [("kind", "must not be empty"), ("name", "must not be empty"), ("uid", "must not be empty")]
        {
            if text(owner, &[part]).is_empty() {
                causes.push(Cause::invalid(field(part), &json!(""), word));
            }
        }
        controllers += usize::from(owner.get("controller") == Some(&Value::Bool(true)));
    }
    if controllers > 1 {
        let shown = json!(list(object, &["metadata", "ownerReferences"]));
        let text = "Only one reference can have Controller set to true";
        causes.push(Cause::invalid("metadata.ownerReferences", &shown, text));
    }
}

fn check_immutable(object: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let field = "metadata.uid";
    let (new_uid, old_uid) = (text(object, &["metadata", "uid"]), text(old, &["metadata", "uid"]));
    if new_uid != old_uid {
        // The real server checks twice, and reports twice.
        causes.push(Cause::invalid(field, &json!(new_uid), "field is immutable"));
        causes.push(Cause::invalid(field, &json!(new_uid), "field is immutable"));
    }
    if is_terminating(old) {
        let before = finalizers(old);
        let added: Vec<&str> = finalizers(object).into_iter().filter(|f| !before.contains(f)).collect();
        if !added.is_empty() {
            let shown: Vec<String> = added.iter().map(|f| format!("{f:?}")).collect();
            let text = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                shown.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &text));
            causes.push(Cause::forbidden("metadata.finalizers", &text));
        }
    }
}
