//! Lists: selectors, consistent pages, and the rules of `resourceVersion` and `resourceVersionMatch`.

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::encoding::{base64, from_base64};
use crate::fields::FieldSelector;
use crate::registry::Resource;
use crate::request::{Query, Target};
use crate::selector::LabelSelector;
use crate::state::State;
use crate::status::{About, Cause, StatusError};
use crate::store::{Key, write_shown};
use crate::stored::{Object, Shown};
use crate::view::{Style, View};

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
    pub(crate) items: Vec<Object>,
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
    let rest = found.into_iter().filter(|(key, _)| key.as_str() > start);
    Ok(cut(rest, &selection, limit, at, selection.is_everything(query)))
}

/// Takes a page. Whether there are more is told without looking whether they would be selected.
fn cut(
    found: impl Iterator<Item = (Key, Object)>,
    selection: &Selection,
    limit: usize,
    revision: u64,
    countable: bool,
) -> Page {
    let mut items = Vec::new();
    let mut last = String::new();
    let mut rest = 0_usize;
    for (key, object) in found {
        if limit > 0 && items.len() >= limit {
            rest += 1;
        } else {
            key.as_str().clone_into(&mut last);
            if selection.matches(&object) {
                items.push(object);
            }
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
            let why = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
            let text = format!("resourceVersion: Invalid value: {text:?}: {why}");
            if query.flag("watch") {
                return StatusError::new(500, "", text);
            }
            StatusError::bad_request(format!("invalid resource version: {text}"))
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
    let bytes = from_base64(text).ok_or_else(|| {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let place = text.find(|c| !legal(c)).unwrap_or(text.len() / 4 * 4);
        refuse(&format!("illegal base64 data at input byte {place}"))
    })?;
    let token = crate::json::read(&bytes).map_err(|why| refuse(&why))?.value;
    let version = crate::object::text(&token, &["v"]);
    if version != "meta.k8s.io/v1" {
        return Err(refuse(&format!("server does not recognize this encoded version {version:?}")));
    }
    let revision = token.get("rv").and_then(Value::as_u64).filter(|revision| *revision > 0);
    let revision =
        revision.ok_or_else(|| refuse("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"))?;
    let start = crate::object::text(&token, &["start"]);
    if start.is_empty() {
        return Err(refuse("encoded start key empty (version meta.k8s.io/v1)"));
    }
    Ok((revision, start.to_owned()))
}

/// A list as it is written: fields in the order of their names.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ListText<'a> {
    api_version: &'a str,
    items: Option<Vec<Shown<'a>>>,
    kind: &'a str,
    metadata: Value,
}

impl Page {
    /// The text of the list in the form that the client asked for.
    pub(crate) fn write(self, resource: &Resource, view: View, now: impl FnOnce() -> Timestamp) -> Bytes {
        let mut metadata = json!({"resourceVersion": self.revision.to_string()});
        if let Some(next) = self.next {
            metadata["continue"] = json!(next);
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
        if let Some(table) = view.table(resource, now) {
            return table.of_many(&self.items, metadata);
        }
        let (kind, api_version) = view.list_type(resource);
        // Lists of custom resources are encoded without types, so an empty token is spelt out.
        if view.style == Style::Whole && resource.custom.is_some() && metadata.get("continue").is_none() {
            metadata["continue"] = json!("");
        }
        let version = resource.api_version();
        let items = self.items.iter().map(|item| view.item(resource, &version, item)).collect();
        // An empty list of metadata is no list.
        let items = Some(items).filter(|_| view.style != Style::Metadata || !self.items.is_empty());
        write_shown(&ListText { api_version: &api_version, items, kind: &kind, metadata })
    }
}
