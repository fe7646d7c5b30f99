//! In which form a client wants to see objects: whole, only their metadata, or as rows of a table.

use bytes::Bytes;
use http::{HeaderMap, header, request::Parts};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::columns::{Include, Table};
use crate::object::text;
use crate::registry::Resource;
use crate::request::Query;
use crate::status::StatusError;
use crate::store::write_shown;
use crate::stored::{Form, Object, Shown};

/// A wish that a client in the same process puts into the extensions of its requests: answers and events come without
/// `managedFields`. Who is managed by whom is kept all the same. Most of what a client reads is that list, and most
/// clients throw it away.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithoutManagers;

/// The form of an answer, from the `Accept` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) style: Style,
    /// Whether `managedFields` are shown.
    pub(crate) managers: bool,
}

/// What is made of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Itself.
    Whole,
    /// `PartialObjectMetadata`.
    Metadata,
    /// A row of a `Table`.
    Table(Include),
}

impl View {
    pub(crate) fn read(parts: &Parts, query: &Query) -> Self {
        let accept = parts.headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let first = accept.split(',').next().unwrap_or_default();
        let style = match () {
            () if first.contains("as=PartialObjectMetadata") => Style::Metadata,
            () if first.contains("as=Table") => Style::Table(Include::read(query.get("includeObject"))),
            () => Style::Whole,
        };
        Self { style, managers: parts.extensions.get::<WithoutManagers>().is_none() }
    }

    /// The table that is asked for, if one is.
    pub(crate) fn table<'a>(self, resource: &'a Resource, now: impl FnOnce() -> Timestamp) -> Option<Table<'a>> {
        let Style::Table(include) = self.style else { return None };
        Some(Table { resource, include, managers: self.managers, now: now(), with_columns: true })
    }

    /// Whether an object goes out as it is stored: custom objects do unless another version is asked for than the one
    /// they were written in.
    pub(crate) fn is_plain(self, resource: &Resource, object: &Value) -> bool {
        self.style == Style::Whole && (resource.custom.is_none() || resource.is_version(text(object, &["apiVersion"])))
    }

    /// An object in this form; `version` is the one of the resource.
    fn shown<'a>(self, resource: &Resource, version: &'a str, object: &'a Object) -> Shown<'a> {
        let form = match self.style {
            Style::Metadata => Form::Metadata,
            _ if resource.custom.is_none() => Form::Whole,
            _ => Form::Version(version),
        };
        Shown { object, form, managers: self.managers }
    }

    /// The text of an object in this form and in the version that was asked for.
    pub(crate) fn write(self, resource: &Resource, object: &Object) -> Bytes {
        write_shown(&self.shown(resource, &resource.api_version(), object))
    }

    /// An item of a list: built-in kinds leave out kind and version there.
    pub(crate) fn item<'a>(self, resource: &Resource, version: &'a str, object: &'a Object) -> Shown<'a> {
        let shown = self.shown(resource, version, object);
        if shown.form == Form::Whole { Shown { form: Form::Untyped, ..shown } } else { shown }
    }

    /// Kind and version of a list.
    pub(crate) fn list_type(self, resource: &Resource) -> (String, String) {
        if self.style == Style::Metadata {
            return ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned());
        }
        (resource.list_kind.clone(), resource.api_version())
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
