//! The syntax of names, labels and label selectors, in the words of Kubernetes.

use std::collections::BTreeMap;

use tidegate_api::values::{LabelSelector, LabelSelectorRequirement};
use tidegate_api::wire::{Items, Text};

use crate::error::FieldError;

const NAME_LIMIT: usize = 63;
const SUBDOMAIN_LIMIT: usize = 253;

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
}

fn is_dns_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let lower = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    bytes.first().is_some_and(lower) && bytes.last().is_some_and(lower) && bytes.iter().all(|b| lower(b) || *b == b'-')
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

const NAME_SYNTAX: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// What is wrong with a label or annotation key.
pub fn qualified_name_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(subdomain_problems(prefix).into_iter().map(|problem| format!("prefix part {problem}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a qualified name {NAME_SYNTAX} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_LIMIT {
        problems.push(format!("name part {}", too_long(NAME_LIMIT)));
    }
    if !is_name(name) {
        problems.push(format!("name part {NAME_SYNTAX}"));
    }
    problems
}

/// What is wrong with a label value.
pub fn label_value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > NAME_LIMIT {
        problems.push(too_long(NAME_LIMIT));
    }
    if !value.is_empty() && !is_name(value) {
        problems.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

/// What is wrong with a name made of DNS labels joined by dots.
pub fn subdomain_problems(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > SUBDOMAIN_LIMIT {
        problems.push(too_long(SUBDOMAIN_LIMIT));
    }
    if !name.split('.').all(is_dns_label) {
        problems.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
             alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    problems
}

/// What is wrong with a name that must be one DNS label.
pub fn dns_label_problems(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > NAME_LIMIT {
        problems.push(too_long(NAME_LIMIT));
    }
    if !is_dns_label(name) {
        problems.push(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric \
             character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

/// Checks keys and values of labels.
pub fn check_labels(path: &str, labels: &BTreeMap<String, String>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels {
        errors.extend(
            qualified_name_problems(key).into_iter().map(|problem| FieldError::invalid(path, key.as_str(), problem)),
        );
        errors.extend(
            label_value_problems(value).into_iter().map(|problem| FieldError::invalid(path, value.as_str(), problem)),
        );
    }
    errors
}

/// Checks operators, keys and values of a label selector.
pub fn check_selector(path: &str, selector: &LabelSelector) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(labels) = &selector.match_labels {
        errors.extend(check_labels(&format!("{path}.matchLabels"), labels));
    }
    for (index, requirement) in selector.match_expressions.items().iter().enumerate() {
        errors.extend(check_requirement(&format!("{path}.matchExpressions[{index}]"), requirement));
    }
    errors
}

fn check_requirement(path: &str, requirement: &LabelSelectorRequirement) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let values = requirement.values.items();
    match requirement.operator.text() {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            format!("{path}.values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            format!("{path}.values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => errors.push(FieldError::invalid(format!("{path}.operator"), other, "not a valid selector operator")),
    }
    let key = requirement.key.text();
    let key_path = format!("{path}.key");
    errors.extend(qualified_name_problems(key).into_iter().map(|problem| FieldError::invalid(&key_path, key, problem)));
    for (index, value) in values.iter().enumerate() {
        let value_path = format!("{path}.values[{index}]");
        errors.extend(
            label_value_problems(value)
                .into_iter()
                .map(|problem| FieldError::invalid(&value_path, value.as_str(), problem)),
        );
    }
    errors
}

/// A selector in the form of the query parameter: `app=shop,tier in (a,b)`, keys in order.
pub fn text(selector: &LabelSelector) -> String {
    let exact = selector.match_labels.iter().flatten().map(|(key, value)| (key.as_str(), format!("{key}={value}")));
    let further = selector.match_expressions.items().iter().map(|requirement| {
        let key = requirement.key.text();
        let mut values: Vec<&str> = requirement.values.items().iter().map(String::as_str).collect();
        values.sort_unstable();
        let text = match requirement.operator.text() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        (key, text)
    });
    let mut parts: Vec<(&str, String)> = exact.chain(further).collect();
    parts.sort_by(|a, b| a.0.cmp(b.0));
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

/// Whether labels fit a selector. An absent selector fits nothing, an empty one everything.
pub fn matches(selector: Option<&LabelSelector>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else { return false };
    let exact = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    exact && selector.match_expressions.items().iter().all(|requirement| fits(requirement, labels))
}

fn fits(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(requirement.key.text());
    let listed = value.is_some_and(|value| requirement.values.items().contains(value));
    match requirement.operator.text() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}
