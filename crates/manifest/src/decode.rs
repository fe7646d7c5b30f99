//! From a document to a typed object, strictly or leniently.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tidegate_api::kind::{API_VERSION, Kind};

use crate::document::Document;
use crate::error::{Finding, ManifestError, ManifestErrors};
use crate::known_fields::Watched;
use crate::limits::MAX_ERRORS;
use crate::shapes::{UnknownFields, check};
use crate::similar::did_you_mean;
use crate::words::{describe, from_serde};
use crate::{pod_templates, words};

impl Document {
    /// The object as one of our kinds; fields that nobody declares are errors, except in pod templates.
    ///
    /// # Errors
    /// Every wrong type and unknown field that was found; of pod templates the first wrong type only.
    pub fn decode<K: Kind + DeserializeOwned>(&self) -> Result<K, ManifestErrors> {
        self.decode_with(UnknownFields::Refuse)
    }

    /// As [`Document::decode`], but unknown fields are kept in the object.
    ///
    /// # Errors
    /// Every wrong type that was found.
    pub fn decode_lenient<K: Kind + DeserializeOwned>(&self) -> Result<K, ManifestErrors> {
        self.decode_with(UnknownFields::Keep)
    }

    /// The object as a type of a Kubernetes library, strictly: its structs know their fields.
    ///
    /// # Errors
    /// The first wrong type, or every unknown field.
    pub fn decode_kubernetes<T: DeserializeOwned>(&self) -> Result<T, ManifestErrors> {
        self.kind()?;
        let watched = Watched::root(self.value());
        let found = watched.found();
        match serde_path_to_error::deserialize(watched) {
            Err(error) => Err(self.errors(vec![serde_finding(&error)])),
            Ok(_) if !found.borrow().is_empty() => Err(self.errors(found.take())),
            Ok(object) => Ok(object),
        }
    }

    /// Fields of pod templates that no Kubernetes we know has. The API server keeps them and a newer cluster may know
    /// them, so they are no errors; most of the time they are misspelt all the same.
    pub fn warnings(&self) -> Vec<ManifestError> {
        let kind = self.kind().unwrap_or_default();
        let findings = pod_templates::unknown_fields(kind, self.value());
        findings.into_iter().take(MAX_ERRORS).map(|finding| self.error(finding)).collect()
    }

    fn decode_with<K: Kind + DeserializeOwned>(&self, unknown_fields: UnknownFields) -> Result<K, ManifestErrors> {
        let mut findings = Vec::new();
        self.check_identity(K::KIND, &mut findings)?;
        check(self.value(), &K::shape(), unknown_fields, &mut findings);
        findings.extend(pod_templates::wrong_types(K::KIND, self.value()));
        if !findings.is_empty() {
            return Err(self.errors(findings));
        }
        // The shapes have been checked; what is left is what only the reader knows, such as times in metadata.
        let object: K =
            serde_path_to_error::deserialize(self.value()).map_err(|error| self.errors(vec![serde_finding(&error)]))?;
        let unknown = match unknown_fields {
            UnknownFields::Keep => Vec::new(),
            UnknownFields::Refuse => object.unknown_fields(),
        };
        if unknown.is_empty() {
            return Ok(object);
        }
        let name_of = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        Err(self.errors(unknown.iter().map(|path| Finding::unknown(path, &name_of(path), None)).collect()))
    }

    /// Kind and API version, which say how to read the rest.
    fn check_identity(&self, kind: &str, findings: &mut Vec<Finding>) -> Result<(), ManifestErrors> {
        let found = self.kind()?;
        if found != kind {
            let hint = did_you_mean(found, [kind]);
            findings.push(
                Finding::unfitting("kind", format!("{kind:?}"), format!("{:?}", words::cut(found))).with_hint(hint),
            );
        }
        let wanted = Some(format!("write apiVersion: {API_VERSION}"));
        match self.value().get("apiVersion") {
            Some(Value::String(version)) if version == API_VERSION => {}
            // Text is asked for, which the shape check reports.
            Some(other) if !other.is_string() && !other.is_null() => {}
            other => {
                let found = describe(other.unwrap_or(&Value::Null));
                findings.push(Finding::unfitting("apiVersion", format!("{API_VERSION:?}"), found).with_hint(wanted));
            }
        }
        Ok(())
    }

    fn errors(&self, findings: Vec<Finding>) -> ManifestErrors {
        ManifestErrors(findings.into_iter().take(MAX_ERRORS).map(|finding| self.error(finding)).collect())
    }
}

fn serde_finding(error: &serde_path_to_error::Error<serde_json::Error>) -> Finding {
    let path = error.path().to_string();
    // "." is how the whole document is called there.
    let field = if path == "." { String::new() } else { path };
    Finding { field, problem: from_serde(&error.inner().to_string()), hint: None }
}
