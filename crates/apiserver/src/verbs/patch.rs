//! Patches, of objects and of their status.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use tidegate_patch::{PatchError, check_merge_patch, go_text, json_patch, merge_patch, strategic_merge_patch};

use super::decode::decode;
use super::update::{check_name, replace};
use super::{Caller, Outcome, not_found};
use crate::body::{Strictness, duplicates, untyped};
use crate::json::Document;
use crate::object::map_mut;
use crate::registry::Resource;
use crate::request::Target;
use crate::state::State;
use crate::status::{About, Cause, StatusError};
use crate::store::Key;
use crate::stored::Object;

/// The form of a patch, from its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Merge,
    Strategic,
}

/// What a request to patch wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The object changed by a patch.
    Change(Form),
    /// These fields with these values.
    Apply,
}

impl Wish {
    pub(crate) fn read(content_type: &str, resource: &Resource) -> Result<Self, StatusError> {
        if content_type == "application/apply-patch+yaml" {
            return Ok(Self::Apply);
        }
        Form::read(content_type, resource).map(Self::Change)
    }
}

const CUSTOM_FORMS: &str = "the body of the request was in an unknown format - accepted media types include: \
    application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

impl Form {
    fn read(content_type: &str, resource: &Resource) -> Result<Self, StatusError> {
        match content_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if resource.custom.is_none() => Ok(Self::Strategic),
            _ if resource.custom.is_some() => Err(StatusError::new(415, "UnsupportedMediaType", CUSTOM_FORMS)),
            _ => {
                let mut error = StatusError::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                error.details = Some(Value::Object(serde_json::Map::new()));
                Err(error)
            }
        }
    }

    /// Reads a patch of this form.
    pub(crate) fn parse(self, body: &[u8], strictness: Strictness) -> Result<Document, StatusError> {
        let lenient = strictness == Strictness::Ignore;
        crate::json::read(body).map_err(|why| match self {
            Self::Strategic => StatusError::bad_request(why),
            Self::Json if lenient => StatusError::bad_request(why),
            Self::Merge if lenient => StatusError::bad_request("Invalid JSON Patch"),
            Self::Json | Self::Merge => StatusError::bad_request(format!("error decoding patch: {why}")),
        })
    }

    /// Whether a patch may read or change the managers of an object. One that removes them together with other fields
    /// does not count: managers that do not come along stay as they are.
    fn may_reach_managers(self, patch: &Value) -> bool {
        const FIELD: &str = "managedFields";
        let is_apart = |pointer: &Value| {
            let mut steps = pointer.as_str().unwrap_or_default().split('/').skip(1);
            match steps.next() {
                None => false,
                Some("metadata") => steps.next().is_some_and(|step| step != FIELD),
                Some(_) => true,
            }
        };
        match (self, patch) {
            (Self::Json, Value::Array(operations)) => !operations.iter().all(|operation| {
                operation.get("path").is_some_and(is_apart) && operation.get("from").is_none_or(is_apart)
            }),
            (Self::Json, _) => true,
            (Self::Merge | Self::Strategic, patch) => {
                let metadata = patch.get("metadata").and_then(Value::as_object);
                metadata.is_some_and(|fields| fields.keys().any(|key| key.ends_with(FIELD)))
            }
        }
    }

    /// The patched document.
    pub(crate) fn apply(
        self,
        kind: &str,
        document: &Value,
        patch: &Value,
        strictness: Strictness,
    ) -> Result<Value, StatusError> {
        if self == Self::Merge {
            check_merge(patch, strictness)?;
        }
        let patched = match self {
            Self::Json => json_patch(document, patch).map_err(refused)?,
            Self::Merge => merge_patch(document, patch),
            Self::Strategic => strategic_merge_patch(kind, document, patch).map_err(refused)?,
        };
        if patched.is_object() {
            Ok(patched)
        } else {
            Err(StatusError::bad_request("the patched document is not an object"))
        }
    }
}

/// A merge patch must be an object; who ignores what is odd about it is told so later, and in other words.
fn check_merge(patch: &Value, strictness: Strictness) -> Result<(), StatusError> {
    if strictness != Strictness::Ignore {
        return check_merge_patch(patch).map_err(refused);
    }
    match patch {
        Value::Object(_) => Ok(()),
        Value::Array(_) => {
            let cause = Cause::invalid("patch", &Value::from(patch.to_string()), &untyped("array"));
            Err(StatusError::invalid(&About { group: "", kind: "", name: "" }, &[cause]))
        }
        _ => Err(StatusError::bad_request("Invalid JSON Patch")),
    }
}

fn refused(error: PatchError) -> StatusError {
    match error {
        PatchError::Malformed(text) => StatusError::bad_request(text),
        PatchError::TooLarge(text) => StatusError::new(413, "RequestEntityTooLarge", text),
        PatchError::Internal(text) => StatusError::new(500, "", text),
        PatchError::Unfitting(_) => {
            let text = "the server rejected our request due to an error in our request";
            let mut error = StatusError::new(422, "Invalid", text);
            error.details = Some(Value::Object(serde_json::Map::new()));
            error
        }
    }
}

/// Patches an object or its status.
pub(crate) fn patch(
    state: &mut State,
    target: &Target,
    form: Form,
    body: &[u8],
    caller: &Caller,
) -> Result<Outcome, StatusError> {
    let resource = Arc::clone(&target.resource);
    let key = Key::new(&resource.id, &target.namespace, &target.name);
    let existing = state.store.get(&key).cloned().ok_or_else(|| not_found(&resource, &target.name))?;
    let patch = form.parse(body, caller.strictness)?;
    let apply = |managers: bool| {
        let document = as_asked_for(&resource, &existing, managers);
        form.apply(&resource.kind, &document, &patch.value, caller.strictness)
    };
    // Without the managers where they stay what they are: copying and reading them takes longer than all the rest.
    let mut object = apply(form.may_reach_managers(&patch.value))?;
    // Patched again only if somebody must be shown the result, which decoding has changed by then.
    let patched = || apply(true).unwrap_or_default();
    decode_patched(state, &resource, form, &patch, (&existing, &mut object), &patched, caller)?;
    check_name(&object, &target.name)?;
    super::create::place_in_namespace(&resource, &target.namespace, &mut object)?;
    let stored = replace(state, &resource, &key, &existing, object.into(), &target.subresource, caller)?;
    Ok(Outcome::Object(200, stored))
}

/// What is stored, in the version of the path. Objects are stored in one version of their kind, usually this one.
pub(super) fn as_asked_for<'a>(resource: &Resource, stored: &'a Object, managers: bool) -> Cow<'a, Value> {
    let version = resource.api_version();
    let mut document: Cow<'_, Value> = if managers { Cow::Owned(stored.whole()) } else { Cow::Borrowed(stored) };
    if resource.custom.is_some() && stored.get("apiVersion").and_then(Value::as_str) != Some(&version) {
        map_mut(document.to_mut()).insert("apiVersion".to_owned(), Value::from(version));
    }
    document
}

/// What cannot be decoded is the fault of the patch, and is shown as a whole.
fn decode_patched(
    state: &mut State,
    resource: &Resource,
    form: Form,
    patch: &Document,
    (stored, object): (&Value, &mut Value),
    patched: &dyn Fn() -> Value,
    caller: &Caller,
) -> Result<(), StatusError> {
    let refuse = |why: String| {
        // A strategic merge patch never becomes text again, so it is shown itself.
        let shown = if form == Form::Strategic { go_text(&patch.value) } else { patched().to_string() };
        let cause = Cause::invalid("patch", &Value::from(shown), &why);
        StatusError::invalid(&About { group: "", kind: "", name: "" }, &[cause])
    };
    let mut problems = duplicates(patch);
    if form == Form::Strategic {
        let unknown = crate::typed::convert(resource, object, stored).map_err(refuse)?;
        problems.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    }
    problems.extend(decode(state, resource, object, Some(stored)).map_err(refuse)?);
    caller.strictness.tell(&problems, &mut state.warnings).map_err(refuse)
}
