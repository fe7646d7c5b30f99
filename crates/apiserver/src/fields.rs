//! Field selectors: which fields of which kind can be selected by, and the selection itself.

use serde_json::Value;

use crate::object::{at, name, namespace};
use crate::registry::Resource;
use crate::status::StatusError;

/// A conjunction of `field=value` and `field!=value`.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldSelector(Vec<(String, bool, String)>);

impl FieldSelector {
    /// Reads the query form and checks that the resource supports the fields.
    pub(crate) fn parse(query: &str, resource: &Resource) -> Result<Self, StatusError> {
        let mut terms = Vec::new();
        for term in query.split(',').filter(|t| !t.is_empty()) {
            let (field, equal, value) = split(term).ok_or_else(|| {
                StatusError::bad_request(format!("invalid selector: '{query}'; can't understand '{term}'"))
            })?;
            terms.push((field.to_owned(), equal, unescape(value).map_err(StatusError::bad_request)?));
        }
        match terms.iter().find(|(field, _, _)| !is_supported(resource, field)) {
            Some((field, _, _)) => Err(unsupported(resource, field)),
            None => Ok(Self(terms)),
        }
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(field, equal, value)| (read(object, field) == *value) == *equal)
    }
}

fn split(term: &str) -> Option<(&str, bool, &str)> {
    if let Some((field, value)) = term.split_once("!=") {
        return Some((field, false, value));
    }
    if let Some((field, value)) = term.split_once("==") {
        return Some((field, true, value));
    }
    term.split_once('=').map(|(field, value)| (field, true, value))
}

/// Commas, equal signs and backslashes in values are escaped by a backslash.
fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => {
                    let shown: String = ['\\'].into_iter().chain(other).collect();
                    return Err(format!("invalid field selector: invalid escape sequence: {shown}"));
                }
            },
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

fn supported(resource: &Resource) -> &'static [&'static str] {
    match resource.id.as_str() {
        "pods" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        "events" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        "nodes" => &["spec.unschedulable"],
        "namespaces" => &["status.phase"],
        "secrets" => &["type"],
        "services" => &["spec.clusterIP", "spec.type"],
        "jobs.batch" => &["status.successful"],
        _ => &[],
    }
}

fn is_supported(resource: &Resource, field: &str) -> bool {
    field == "metadata.name"
        || field == "metadata.namespace"
        || supported(resource).contains(&field)
        || resource.selectable_fields.iter().any(|f| f == field)
}

fn unsupported(resource: &Resource, field: &str) -> StatusError {
    let text = match resource.id.as_str() {
        "pods" | "events" | "nodes" | "secrets" | "namespaces" | "services" => {
            format!("field label not supported: {field}")
        }
        "jobs.batch" => format!("field label {field:?} not supported for Job"),
        _ if resource.custom.is_some() => format!("field label not supported: {field}"),
        _ => format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
    };
    StatusError::bad_request(text)
}

fn read(object: &Value, field: &str) -> String {
    match field {
        "metadata.name" => return name(object).to_owned(),
        "metadata.namespace" => return namespace(object).to_owned(),
        "source" => {
            return crate::object::text(object, &["source", "component"]).to_owned();
        }
        _ => {}
    }
    let path: Vec<&str> = field.split('.').collect();
    match at(object, &path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => absent(field).to_owned(),
        Some(other) => other.to_string(),
    }
}

/// What an absent field compares as: numbers and flags have a zero value.
fn absent(field: &str) -> &'static str {
    match field {
        "spec.unschedulable" | "spec.hostNetwork" => "false",
        "status.successful" => "0",
        _ => "",
    }
}
