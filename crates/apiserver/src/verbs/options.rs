//! Options that writes share: dry run, field manager, and those of deletion.

use serde_json::{Value, json};

use super::Caller;
use crate::body::Strictness;
use crate::object::text;
use crate::request::Query;
use crate::status::{About, Cause, StatusError};

/// Reads `dryRun` and the manager. `kind` is `CreateOptions` and so on.
pub(crate) fn caller(query: &Query, user_agent: &str, kind: &str) -> Result<Caller, StatusError> {
    let dry_run = check_dry_run(query.all("dryRun"), kind)?;
    let manager = match query.get("fieldManager") {
        "" => user_agent.split('/').next().unwrap_or_default(),
        given => given,
    };
    if manager.len() > 128 {
        let message = "Too long: may not be more than 128 bytes".to_owned();
        let cause = Cause { reason: "FieldValueTooLong".to_owned(), message, field: "fieldManager".to_owned() };
        return Err(StatusError::invalid(&About { group: "meta.k8s.io", kind, name: "" }, &[cause]));
    }
    let strictness = Strictness::read(query.get("fieldValidation"), kind)?;
    Ok(Caller { manager: manager.to_owned(), dry_run, strictness, applied: None })
}

fn check_dry_run(values: &[String], kind: &str) -> Result<bool, StatusError> {
    if values.iter().any(|v| v != "All") {
        let cause = Cause::unsupported("dryRun", &json!(values), &["All"]);
        return Err(StatusError::invalid(&About { group: "meta.k8s.io", kind, name: "" }, &[cause]));
    }
    Ok(!values.is_empty())
}

/// What happens to dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// Options of a deletion, from the body and the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    pub(crate) fn read(body: Option<&Value>, query: &Query) -> Result<Self, StatusError> {
        let empty = json!({});
        let body = body.filter(|b| b.is_object()).unwrap_or(&empty);
        let given = |path: &[&str]| Some(text(body, path)).filter(|t| !t.is_empty()).map(str::to_owned);
        let mut dry_run: Vec<String> =
            crate::object::list(body, &["dryRun"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        dry_run.extend_from_slice(query.all("dryRun"));
        let grace = match query.number("gracePeriodSeconds")? {
            Some(grace) => Some(grace),
            None => body.get("gracePeriodSeconds").and_then(Value::as_i64),
        };
        let policy = given(&["propagationPolicy"]).unwrap_or_else(|| query.get("propagationPolicy").to_owned());
        Ok(Self {
            grace,
            propagation: propagation(&policy, body, query)?,
            uid: given(&["preconditions", "uid"]),
            version: given(&["preconditions", "resourceVersion"]),
            dry_run: check_dry_run(&dry_run, "DeleteOptions")?,
        })
    }
}

fn propagation(policy: &str, body: &Value, query: &Query) -> Result<Option<Propagation>, StatusError> {
    let refuse = |cause: Cause| {
        Err(StatusError::invalid(&About { group: "meta.k8s.io", kind: "DeleteOptions", name: "" }, &[cause]))
    };
    let orphan = match query.get("orphanDependents") {
        "" => body.get("orphanDependents").and_then(Value::as_bool),
        text => Some(text == "true" || text == "1"),
    };
    if orphan.is_some() && !policy.is_empty() {
        let text = "orphanDependents and deletionPropagation cannot be both set";
        return refuse(Cause::invalid("propagationPolicy", &json!(policy), text));
    }
    match policy {
        "" => Ok(orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background })),
        "Background" => Ok(Some(Propagation::Background)),
        "Foreground" => Ok(Some(Propagation::Foreground)),
        "Orphan" => Ok(Some(Propagation::Orphan)),
        other => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            refuse(Cause::unsupported("propagationPolicy", &json!(other), &supported))
        }
    }
}
