//! Lists: selectors, consistent pages, and the rules of `resourceVersion` and `resourceVersionMatch`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::encoding::{base64, from_base64};
use crate::fields::FieldSelector;
use crate::request::{Query, Target};
use crate::selector::LabelSelector;
use crate::state::State;
use crate::status::{About, Cause, StatusError};
use crate::store::Key;

/// Which objects of a resource are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    pub(crate) fn read(target: &Target) -> Result<Self, StatusError> {
        let labels = LabelSelector::parse(target.query.get("labelSelector"))?;
        let fields = FieldSelector::parse(target.query.get("fieldSelector"), &target.resource)?;
        Ok(Self { labels, fields })
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }

    fn is_everything(&self, query: &Query) -> bool {
        self.labels.is_empty() && query.get("fieldSelector").is_empty()
    }
}

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Arc<Value>>,
    revision: u64,
    next: Option<String>,
    remaining: Option<usize>,
}

const EXPIRED_TOKEN: &str = "The provided continue parameter is too old to display a consistent list result. You can \
    start a new list without the continue parameter, or use the continue token in this response to retrieve the \
    remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were \
    created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// Reads a list or a page of it; one that does not say which version it wants is `lag` writes behind.
pub(crate) fn list(state: &State, target: &Target, lag: u64) -> Result<Page, StatusError> {
    let query = &target.query;
    let selection = Selection::read(target)?;
    check_options(query, false)?;
    let asked = read_version(query)?;
    let limit = query.number("limit")?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let token = match query.get("continue") {
        "" => None,
        text => Some(read_token(text)?),
    };
    let (revision, start) = match &token {
        Some((revision, start)) => (*revision, start.as_str()),
        None => (wanted_revision(state, query, asked)?, ""),
    };
    // A list that any version satisfies is served whole, whatever the limit.
    let limit = if asked == Some(0) && token.is_none() { 0 } else { limit };
    let at = if revision == 0 { state.store.revision_before(lag).max(asked.unwrap_or(0)) } else { revision };
    let found = state.store.list_at(&target.resource.id, target.scope(), at).map_err(|_| match token {
        Some(_) => StatusError::expired(EXPIRED_TOKEN),
        None => StatusError::expired("The resourceVersion for the provided list is too old."),
    })?;
    let wanted = found.into_iter().filter(|(key, object)| key.as_str() > start && selection.matches(object));
    Ok(cut(wanted, limit, at, selection.is_everything(query)))
}

fn cut(wanted: impl Iterator<Item = (Key, Arc<Value>)>, limit: usize, revision: u64, countable: bool) -> Page {
    let mut items = Vec::new();
    let mut last = String::new();
    let mut rest = 0_usize;
    for (key, object) in wanted {
        if limit == 0 || items.len() < limit {
            key.as_str().clone_into(&mut last);
            items.push(object);
        } else {
            rest += 1;
        }
    }
    let next = (rest > 0).then(|| write_token(revision, &last));
    Page { items, revision, next, remaining: (rest > 0 && countable).then_some(rest) }
}

fn wanted_revision(state: &State, query: &Query, asked: Option<u64>) -> Result<u64, StatusError> {
    let current = state.store.revision();
    match asked {
        None | Some(0) => Ok(0),
        Some(asked) if asked > current => Err(too_large(asked, current)),
        Some(asked) if query.get("resourceVersionMatch") == "Exact" => Ok(asked),
        // Since lists with a limit and a version were first served, they mean exactly that version.
        Some(asked) if !query.get("limit").is_empty() && query.get("resourceVersionMatch").is_empty() => Ok(asked),
        Some(_) => Ok(0),
    }
}

/// The answer to a version from the future.
pub(crate) fn too_large(asked: u64, current: u64) -> StatusError {
    let text = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let mut error = StatusError::new(504, "Timeout", text);
    error.details = Some(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }));
    error.retry_after = Some(1);
    error
}

/// `resourceVersion` of a query; none if absent.
pub(crate) fn read_version(query: &Query) -> Result<Option<u64>, StatusError> {
    match query.get("resourceVersion") {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            StatusError::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing \
                 {text:?}: invalid syntax"
            ))
        }),
    }
}

/// The combinations of options that are refused.
pub(crate) fn check_options(query: &Query, watch: bool) -> Result<(), StatusError> {
    const FIELD: &str = "resourceVersionMatch";
    let matching = query.get(FIELD);
    let version = query.get("resourceVersion");
    let initial = query.has("sendInitialEvents");
    let mut causes = Vec::new();
    if initial && !watch {
        causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    } else if initial {
        if matching != "NotOlderThan" {
            let text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            causes.push(Cause::forbidden(FIELD, text));
        }
    } else if !matching.is_empty() {
        if watch {
            causes.push(Cause::forbidden(
                FIELD,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        } else if !query.get("continue").is_empty() {
            causes.push(Cause::forbidden(FIELD, "resourceVersionMatch is forbidden when continue is provided"));
        } else if version.is_empty() {
            causes
                .push(Cause::forbidden(FIELD, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
        } else if !matches!(matching, "Exact" | "NotOlderThan") {
            causes.push(Cause::unsupported(FIELD, &json!(matching), &["Exact", "NotOlderThan", ""]));
        } else if matching == "Exact" && version == "0" {
            causes
                .push(Cause::forbidden(FIELD, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
        }
    }
    if !watch && !query.get("continue").is_empty() && !version.is_empty() && version != "0" {
        let text = "specifying resource version is not allowed when using continue";
        return Err(StatusError::bad_request(text));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(StatusError::invalid(&About { group: "meta.k8s.io", kind: "ListOptions", name: "" }, &causes))
}

fn write_token(revision: u64, start: &str) -> String {
    let token = json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start});
    base64(token.to_string().as_bytes()).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

fn read_token(text: &str) -> Result<(u64, String), StatusError> {
    let refuse =
        |why: &str| StatusError::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = from_base64(text).ok_or_else(|| refuse("illegal base64 data"))?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|e| refuse(&e.to_string()))?;
    let revision = token.get("rv").and_then(Value::as_u64).ok_or_else(|| refuse("no resource version"))?;
    let start = token.get("start").and_then(Value::as_str).ok_or_else(|| refuse("no start"))?;
    Ok((revision, start.to_owned()))
}

impl Page {
    /// The list object; `shape` turns an item into what the client asked for.
    pub(crate) fn into_value(self, kind: &str, api_version: &str, shape: impl Fn(&Value) -> Value) -> Value {
        let mut metadata = json!({"resourceVersion": self.revision.to_string()});
        if let Some(next) = self.next {
            metadata["continue"] = json!(next);
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
        let items: Vec<Value> = self.items.iter().map(|item| shape(item)).collect();
        json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items})
    }
}
