//! In which form a client wants to see objects: whole, or only their metadata.

use http::{HeaderMap, header};
use serde_json::{Value, json};

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

    /// Whether objects go out as they are stored, so that nobody needs to copy them.
    pub(crate) fn is_plain(self, resource: &Resource) -> bool {
        self == Self::Whole && resource.custom.is_none()
    }

    /// An object in this form and in the version that was asked for.
    pub(crate) fn shape(self, resource: &Resource, object: &Value) -> Value {
        match self {
            Self::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object.get("metadata"),
            }),
            Self::Whole => {
                let mut copy = object.clone();
                if resource.custom.is_some() {
                    copy["apiVersion"] = json!(resource.api_version());
                }
                copy
            }
        }
    }

    /// An item of a list: built-in kinds leave out kind and version there.
    pub(crate) fn item(self, resource: &Resource, object: &Value) -> Value {
        let mut shaped = self.shape(resource, object);
        if self == Self::Whole && resource.custom.is_none() {
            let map = crate::object::map_mut(&mut shaped);
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
