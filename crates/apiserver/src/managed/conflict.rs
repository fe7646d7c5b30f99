//! The refusal of an apply that would change what others manage.

use serde_json::{Value, json};

use super::entry::Entry;
use super::set::FieldSet;
use crate::status::StatusError;

/// The refusal, in the words of the real server. Each manager comes with the fields that are in dispute.
pub(crate) fn conflict(disputes: &[(&Entry, FieldSet)]) -> StatusError {
    let mut all: Vec<(String, String)> = Vec::new();
    for (entry, fields) in disputes {
        let manager = describe(entry);
        all.extend(fields.paths().into_iter().map(|path| (manager.clone(), path_text(&path))));
    }
    let message = match all.as_slice() {
        [(manager, path)] => format!("Apply failed with 1 conflict: conflict with {manager}: {path}"),
        many => {
            let mut managers: Vec<&str> = many.iter().map(|(manager, _)| manager.as_str()).collect();
            managers.sort_unstable();
            managers.dedup();
            let told = managers.into_iter().map(|manager| {
                let paths = many.iter().filter(|(own, _)| own == manager).map(|(_, path)| format!("- {path}"));
                format!("conflicts with {manager}:\n{}", paths.collect::<Vec<_>>().join("\n"))
            });
            let told = told.collect::<Vec<_>>().join("\n");
            format!("Apply failed with {} conflicts: {told}", many.len())
        }
    };
    let causes: Vec<Value> = all
        .iter()
        .map(|(manager, path)| {
            json!({"reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": path})
        })
        .collect();
    StatusError { details: Some(json!({"causes": causes})), ..StatusError::new(409, "Conflict", message) }
}

fn describe(entry: &Entry) -> String {
    let mut text = format!("{:?}", entry.text("manager"));
    if !entry.text("subresource").is_empty() {
        text.push_str(&format!(" with subresource {:?}", entry.text("subresource")));
    }
    if entry.text("operation") == "Update" {
        text.push_str(&format!(" using {}", entry.text("apiVersion")));
    }
    text
}

/// A path as people write it: `.spec.containers[name="web"].image`.
pub(super) fn path_text(steps: &[String]) -> String {
    let mut text = String::new();
    for step in steps {
        match step.split_once(':') {
            Some(("f", name)) => text.push_str(&format!(".{name}")),
            Some(("k", keys)) => {
                let keys: Value = serde_json::from_str(keys).unwrap_or_default();
                let pairs = keys.as_object().into_iter().flatten();
                let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
                text.push_str(&format!("[{}]", pairs.join(",")));
            }
            Some(("v", value)) => text.push_str(&format!("[={value}]")),
            Some((_, index)) => text.push_str(&format!("[{index}]")),
            None => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str) -> Entry {
        Entry::read(json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1"}))
    }

    #[test]
    fn one_conflict_is_told_on_one_line_and_many_by_manager() {
        let (hand, robot) = (entry("hand", "Update"), entry("robot", "Apply"));
        let one = FieldSet::read(&json!({"f:spec": {"f:replicas": {}}}));
        let many = FieldSet::read(&json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {"f:image": {}}}}}));
        let error = conflict(&[(&hand, one.clone())]);
        assert_eq!(error.message, "Apply failed with 1 conflict: conflict with \"hand\" using apps/v1: .spec.replicas");
        assert_eq!(error.details.unwrap()["causes"][0]["field"], ".spec.replicas");
        assert_eq!(
            conflict(&[(&robot, many), (&hand, one)]).message,
            "Apply failed with 2 conflicts: conflicts with \"hand\" using apps/v1:\n- .spec.replicas\nconflicts with \
             \"robot\":\n- .spec.containers[name=\"a\"].image"
        );
    }
}
