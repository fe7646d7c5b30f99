//! In which form a client wants to see objects: whole, or only their metadata.

use std::borrow::Cow;

use http::{HeaderMap, header};
use serde_json::{Value, json};

use crate::object::{map_mut, text};
use crate::registry::Resource;
use crate::status::StatusError;

/// The form of an answer, from the `Accept` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Objects as they are.
    Whole,
    /// `PartialObjectMetadata`.
    Metadata,
}

impl View {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let first = accept.split(',').next().unwrap_or_default();
        if first.contains("as=PartialObjectMetadata") { Self::Metadata } else { Self::Whole }
    }

    /// Whether an object goes out as it is stored, so that nobody needs to copy it: custom objects do unless another
    /// version is asked for than the one they were written in.
    pub(crate) fn is_plain(self, resource: &Resource, object: &Value) -> bool {
        self == Self::Whole && (resource.custom.is_none() || text(object, &["apiVersion"]) == resource.api_version())
    }

    /// An object in this form and in the version that was asked for.
    pub(crate) fn shape<'a>(self, resource: &Resource, object: &'a Value) -> Cow<'a, Value> {
        if self.is_plain(resource, object) {
            return Cow::Borrowed(object);
        }
        Cow::Owned(match self {
            Self::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object.get("metadata"),
            }),
            Self::Whole => {
                let mut copy = object.clone();
                map_mut(&mut copy).insert("apiVersion".to_owned(), json!(resource.api_version()));
                copy
            }
        })
    }

    /// An item of a list: built-in kinds leave out kind and version there.
    pub(crate) fn item(self, resource: &Resource, object: &Value) -> Value {
        let mut shaped = self.shape(resource, object).into_owned();
        if self == Self::Whole && resource.custom.is_none() {
            let map = map_mut(&mut shaped);
            map.remove("kind");
            map.remove("apiVersion");
        }
        shaped
    }

    /// Kind and version of a list.
    pub(crate) fn list_type(self, resource: &Resource) -> (String, String) {
        match self {
            Self::Whole => (resource.list_kind.clone(), resource.api_version()),
            Self::Metadata => ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned()),
        }
    }
}

/// Refuses requests for a form of answer that there is not.
pub(crate) fn check_acceptable(headers: &HeaderMap, resource: &Resource) -> Result<(), StatusError> {
    const FORMS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let known = |clause: &str| {
        let form = clause.split(';').next().unwrap_or_default().trim();
        matches!(form, "" | "*/*" | "application/*") || FORMS.split(", ").any(|known| known == form)
    };
    if accept.split(',').any(known) {
        return Ok(());
    }
    if resource.custom.is_some() {
        let text = format!("only the following media types are accepted: {FORMS}");
        return Err(StatusError::new(406, "NotAcceptable", text));
    }
    let text = format!("406: Not Acceptable\n\nAvailable representations: {FORMS}");
    Err(StatusError { details: Some(json!({})), ..StatusError::new(406, "NotAcceptable", text) })
}
