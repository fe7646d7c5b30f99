//! One document of a file: parsed, not yet typed.

use serde_json::Value;

use crate::error::{Finding, ManifestError, ManifestErrors, Problem};
use crate::parse::Place;
use crate::words::{cut, describe};

/// One parsed document, with its place for messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    file: String,
    number: usize,
    line: usize,
    value: Value,
}

impl Document {
    pub(crate) fn new(place: Place<'_>, value: Value) -> Self {
        Self { file: place.file.to_owned(), number: place.number, line: place.line, value }
    }

    /// The file it is in, as the user named it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Its number in the file, from 1; empty documents do not count.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The line it starts on, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// What it holds.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What it holds, without the place.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The kind.
    ///
    /// # Errors
    /// The document is no object, or has no kind, or one that is not text.
    pub fn kind(&self) -> Result<&str, ManifestErrors> {
        let Value::Object(fields) = &self.value else {
            let problem = Problem::NotAnObject { found: describe(&self.value) };
            return Err(self.error(Finding { field: String::new(), problem, hint: None }).into());
        };
        match fields.get("kind") {
            Some(Value::String(kind)) if !kind.is_empty() => Ok(kind),
            None | Some(Value::Null | Value::String(_)) => {
                let problem = Problem::MissingKind { json: cut(&self.value.to_string()) };
                Err(self.error(Finding { field: "kind".to_owned(), problem, hint: None }).into())
            }
            Some(other) => Err(self.error(Finding::unfitting("kind", "a string", describe(other))).into()),
        }
    }

    /// `apiVersion`, when it is text.
    pub fn api_version(&self) -> Option<&str> {
        self.value.get("apiVersion").and_then(Value::as_str)
    }

    /// The API group: the part of `apiVersion` before the slash, empty for core kinds.
    pub fn group(&self) -> &str {
        self.api_version().and_then(|version| version.split_once('/')).map_or("", |(group, _)| group)
    }

    /// `metadata.name`, when it is text.
    pub fn name(&self) -> Option<&str> {
        self.metadata("name")
    }

    /// `metadata.namespace`, when it is text.
    pub fn namespace(&self) -> Option<&str> {
        self.metadata("namespace")
    }

    fn metadata(&self, field: &str) -> Option<&str> {
        self.value.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str)
    }

    /// Kind and name, as messages show them.
    fn object(&self) -> Option<String> {
        let kind = self.value.get("kind").and_then(Value::as_str).filter(|kind| !kind.is_empty())?;
        let name = self.name().or_else(|| self.metadata("generateName")).filter(|name| !name.is_empty());
        Some(name.map_or_else(|| cut(kind), |name| format!("{}/{}", cut(kind), cut(name))))
    }

    pub(crate) fn error(&self, finding: Finding) -> ManifestError {
        let place = Place { file: &self.file, number: self.number, line: self.line };
        place.error(self.object(), finding)
    }
}
