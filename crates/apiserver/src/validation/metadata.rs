//! Rules for metadata, the same for every kind.

use serde_json::{Value, json};

use super::names::{
    label_problems, label_value_problem, path_segment_problems, qualified_name_problem, subdomain_problems,
};
use crate::object::{at, finalizers, is_terminating, list, name, text};
use crate::registry::Resource;
use crate::status::Cause;

/// How often the real server looks at the metadata of an updated object. It reports what it finds each time.
struct Looks {
    /// As at a change: what may not be changed, and keys and owners.
    changes: usize,
    /// As at a new object: keys, owners and finalizers.
    contents: usize,
    /// Whether finalizers are those of a built-in kind.
    finalizers: usize,
}

impl Looks {
    fn at(resource: &Resource, subresource: &str) -> Self {
        let (changes, contents, finalizers) = match resource.id.as_str() {
            _ if resource.custom.is_some() => (2, 1, 0),
            "events" | "poddisruptionbudgets.policy" => (1, 1, 0),
            "leases.coordination.k8s.io" => (2, 1, 0),
            "endpointslices.discovery.k8s.io" => (1, 2, 1),
            "services"
            | "deployments.apps"
            | "replicasets.apps"
            | "statefulsets.apps"
            | "daemonsets.apps"
            | "horizontalpodautoscalers.autoscaling" => (2, 1, 1),
            _ if !subresource.is_empty() => (2, 1, 1),
            _ => (2, 2, 2),
        };
        Self { changes, contents, finalizers }
    }

    fn at_new(resource: &Resource) -> Self {
        let loose =
            matches!(resource.id.as_str(), "events" | "poddisruptionbudgets.policy" | "leases.coordination.k8s.io");
        Self { changes: 0, contents: 1, finalizers: usize::from(!loose && resource.custom.is_none()) }
    }
}

/// What is wrong with the metadata of an object.
pub(crate) fn metadata(resource: &Resource, object: &Value, old: Option<&Value>, subresource: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let looks = match old {
        Some(_) => Looks::at(resource, subresource),
        None => {
            check_name(resource, object, &mut causes);
            Looks::at_new(resource)
        }
    };
    // What one look does not find, others do not either.
    let is_clean = {
        let mut found = Vec::new();
        check_contents(object, &mut found);
        found.is_empty()
    };
    for _ in 0..looks.changes {
        if let Some(old) = old {
            check_immutable(object, old, &mut causes);
        }
        if !is_clean {
            check_keys(object, &mut causes);
            check_owners(object, &mut causes);
        }
    }
    for _ in 0..if is_clean { 0 } else { looks.contents } {
        check_contents(object, &mut causes);
    }
    for _ in 0..looks.finalizers {
        check_known_finalizers(object, &mut causes);
    }
    causes
}

fn check_contents(object: &Value, causes: &mut Vec<Cause>) {
    check_keys(object, causes);
    check_owners(object, causes);
    check_finalizers(object, causes);
}

fn check_name(resource: &Resource, object: &Value, causes: &mut Vec<Cause>) {
    let problems = |name: &str| match resource.id.as_str() {
        "events" | "poddisruptionbudgets.policy" => path_segment_problems(name),
        _ if resource.group == "rbac.authorization.k8s.io" => path_segment_problems(name),
        "namespaces" | "services" | "statefulsets.apps" => label_problems(name),
        _ => subdomain_problems(name),
    };
    let prefix = text(object, &["metadata", "generateName"]);
    if !prefix.is_empty() {
        // What is appended makes a dash at the end right.
        let complete = if prefix.len() > 1 && prefix.ends_with('-') {
            prefix.chars().take(prefix.chars().count() - 2).chain(['a']).collect()
        } else {
            prefix.to_owned()
        };
        let found = problems(&complete);
        causes.extend(found.iter().map(|text| Cause::invalid("metadata.generateName", &json!(prefix), text)));
    }
    let own = name(object);
    if own.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
        return;
    }
    causes.extend(problems(own).iter().map(|text| Cause::invalid("metadata.name", &json!(own), text)));
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
    for finalizer in &names {
        if let Some(text) = qualified_name_problem(finalizer) {
            causes.push(Cause::invalid("metadata.finalizers", &json!(finalizer), &text));
        }
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let text = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid("metadata.finalizers", &json!(names), text));
    }
}

/// Finalizers of built-in kinds carry a domain, but for the few that Kubernetes itself uses.
fn check_known_finalizers(object: &Value, causes: &mut Vec<Cause>) {
    for (index, finalizer) in finalizers(object).iter().enumerate() {
        if !finalizer.contains('/') && !is_standard(finalizer) {
            let text = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(format!("metadata.finalizers[{index}]"), &json!(finalizer), text));
        }
    }
}

pub(crate) fn is_standard(finalizer: &str) -> bool {
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
        if text(owner, &["apiVersion"]) == "v1" && text(owner, &["kind"]) == "Event" {
            let shown = crate::typed::print("OwnerReference", owner);
            let message = format!("Invalid value: {shown}: /v1, Kind=Event is disallowed from being an owner");
            let (reason, field) = ("FieldValueInvalid".to_owned(), "metadata.ownerReferences".to_owned());
            causes.push(Cause { reason, message, field });
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
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (new, old) = (at(object, &["metadata", field]), at(old, &["metadata", field]));
        if new != old {
            let shown = new.cloned().unwrap_or_default();
            causes.push(Cause::invalid(format!("metadata.{field}"), &shown, "field is immutable"));
        }
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
        }
    }
}
