//! What the API server asks.

use serde_json::Value;

/// Who writes as the controller: this one, and Argo Rollouts.
const CONTROLLER: &str = "rollouts-controller";

/// Why a request cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// No JSON.
    #[error("the request is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Not what is served here.
    #[error("the request is no AdmissionReview of admission.k8s.io/v1: {0} is missing")]
    Shape(&'static str),
}

/// One object that somebody wants to store.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) uid: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    field_manager: String,
    /// As it is to be; null for a deletion.
    pub(crate) object: Value,
    /// As it is; null for a creation.
    pub(crate) before: Value,
}

impl Request {
    /// Reads an `AdmissionReview`.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(bytes: &[u8]) -> Result<Self, ReviewError> {
        let mut review: Value = serde_json::from_slice(bytes)?;
        if review["apiVersion"] != "admission.k8s.io/v1" {
            return Err(ReviewError::Shape("apiVersion: admission.k8s.io/v1"));
        }
        let request = review.get_mut("request").filter(|request| request.is_object());
        let request = request.ok_or(ReviewError::Shape("request"))?;
        let text = |pointer: &str| request.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let uid = Some(text("/uid")).filter(|uid| !uid.is_empty()).ok_or(ReviewError::Shape("request.uid"))?;
        let (kind, field_manager) = (text("/kind/kind"), text("/options/fieldManager"));
        let (namespace, name) = (text("/namespace"), text("/name"));
        let mut take = |field: &str| request.get_mut(field).map(Value::take).unwrap_or_default();
        let (object, before) = (take("object"), take("oldObject"));
        Ok(Self { uid, kind, namespace, name, field_manager, object, before })
    }

    /// What the controller writes it has thought about; to stop it would only make it try again.
    pub(crate) fn is_by_controller(&self) -> bool {
        self.field_manager == CONTROLLER
    }

    /// Whether the object is on its way out: then only finalizers matter.
    pub(crate) fn is_going(&self) -> bool {
        !self.object["metadata"]["deletionTimestamp"].is_null()
    }

    /// The name, or what it is made from.
    pub(crate) fn shown_name(&self) -> &str {
        let generated = self.object["metadata"]["generateName"].as_str().unwrap_or_default();
        if self.name.is_empty() { generated } else { &self.name }
    }
}
