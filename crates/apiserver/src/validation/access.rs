//! Rules for roles and their bindings.

use serde_json::{Value, json};

use super::names::path_segment_problems;
use super::rules::Findings;
use crate::object::{at, list, text};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Roles of a namespace.
pub(super) fn role(object: &Value, found: &mut Findings) {
    for (index, rule) in list(object, &["rules"]).iter().enumerate() {
        let field = |part: &str| format!("rules[{index}].{part}");
        if list(rule, &["verbs"]).is_empty() {
            found.required_as(field("verbs"), "verbs must contain at least one value");
        }
        let urls = list(rule, &["nonResourceURLs"]);
        if !urls.is_empty() {
            found.invalid(field("nonResourceURLs"), json!(urls), "namespaced rules cannot apply to non-resource URLs");
            continue;
        }
        if list(rule, &["apiGroups"]).is_empty() {
            found.required_as(field("apiGroups"), "resource rules must supply at least one api group");
        }
        if list(rule, &["resources"]).is_empty() {
            found.required_as(field("resources"), "resource rules must supply at least one resource");
        }
    }
}

/// Bindings to a role.
pub(super) fn role_binding(object: &Value, old: Option<&Value>, kinds: &[&str], found: &mut Findings) {
    let part = |name: &str| text(object, &["roleRef", name]);
    found.choice("roleRef.apiGroup", part("apiGroup"), &[GROUP]);
    found.choice("roleRef.kind", part("kind"), kinds);
    if part("name").is_empty() {
        found.required("roleRef.name");
    } else {
        found.problems("roleRef.name", part("name"), path_segment_problems(part("name")));
    }
    for (index, one) in list(object, &["subjects"]).iter().enumerate() {
        subject(one, &format!("subjects[{index}]"), found);
    }
    if old.is_some_and(|old| at(object, &["roleRef"]) != at(old, &["roleRef"])) {
        // The real server prints its internal structure here, in the order of its fields.
        let shown =
            format!("{{\"APIGroup\":{:?},\"Kind\":{:?},\"Name\":{:?}}}", part("apiGroup"), part("kind"), part("name"));
        found.printed("roleRef", &shown, "cannot change roleRef");
    }
}

fn subject(subject: &Value, field: &str, found: &mut Findings) {
    let name = text(subject, &["name"]);
    if name.is_empty() {
        found.required(format!("{field}.name"));
    }
    let group = match text(subject, &["kind"]) {
        "ServiceAccount" => {
            if !name.is_empty() {
                found.subdomain(&format!("{field}.name"), name);
            }
            ""
        }
        "User" | "Group" => GROUP,
        other => {
            found.choice(&format!("{field}.kind"), other, &["ServiceAccount", "User", "Group"]);
            return;
        }
    };
    found.choice(&format!("{field}.apiGroup"), text(subject, &["apiGroup"]), &[group]);
}
